//! `sys.dm_os_thread_ledger`: the time of each living thread by category, with shares of that
//! thread's time.

use types::{DataType, Value};

use metadata::column::{INT, SYSNAME, int, text};
use metadata::ledger::{between, time_rows, values};
use metadata::{Rows, Scope, SystemView};

const BEFORE: &[(&str, DataType)] = &[("os_thread_id", INT), ("thread_name", SYSNAME)];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_thread_ledger",
    columns: || between(BEFORE, &[]),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let ledger = scope.session.instance.machine.accounts().close();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for thread in ledger.threads {
        let before = [int(thread.thread_id), text(&thread.name)];
        let own = time_rows(thread.rows, ledger.source);
        rows.extend(own.iter().map(|row| values(&before, row, &[])));
    }
    Ok(rows.into())
}
