//! `sys.dm_os_time_ledger`: the time of all threads since the server started, by category.

use metadata::column::{rows, shape};
use metadata::ledger::{COLUMNS, time_rows};
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_time_ledger",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let ledger = scope.session.instance.machine.accounts().close();
    rows(COLUMNS, time_rows(ledger.rows, ledger.source))
}
