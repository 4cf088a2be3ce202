//! Column permissions of a table or view, where they differ between its columns.

use std::sync::Arc;

use types::{Error, Msg, Result};

use super::{Rights, Securable, is_of_column};
use crate::Database;

/// Permissions on the columns of a table or view. Exists only where a GRANT or DENY names a column, or
/// where SELECT on the object was not checked and is missing.
#[derive(Debug)]
pub struct Guard {
    database: String,
    schema: String,
    name: String,
    /// For each column: whether it may be read, and whether it may be changed.
    columns: Vec<(bool, bool)>,
    /// Whether a read is reported as missing permission on the object, because no column may be
    /// read.
    whole: bool,
}

impl Guard {
    /// Checks that a column may be read.
    ///
    /// # Errors
    /// 230; 229 where no column may be read and the object itself was not checked before.
    pub fn check_read(&self, place: usize, column: &str) -> Result<()> {
        if self.whole {
            let Self { database, schema, name, .. } = self;
            let denied = Msg::PermissionDenied("SELECT", name, database, schema);
            return Err(Error::from(denied).with_state(5));
        }
        self.check(self.columns.get(place).is_none_or(|may| may.0), "SELECT", column)
    }

    /// Checks that a column may be changed.
    ///
    /// # Errors
    /// 230 if it may not.
    pub fn check_change(&self, place: usize, column: &str) -> Result<()> {
        self.check(self.columns.get(place).is_none_or(|may| may.1), "UPDATE", column)
    }

    /// Returns the guard of an object with this many columns; `None` if no permission names one of
    /// them.
    pub fn of(
        rights: &Rights,
        database: &Database,
        object: &Securable<'_>,
        columns: usize,
    ) -> Option<Arc<Self>> {
        if !database.permissions.iter().any(|p| is_of_column(p, object.id)) {
            return None;
        }
        Some(Arc::new(Self::with(rights, database, object, columns)))
    }

    /// Returns the guard of the target of a change with this many columns, on which SELECT was not
    /// checked: reading a column of it is 229 where no column may be read. `None` if all may be
    /// read and changed.
    pub fn of_target(
        rights: &Rights,
        database: &Database,
        object: &Securable<'_>,
        columns: usize,
    ) -> Option<Arc<Self>> {
        if rights.has(database, object, "SELECT") {
            return Self::of(rights, database, object, columns);
        }
        let whole = !rights.has_some_column(database, object, "SELECT");
        Some(Arc::new(Self { whole, ..Self::with(rights, database, object, columns) }))
    }

    fn with(rights: &Rights, database: &Database, object: &Securable<'_>, columns: usize) -> Self {
        let may = |place: usize| {
            let column_id = i32::try_from(place + 1).unwrap_or(i32::MAX);
            let has = |permission| rights.has_column(database, object, column_id, permission);
            (has("SELECT"), has("UPDATE"))
        };
        Self {
            database: database.name.clone(),
            schema: object.schema.to_owned(),
            name: object.name.to_owned(),
            columns: (0..columns).map(may).collect(),
            whole: false,
        }
    }

    /// Returns the guard for the columns that OUTPUT shows of an object, on which SELECT was not
    /// checked. `places` maps each column shown to one of the object, if it is one. `None` if all
    /// may be read.
    pub fn of_output(
        rights: &Rights,
        database: &Database,
        object: &Securable<'_>,
        places: impl Iterator<Item = Option<usize>>,
    ) -> Option<Arc<Self>> {
        let may = |place: usize| {
            let column_id = i32::try_from(place + 1).unwrap_or(i32::MAX);
            rights.has_column(database, object, column_id, "SELECT")
        };
        let columns: Vec<(bool, bool)> =
            places.map(|place| (place.is_some_and(may), true)).collect();
        let whole = !rights.has(database, object, "SELECT")
            && !rights.has_some_column(database, object, "SELECT");
        let all = columns.iter().all(|(reads, _)| *reads);
        (whole || !all).then(|| {
            Arc::new(Self {
                database: database.name.clone(),
                schema: object.schema.to_owned(),
                name: object.name.to_owned(),
                columns,
                whole,
            })
        })
    }

    fn check(&self, may: bool, permission: &str, column: &str) -> Result<()> {
        if may {
            return Ok(());
        }
        let Self { database, schema, name, .. } = self;
        Err(Msg::ColumnPermissionDenied(permission, column, name, database, schema).into())
    }
}
