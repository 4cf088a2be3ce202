//! Hints of a Query Store: a query that has some is compiled with them, and not with its
//! OPTION clause. Hints with which it can't be compiled are left out, and the store counts that.

use sos::ledger::{self, State};
use tsql::ast::{QueryHint, Statement, StatementKind};
use types::{Error, Msg, Result};

use ::binder::{Binder, BinderContext};
use ::plan::program::{Leaf, LeafAst, Program, RunHints};
use ::plan::statement::Bound;
use ::plan::stats::identity;
use ::session::SessionState;

/// Binds a statement with the hints that a Query Store has for it; `None` if it has none, or if the
/// statement can't be compiled with them.
pub fn bind<'c>(
    session: &SessionState,
    context: &'c BinderContext<'c>,
    leaf: &Leaf,
    program: &Program,
) -> Option<(Bound, Binder<'c>)> {
    let LeafAst::Statement(statement) = &leaf.ast else { return None };
    let books = program.books.as_ref()?;
    let database = books.database_id();
    let store = &session.instance.query_store;
    let (query, text) = store.hint_of(database, || {
        let span = statement.span.start as usize..statement.span.end as usize;
        Some(identity(program, books, program.source.get(span)?))
    })?;
    let mut binder = context.binder();
    let bound = parse(&text).and_then(|hints| {
        let mut changed = statement.clone();
        if !replace(&mut changed, hints.clone()) {
            return Ok(None);
        }
        let bound = ::binder::bind_statement(&mut binder, &changed)?;
        // The first binding decides, as for the plan.
        leaf.hinted.get_or_init(|| RunHints::of(&hints));
        Ok(Some(bound))
    });
    match bound {
        Ok(bound) => bound.map(|bound| (bound, binder)),
        Err(error) => {
            let before = ledger::to(State::Observing);
            store.note_failure(database, query, error.number);
            ledger::to(before);
            None
        }
    }
}

/// Replaces the OPTION clause; returns whether the statement may have one.
fn replace(statement: &mut Statement, hints: Vec<QueryHint>) -> bool {
    let options = match &mut statement.kind {
        StatementKind::Select(select) => &mut select.options,
        StatementKind::Insert(insert) => &mut insert.options,
        StatementKind::Update(update) => &mut update.options,
        StatementKind::Delete(delete) => &mut delete.options,
        StatementKind::Merge(merge) => &mut merge.options,
        _ => return false,
    };
    *options = hints;
    true
}

/// Parses an OPTION clause.
///
/// # Errors
/// 102 and other errors of syntax.
pub fn parse(text: &str) -> Result<Vec<QueryHint>> {
    let first = text.split_whitespace().next().unwrap_or_default();
    if !first.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("OPTION")) {
        let word: String = first.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        return Err(Msg::SyntaxNear(&word).into());
    }
    let batch = tsql::parse(&format!("SELECT 1 {text}"), tsql::QuotedIdentifier::On)?;
    match batch.statements.as_slice() {
        [Statement { kind: StatementKind::Select(select), .. }] => Ok(select.options.clone()),
        _ => Err(Error::from(Msg::SyntaxNear(first))),
    }
}
