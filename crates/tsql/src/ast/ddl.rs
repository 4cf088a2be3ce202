//! Schemas, types, sequences, synonyms, statistics, and DROP.

use super::{
    Condition, Expr, Ident, IndexOption, ObjectName, Statement, TableElement, TableOption, TypeName,
};

/// `CREATE SCHEMA name [AUTHORIZATION owner] elements`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// Its name; none for `CREATE SCHEMA AUTHORIZATION owner`.
    pub name: Option<Ident>,
    /// Its owner.
    pub owner: Option<Ident>,
    /// CREATE TABLE, CREATE VIEW, GRANT, REVOKE, DENY inside.
    pub elements: Vec<Statement>,
}

/// `ALTER SCHEMA name TRANSFER [class ::] object`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSchema {
    /// Where it goes.
    pub schema: Ident,
    /// OBJECT, TYPE, XML SCHEMA COLLECTION, in upper case.
    pub class: Option<Box<str>>,
    /// What goes.
    pub object: ObjectName,
}

/// `CREATE TYPE name ..`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    /// Its name.
    pub name: ObjectName,
    /// What it is.
    pub kind: TypeKind,
}

/// What a user's type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `FROM base [NULL | NOT NULL]`
    Alias {
        /// The base.
        base: TypeName,
        /// NULL is `Some(true)`.
        nullable: Option<bool>,
    },
    /// `AS TABLE (..) [WITH (..)]`
    Table {
        /// Its definition.
        elements: Vec<TableElement>,
        /// WITH.
        options: Vec<TableOption>,
    },
    /// `EXTERNAL NAME assembly.class`
    External(ObjectName),
}

/// `CREATE SEQUENCE name options`, `ALTER SEQUENCE name options`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// CREATE or ALTER.
    pub mode: super::CreateMode,
    /// Its name.
    pub name: ObjectName,
    /// Its options, in order.
    pub options: Vec<SequenceOption>,
}

/// An option of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceOption {
    /// AS type
    Type(TypeName),
    /// START WITH n
    Start(Expr),
    /// RESTART \[WITH n\]
    Restart(Option<Expr>),
    /// INCREMENT BY n
    Increment(Expr),
    /// MINVALUE n; NO MINVALUE is `None`
    Min(Option<Expr>),
    /// MAXVALUE n; NO MAXVALUE is `None`
    Max(Option<Expr>),
    /// CYCLE is true, NO CYCLE is false
    Cycle(bool),
    /// CACHE \[n\]
    Cache(Option<Expr>),
    /// NO CACHE
    NoCache,
}

/// `CREATE SYNONYM name FOR target`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSynonym {
    /// Its name.
    pub name: ObjectName,
    /// What it stands for.
    pub target: ObjectName,
}

/// `CREATE STATISTICS name ON table (columns) [WHERE ..] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatistics {
    /// Their name.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// The columns.
    pub columns: Vec<Ident>,
    /// WHERE.
    pub filter: Option<Condition>,
    /// WITH.
    pub options: Vec<IndexOption>,
}

/// `UPDATE STATISTICS table [(names)] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatistics {
    /// The table.
    pub table: ObjectName,
    /// Which statistics; all if empty.
    pub names: Vec<Ident>,
    /// WITH.
    pub options: Vec<IndexOption>,
}

/// `DROP kind [IF EXISTS] names`
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What is dropped.
    pub kind: DropKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The names; at least one.
    pub names: Vec<ObjectName>,
    /// `ON DATABASE`, `ON ALL SERVER` of DROP TRIGGER.
    pub trigger_target: Option<super::TriggerTarget>,
}

/// What DROP drops.
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
    /// IF EXISTS.
    pub if_exists: bool,
    /// The indexes, each with its table and its options.
    pub indexes: Vec<(Ident, ObjectName, Vec<IndexOption>)>,
}
