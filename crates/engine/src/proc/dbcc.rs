//! DBCC commands.

use tsql::ast;
use types::{Error, Msg};

use crate::exec::Cx;
use crate::exec::run::Stop;

pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    match dbcc.command.to_ascii_uppercase().as_str() {
        "FREEPROCCACHE" => cx.session.instance.programs.clear(),
        // Trace flags change how SQL Server works inside; scripts set them before they measure. There is
        // nothing here that any of them would change, and DBCC TRACESTATUS does not claim otherwise.
        other => return Err(Msg::NotSupported(&format!("DBCC {other}")).into()),
    }
    let quiet = dbcc.options.iter().any(|(name, _)| name.as_ref() == "NO_INFOMSGS");
    if !quiet {
        cx.sink.message(&Error::from(Msg::DbccCompleted))?;
    }
    Ok(())
}
