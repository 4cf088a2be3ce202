//! `sys.dm_os_wait_samples`: waits of the server's threads by call stack. Every wait of 1 ms or
//! more is recorded; shorter ones are sampled in proportion to their length, and the samples
//! represent the others.

use types::DataType;

use metadata::column::{BIGINT, INT, big, int, text};
use metadata::samples::{NAME, STATEMENT, Statements, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[(&str, DataType)] = &[
    ("stack_id", INT),
    ("wait_type", NAME),
    ("label", NAME),
    STATEMENT[0],
    STATEMENT[1],
    STATEMENT[2],
    STATEMENT[3],
    ("sample_count", BIGINT),
    ("wait_ns", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_wait_samples",
    columns: || shape(COLUMNS, &[]),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut statements = Statements::new(scope);
    let row = |sample: sos::sampler::WaitSample| {
        let [handle, start, end, hash] = statements.values(sample.statement);
        vec![
            int(sample.stack.number()),
            text(sample.wait_type.name()),
            text(sample.label.name()),
            handle,
            start,
            end,
            hash,
            big(sample.samples),
            big(sample.ns),
        ]
    };
    let samples = scope.session.instance.machine.accounts().wait_samples();
    Ok(samples.into_iter().map(row).collect())
}
