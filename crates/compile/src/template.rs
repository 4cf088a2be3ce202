//! Simple parameterization: texts that differ in constants only share one program.
//!
//! The first text of a shape runs as it is. At the second one, if the statement is safe to
//! parameterize (`binder::simple`), a program with parameters is made, which then serves all texts
//! of that shape.
//!
//! ```text
//!   text ─► of this session? ─► of the instance? ─► tokens ─► template? ─► its program, with the text's values
//!                                                      └────── none ────► compile
//! ```
//!
//! As in the session's cache of procedures, a program is moved out of the cache while it runs.

use std::sync::Arc;

use tsql::Tokens;
use tsql::ast::Literal;
use types::{Msg, Value};

use ::binder::simple;
use ::catalog::options::Explain;
use ::plan::program::Program;
use ::plan::stats::Origin;
use ::session::instance::SessionCounter;
use ::session::options::Meaning;
use ::session::plan_cache::{Back, Call, Chosen, Kept, Kind, Known, put, take};
use ::session::stop::Stop;
use ::session::{ProgramKey, SessionState};

/// Chooses the program for a text that the session's cache lacks: another text's, the instance's,
/// or a newly compiled one.
pub fn choose(session: &mut SessionState, key: ProgramKey, text: &str) -> Result<Chosen, Stop> {
    let version = session.catalog.version;
    if let Some(call) = crate::template::known_text(session, key, text) {
        return Ok(Chosen::Kind(call));
    }
    if let Some(program) = session.instance.programs.get(key, version, text.as_bytes()) {
        return Ok(Chosen::Own(program));
    }
    // The parser reports the error of a longer text.
    if u32::try_from(text.len()).is_err() {
        return crate::compile_shared(session, key, text, &text.as_bytes().into()).map(Chosen::Own);
    }
    let mut tokens = crate::tokens(session, text)?;
    // Under ANSI_NULLS OFF a comparison with a parameter differs from one with a constant.
    let shown = session.options.explain != Explain::default()
        || session.options.meaning() != Meaning::default();
    let shape = if shown { None } else { tokens.shape(text) };
    let kind = shape.map(|shape| session.text_key(&[b"kind", &shape.to_le_bytes()]));
    if let Some(kind) = kind
        && let Some(call) = crate::template::of_kind(session, (kind, key), text, &mut tokens)
    {
        return Ok(Chosen::Kind(call));
    }
    session.accounting.counters.count(SessionCounter::PlanMisses);
    let again = kind.filter(|kind| session.instance.templates.was_seen(*kind, key));
    let (program, template) = crate::compiling(session, |state| {
        let batch = crate::parse(state, text, tokens)?;
        let place = (&*state.identity.database, crate::binding::unqualified(state, None));
        let template = again.and_then(|_| simple::template(&state.catalog, place, &batch, text));
        match template {
            Some((template, parameters)) => {
                let text = template.parameterized();
                let origin = Origin::Template(parameters.declared.as_str().into());
                let program = crate::parse_and_compile(state, &text, parameters.parameters)?;
                Ok((crate::register(state, program, origin), Some(template)))
            }
            None => Ok((crate::compile_batch_of(state, batch, text)?, None)),
        }
    })?;
    match (kind, template) {
        (Some(kind), Some(template)) => {
            let template = Arc::new(template);
            let made = Kind { template: Arc::clone(&template), program };
            session.instance.templates.put(kind, made.clone());
            let quotes = session.quotes();
            let values = crate::template::parameter_values(
                session,
                template.own_values(quotes)?,
                &made.program,
            )?;
            let Some(values) = values else { return Err(Msg::InternalError.into()) };
            let back = Back::Kind(kind, template, key);
            Ok(Chosen::Kind(Call { program: made.program, values, back }))
        }
        _ => {
            session.instance.programs.put(key, &Arc::clone(&program.source).into(), &program);
            Ok(Chosen::Own(program))
        }
    }
}

/// Returns the program of a text that the session sent twice in succession, with its values.
fn known_text(session: &mut SessionState, key: ProgramKey, text: &str) -> Option<Call> {
    let Known { text: mine, program, values } =
        take(&mut session.caches.programs.templates.texts, key)?;
    let current = program.catalog_version == session.catalog.version && program.is_cached();
    if !current || *mine != *text {
        return None;
    }
    let mut buffer = std::mem::take(&mut session.caches.scratch.variables);
    buffer.clear();
    buffer.extend_from_slice(&values);
    Some(Call { program, values: buffer, back: Back::Text(key, mine, values) })
}

/// Returns the program for the shape of a text, if there is one, with the text's values.
fn of_kind(
    session: &mut SessionState,
    (kind, text_key): (ProgramKey, ProgramKey),
    text: &str,
    tokens: &mut Tokens,
) -> Option<Call> {
    let version = session.catalog.version;
    let is_good = |kind: &Kind| {
        kind.program.catalog_version == version
            && kind.program.is_cached()
            && kind.template.is_of(tokens, text)
    };
    let kept =
        take(&mut session.caches.programs.templates.kinds, kind).filter(|kept| is_good(&kept.kind));
    let Kept { kind: Kind { template, program }, last } = match kept {
        Some(kept) => kept,
        None => {
            let shared = session.instance.templates.get(kind).filter(is_good)?;
            Kept { kind: shared, last: kind }
        }
    };
    let literals = template.values(tokens, text, session.quotes()).ok()?;
    let values = crate::template::parameter_values(session, literals, &program).ok().flatten()?;
    if last != text_key {
        let back = Back::Kind(kind, template, text_key);
        return Some(Call { program, values, back });
    }
    // The same text in succession: from now on it is found as a whole, without its tokens.
    let known = values.clone().into_boxed_slice();
    let kept = Kind { template, program: Arc::clone(&program) };
    put(&mut session.caches.programs.templates.kinds, kind, Kept { kind: kept, last: text_key });
    Some(Call { program, values, back: Back::Text(text_key, text.into(), known) })
}

/// Converts literals to the values of a program's parameters, in the session's reusable buffer.
fn parameter_values(
    session: &mut SessionState,
    literals: Vec<Literal>,
    program: &Program,
) -> types::Result<Option<Vec<Value>>> {
    let buffer = std::mem::take(&mut session.caches.scratch.variables);
    simple::values(literals, program, session.collation(), buffer)
}

/// Returns a program to the session's cache after it has run.
pub fn put_back(session: &mut SessionState, program: Arc<Program>, back: Back) {
    match back {
        Back::Text(key, text, values) => {
            put(&mut session.caches.programs.templates.texts, key, Known { text, program, values });
        }
        Back::Kind(key, template, last) => {
            let kept = Kept { kind: Kind { template, program }, last };
            put(&mut session.caches.programs.templates.kinds, key, kept);
        }
    }
}
