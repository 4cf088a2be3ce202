//! SET of options of the session.

use super::{Expr, Ident, ObjectName};

/// A SET statement that assigns no variable.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOption {
    /// `SET a, b ON`: options that are on or off.
    Switch {
        /// The options; at least one.
        options: Vec<SwitchOption>,
        /// ON or OFF.
        on: bool,
    },
    /// `SET STATISTICS IO, TIME ON`
    Statistics {
        /// What is counted; at least one.
        options: Vec<StatisticsOption>,
        /// ON or OFF.
        on: bool,
    },
    /// `SET OFFSETS SELECT, FROM ON`: accepted for old DB-Library clients.
    Offsets {
        /// The keywords, in upper case.
        keywords: Vec<Box<str>>,
        /// ON or OFF.
        on: bool,
    },
    /// `SET option value`
    Value(ValueOption, Expr),
    /// `SET DEADLOCK_PRIORITY LOW`
    DeadlockPriority(DeadlockPriority),
    /// `SET TRANSACTION ISOLATION LEVEL ..`
    Isolation(IsolationLevel),
    /// `SET IDENTITY_INSERT t ON`
    IdentityInsert {
        /// The table.
        table: ObjectName,
        /// ON or OFF.
        on: bool,
    },
    /// `SET FIPS_FLAGGER OFF | 'FULL'`
    FipsFlagger(Option<Box<str>>),
    /// `SET ERRLVL n`
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

/// What SET STATISTICS counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum StatisticsOption {
    Io,
    Time,
    Profile,
    Xml,
}

/// An option with a value: a literal, a word (as [`super::ExprKind::Column`] of one part), a variable.
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

/// Who loses a deadlock.
#[derive(Clone, Debug, PartialEq)]
pub enum DeadlockPriority {
    /// LOW: -5
    Low,
    /// NORMAL: 0
    Normal,
    /// HIGH: 5
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
    /// The command.
    pub command: Ident,
    /// Its arguments; words come as [`super::ExprKind::Column`].
    pub arguments: Vec<Expr>,
    /// WITH, each in upper case, `NAME = value` with its value.
    pub options: Vec<(Box<str>, Option<Expr>)>,
}

/// `KILL n [WITH STATUSONLY]`
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    /// A session's number, or a unit of work's identifier.
    pub target: Expr,
    /// WITH STATUSONLY.
    pub status_only: bool,
}
