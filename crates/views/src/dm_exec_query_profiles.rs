//! `sys.dm_exec_query_profiles`: what the operators of running statements have done so far, for each
//! thread.
//!
//! Shows statements that are profiled: those of SET STATISTICS XML and PROFILE, those with USE HINT
//! ('QUERY_PLAN_PROFILE'), and all that begin while trace flag 7412 is on. Times are on the clock
//! of `ms_ticks` in `sys.dm_os_sys_info`.

use std::sync::Arc;

use sos::clock;
use types::Value;

use ::session::instance::SessionCard;
use ::session::live_profile::{LiveCount, LiveOperator, LiveProfile, LiveThread};
use metadata::column::{
    ADDRESS, BIGINT, Column, INT, SMALLINT, big, binary, int, nv, opt, or_null, rows, shape, small,
    text, unknown, vb,
};
use metadata::sessions::session_rows;
use metadata::tasks::{TaskRow, address_or_null, ms_ticks, task_address, task_rows};
use metadata::{Rows, Scope, SystemView};

/// An operator and the counts of one thread.
struct Row {
    session: i16,
    profile: Arc<LiveProfile>,
    thread: Arc<LiveThread>,
    node: usize,
    task: Option<usize>,
    now: u64,
}

const COLUMNS: &[Column<Row>] = &[
    opt("session_id", SMALLINT, |r| Value::SmallInt(r.session)),
    opt("request_id", INT, |_| int(0)),
    opt("sql_handle", vb(64), |r| {
        or_null(r.profile.books.as_ref(), |books| binary(books.sql_handle().bytes()))
    }),
    opt("plan_handle", vb(64), |r| {
        or_null(r.profile.books.as_ref(), |books| binary(books.plan_handle().bytes()))
    }),
    opt("physical_operator_name", nv(256), |r| text(r.operator().physical)),
    opt("node_id", INT, |r| int(r.node)),
    opt("thread_id", INT, |r| int(r.thread.number)),
    opt("task_address", ADDRESS, |r| address_or_null(r.task)),
    opt("row_count", BIGINT, |r| r.counted(|count| count.rows.get())),
    // What an opening has found is not kept for the next one: each opening is a rebind.
    opt("rewind_count", BIGINT, |r| r.counted(|_| 0)),
    opt("rebind_count", BIGINT, |r| r.counted(|count| count.opened.get())),
    opt("end_of_scan_count", BIGINT, |r| r.counted(|count| count.closed.get())),
    opt("estimate_row_count", BIGINT, |r| whole(r.operator().rows)),
    opt("first_active_time", BIGINT, |r| r.time(|count| count.first_open.get())),
    opt("last_active_time", BIGINT, |r| r.time(LiveCount::last_active)),
    opt("open_time", BIGINT, |r| r.time(|count| count.last_open.get())),
    opt("first_row_time", BIGINT, |r| r.time(|count| count.first_row.get())),
    opt("last_row_time", BIGINT, |r| r.time(|count| count.last_row.get())),
    opt("close_time", BIGINT, |r| r.time(|count| count.last_close.get())),
    opt("elapsed_time_ms", BIGINT, |r| {
        r.counted(|count| clock::ticks_to_ns(count.elapsed(r.now)) / 1_000_000)
    }),
    // The CPU time of a thread is not measured by operator.
    unknown("cpu_time_ms", BIGINT),
    opt("database_id", SMALLINT, |r| or_null(r.operator().object, |o| small(o.database))),
    opt("object_id", INT, |r| or_null(r.operator().object, |o| int(o.object))),
    opt("index_id", INT, |r| or_null(r.operator().object, |o| int(o.index))),
    opt("scan_count", BIGINT, |r| r.of_scan(|count| count.opened.get())),
    opt("logical_read_count", BIGINT, |r| r.of_scan(|count| count.reads.get())),
    // Rows are in memory.
    opt("physical_read_count", BIGINT, |r| r.of_scan(|_| 0)),
    opt("read_ahead_count", BIGINT, |r| r.of_scan(|_| 0)),
    opt("write_page_count", BIGINT, |r| r.of_scan(|_| 0)),
    opt("lob_logical_read_count", BIGINT, |r| r.of_scan(|_| 0)),
    opt("lob_physical_read_count", BIGINT, |r| r.of_scan(|_| 0)),
    opt("lob_read_ahead_count", BIGINT, |r| r.of_scan(|_| 0)),
    unknown("segment_read_count", INT),
    unknown("segment_skip_count", INT),
    opt("actual_read_row_count", BIGINT, |r| r.of_scan(|count| count.reads.get())),
    opt("estimated_read_row_count", BIGINT, |r| r.operator().reads.map_or(Value::Null, whole)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_profiles",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

impl Row {
    fn operator(&self) -> &LiveOperator {
        &self.profile.operators[self.node]
    }

    /// Returns a count; NULL for an operator that only plans show.
    fn counted(&self, read: impl FnOnce(&LiveCount) -> u64) -> Value {
        let counted_at = self.operator().counted_at;
        counted_at.map_or(Value::Null, |place| big(read(self.thread.count(place))))
    }

    /// Returns a count of I/O; NULL for an operator that reads no table.
    fn of_scan(&self, read: impl FnOnce(&LiveCount) -> u64) -> Value {
        match self.operator().object {
            Some(_) => self.counted(read),
            None => Value::Null,
        }
    }

    /// Returns a time in ms of the machine's clock; 0 for one that has not come.
    fn time(&self, read: impl FnOnce(&LiveCount) -> u64) -> Value {
        self.counted(|count| match read(count) {
            0 => 0,
            ticks => ms_ticks(ticks),
        })
    }
}

/// Returns an estimate as a whole number.
fn whole(estimate: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an estimate is shown without its fraction"
    )]
    let rows = estimate.round() as i64;
    Value::BigInt(rows)
}

fn read(scope: &Scope<'_>) -> Rows {
    let now = clock::now_ticks();
    let tasks = task_rows(scope);
    let mut found = Vec::new();
    for session in session_rows(scope) {
        for profile in session.card.profiles.shown() {
            for thread in profile.threads() {
                let task = task_of(&session.card, &thread, &tasks);
                found.extend((0..profile.operators.len()).map(|node| Row {
                    session: session.card.id,
                    profile: Arc::clone(&profile),
                    thread: Arc::clone(&thread),
                    node,
                    task,
                    now,
                }));
            }
        }
    }
    rows(COLUMNS, found)
}

/// Returns the task of a thread; `None` for a helper that has ended.
fn task_of(card: &Arc<SessionCard>, thread: &LiveThread, tasks: &[TaskRow]) -> Option<usize> {
    if thread.number == 0 {
        return Some(task_address(card));
    }
    let is_it = |task: &&TaskRow| {
        task.session_id() == Some(card.id) && task.exec_context_id() == thread.number
    };
    tasks.iter().find(is_it)?.task_address()
}
