//! How much an error ends.

use types::Error;

/// How much an error ends where no TRY block catches it, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// Its statement.
    Statement,
    /// The batch or procedure it is in: names and types that did not resolve.
    Scope,
    /// The whole batch; the transaction is rolled back, or doomed where a TRY block catches it.
    Batch,
    /// The connection.
    Connection,
}

impl ErrorClass {
    /// Returns whether an error of binding is that of the text and of the objects that exist: it keeps the batch from
    /// running.
    ///
    /// Not so a table that is missing (208), which the batch may make first, a permission, which is asked for where
    /// control gets to, what depends on options, and what is not there yet (40517).
    pub fn is_of_compilation(error: &Error) -> bool {
        match error.number {
            208 | 40517 => false,
            239 | 240 | 246 | 258 | 263..=265 | 270..=273 | 305 | 313 | 339 | 408 | 421 => true,
            1033 | 1038 | 1056 | 1060 | 1062 | 1087 | 2716 | 2717 | 4127 | 4151 | 4194 => true,
            8102 | 8126 | 8133 | 8144 | 8154..=8161 | 8167 | 10709 => true,
            _ => Self::of(error) == Self::Scope,
        }
    }

    /// Classifies an error by its number.
    ///
    /// Conversion errors end the batch, arithmetic and constraint errors the statement: documented
    /// nowhere in one place, the sum of SQL Server's behaviour as its users have recorded it.
    pub fn of(error: &Error) -> Self {
        if error.severity >= 20 {
            return Self::Connection;
        }
        match error.number {
            // Names, types and permissions, found when a statement is bound.
            102..=214
            | 257
            | 260
            | 306
            | 319
            | 402
            | 403
            | 446..=468
            | 529
            | 1011..=1013
            | 2715
            | 4104
            | 4108..=4121
            | 4145
            | 8116..=8121
            | 8127
            | 40517 => Self::Scope,
            // Values that do not convert.
            241 | 242 | 244 | 245 | 248 | 295 | 8114 | 8169 => Self::Batch,
            // Conflicts and deadlocks: the transaction is lost.
            // A trigger that ended the transaction, or failed.
            3609 | 3616 => Self::Batch,
            1205 | 3930 | 3960 | 3998 | 41301 | 41302 | 41305 | 41325 | 41839 => Self::Batch,
            // Resources and nesting.
            217 | 701 | 8645 => Self::Batch,
            // A memory-optimized table read without SNAPSHOT in a transaction.
            41368 | 41333 => Self::Batch,
            _ => Self::Statement,
        }
    }
}
