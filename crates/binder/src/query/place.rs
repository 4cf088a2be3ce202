//! The server and the database that a name leads to: this server, and a database that the login may
//! enter.

use catalog::Database;
use catalog::name::Name;
use tsql::ast::ObjectName;
use types::{Msg, Result};

use crate::Binder;

/// Checks that the login has a user in a database that a name selects (916).
pub(super) fn require_entry(binder: &Binder<'_>, database: &Database) -> Result<()> {
    if Name::same(&database.name, binder.database) {
        return Ok(());
    }
    match binder.asked_in_module() {
        Some(rights) if !rights.enters(database) => {
            Err(Msg::NoDatabaseAccess(rights.login(), &database.name).into())
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses the object of another server.
///
/// # Errors
/// 7202: there are no linked servers, and the name is not this server's own.
#[inline(never)]
pub(super) fn check_local(binder: &Binder<'_>, name: &ObjectName) -> Result<()> {
    match &name.server {
        Some(server) if !server.is(binder.server) => Err(Msg::LinkedServerNotFound(server).into()),
        Some(_) | None => Ok(()),
    }
}
