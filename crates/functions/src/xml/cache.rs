//! Cache of what the methods of `xml` have parsed: the queries of a statement and the instances of
//! its row.
//!
//! A row of `nodes()` refers to a node of the whole instance, so a thousand rows use one instance a
//! thousand times; and a query is the same for all rows. Both are looked up by comparison, which
//! for shared values compares addresses. The cache lives as long as the request.

use std::any::Any;
use std::sync::Arc;

use plan::stop::cancelled;
use sos::park::Cancel;
use types::xml::{Document, Encoding, Whitespace};
use types::{Bytes, Result, text};

use super::parse::parse;
use super::syntax::Query;

/// Number of queries kept; a statement rarely has more.
const QUERIES_MAX: usize = 32;
/// Number of instances kept.
const DOCUMENTS_MAX: usize = 4;

/// Parsed queries and parsed instances.
#[derive(Debug, Default)]
pub struct XmlCache {
    queries: Vec<(Bytes, String, Arc<Query>)>,
    documents: Vec<(Bytes, Arc<Document>)>,
}

impl XmlCache {
    /// Returns the cache stored in the request's slot, or a new one.
    pub(crate) fn of(place: &mut Option<Box<dyn Any + Send>>) -> &mut Self {
        let kept = place.get_or_insert_with(|| Box::new(Self::default()));
        kept.downcast_mut().expect("nothing else is kept there")
    }

    /// Returns a parsed query.
    pub(crate) fn query(&mut self, source: &Bytes, method: &str) -> Result<Arc<Query>> {
        let known = self.queries.iter().find(|(text, of, _)| of == method && same(text, source));
        if let Some((_, _, query)) = known {
            return Ok(Arc::clone(query));
        }
        let query = Arc::new(parse(&text::from_utf16(source), method)?);
        if self.queries.len() >= QUERIES_MAX {
            self.queries.remove(0);
        }
        self.queries.push((source.clone(), method.to_owned(), Arc::clone(&query)));
        Ok(query)
    }

    /// Returns a parsed instance.
    ///
    /// # Errors
    /// 701, and an error that stops the statement if `cancel` is set in that time.
    pub(crate) fn document(&mut self, source: &Bytes, cancel: &Cancel) -> Result<Arc<Document>> {
        if let Some((_, document)) = self.documents.iter().find(|(text, _)| same(text, source)) {
            return Ok(Arc::clone(document));
        }
        plan::long::ask(source.len())?;
        let text = text::from_utf16_pausing(source, crate::pieces::PAUSE);
        // Insignificant white space was removed when the value was created.
        let (encoding, whitespace) = (Encoding::Wide, Whitespace::Preserve);
        let document = types::xml::parse_paced(&text, encoding, whitespace, asking(cancel))?;
        // A text that was decoded in part is not kept as the whole one's document.
        if cancel.is_set() {
            return Err(cancelled());
        }
        let document = Arc::new(document);
        if self.documents.len() >= DOCUMENTS_MAX {
            self.documents.remove(0);
        }
        self.documents.push((source.clone(), Arc::clone(&document)));
        Ok(document)
    }
}

/// What a parser of XML calls with the memory of its document so far: lets others run, ends it when its statement is
/// cancelled, and asks for the memory. It grows by doubling and is moved then.
pub fn asking(cancel: &Cancel) -> impl FnMut(usize) -> Result<()> {
    const TIMES: usize = 2;
    let (mut memory, mut before) = (plan::long::Growing::default(), 0);
    move |bytes| {
        sos::sched::yield_if_quantum_due();
        if cancel.is_set() {
            return Err(cancelled());
        }
        let more = TIMES * (bytes - std::mem::replace(&mut before, bytes));
        memory.take(more)
    }
}

/// Returns whether two values are the same: shared ones by address, short ones by content.
fn same(left: &Bytes, right: &Bytes) -> bool {
    match (left.as_shared(), right.as_shared()) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => left == right,
        _ => false,
    }
}
