//! `sys.dm_exec_trigger_stats`: resources used by cached triggers, including everything that they
//! called.

use ::plan::program::RoutineKind;

use super::dm_exec_procedure_stats::{COLUMNS, modules};
use metadata::column::{rows, shape};
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_trigger_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, modules(scope, Some(RoutineKind::Trigger)))
}
