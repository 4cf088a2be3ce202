//! Delayed durability: whether a commit's reply waits until the log has written it.
//!
//! | DELAYED_DURABILITY of the database | a transaction's reply                                    |
//! |------------------------------------|----------------------------------------------------------|
//! | DISABLED                           | waits                                                    |
//! | ALLOWED                            | waits, unless COMMIT or the atomic block says otherwise  |
//! | FORCED                             | does not wait                                            |
//!
//! A transaction that changes rows of more than one database waits in any case, as in SQL Server.
//! The option is looked up when the catalog or the current database changes, not per statement.

use catalog::{Catalog, Database, TableDef};

use crate::SessionState;
use crate::context::Identity;

/// DELAYED_DURABILITY of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// Every commit waits for the log.
    #[default]
    Disabled,
    /// A transaction may ask not to wait.
    Allowed,
    /// No commit waits for the log.
    Forced,
}

impl Delay {
    /// Returns the option of a database.
    pub fn of(database: &Database) -> Self {
        match database.options.others.get("DELAYED_DURABILITY").map(String::as_str) {
            Some("ALLOWED") => Self::Allowed,
            Some("FORCED") => Self::Forced,
            _ => Self::Disabled,
        }
    }
}

/// What is known of the current database without a look into the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The id of the database.
    pub database_id: i16,
    /// DELAYED_DURABILITY of the database.
    pub delay: Delay,
}

impl Place {
    fn of(catalog: &Catalog, database: &str) -> Self {
        let database = catalog.database(database);
        database.map_or_else(Self::default, |d| Self { database_id: d.id, delay: Delay::of(d) })
    }
}

impl Identity {
    /// Looks up what is known of the current database.
    pub(crate) fn find_place(&mut self, catalog: &Catalog) {
        self.place = Place::of(catalog, &self.database);
    }
}

impl SessionState {
    /// Returns whether the reply to a commit does not wait for the log.
    #[inline]
    pub fn is_lazy(&self) -> bool {
        let may_delay = match self.identity.place.delay {
            Delay::Disabled => return false,
            Delay::Allowed => self.transaction.is_delayed,
            Delay::Forced => true,
        };
        may_delay && !self.transaction.spans_databases
    }

    /// Notes that a statement changes rows of a table, before it begins its transaction if the
    /// statement has one for itself.
    #[inline]
    pub fn note_target(&mut self, table: &TableDef, has_own: bool) {
        let place = self.identity.place;
        if has_own {
            self.transaction.spans_databases = false;
        }
        // A temporary table is not in the log.
        if place.delay != Delay::Disabled && table.database_id != place.database_id && table.id > 0
        {
            self.transaction.spans_databases = true;
        }
    }
}
