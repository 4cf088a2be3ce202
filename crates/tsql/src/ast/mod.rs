//! The syntax tree of T-SQL: what a batch says, before its names are resolved.
//!
//! Every node owns its text and carries the byte [`Span`] it came from, so that a tree outlives the
//! request that brought it (a procedure's body is kept as a tree) and an error can point at its
//! cause. Lists that users make long (AND, OR, `+`, UNION, JOIN, ELSE IF) are flat vectors and not
//! left-deep trees, so that no walk of a tree, its drop included, recurses by the length of the
//! text; real nesting is bounded by [`crate::NESTING_MAX`].
//!
//! A tree is compared without its positions: two [`Span`]s are always equal, and so are two
//! statements that differ in their line only. That makes `parse(print(tree)) == tree` a property to
//! test.

mod backup;
mod control;
mod cursor;
mod database;
mod ddl;
mod dml;
mod event_session;
mod expr;
mod external;
mod name;
mod partition;
mod query;
mod routine;
mod security;
mod set;
mod table;

pub use backup::*;
pub use control::*;
pub use cursor::*;
pub use database::*;
pub use ddl::*;
pub use dml::*;
pub use event_session::*;
pub use expr::*;
pub use external::*;
pub use name::*;
pub use partition::*;
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
    /// Which statement it is, with its parts.
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
    /// `INSERT [INTO] table ..`
    Insert(Box<Insert>),
    /// `UPDATE table SET ..`
    Update(Box<Update>),
    /// `DELETE [FROM] table ..`
    Delete(Box<Delete>),
    /// `MERGE [INTO] table USING ..`
    Merge(Box<Merge>),
    /// `TRUNCATE TABLE table [WITH (PARTITIONS ..)]`
    Truncate(Box<Truncate>),
    /// `INSERT BULK ..`, as drivers announce a BULK packet.
    InsertBulk(Box<InsertBulk>),
    /// `BULK INSERT table FROM 'file' ..`
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
    /// `BEGIN .. END`: a statement block.
    Block(Vec<Statement>),
    /// `BEGIN ATOMIC WITH (..) .. END`
    AtomicBlock(Box<AtomicBlock>),
    /// `IF .. [ELSE IF ..] [ELSE ..]`, flat.
    If(Box<If>),
    /// `WHILE condition statement`, a loop.
    While(Box<While>),
    /// `BREAK` ends the innermost WHILE.
    Break,
    /// `CONTINUE` restarts the innermost WHILE.
    Continue,
    /// `RETURN [integer_expression]` of a routine.
    Return(Option<Expr>),
    /// `name:`, the target of a GOTO.
    Label(Ident),
    /// `GOTO name` jumps to a label.
    Goto(Ident),
    /// `WAITFOR DELAY ..` or `WAITFOR TIME ..`
    WaitFor(WaitFor),
    /// `BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH`
    TryCatch(Box<TryCatch>),
    /// `THROW [number, message, state]`
    Throw(Option<Box<Throw>>),
    /// `RAISERROR (message, severity, state) [WITH ..]`
    RaisError(Box<RaisError>),
    /// `PRINT expr` sends an informational message.
    Print(Box<Expr>),
    /// `EXEC proc ..`, also the bare call that opens a batch and `{call proc(..)}`.
    Execute(Box<Execute>),
    /// `EXECUTE (@sql)` runs a string.
    ExecuteString(Box<ExecuteString>),
    /// `EXECUTE AS ..` switches the execution context.
    ExecuteAs(Box<ExecuteAs>),
    /// `REVERT [WITH COOKIE = @c]`
    Revert(Option<Variable>),

    // Transactions.
    /// `BEGIN TRAN`, `COMMIT`, `ROLLBACK`, `SAVE TRAN`
    Transaction(Transaction),

    // Cursors.
    /// `DECLARE c CURSOR ..`
    DeclareCursor(Box<DeclareCursor>),
    /// `OPEN c` runs the cursor's query.
    OpenCursor(CursorRef),
    /// `FETCH .. FROM c INTO ..`
    Fetch(Box<Fetch>),
    /// `CLOSE c` closes an open cursor.
    CloseCursor(CursorRef),
    /// `DEALLOCATE c` drops a cursor reference.
    DeallocateCursor(CursorRef),

    // Definitions.
    /// `CREATE DATABASE name ..` (see [`CreateDatabase`]).
    CreateDatabase(Box<CreateDatabase>),
    /// `ALTER DATABASE name ..` (see [`AlterDatabase`]).
    AlterDatabase(Box<AlterDatabase>),
    /// `CREATE SCHEMA name ..` (see [`CreateSchema`]).
    CreateSchema(Box<CreateSchema>),
    /// `ALTER SCHEMA s TRANSFER ..`
    AlterSchema(Box<AlterSchema>),
    /// `CREATE TABLE name (..) ..`
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE name action`
    AlterTable(Box<AlterTable>),
    /// `CREATE INDEX ..`, columnstore included.
    CreateIndex(Box<CreateIndex>),
    /// `ALTER INDEX name ON table ..`
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
    /// `CREATE TYPE name FROM ..`, `.. AS TABLE (..)`
    CreateType(Box<CreateType>),
    /// `CREATE SEQUENCE ..`, `ALTER SEQUENCE ..`
    CreateSequence(Box<CreateSequence>),
    /// `CREATE SYNONYM name FOR object`
    CreateSynonym(Box<CreateSynonym>),
    /// `CREATE EXTERNAL DATA SOURCE ..`, `CREATE EXTERNAL FILE FORMAT ..`
    CreateExternal(Box<CreateExternal>),
    /// `CREATE EXTERNAL TABLE ..`, with or without AS SELECT.
    CreateExternalTable(Box<CreateExternalTable>),
    /// `CREATE`, `ALTER` of `PARTITION FUNCTION` and `PARTITION SCHEME`
    Partition(Box<PartitionStatement>),
    /// `CREATE STATISTICS name ON table (..)`
    CreateStatistics(Box<CreateStatistics>),
    /// `UPDATE STATISTICS table [(names)]`
    UpdateStatistics(Box<UpdateStatistics>),
    /// `DROP TABLE ..` and every other DROP whose operand is a name or a list of names.
    Drop(Box<Drop>),
    /// `DROP INDEX name ON table`
    DropIndex(Box<DropIndex>),

    // Security.
    /// `CREATE ROLE`, `CREATE USER`, `CREATE LOGIN`, and their ALTERs.
    Principal(Box<PrincipalStatement>),
    /// `GRANT`, `DENY` or `REVOKE` of permissions.
    Permission(Box<Permission>),
    /// `ALTER AUTHORIZATION ON .. TO ..`
    AlterAuthorization(Box<AlterAuthorization>),

    // Extended events.
    /// `CREATE EVENT SESSION name ..` (Extended Events).
    CreateEventSession(Box<CreateEventSession>),
    /// `ALTER EVENT SESSION name ..` (Extended Events).
    AlterEventSession(Box<AlterEventSession>),
    /// `DROP EVENT SESSION name ..` (Extended Events).
    DropEventSession(Box<DropEventSession>),

    // Administration.
    /// `USE db` changes the current database.
    Use(Ident),
    /// `DBCC command (..) WITH ..`
    Dbcc(Box<Dbcc>),
    /// `KILL n` ends session n.
    Kill(Box<Kill>),
    /// `CHECKPOINT [seconds]` writes dirty pages.
    Checkpoint(Option<Expr>),
    /// `SHUTDOWN [WITH NOWAIT]` stops the server.
    Shutdown {
        /// `WITH NOWAIT` was given.
        no_wait: bool,
    },
    /// `BACKUP DATABASE name TO DISK = ..` (see [`Backup`]).
    Backup(Box<Backup>),
    /// `RESTORE DATABASE name FROM DISK = ..` (see [`Restore`]).
    Restore(Box<Restore>),
    /// `RECONFIGURE [WITH OVERRIDE]`: applies `sp_configure` settings.
    Reconfigure {
        /// `WITH OVERRIDE` was given.
        with_override: bool,
    },
    /// A statement that the parser recognises by its keywords but does not model: the engine
    /// refuses it by name.
    Unsupported(Box<Unsupported>),
}

/// A statement that the parser recognises and skips over but does not model.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupported {
    /// Its keywords in upper case, as `BACKUP DATABASE`.
    pub name: Box<str>,
}
