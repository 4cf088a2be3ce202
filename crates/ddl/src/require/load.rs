//! Permissions that a bulk load requires besides INSERT: ALTER on the table where the load disables
//! something, as for BULK INSERT and bcp of SQL Server.

use types::{Msg, Result};

use ::catalog::row_trigger::{Event, triggers_of};
use ::catalog::security::{Rights, Securable};
use ::catalog::{Catalog, TableDef};

/// Options of a load that decide whether it needs ALTER.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// CHECK_CONSTRAINTS: the load checks constraints.
    pub checks: bool,
    /// FIRE_TRIGGERS: the load fires INSERT triggers.
    pub fires: bool,
    /// KEEPIDENTITY: identity values come with the rows.
    pub keeps_identity: bool,
}

impl Load {
    /// Returns true if the load disables something that the table has.
    fn alters(self, catalog: &Catalog, table: &TableDef) -> bool {
        let has_constraints =
            table.checks.iter().any(|c| c.enabled) || table.foreign_keys.iter().any(|k| k.enabled);
        let has_identity = table.columns.iter().any(|column| column.identity.is_some());
        (!self.checks && has_constraints)
            || (self.keeps_identity && has_identity)
            || (!self.fires && triggers_of(catalog, table, Event::Insert).is_some())
    }
}

/// Checks that the login may load rows into a table.
///
/// # Errors
/// 229 without INSERT, 1088 without ALTER where the load requires it.
pub fn check_load(rights: &Rights, catalog: &Catalog, table: &TableDef, load: Load) -> Result<()> {
    let is_temporary = table.name.starts_with('#');
    let Some(database) = catalog.database_by_id(table.database_id) else { return Ok(()) };
    if is_temporary || rights.is_all() {
        return Ok(());
    }
    let securable = Securable::table(table);
    rights.check(database, &securable, "INSERT")?;
    if load.alters(catalog, table) && !rights.has(database, &securable, "ALTER") {
        return Err(Msg::ObjectNotFound(&table.qualified_name()).into());
    }
    Ok(())
}
