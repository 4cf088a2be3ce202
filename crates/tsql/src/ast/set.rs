//! SET statements for session options, DBCC and KILL.

use super::{Expr, Ident, ObjectName};

/// A SET statement that assigns no variable.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOption {
    /// `SET a, b ON`: options that are on or off.
    Switch {
        /// The options; at least one.
        options: Vec<SwitchOption>,
        /// `ON` is true, `OFF` false.
        on: bool,
    },
    /// `SET STATISTICS IO, TIME ON`
    Statistics {
        /// The statistics to report; at least one.
        options: Vec<StatisticsOption>,
        /// `ON` is true, `OFF` false.
        on: bool,
    },
    /// `SET OFFSETS SELECT, FROM ON`: accepted for old DB-Library clients.
    Offsets {
        /// The keywords, in upper case.
        keywords: Vec<Box<str>>,
        /// `ON` is true, `OFF` false.
        on: bool,
    },
    /// `SET option value`, as `SET LOCK_TIMEOUT 1000`.
    Value(ValueOption, Expr),
    /// `SET DEADLOCK_PRIORITY LOW | NORMAL | HIGH | n`
    DeadlockPriority(DeadlockPriority),
    /// `SET TRANSACTION ISOLATION LEVEL ..`
    Isolation(IsolationLevel),
    /// `SET IDENTITY_INSERT t ON`
    IdentityInsert {
        /// The table that accepts explicit identity values.
        table: ObjectName,
        /// `ON` is true, `OFF` false.
        on: bool,
    },
    /// `SET FIPS_FLAGGER OFF | 'FULL'`
    FipsFlagger(Option<Box<str>>),
    /// `SET ERRLVL n`, an undocumented option.
    ErrorLevel(Expr),
}

/// An option that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum SwitchOption {
    AnsiDefaults,
    AnsiNulls,
    AnsiNullDfltOff,
    AnsiNullDfltOn,
    AnsiPadding,
    AnsiWarnings,
    ArithAbort,
    ArithIgnore,
    ConcatNullYieldsNull,
    CursorCloseOnCommit,
    DisableDefCnstChk,
    FmtOnly,
    ForcePlan,
    ImplicitTransactions,
    NoBrowseTable,
    NoCount,
    NoExec,
    NumericRoundAbort,
    ParseOnly,
    QuotedIdentifier,
    RemoteProcTransactions,
    ShowplanAll,
    ShowplanText,
    ShowplanXml,
    XactAbort,
}

/// What SET STATISTICS reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum StatisticsOption {
    Io,
    Time,
    Profile,
    Xml,
}

/// An option with a value: a literal, a word (as [`super::ExprKind::Column`] of one part), a
/// variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum ValueOption {
    ContextInfo,
    DateFirst,
    DateFormat,
    Language,
    LockTimeout,
    QueryGovernorCostLimit,
    RowCount,
    TextSize,
}

/// How likely the session is chosen as deadlock victim; lower goes first.
#[derive(Clone, Debug, PartialEq)]
pub enum DeadlockPriority {
    /// `LOW`, the same as -5.
    Low,
    /// `NORMAL`, the same as 0; the default.
    Normal,
    /// `HIGH`, the same as 5.
    High,
    /// A number from -10 to 10, or a variable
    Value(Expr),
}

/// A transaction isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

/// `DBCC command [(arguments)] [WITH options]`
#[derive(Clone, Debug, PartialEq)]
pub struct Dbcc {
    /// Name of the command, as CHECKIDENT.
    pub command: Ident,
    /// The arguments; words come as [`super::ExprKind::Column`].
    pub arguments: Vec<Expr>,
    /// Options of WITH in upper case; `NAME = value` has its value.
    pub options: Vec<(Box<str>, Option<Expr>)>,
}

/// `KILL n [WITH STATUSONLY]`
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    /// A session's number, or the GUID of a distributed transaction.
    pub target: Expr,
    /// `WITH STATUSONLY`: only reports the progress of an earlier KILL.
    pub status_only: bool,
}
