//! Simple parameterization: texts that differ in constants only run one program.
//!
//! The first text of a kind runs as it is; when a second one comes, and the statement is safe
//! (`bind/simple.rs`), a program with parameters is made of it, which serves all others.
//!
//! ```text
//!   text ─► of this session? ─► of the instance? ─► tokens ─► template? ─► its program, with the text's values
//!                                                      └────── none ────► compile
//! ```
//!
//! As in `cache.rs`, a program is moved out while it runs.

use std::sync::Arc;

use tsql::ast::Literal;
use tsql::{Template, Tokens};
use types::{Msg, Value};

use crate::bind::simple;
use crate::exec::run::Stop;
use crate::explain::Explain;
use crate::instance::SessionCounter;
use crate::plan::program::Program;
use crate::session::options::Meaning;
use crate::session::{ProgramKey, SessionState};
use crate::stats::Origin;

/// Places in a session's caches; a power of two.
const PLACES: usize = 16;

/// A template with its program.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// What texts have in common.
    pub(crate) template: Arc<Template>,
    /// What they run.
    pub(crate) program: Arc<Program>,
}

/// A template as one session has it.
struct Kept {
    kind: Kind,
    /// The key of the text that ran last.
    last: ProgramKey,
}

/// A text that was sent twice running, with the values that it has.
struct Known {
    text: Box<str>,
    program: Arc<Program>,
    values: Box<[Value]>,
}

/// What one session ran lately by templates. Places are allocated with the first.
#[derive(Default)]
pub(crate) struct TemplateCache {
    kinds: Vec<Option<(ProgramKey, Kept)>>,
    texts: Vec<Option<(ProgramKey, Known)>>,
}

