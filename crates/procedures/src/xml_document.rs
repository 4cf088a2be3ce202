//! sp_xml_preparedocument and sp_xml_removedocument: documents for OPENXML, kept in the session.

use std::sync::Arc;

use types::xml::{Document, Encoding, ROOT, Whitespace};
use types::{Error, Msg, Value};

use crate::procedure::{SystemProcedure, int_type, text, whole};
use ::executor::Cx;
use ::functions::xml::open::Prepared;
use interpreter::{Argument, Stop};
use plan::stop::{INTERNAL, is_about_resources};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_xml_preparedocument", id: 0, run: prepare },
    SystemProcedure { name: "sp_xml_removedocument", id: 0, run: remove },
];

/// Most documents that a session may keep.
const DOCUMENTS_MAX: usize = 10_000;

/// `sp_xml_preparedocument @hdoc OUTPUT [, @xmltext [, @xpath_namespaces]]`.
fn prepare(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let document = match text(arguments, 1, "@xmltext", cx)? {
        Some(text) => read(&text, cx)?,
        None => Document::default(),
    };
    let namespaces = match text(arguments, 2, "@xpath_namespaces", cx)? {
        Some(text) => declared(&read(&text, cx)?),
        None => Vec::new(),
    };
    let documents = &mut cx.session.held.documents;
    if documents.len() >= DOCUMENTS_MAX {
        return Err(Error::from(Msg::OutOfMemory).into());
    }
    // Handles are 1, 3, 5 and so on, as in SQL Server.
    let handle = documents.last().map_or(1, |(last, _)| last + 2);
    documents.push((handle, Arc::new(Prepared { document: Arc::new(document), namespaces })));
    let named = arguments.iter().position(|a| a.name.trim_start_matches('@') == "hdoc");
    if let Some(target) = arguments.get_mut(named.unwrap_or(0)) {
        target.ty = int_type();
        target.value = Value::Int(handle);
    }
    Ok(0)
}

fn read(text: &str, cx: &Cx<'_>) -> Result<Document, Stop> {
    let (encoding, whitespace) = (Encoding::Wide, Whitespace::Strip);
    let pace = ::functions::xml::cache::asking(&cx.session.connection.cancel);
    let read = types::xml::parse_paced(text, encoding, whitespace, pace);
    read.map_err(|error| {
        if error.number == INTERNAL {
            return Stop::Cancelled;
        }
        if is_about_resources(&error) {
            return Stop::Error(error);
        }
        let described = Error::from(Msg::XmlErrorDescription(&error.message));
        Stop::Error(described.with_state(2).in_procedure("sp_xml_preparedocument"))
    })
}

/// Returns the prefixes and URIs that the root element declares.
fn declared(document: &Document) -> Vec<(String, String)> {
    let Some(root) = document.children(ROOT).next() else { return Vec::new() };
    let own =
        document.leading(root).filter(|n| document.kind(*n) == types::xml::NodeKind::Namespace);
    let pairs = own.map(|n| (document.name(n).local.clone(), document.value(n).to_owned()));
    pairs.filter(|(prefix, _)| !prefix.is_empty()).collect()
}

/// `sp_xml_removedocument @hdoc`: frees a document.
fn remove(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handle = whole(arguments, 0, "@hdoc").unwrap_or(0);
    let documents = &mut cx.session.held.documents;
    let Some(place) = documents.iter().position(|(known, _)| i64::from(*known) == handle) else {
        return Err(Msg::ParameterValueInvalid("sp_xml_removedocument", 1).into());
    };
    documents.remove(place);
    Ok(0)
}
