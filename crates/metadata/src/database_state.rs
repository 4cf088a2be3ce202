//! The state of a database, as `sys.databases`, `sysdatabases` and DATABASEPROPERTYEX show it.

use ::session::SessionState;
use catalog::Database;

/// Whether a database can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// It can be read and written.
    Online,
    /// A RESTORE WITH NORECOVERY has left it, for the next backup file.
    Restoring,
    /// The log has failed: it can be read, and its durable tables cannot be written.
    Suspect,
}

impl DatabaseState {
    /// Returns the state of a database. All databases but tempdb share the log.
    pub fn of(session: &SessionState, database: &Database) -> Self {
        if database.options.restoring.is_some() {
            return Self::Restoring;
        }
        let durable = session.instance.durable();
        let durable = durable.filter(|_| database.id != catalog::table::TEMPDB);
        match durable.is_some_and(|durable| durable.has_failed()) {
            true => Self::Suspect,
            false => Self::Online,
        }
    }

    /// Returns the number in `sys.databases`.
    pub const fn code(self) -> u8 {
        match self {
            Self::Online => 0,
            Self::Restoring => 1,
            Self::Suspect => 4,
        }
    }

    /// Returns the name in `sys.databases`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Restoring => "RESTORING",
            Self::Suspect => "SUSPECT",
        }
    }

    /// Returns the bit of `sysdatabases.status`.
    pub const fn status_bit(self) -> i32 {
        match self {
            Self::Online => 0,
            Self::Restoring => 32,
            Self::Suspect => 256,
        }
    }
}
