//! The syntax tree of T-SQL: what a batch says, before anybody knows whether its names exist.
//!
//! Every node owns its text and carries the byte [`Span`] it came from, so that a tree outlives the
//! request that brought it (a procedure's body is kept as a tree) and an error can point at its cause.
//! Lists that users make long (AND, OR, `+`, UNION, JOIN, ELSE IF) are flat vectors and not left-deep
//! trees, so that no walk of a tree, its drop included, recurses by the length of the text; real
//! nesting is bounded by [`crate::NESTING_MAX`].
//!
//! A tree is compared without its positions: two [`Span`]s are always equal, and so are two statements
//! that differ in their line only. That makes `parse(print(tree)) == tree` a property to test.

mod control;
mod cursor;
mod database;
mod ddl;
mod dml;
mod event_session;
mod expr;
mod external;
mod name;
mod query;
mod routine;
mod security;
mod set;
mod table;

pub use control::*;
pub use cursor::*;
pub use database::*;
pub use ddl::*;
pub use dml::*;
pub use event_session::*;
pub use expr::*;
pub use external::*;
pub use name::*;
pub use query::*;
pub use routine::*;
pub use security::*;
pub use set::*;
pub use table::*;

/// A parsed batch: what one SQLBatch request, one `EXECUTE(@sql)` or one GO section holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The statements in order; empty for a batch of blanks and comments.
    pub statements: Vec<Statement>,
}

