//! `sys.dm_os_cpu_samples`: CPU time of the server's threads by call stack, from timer samples.

use std::collections::HashMap;

use types::{DataType, Value};

use metadata::column::{BIGINT, INT, SYSNAME, big, int, text};
use metadata::samples::{NAME, STATEMENT, Statements, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[(&str, DataType)] = &[
    ("stack_id", INT),
    ("os_thread_id", INT),
    ("thread_name", SYSNAME),
    ("label", NAME),
    ("state", NAME),
    STATEMENT[0],
    STATEMENT[1],
    STATEMENT[2],
    STATEMENT[3],
    ("sample_count", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_cpu_samples",
    // Samples of ended threads are added up without their names.
    columns: || shape(COLUMNS, &["os_thread_id", "thread_name"]),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let accounts = scope.session.instance.machine.accounts();
    let mut statements = Statements::new(scope);
    let samples = accounts.cpu_samples();
    let threads = accounts.threads();
    let threads: HashMap<u32, _> = threads.iter().map(|thread| (thread.number(), thread)).collect();
    let row = |sample: &sos::sampler::CpuSample| {
        let thread = threads.get(&sample.thread);
        let [handle, start, end, hash] = statements.values(sample.statement);
        vec![
            int(sample.stack.number()),
            thread.map_or(Value::Null, |thread| int(thread.thread_id())),
            thread.map_or(Value::Null, |thread| text(thread.name())),
            text(sample.label.name()),
            text(sample.state.name()),
            handle,
            start,
            end,
            hash,
            big(sample.samples),
        ]
    };
    Ok(samples.iter().map(row).collect())
}
