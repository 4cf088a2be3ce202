//! `sys.dm_os_allocation_samples`: memory that the server's threads allocated, by call stack. One
//! sample per 512 KiB on average, with the number of bytes that it represents.

use types::DataType;

use metadata::column::{BIGINT, INT, big, int, text};
use metadata::samples::{NAME, STATEMENT, Statements, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[(&str, DataType)] = &[
    ("stack_id", INT),
    ("type", NAME),
    ("label", NAME),
    STATEMENT[0],
    STATEMENT[1],
    STATEMENT[2],
    STATEMENT[3],
    ("sample_count", BIGINT),
    ("allocated_bytes", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_allocation_samples",
    columns: || shape(COLUMNS, &[]),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut statements = Statements::new(scope);
    let row = |sample: sos::sampler::AllocationSample| {
        let [handle, start, end, hash] = statements.values(sample.statement);
        vec![
            int(sample.stack.number()),
            text(sample.clerk.name()),
            text(sample.label.name()),
            handle,
            start,
            end,
            hash,
            big(sample.samples),
            big(sample.bytes),
        ]
    };
    let samples = scope.session.instance.machine.accounts().allocation_samples();
    Ok(samples.into_iter().map(row).collect())
}
