//! CREATE and ALTER of procedures, functions and triggers; ENABLE TRIGGER.

use super::{
    ColumnDefinition, ExecuteAsWho, Expr, ObjectName, QueryExpression, Span, Statement,
    TableElement, TypeName, Variable, With,
};

/// Whether a definition creates a new object or changes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// `CREATE`: the object must not exist.
    Create,
    /// `ALTER`: the object must exist.
    Alter,
    /// `CREATE OR ALTER`: either is accepted.
    CreateOrAlter,
}

/// `CREATE PROCEDURE name[;number] parameters WITH .. AS body`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateProcedure {
    /// CREATE, ALTER or CREATE OR ALTER.
    pub mode: CreateMode,
    /// Name of the procedure.
    pub name: ObjectName,
    /// `;number` of a numbered procedure; `None` without it.
    pub number: Option<u32>,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The options of `WITH ..`.
    pub options: Vec<RoutineOption>,
    /// Whether `FOR REPLICATION` was written.
    pub for_replication: bool,
    /// Its body: everything to the end of the batch.
    pub body: RoutineBody,
    /// From CREATE or ALTER to the end: the text of the definition.
    pub definition: Span,
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The parameter's name, with its `@`.
    pub variable: Variable,
    /// The declared type, or CURSOR.
    pub data_type: ParameterType,
    /// `NULL` is `Some(true)`, `NOT NULL` is `Some(false)`; only natively compiled procedures have
    /// it.
    pub nullable: Option<bool>,
    /// Its default: a literal, perhaps negative, or a word as a string.
    pub default: Option<Expr>,
    /// Whether `OUTPUT` or `OUT` was written.
    pub output: bool,
    /// Whether `READONLY` was written, as table types need.
    pub readonly: bool,
    /// Source range of the parameter.
    pub span: Span,
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterType {
    /// A type by name; also a table type.
    Type(TypeName),
    /// `CURSOR [VARYING]`: an output cursor.
    Cursor,
}

/// An option of a routine.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineOption {
    /// `NATIVE_COMPILATION`: the module is natively compiled.
    NativeCompilation,
    /// `SCHEMABINDING`: objects it uses cannot be changed.
    SchemaBinding,
    /// `ENCRYPTION`: the definition is not shown.
    Encryption,
    /// `RECOMPILE`: no plan is cached.
    Recompile,
    /// `EXECUTE AS ..`: the principal it runs as.
    ExecuteAs(ExecuteAsWho),
    /// `RETURNS NULL ON NULL INPUT`: a NULL argument gives NULL without a call.
    ReturnsNullOnNullInput,
    /// `CALLED ON NULL INPUT`: the body runs for NULL arguments as well.
    CalledOnNullInput,
    /// INLINE = ON | OFF
    Inline(bool),
}

/// The body of a procedure or trigger.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineBody {
    /// T-SQL. A single [`super::StatementKind::AtomicBlock`] for a native procedure.
    Statements(Vec<Statement>),
    /// `EXTERNAL NAME assembly.class.method`: a CLR method.
    External(ObjectName),
}

/// `CREATE FUNCTION name (parameters) RETURNS .. AS ..`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// CREATE, ALTER or CREATE OR ALTER.
    pub mode: CreateMode,
    /// Name of the function.
    pub name: ObjectName,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The options of `WITH ..`.
    pub options: Vec<RoutineOption>,
    /// The return type, with the body.
    pub body: FunctionBody,
    /// From CREATE or ALTER to the end: the text of the definition.
    pub definition: Span,
}

/// A function's return type and body, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionBody {
    /// `RETURNS type AS BEGIN .. END`
    Scalar {
        /// The type of the result.
        returns: TypeName,
        /// The body: a block or an atomic block.
        body: Statement,
    },
    /// `RETURNS TABLE AS RETURN (query)`
    Inline {
        /// CTEs of the query; `None` without WITH.
        with: Option<With>,
        /// The query whose rows are returned.
        query: QueryExpression,
    },
    /// `RETURNS @t TABLE (..) AS BEGIN .. END`
    Multi {
        /// The variable that collects the rows.
        variable: Variable,
        /// Columns, constraints and indexes of the variable.
        elements: Vec<TableElement>,
        /// The body: a block.
        body: Statement,
    },
    /// `RETURNS type AS EXTERNAL NAME ..`
    External {
        /// The type of a scalar function; `None` for a table-valued one.
        returns: Option<TypeName>,
        /// The columns of a table-valued function; empty for a scalar one.
        columns: Vec<ColumnDefinition>,
        /// The CLR method: `assembly.class.method`.
        method: ObjectName,
    },
}

/// `CREATE TRIGGER name ON target {AFTER | INSTEAD OF} events AS body`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// CREATE, ALTER or CREATE OR ALTER.
    pub mode: CreateMode,
    /// Name of the trigger.
    pub name: ObjectName,
    /// The object whose events fire it.
    pub target: TriggerTarget,
    /// The options of `WITH ..`.
    pub options: Vec<RoutineOption>,
    /// After or instead of the event.
    pub timing: TriggerTiming,
    /// INSERT, UPDATE, DELETE, or names of DDL events, in upper case.
    pub events: Vec<Box<str>>,
    /// The same as they were written, for messages.
    pub events_written: Vec<Box<str>>,
    /// Whether `WITH APPEND` was written (deprecated).
    pub append: bool,
    /// Whether `NOT FOR REPLICATION` was written.
    pub not_for_replication: bool,
    /// Its body: everything to the end of the batch.
    pub body: RoutineBody,
    /// From CREATE or ALTER to the end: the text of the definition.
    pub definition: Span,
}

/// The object whose events fire a trigger.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerTarget {
    /// A table or view (DML trigger).
    Table(ObjectName),
    /// `DATABASE`: DDL events of the database.
    Database,
    /// `ALL SERVER`: events of the server.
    AllServer,
}

/// When a trigger runs relative to its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    /// `AFTER` or `FOR`: after the statement.
    After,
    /// `INSTEAD OF`: in place of the statement.
    InsteadOf,
}

/// `ENABLE TRIGGER names ON target`
#[derive(Clone, Debug, PartialEq)]
pub struct EnableTrigger {
    /// ENABLE and not DISABLE.
    pub enable: bool,
    /// The triggers; ALL if empty.
    pub names: Vec<ObjectName>,
    /// The object that the triggers belong to.
    pub target: TriggerTarget,
}
