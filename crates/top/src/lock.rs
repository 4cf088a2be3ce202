//! Locks, granted and waited for.

use crate::rows::Row;
use crate::table::{Column, Keyed, Rank};

/// A lock that a session holds or waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// Number of the session.
    pub session: i64,
    /// GRANT, WAIT or CONVERT.
    pub status: String,
    /// The lock's mode, as `X`.
    pub mode: String,
    /// What is locked: OBJECT, KEY, RID, APPLICATION and others.
    pub kind: String,
    /// Name of the database.
    pub database: String,
    /// Name of the object, of locks on whole objects only.
    pub object: String,
    /// Which key, row or application resource.
    pub resource: String,
    /// Whether a transaction or the session owns it.
    pub owner: String,
}

impl Lock {
    /// Reads a row of the question about locks.
    #[must_use]
    pub fn from_row(row: &Row) -> Self {
        let text = |column| row.text(column).to_owned();
        Self {
            session: row.integer(0).unwrap_or(0),
            status: text(1),
            mode: text(2),
            kind: text(3),
            database: text(4),
            object: text(5),
            resource: text(6),
            owner: text(7),
        }
    }
}

impl Keyed for Lock {
    fn key(&self) -> String {
        format!(
            "{} {} {} {} {}",
            self.session, self.kind, self.database, self.object, self.resource
        )
    }
}

/// Makes a column of text.
macro_rules! text {
    ($name:literal, $width:literal, $core:literal, $field:ident) => {{
        let cell: fn(&Lock) -> String = |lock| lock.$field.clone();
        let rank: fn(&Lock) -> Rank = |lock| Rank::Text(lock.$field.clone());
        Column { name: $name, width: $width, is_core: $core, is_right: false, cell, rank }
    }};
}

/// Index of the column of the status, by which locks are ordered at first, waiting ones first.
pub const BY_STATUS: usize = 1;

/// The columns of locks.
pub const COLUMNS: &[Column<Lock>] = &[
    Column {
        name: "Sess",
        width: 5,
        is_core: true,
        is_right: true,
        cell: |lock| lock.session.to_string(),
        #[expect(clippy::cast_precision_loss, reason = "session numbers are small")]
        rank: |lock| Rank::Number(-(lock.session as f64)),
    },
    Column {
        name: "Status",
        width: 8,
        is_core: true,
        is_right: false,
        cell: |lock| lock.status.clone(),
        rank: |lock| Rank::Number(if lock.status == "GRANT" { 0.0 } else { 1.0 }),
    },
    text!("Mode", 10, true, mode),
    text!("Type", 12, true, kind),
    text!("Database", 12, true, database),
    text!("Object", 16, true, object),
    text!("Owner", 11, false, owner),
    text!("Resource", 0, true, resource),
];
