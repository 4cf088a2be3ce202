//! Procedures, functions and triggers.

use super::{
    ColumnDefinition, ExecuteAsWho, Expr, ObjectName, QueryExpression, Span, Statement,
    TableElement, TypeName, Variable, With,
};

/// Whether a definition must be new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// CREATE
    Create,
    /// ALTER
    Alter,
    /// CREATE OR ALTER
    CreateOrAlter,
}

/// `CREATE PROCEDURE name[;number] parameters WITH .. AS body`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateProcedure {
    /// CREATE, ALTER or both.
    pub mode: CreateMode,
    /// Its name.
    pub name: ObjectName,
    /// `;number`
    pub number: Option<u32>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// WITH.
    pub options: Vec<RoutineOption>,
    /// FOR REPLICATION.
    pub for_replication: bool,
    /// Its body: everything to the end of the batch.
    pub body: RoutineBody,
    /// From CREATE or ALTER to the end: the text of the definition.
    pub definition: Span,
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub variable: Variable,
    /// Its type.
    pub data_type: ParameterType,
    /// NULL or NOT NULL, as native procedures say it.
    pub nullable: Option<bool>,
    /// Its default: a literal, perhaps negative, or a word as a string.
    pub default: Option<Expr>,
    /// OUTPUT or OUT.
    pub output: bool,
    /// READONLY.
    pub readonly: bool,
    /// Where.
    pub span: Span,
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterType {
    /// A type by name; also a table type.
    Type(TypeName),
    /// `CURSOR [VARYING]`
    Cursor,
}

/// An option of a routine.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineOption {
    /// NATIVE_COMPILATION
    NativeCompilation,
    /// SCHEMABINDING
    SchemaBinding,
    /// ENCRYPTION
    Encryption,
    /// RECOMPILE
    Recompile,
    /// EXECUTE AS ..
    ExecuteAs(ExecuteAsWho),
    /// RETURNS NULL ON NULL INPUT
    ReturnsNullOnNullInput,
    /// CALLED ON NULL INPUT
    CalledOnNullInput,
    /// INLINE = ON | OFF
    Inline(bool),
}

/// What a routine runs.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineBody {
    /// T-SQL. A single [`super::StatementKind::AtomicBlock`] for a native procedure.
    Statements(Vec<Statement>),
    /// `EXTERNAL NAME assembly.class.method`
    External(ObjectName),
}

/// `CREATE FUNCTION name (parameters) RETURNS .. AS ..`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// CREATE, ALTER or both.
    pub mode: CreateMode,
    /// Its name.
    pub name: ObjectName,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// WITH.
    pub options: Vec<RoutineOption>,
    /// What it returns, with its body.
    pub body: FunctionBody,
    /// From CREATE or ALTER to the end: the text of the definition.
    pub definition: Span,
}

/// What a function returns and how.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionBody {
    /// `RETURNS type AS BEGIN .. END`
    Scalar {
        /// The type returned.
        returns: TypeName,
        /// The body: a block or an atomic block.
        body: Statement,
    },
    /// `RETURNS TABLE AS RETURN (query)`
    Inline {
        /// CTEs of the query.
        with: Option<With>,
        /// The query.
        query: QueryExpression,
    },
    /// `RETURNS @t TABLE (..) AS BEGIN .. END`
    Multi {
        /// The variable that collects the rows.
        variable: Variable,
        /// Its definition.
        elements: Vec<TableElement>,
        /// The body: a block.
        body: Statement,
    },
    /// `RETURNS type AS EXTERNAL NAME ..`
    External {
        /// The scalar type, if scalar.
        returns: Option<TypeName>,
        /// The table's columns, if not.
        columns: Vec<ColumnDefinition>,
        /// The method.
        method: ObjectName,
    },
}

/// `CREATE TRIGGER name ON target {AFTER | INSTEAD OF} events AS body`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// CREATE, ALTER or both.
    pub mode: CreateMode,
    /// Its name.
    pub name: ObjectName,
    /// What it watches.
    pub target: TriggerTarget,
    /// WITH.
    pub options: Vec<RoutineOption>,
    /// When it fires.
    pub timing: TriggerTiming,
    /// INSERT, UPDATE, DELETE, or names of DDL events, in upper case.
    pub events: Vec<Box<str>>,
    /// WITH APPEND.
    pub append: bool,
    /// NOT FOR REPLICATION.
    pub not_for_replication: bool,
    /// Its body: everything to the end of the batch.
    pub body: RoutineBody,
    /// From CREATE or ALTER to the end: the text of the definition.
    pub definition: Span,
}

/// What a trigger watches.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerTarget {
    /// A table or view.
    Table(ObjectName),
    /// DATABASE
    Database,
    /// ALL SERVER
    AllServer,
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    /// AFTER, also FOR
    After,
    /// INSTEAD OF
    InsteadOf,
}

/// `ENABLE TRIGGER names ON target`
#[derive(Clone, Debug, PartialEq)]
pub struct EnableTrigger {
    /// ENABLE and not DISABLE.
    pub enable: bool,
    /// The triggers; ALL if empty.
    pub names: Vec<ObjectName>,
    /// Of what.
    pub target: TriggerTarget,
}
