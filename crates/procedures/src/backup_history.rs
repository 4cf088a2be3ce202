//! sp_delete_backuphistory and sp_delete_database_backuphistory: remove rows of msdb's tables of
//! backups and restores.

use std::sync::Arc;

use types::convert::convert;
use types::value::ColumnType;
use types::{DataType, Mode, Msg};

use crate::procedure::{SystemProcedure, argument, text};
use ::catalog::BackupFacts;
use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};
use metadata::backup::utc_100ns;

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_delete_backuphistory", id: 0, run: before },
    SystemProcedure { name: "sp_delete_database_backuphistory", id: 0, run: of_database },
];

/// `sp_delete_backuphistory @oldest_date`: removes what ended before.
fn before(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(oldest) = argument(arguments, 0, "@oldest_date") else {
        let name = "sp_delete_backuphistory";
        return Err(Msg::ParameterNotSupplied(name, "@oldest_date").into());
    };
    let datetime = ColumnType::nullable(DataType::DateTime);
    let options = cx.session.convert_options();
    let oldest = convert(&oldest.value, &oldest.ty, &datetime, 0, Mode::Implicit, &options)?;
    let Some(oldest) = utc_100ns(&oldest) else { return Ok(0) };
    forget(cx, |facts| facts.get("ended").parse::<u64>().is_ok_and(|ended| ended < oldest))
}

/// `sp_delete_database_backuphistory @database_name`: removes what is of one database.
fn of_database(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(name) = text(arguments, 0, "@database_name", cx)? else {
        let procedure = "sp_delete_database_backuphistory";
        return Err(Msg::ParameterNotSupplied(procedure, "@database_name").into());
    };
    forget(cx, |facts| Name::same(facts.get("database"), &name))
}

fn forget(cx: &mut Cx<'_>, is_gone: impl Fn(&BackupFacts) -> bool) -> Result<i32, Stop> {
    // In SQL Server the procedures are for sysadmin alone, unless EXECUTE is granted.
    if !cx.session.identity.rights.is_in_server_role(&cx.session.catalog, "sysadmin") {
        return Err(Msg::NoPermissionForAction.into());
    }
    cx.session.instance.catalog.change_aside(|catalog| {
        Arc::make_mut(&mut catalog.backups).forget(is_gone);
        Ok(())
    })?;
    Ok(0)
}
