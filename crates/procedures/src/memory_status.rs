//! `DBCC MEMORYSTATUS`: memory use as a list of short tables for humans. Has the documented lines
//! that apply here.

use types::value::ColumnType;
use types::{DataType, Value};

use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use interpreter::{Stop, done};

/// Size of a buffer, in bytes: the unit of some documented lines.
const BUFFER_BYTES: u64 = 8_192;

/// A line: its name and its value.
type Line = (&'static str, u64);

pub(crate) fn run(cx: &mut Cx<'_>) -> Result<(), Stop> {
    table(cx, "Process/System Counts", "Value", &process())?;
    table(cx, "Memory Manager", "KB", &manager(cx))?;
    for row in sos::memory::clerks().into_iter().filter(|row| row.bytes > 0) {
        let name = format!("{} (Total)", row.clerk.name());
        table(cx, &name, "KB", &[("Pages Allocated", row.bytes / 1_024)])?;
    }
    let grants = cx.session.instance.workspace.now();
    let lines = [
        ("Grants", grants.holding.into()),
        ("Waiting", grants.waiting.into()),
        ("Available", grants.limit.saturating_sub(grants.used) / BUFFER_BYTES),
        ("Current Max", grants.limit / BUFFER_BYTES),
    ];
    table(cx, "Query Memory Objects (default)", "Value", &lines)
}

fn process() -> Vec<Line> {
    let times = sos::sys::cpu_times();
    let machine = sos::sys::machine_memory();
    let own = sos::sys::process_memory();
    let mut lines = Vec::new();
    if let Some(machine) = machine {
        lines.push(("Available Physical Memory", machine.available_kb * 1_024));
        let paging = machine.available_kb + machine.swap_free_kb;
        lines.push(("Available Paging File", paging * 1_024));
    }
    if let Some(own) = own {
        let committed = own.resident_kb + own.swapped_kb;
        lines.push(("Working Set", own.resident_kb * 1_024));
        lines.push(("Percent of Committed Memory in WS", own.resident_kb * 100 / committed.max(1)));
    }
    lines.push(("Page Faults", times.minor_faults + times.major_faults));
    lines
}

fn manager(cx: &Cx<'_>) -> Vec<Line> {
    let used = sos::memory::used_bytes() / 1_024;
    let mut lines = Vec::new();
    if let Some(own) = sos::sys::process_memory() {
        lines.push(("VM Reserved", own.reserved_kb));
        lines.push(("VM Committed", own.resident_kb + own.swapped_kb));
        lines.push(("Locked Pages Allocated", own.locked_kb));
    }
    lines.push(("Target Committed", cx.session.instance.config.memory_max / 1_024));
    lines.push(("Current Committed", used));
    lines.push(("Pages Allocated", used));
    lines
}

/// Sends one table of the list.
fn table(cx: &mut Cx<'_>, name: &str, unit: &str, lines: &[Line]) -> Result<(), Stop> {
    let column = |name: &str, column_type| {
        let name = name.into();
        ColumnInfo { name, column_type, traits: Traits::default(), updatable: false }
    };
    let number = ColumnType { nullable: false, ..ColumnType::nullable(DataType::BigInt) };
    let shape = shape_of(vec![column(name, cx.session.text_type()), column(unit, number)]);
    cx.sink.columns(&shape)?;
    for &(what, value) in lines {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        cx.sink.row(&[Value::nvarchar(what), Value::BigInt(value)])?;
    }
    Ok(done(cx, Command::SELECT, u64::try_from(lines.len()).ok(), false)?)
}
