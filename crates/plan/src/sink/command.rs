//! `Command`: the number by which a DONE token names the statement that has ended.
//!
//! MS-TDS leaves the numbers to the server. Those here are SQL Server's as far as Microsoft's
//! clients name them: `StreamDone` of mssql-jdbc (which counts only statements that it knows),
//! `token.go` of go-mssqldb, and the command types of the test server of
//! `Microsoft.Data.SqlClient`. A statement without such a name has number 0, which every client
//! takes for "no count".

use tsql::ast::{
    Drop, DropKind, PermissionAction, PrincipalAction, PrincipalKind, PrincipalStatement,
    QueryBody, SelectStatement, SetOption, StatementKind, TransactionAction,
};

/// The kind of statement that ended: `CurCmd` of a DONE token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command(u16);

#[expect(missing_docs, reason = "the names are the statements'")]
impl Command {
    /// A statement without a number known to clients.
    pub const NONE: Self = Self(0);
    pub const OPEN_CURSOR: Self = Self(0x20);
    pub const DENY: Self = Self(0x99);
    pub const DROP_SCHEMA: Self = Self(0xB0);
    pub const CREATE_FUNCTION: Self = Self(0xB2);
    pub const DROP_FUNCTION: Self = Self(0xB3);
    pub const SET_ON: Self = Self(0xB9);
    pub const SET_OFF: Self = Self(0xBA);
    /// SELECT, and every statement that assigns variables.
    pub const SELECT: Self = Self(0xC1);
    pub const SELECT_INTO: Self = Self(0xC2);
    pub const INSERT: Self = Self(0xC3);
    pub const DELETE: Self = Self(0xC4);
    pub const UPDATE: Self = Self(0xC5);
    pub const CREATE_TABLE: Self = Self(0xC6);
    pub const DROP_TABLE: Self = Self(0xC7);
    pub const CREATE_INDEX: Self = Self(0xC8);
    pub const DROP_INDEX: Self = Self(0xC9);
    pub const CREATE_DATABASE: Self = Self(0xCB);
    pub const DROP_DATABASE: Self = Self(0xCC);
    pub const GRANT: Self = Self(0xCD);
    pub const REVOKE: Self = Self(0xCE);
    pub const CREATE_VIEW: Self = Self(0xCF);
    pub const DROP_VIEW: Self = Self(0xD0);
    pub const ROLLBACK: Self = Self(0xD2);
    pub const BEGIN_TRANSACTION: Self = Self(0xD4);
    pub const COMMIT: Self = Self(0xD5);
    pub const ALTER_DATABASE: Self = Self(0xD7);
    pub const ALTER_TABLE: Self = Self(0xD8);
    pub const CREATE_TRIGGER: Self = Self(0xDD);
    pub const CREATE_PROCEDURE: Self = Self(0xDE);
    pub const DROP_PROCEDURE: Self = Self(0xDF);
    pub const EXECUTE: Self = Self(0xE0);
    pub const DROP_TRIGGER: Self = Self(0xE1);
    pub const DBCC: Self = Self(0xE6);
    pub const DROP_RULE: Self = Self(0xED);
    pub const DROP_DEFAULT: Self = Self(0xEE);
    pub const BULK_INSERT: Self = Self(0xF0);
    pub const SET: Self = Self(0xF9);
    pub const DROP_STATISTICS: Self = Self(0x100);
    pub const DROP_TYPE: Self = Self(0x110);
    pub const CREATE_TYPE: Self = Self(0x111);
    pub const MERGE: Self = Self(0x117);
    pub const CREATE_USER: Self = Self(0x13B);
    pub const ALTER_USER: Self = Self(0x13C);
    pub const DROP_USER: Self = Self(0x13D);
    pub const CREATE_ROLE: Self = Self(0x13F);
    pub const ALTER_ROLE: Self = Self(0x140);
    pub const DROP_ROLE: Self = Self(0x141);
    pub const CREATE_APPLICATION_ROLE: Self = Self(0x142);
    pub const ALTER_APPLICATION_ROLE: Self = Self(0x143);
    pub const CREATE_LOGIN: Self = Self(0x145);
    pub const ALTER_LOGIN: Self = Self(0x146);
    pub const DROP_LOGIN: Self = Self(0x147);
    pub const CREATE_SYNONYM: Self = Self(0x148);
    pub const DROP_SYNONYM: Self = Self(0x149);
    pub const CREATE_SCHEMA: Self = Self(0x14A);
    pub const ALTER_SCHEMA: Self = Self(0x14B);
    pub const ALTER_INDEX: Self = Self(0x151);
    pub const ALTER_AUTHORIZATION: Self = Self(0x18C);

    /// Returns the number that is sent.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Returns the command of a statement. ALTER of a module has the number of its CREATE, since
    /// none is published for it.
    pub fn of(kind: &StatementKind) -> Self {
        match kind {
            StatementKind::Select(select) => of_select(select),
            StatementKind::Insert(_) => Self::INSERT,
            StatementKind::Update(_) => Self::UPDATE,
            StatementKind::Delete(_) => Self::DELETE,
            StatementKind::Merge(_) => Self::MERGE,
            StatementKind::BulkInsert(_) => Self::BULK_INSERT,
            StatementKind::ReadText(_)
            | StatementKind::SetVariable(_)
            | StatementKind::Declare(_)
            | StatementKind::Fetch(_) => Self::SELECT,
            StatementKind::SetOption(option) => of_option(option),
            StatementKind::Execute(_) | StatementKind::ExecuteString(_) => Self::EXECUTE,
            StatementKind::Transaction(transaction) => match transaction.action {
                TransactionAction::Begin { .. } => Self::BEGIN_TRANSACTION,
                TransactionAction::Commit { .. } => Self::COMMIT,
                TransactionAction::Rollback => Self::ROLLBACK,
                TransactionAction::Save => Self::NONE,
            },
            StatementKind::OpenCursor(_) => Self::OPEN_CURSOR,
            StatementKind::Dbcc(_) => Self::DBCC,
            other => of_definition(other),
        }
    }
}

