//! Makes the table of users' panels, `msdb.dbo.console_panels`, if it is not there.

use views::console_panels::CREATE_TABLE;

use crate::{Console, entry, rows};

/// Makes the table, as the server's first login. Without it the console has its own panels only, so
/// a failure does not keep it from starting.
pub(crate) fn make_table(console: &Console) {
    let catalog = console.instance.catalog.load();
    let first = catalog.logins.values().find(|login| login.principal_id == 1);
    let Some(owner) = first.filter(|login| !login.disabled) else { return };
    let made = entry::reopen(console, &owner.name, console.address).and_then(|mut session| {
        let text = format!("IF OBJECT_ID(N'msdb.dbo.console_panels') IS NULL {CREATE_TABLE}");
        rows::run(&mut session, &text)
            .map_err(|error| crate::response::Response::error(500, &error.message))
    });
    // What depends on the definition waits for the log by itself.
    let _ = storage::durability::take();
    if let Err(response) = made {
        let why = String::from_utf8_lossy(&response.body);
        sos::error_log::line(&format_args!("No table for users' panels: {}", why.trim()));
    }
}
