//! `sys.dm_exec_session_ledger`: the time of each session's completed requests by category; waits
//! by type, split into resource and signal wait.

use sos::clock::ticks_to_ns;
use types::Value;

use ::plan::stats::{Part, Spend};
use ::session::instance::SessionCard;
use metadata::column::{BIGINT, Column, SMALLINT, big, col, nv, opt, or_null, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

/// One category of a session's time.
struct LedgerRow {
    session: i16,
    part: Part,
    name: &'static str,
    wall_ns: u64,
    occurrences: Option<u64>,
}

const COLUMNS: &[Column<LedgerRow>] = &[
    col("session_id", SMALLINT, |r| Value::SmallInt(r.session)),
    col("category", nv(60), |r| text(r.part.name())),
    col("name", nv(120), |r| text(r.name)),
    col("wall_ns", BIGINT, |r| big(r.wall_ns)),
    // Counted for waits only: entries into the other categories are not counted per session.
    opt("occurrences", BIGINT, |r| or_null(r.occurrences, big)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_session_ledger",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for card in scope.session.instance.sessions.cards() {
        push(&card, &mut found);
    }
    rows(COLUMNS, found)
}

fn push(card: &SessionCard, found: &mut Vec<LedgerRow>) {
    let row = |part, name, wall_ns, occurrences| LedgerRow {
        session: card.id,
        part,
        name,
        wall_ns,
        occurrences,
    };
    let spent = Spend::from(card.books.spent());
    let shown = Part::ALL.map(|part| (part, spent.shown(part)));
    for (part, ticks) in shown.into_iter().filter(|(_, ticks)| *ticks > 0) {
        match part {
            // Shown by wait type, below.
            Part::ResourceWait | Part::SignalWait => {}
            Part::User
            | Part::Kernel
            | Part::Spin
            | Part::Observing
            | Part::Runnable
            | Part::Blocked => found.push(row(part, "requests", ticks_to_ns(ticks), None)),
        }
    }
    for wait in card.books.waits() {
        let (name, count) = (wait.wait_type.name(), Some(wait.count));
        let resource_ns = wait.wait_ns.saturating_sub(wait.signal_ns);
        found.push(row(Part::ResourceWait, name, resource_ns, count));
        found.push(row(Part::SignalWait, name, wait.signal_ns, count));
    }
}