impl TemplateCache {
    /// Forgets programs that were made against another catalog.
    pub(crate) fn let_go(&mut self, catalog_version: u64) {
        for kind in &mut self.kinds {
            kind.take_if(|(_, kept)| kept.kind.program.catalog_version != catalog_version);
        }
        for text in &mut self.texts {
            text.take_if(|(_, known)| known.program.catalog_version != catalog_version);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A program that is to run with values for its parameters, and where it goes back to.
pub(super) struct Call {
    pub(super) program: Arc<Program>,
    pub(super) values: Vec<Value>,
    pub(super) back: Back,
}

/// Where a program goes that has run.
pub(super) enum Back {
    /// To the text that it is known by.
    Text(ProgramKey, Box<str>, Box<[Value]>),
    /// To its kind, with the key of the text that ran.
    Kind(ProgramKey, Arc<Template>, ProgramKey),
}

/// What a text runs.
pub(super) enum Chosen {
    /// A program of its own.
    Own(Arc<Program>),
    /// The one of its kind.
    Kind(Call),
}

fn place(key: ProgramKey) -> usize {
    let ProgramKey::Text(hash) = key else { return 0 };
    // The mask keeps it below PLACES.
    usize::try_from(hash & (PLACES as u64 - 1)).unwrap_or(0)
}

fn take<T>(places: &mut [Option<(ProgramKey, T)>], key: ProgramKey) -> Option<T> {
    let slot = places.get_mut(place(key))?;
    if !slot.as_ref().is_some_and(|(found, _)| *found == key) {
        return None;
    }
    slot.take().map(|(_, value)| value)
}

fn put<T>(places: &mut Vec<Option<(ProgramKey, T)>>, key: ProgramKey, value: T) {
    if places.is_empty() {
        places.resize_with(PLACES, || None);
    }
    places[place(key)] = Some((key, value));
}

impl SessionState {
    /// Finds what a text runs that the session has no program for, or compiles it.
    pub(super) fn choose(&mut self, key: ProgramKey, text: &str) -> Result<Chosen, Stop> {
        let version = self.catalog.version;
        if let Some(call) = self.known_text(key, text) {
            return Ok(Chosen::Kind(call));
        }
        if let Some(program) = self.instance.programs.get(key, version, text.as_bytes()) {
            return Ok(Chosen::Own(program));
        }
        // The parser says what is wrong with a longer one.
        if u32::try_from(text.len()).is_err() {
            return self.compile_shared(key, text, &text.as_bytes().into()).map(Chosen::Own);
        }
        let mut tokens = Tokens::of(text);
        // Under ANSI_NULLS OFF a parameter is compared as a constant is not.
        let shown = self.options.explain != Explain::default()
            || self.options.meaning() != Meaning::default();
        let shape = if shown { None } else { tokens.shape(text) };
        let kind = shape.map(|shape| self.text_key(&[b"kind", &shape.to_le_bytes()]));
        if let Some(kind) = kind
            && let Some(call) = self.of_kind((kind, key), text, &mut tokens)
        {
            return Ok(Chosen::Kind(call));
        }
        self.counters.count(SessionCounter::PlanMisses);
        let again = kind.filter(|kind| self.instance.templates.was_seen(*kind, key));
        let (program, template) = self.compiling(|state| {
            let batch = state.parse(text, tokens)?;
            let template = again.and_then(|_| {
                let place = (&*state.catalog, &*state.database);
                simple::template(place, &batch, text)
            });
            match template {
                Some((template, parameters)) => {
                    let text = template.parameterized();
                    let origin = Origin::Template(parameters.declared.as_str().into());
                    let program = state.parse_and_compile(&text, parameters.parameters)?;
                    Ok((state.register(program, origin), Some(template)))
                }
                None => Ok((state.compile_batch_of(batch, text)?, None)),
            }
        })?;
        match (kind, template) {
            (Some(kind), Some(template)) => {
                let template = Arc::new(template);
                let made = Kind { template: Arc::clone(&template), program };
                self.instance.templates.put(kind, made.clone());
                let quotes = self.quotes();
                let values = self.parameter_values(template.own_values(quotes)?, &made.program)?;
                let Some(values) = values else { return Err(Msg::InternalError.into()) };
                let back = Back::Kind(kind, template, key);
                Ok(Chosen::Kind(Call { program: made.program, values, back }))
            }
            _ => {
                self.instance.programs.put(key, &Arc::clone(&program.source).into(), &program);
                Ok(Chosen::Own(program))
            }
        }
    }

    /// A text that was sent twice running.
    fn known_text(&mut self, key: ProgramKey, text: &str) -> Option<Call> {
        let Known { text: mine, program, values } = take(&mut self.programs.templates.texts, key)?;
        let current = program.catalog_version == self.catalog.version && program.is_cached();
        if !current || *mine != *text {
            return None;
        }
        let mut buffer = std::mem::take(&mut self.scratch.variables);
        buffer.clear();
        buffer.extend_from_slice(&values);
        Some(Call { program, values: buffer, back: Back::Text(key, mine, values) })
    }

    /// A text of a kind that has a program.
    fn of_kind(
        &mut self,
        (kind, text_key): (ProgramKey, ProgramKey),
        text: &str,
        tokens: &mut Tokens,
    ) -> Option<Call> {
        let version = self.catalog.version;
        let is_good = |kind: &Kind| {
            kind.program.catalog_version == version
                && kind.program.is_cached()
                && kind.template.is_of(tokens, text)
        };
        let kept =
            take(&mut self.programs.templates.kinds, kind).filter(|kept| is_good(&kept.kind));
        let Kept { kind: Kind { template, program }, last } = match kept {
            Some(kept) => kept,
            None => {
                let shared = self.instance.templates.get(kind).filter(is_good)?;
                Kept { kind: shared, last: kind }
            }
        };
        let literals = template.values(tokens, text, self.quotes()).ok()?;
        let values = self.parameter_values(literals, &program).ok().flatten()?;
        if last != text_key {
            let back = Back::Kind(kind, template, text_key);
            return Some(Call { program, values, back });
        }
        // The same text again: it is looked up as a whole from now on.
        let known = values.clone().into_boxed_slice();
        let kept = Kind { template, program: Arc::clone(&program) };
        put(&mut self.programs.templates.kinds, kind, Kept { kind: kept, last: text_key });
        Some(Call { program, values, back: Back::Text(text_key, text.into(), known) })
    }

    /// Makes the values of a program's parameters in the buffer that the session keeps.
    fn parameter_values(
        &mut self,
        literals: Vec<Literal>,
        program: &Program,
    ) -> types::Result<Option<Vec<Value>>> {
        let buffer = std::mem::take(&mut self.scratch.variables);
        simple::values(literals, program, self.collation(), buffer)
    }

    /// Puts a program back that has run.
    pub(super) fn put_back(&mut self, program: Arc<Program>, back: Back) {
        match back {
            Back::Text(key, text, values) => {
                put(&mut self.programs.templates.texts, key, Known { text, program, values });
            }
            Back::Kind(key, template, last) => {
                let kept = Kept { kind: Kind { template, program }, last };
                put(&mut self.programs.templates.kinds, key, kept);
            }
        }
    }

    /// What quotes mean to the session.
    pub(crate) fn quotes(&self) -> tsql::QuotedIdentifier {
        if self.options.quoted_identifier {
            tsql::QuotedIdentifier::On
        } else {
            tsql::QuotedIdentifier::Off
        }
    }
}