fn of_select(select: &SelectStatement) -> Command {
    match &select.query.body {
        QueryBody::Select(spec) if spec.into.is_some() => Command::SELECT_INTO,
        _ => Command::SELECT,
    }
}

fn of_option(option: &SetOption) -> Command {
    match option {
        SetOption::Switch { on, .. }
        | SetOption::Statistics { on, .. }
        | SetOption::Offsets { on, .. }
        | SetOption::IdentityInsert { on, .. } => match on {
            true => Command::SET_ON,
            false => Command::SET_OFF,
        },
        SetOption::Value(..)
        | SetOption::DeadlockPriority(_)
        | SetOption::Isolation(_)
        | SetOption::FipsFlagger(_)
        | SetOption::ErrorLevel(_) => Command::SET,
    }
}

fn of_definition(kind: &StatementKind) -> Command {
    match kind {
        StatementKind::CreateDatabase(_) => Command::CREATE_DATABASE,
        StatementKind::AlterDatabase(_) => Command::ALTER_DATABASE,
        StatementKind::CreateSchema(_) => Command::CREATE_SCHEMA,
        StatementKind::AlterSchema(_) => Command::ALTER_SCHEMA,
        StatementKind::CreateTable(_) | StatementKind::CreateExternalTable(_) => {
            Command::CREATE_TABLE
        }
        StatementKind::AlterTable(_) => Command::ALTER_TABLE,
        StatementKind::CreateIndex(_) => Command::CREATE_INDEX,
        StatementKind::AlterIndex(_) => Command::ALTER_INDEX,
        StatementKind::CreateView(_) => Command::CREATE_VIEW,
        StatementKind::CreateProcedure(_) => Command::CREATE_PROCEDURE,
        StatementKind::CreateFunction(_) => Command::CREATE_FUNCTION,
        StatementKind::CreateTrigger(_) => Command::CREATE_TRIGGER,
        StatementKind::CreateType(_) => Command::CREATE_TYPE,
        StatementKind::CreateSynonym(_) => Command::CREATE_SYNONYM,
        StatementKind::Drop(drop) => of_drop(drop),
        StatementKind::DropIndex(_) => Command::DROP_INDEX,
        StatementKind::Principal(principal) => of_principal(principal),
        StatementKind::Permission(permission) => match permission.action {
            PermissionAction::Grant => Command::GRANT,
            PermissionAction::Deny => Command::DENY,
            PermissionAction::Revoke => Command::REVOKE,
        },
        StatementKind::AlterAuthorization(_) => Command::ALTER_AUTHORIZATION,
        _ => Command::NONE,
    }
}

fn of_drop(drop: &Drop) -> Command {
    match drop.kind {
        DropKind::Database => Command::DROP_DATABASE,
        DropKind::Default => Command::DROP_DEFAULT,
        DropKind::Function => Command::DROP_FUNCTION,
        DropKind::Login => Command::DROP_LOGIN,
        DropKind::Procedure => Command::DROP_PROCEDURE,
        DropKind::Role => Command::DROP_ROLE,
        DropKind::Rule => Command::DROP_RULE,
        DropKind::Schema => Command::DROP_SCHEMA,
        DropKind::Statistics => Command::DROP_STATISTICS,
        DropKind::Synonym => Command::DROP_SYNONYM,
        DropKind::Table | DropKind::ExternalTable => Command::DROP_TABLE,
        DropKind::Trigger => Command::DROP_TRIGGER,
        DropKind::Type => Command::DROP_TYPE,
        DropKind::User => Command::DROP_USER,
        DropKind::View => Command::DROP_VIEW,
        DropKind::ExternalDataSource
        | DropKind::ExternalFileFormat
        | DropKind::PartitionFunction
        | DropKind::PartitionScheme
        | DropKind::Sequence
        | DropKind::ServerRole => Command::NONE,
    }
}

fn of_principal(statement: &PrincipalStatement) -> Command {
    let creates = matches!(
        statement.action,
        PrincipalAction::CreateRole { .. }
            | PrincipalAction::CreateUser { .. }
            | PrincipalAction::CreateLogin { .. }
    );
    match (statement.kind, creates) {
        (PrincipalKind::Role, true) => Command::CREATE_ROLE,
        (PrincipalKind::Role, false) => Command::ALTER_ROLE,
        (PrincipalKind::ApplicationRole, true) => Command::CREATE_APPLICATION_ROLE,
        (PrincipalKind::ApplicationRole, false) => Command::ALTER_APPLICATION_ROLE,
        (PrincipalKind::User, true) => Command::CREATE_USER,
        (PrincipalKind::User, false) => Command::ALTER_USER,
        (PrincipalKind::Login, true) => Command::CREATE_LOGIN,
        (PrincipalKind::Login, false) => Command::ALTER_LOGIN,
        (PrincipalKind::ServerRole, _) => Command::NONE,
    }
}