/// One statement with its place in the text.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// From its first to behind its last token, without a trailing `;`.
    pub span: Span,
    /// 1-based line of its first token in the batch.
    pub line: u32,
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// Every kind of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    // Queries and data.
    /// `[WITH ..] SELECT ..`, with or without INTO or variable assignment.
    Select(Box<SelectStatement>),
    /// `INSERT ..`
    Insert(Box<Insert>),
    /// `UPDATE ..`
    Update(Box<Update>),
    /// `DELETE ..`
    Delete(Box<Delete>),
    /// `MERGE ..`
    Merge(Box<Merge>),
    /// `TRUNCATE TABLE ..`
    Truncate(Box<Truncate>),
    /// `INSERT BULK ..`, as drivers announce a BULK packet.
    InsertBulk(Box<InsertBulk>),
    /// `BULK INSERT .. FROM 'file'`
    BulkInsert(Box<BulkInsert>),
    /// `READTEXT t.c @ptr offset size [HOLDLOCK]`
    ReadText(Box<ReadText>),

    // Variables and options.
    /// `DECLARE @a int = 1, @t TABLE (..)`
    Declare(Vec<Declaration>),
    /// `SET @a = ..`, `SET @a += ..`
    SetVariable(Box<SetVariable>),
    /// `SET NOCOUNT ON` and every other SET that is not an assignment.
    SetOption(Box<SetOption>),

    // Control of flow.
    /// `BEGIN .. END`
    Block(Vec<Statement>),
    /// `BEGIN ATOMIC WITH (..) .. END`
    AtomicBlock(Box<AtomicBlock>),
    /// `IF .. ELSE IF .. ELSE ..`
    If(Box<If>),
    /// `WHILE ..`
    While(Box<While>),
    /// `BREAK`
    Break,
    /// `CONTINUE`
    Continue,
    /// `RETURN [expr]`
    Return(Option<Expr>),
    /// `name:`
    Label(Ident),
    /// `GOTO name`
    Goto(Ident),
    /// `WAITFOR DELAY ..` or `WAITFOR TIME ..`
    WaitFor(WaitFor),
    /// `BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH`
    TryCatch(Box<TryCatch>),
    /// `THROW [number, message, state]`
    Throw(Option<Box<Throw>>),
    /// `RAISERROR (..) [WITH ..]`
    RaisError(Box<RaisError>),
    /// `PRINT expr`
    Print(Box<Expr>),
    /// `EXEC proc ..`, also the bare call that opens a batch and `{call proc(..)}`.
    Execute(Box<Execute>),
    /// `EXECUTE (@sql)`
    ExecuteString(Box<ExecuteString>),
    /// `EXECUTE AS ..`
    ExecuteAs(Box<ExecuteAs>),
    /// `REVERT [WITH COOKIE = @c]`
    Revert(Option<Variable>),

    // Transactions.
    /// `BEGIN TRAN`, `COMMIT`, `ROLLBACK`, `SAVE TRAN`
    Transaction(Transaction),

    // Cursors.
    /// `DECLARE c CURSOR ..`
    DeclareCursor(Box<DeclareCursor>),
    /// `OPEN c`
    OpenCursor(CursorRef),
    /// `FETCH .. FROM c INTO ..`
    Fetch(Box<Fetch>),
    /// `CLOSE c`
    CloseCursor(CursorRef),
    /// `DEALLOCATE c`
    DeallocateCursor(CursorRef),

    // Definitions.
    /// `CREATE DATABASE ..`
    CreateDatabase(Box<CreateDatabase>),
    /// `ALTER DATABASE ..`
    AlterDatabase(Box<AlterDatabase>),
    /// `CREATE SCHEMA ..`
    CreateSchema(Box<CreateSchema>),
    /// `ALTER SCHEMA s TRANSFER ..`
    AlterSchema(Box<AlterSchema>),
    /// `CREATE TABLE ..`
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE ..`
    AlterTable(Box<AlterTable>),
    /// `CREATE INDEX ..`, columnstore included.
    CreateIndex(Box<CreateIndex>),
    /// `ALTER INDEX ..`
    AlterIndex(Box<AlterIndex>),
    /// `CREATE VIEW ..`, `ALTER VIEW ..`
    CreateView(Box<CreateView>),
    /// `CREATE PROCEDURE ..`, `ALTER PROCEDURE ..`
    CreateProcedure(Box<CreateProcedure>),
    /// `CREATE FUNCTION ..`, `ALTER FUNCTION ..`
    CreateFunction(Box<CreateFunction>),
    /// `CREATE TRIGGER ..`, `ALTER TRIGGER ..`
    CreateTrigger(Box<CreateTrigger>),
    /// `ENABLE TRIGGER ..`, `DISABLE TRIGGER ..`
    EnableTrigger(Box<EnableTrigger>),
    /// `CREATE TYPE ..`
    CreateType(Box<CreateType>),
    /// `CREATE SEQUENCE ..`, `ALTER SEQUENCE ..`
    CreateSequence(Box<CreateSequence>),
    /// `CREATE SYNONYM ..`
    CreateSynonym(Box<CreateSynonym>),
    /// `CREATE EXTERNAL DATA SOURCE ..`, `CREATE EXTERNAL FILE FORMAT ..`
    CreateExternal(Box<CreateExternal>),
    /// `CREATE EXTERNAL TABLE ..`, with or without AS SELECT.
    CreateExternalTable(Box<CreateExternalTable>),
    /// `CREATE STATISTICS ..`
    CreateStatistics(Box<CreateStatistics>),
    /// `UPDATE STATISTICS ..`
    UpdateStatistics(Box<UpdateStatistics>),
    /// `DROP TABLE ..` and every DROP of names that stand alone or in a list.
    Drop(Box<Drop>),
    /// `DROP INDEX ..`
    DropIndex(Box<DropIndex>),

    // Security.
    /// `CREATE ROLE`, `CREATE USER`, `CREATE LOGIN`, and their ALTERs.
    Principal(Box<PrincipalStatement>),
    /// `GRANT`, `DENY`, `REVOKE`
    Permission(Box<Permission>),
    /// `ALTER AUTHORIZATION ON .. TO ..`
    AlterAuthorization(Box<AlterAuthorization>),

    // Extended events.
    /// `CREATE EVENT SESSION ..`
    CreateEventSession(Box<CreateEventSession>),
    /// `ALTER EVENT SESSION ..`
    AlterEventSession(Box<AlterEventSession>),
    /// `DROP EVENT SESSION ..`
    DropEventSession(Box<DropEventSession>),

    // Administration.
    /// `USE db`
    Use(Ident),
    /// `DBCC command (..) WITH ..`
    Dbcc(Box<Dbcc>),
    /// `KILL n`
    Kill(Box<Kill>),
    /// `CHECKPOINT [seconds]`
    Checkpoint(Option<Expr>),
    /// `RECONFIGURE [WITH OVERRIDE]`
    Reconfigure {
        /// `WITH OVERRIDE` was given.
        with_override: bool,
    },
    /// A statement that is known by its keywords and not modelled: the engine refuses it by name.
    Unsupported(Box<Unsupported>),
}

/// A statement that is recognised, delimited and not modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupported {
    /// Its keywords in upper case, as `BACKUP DATABASE`.
    pub name: Box<str>,
}
