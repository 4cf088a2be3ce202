//! CREATE SCHEMA, TYPE, SEQUENCE, SYNONYM and STATISTICS, ALTER SCHEMA, and DROP.

use super::{
    Condition, Expr, Ident, IndexOption, ObjectName, Statement, TableElement, TableOption, TypeName,
};

/// `CREATE SCHEMA name [AUTHORIZATION owner] elements`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// Its name; none for `CREATE SCHEMA AUTHORIZATION owner`.
    pub name: Option<Ident>,
    /// Name behind AUTHORIZATION; `None` is the current user.
    pub owner: Option<Ident>,
    /// CREATE TABLE, CREATE VIEW, GRANT, REVOKE, DENY inside.
    pub elements: Vec<Statement>,
}

/// `ALTER SCHEMA name TRANSFER [class ::] object`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSchema {
    /// The schema that receives the object.
    pub schema: Ident,
    /// OBJECT, TYPE, XML SCHEMA COLLECTION, in upper case.
    pub class: Option<Box<str>>,
    /// The object that is transferred.
    pub object: ObjectName,
}

/// `CREATE TYPE name ..`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    /// Name of the new type.
    pub name: ObjectName,
    /// Alias, table type or CLR type.
    pub kind: TypeKind,
}

/// What a user's type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `FROM base [NULL | NOT NULL]`
    Alias {
        /// The system type that the alias renames.
        base: TypeName,
        /// `NULL` is `Some(true)`, `NOT NULL` is `Some(false)`.
        nullable: Option<bool>,
    },
    /// `AS TABLE (..) [WITH (..)]`
    Table {
        /// Columns, constraints and indexes, in order.
        elements: Vec<TableElement>,
        /// The options of `WITH (..)`.
        options: Vec<TableOption>,
    },
    /// `EXTERNAL NAME assembly.class`: a CLR type.
    External(ObjectName),
}

/// `CREATE SEQUENCE name options`, `ALTER SEQUENCE name options`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// CREATE or ALTER; a sequence has no CREATE OR ALTER.
    pub mode: super::CreateMode,
    /// Name of the sequence object.
    pub name: ObjectName,
    /// Its options, in order.
    pub options: Vec<SequenceOption>,
}

/// An option of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceOption {
    /// `AS type`: an exact numeric type of scale 0.
    Type(TypeName),
    /// `START WITH n`: the first value.
    Start(Expr),
    /// `RESTART [WITH n]`; `None` restarts at the START value.
    Restart(Option<Expr>),
    /// `INCREMENT BY n`, negative for a descending sequence.
    Increment(Expr),
    /// `MINVALUE n`; `NO MINVALUE` is `None`.
    Min(Option<Expr>),
    /// `MAXVALUE n`; `NO MAXVALUE` is `None`.
    Max(Option<Expr>),
    /// `CYCLE` is true, `NO CYCLE` is false.
    Cycle(bool),
    /// `CACHE [n]`; `None` leaves the size to the engine.
    Cache(Option<Expr>),
    /// `NO CACHE`: every value is taken singly.
    NoCache,
}

/// `CREATE SYNONYM name FOR target`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSynonym {
    /// Name of the new synonym.
    pub name: ObjectName,
    /// The object that the synonym names.
    pub target: ObjectName,
}

/// `CREATE STATISTICS name ON table (columns) [WHERE ..] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatistics {
    /// Name of the statistics object.
    pub name: Ident,
    /// The table or indexed view.
    pub table: ObjectName,
    /// The columns; the histogram is of the first.
    pub columns: Vec<Ident>,
    /// `WHERE ..` of filtered statistics; `None` covers every row.
    pub filter: Option<Condition>,
    /// The options of `WITH ..`, as FULLSCAN.
    pub options: Vec<IndexOption>,
}

/// `UPDATE STATISTICS table [(names)] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatistics {
    /// The table or indexed view.
    pub table: ObjectName,
    /// The statistics or indexes to update; all if empty.
    pub names: Vec<Ident>,
    /// The options of `WITH ..`, as FULLSCAN.
    pub options: Vec<IndexOption>,
}

/// `DROP kind [IF EXISTS] names`
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// The class of the dropped objects.
    pub kind: DropKind,
    /// Whether `IF EXISTS` was written.
    pub if_exists: bool,
    /// The names; at least one.
    pub names: Vec<ObjectName>,
    /// `ON DATABASE`, `ON ALL SERVER` of DROP TRIGGER.
    pub trigger_target: Option<super::TriggerTarget>,
}

/// A class of objects that DROP accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum DropKind {
    Database,
    Default,
    ExternalDataSource,
    ExternalFileFormat,
    ExternalTable,
    Function,
    Login,
    PartitionFunction,
    PartitionScheme,
    Procedure,
    Role,
    Rule,
    Schema,
    Sequence,
    ServerRole,
    Statistics,
    Synonym,
    Table,
    Trigger,
    Type,
    User,
    View,
}

/// `DROP INDEX [IF EXISTS] i ON t [WITH (..)], ..`, `DROP INDEX t.i`
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndex {
    /// Whether `IF EXISTS` was written.
    pub if_exists: bool,
    /// The indexes, each with its table and its options.
    pub indexes: Vec<(Ident, ObjectName, Vec<IndexOption>)>,
}
