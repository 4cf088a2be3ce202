//! The extent of an error: whether it ends the statement, the batch or the connection.

use types::Error;

/// What an error ends if no TRY block catches it, in increasing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// The statement that raised it.
    Statement,
    /// The batch or procedure that contains it: a name or type did not resolve.
    Scope,
    /// The whole batch; the transaction is rolled back, or doomed where a TRY block catches it.
    Batch,
    /// The connection of the session.
    Connection,
}

impl ErrorClass {
    /// Returns whether a binding error depends only on the text and on existing objects, so that
    /// the batch does not run at all.
    ///
    /// This excludes a missing table (208, 5313), which the batch may create first; permissions, which
    /// are checked when control reaches the statement; errors that depend on options; and
    /// unsupported features (40517).
    pub fn is_of_compilation(error: &Error) -> bool {
        match error.number {
            208 | 470 | 5313 | 40517 => false,
            239 | 240 | 246 | 258 | 263..=265 | 270..=273 | 305 | 313 | 339 | 408 | 421 => true,
            1033 | 1038 | 1056 | 1060 | 1062 | 1087 | 2716 | 2717 | 4127 | 4151 | 4194 => true,
            8102 | 8126 | 8133 | 8144 | 8154..=8161 | 8167 | 10709 => true,
            _ => Self::of(error) == Self::Scope,
        }
    }

    /// Classifies an error by its number.
    ///
    /// Conversion errors end the batch; arithmetic and constraint errors end the statement. No
    /// single page documents this: the list collects SQL Server's behaviour as its users have
    /// recorded it.
    pub fn of(error: &Error) -> Self {
        if error.severity >= 20 {
            return Self::Connection;
        }
        match error.number {
            // Names, types and permissions: found when a statement is bound.
            102..=214
            | 257
            | 260
            | 306
            | 319
            | 402
            | 403
            | 446..=470
            | 529
            | 1011..=1013
            | 1015
            | 1046
            | 1065
            | 2715
            | 4104
            | 4108..=4121
            | 4145
            | 5313
            | 8116..=8121
            | 8127
            | 10738
            | 10742..=10744
            | 10753
            | 40517 => Self::Scope,
            // Values that do not convert.
            241 | 242 | 244 | 245 | 248 | 295 | 8114 | 8169 => Self::Batch,
            // Conflicts and deadlocks: the transaction is lost.
            // A trigger that ended the transaction, or failed.
            3609 | 3616 | 3980 => Self::Batch,
            1205 | 3930 | 3960 | 3998 | 41301 | 41302 | 41305 | 41325 | 41839 => Self::Batch,
            // A procedure of INSERT .. EXEC that ends its caller's transaction.
            3915 | 3916 => Self::Batch,
            // Resource limits and nesting depth.
            217 | 701 | 8645 => Self::Batch,
            // A memory-optimized table that a transaction reads without SNAPSHOT.
            41368 | 41333 => Self::Batch,
            _ => Self::Statement,
        }
    }
}
