//! A compiled batch or procedure body: control flow over leaves that are bound when first run.
//!
//! SQL Server resolves names statement by statement, when control first reaches a statement: a batch
//! may create the table that its next line fills. So compiling a batch fixes its variables and its
//! control flow; each [`Leaf`] is bound at its first run and keeps its plan for the next one, unless
//! the plan depends on the session (temporary tables).

use std::sync::{Arc, OnceLock};

use types::value::ColumnType;

use crate::catalog::{TableDef, UserType};
use crate::plan::expr::Slot;
use crate::plan::statement::Bound;

/// A compiled batch or procedure body. Shared between the connections that run it.
#[derive(Debug)]
pub struct Program {
    /// Catalog version that the leaves' plans are good for.
    pub catalog_version: u64,
    /// Database that unqualified names are looked up in.
    pub database: String,
    /// Variables: parameters first, then those declared, in order.
    pub variables: Vec<VariableDef>,
    /// Table variables and table-valued parameters.
    pub table_variables: Vec<TableVariableDef>,
    /// The statements.
    pub body: Vec<Step>,
    /// Source text that spans refer to.
    pub source: Arc<str>,
    /// Line of the client's text on which `source` begins, 0-based: lines in errors are relative to it.
    pub first_line: u32,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct VariableDef {
    /// With its `@`.
    pub name: String,
    /// Type.
    pub ty: ColumnType,
    /// Whether it is a cursor variable.
    pub cursor: bool,
}

/// A table variable.
#[derive(Clone, Debug)]
pub struct TableVariableDef {
    /// With its `@`.
    pub name: String,
    /// Its columns and indexes; each execution makes an empty table of this shape.
    pub definition: Arc<TableDef>,
    /// Its type, where it is declared by a table type.
    pub user_type: Option<Arc<UserType>>,
}

/// One step of a program.
#[derive(Debug)]
pub struct Step {
    /// The statement.
    pub ast: Arc<tsql::ast::Statement>,
    /// Its line, 1-based in `source`.
    pub line: u32,
    /// What to do.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug)]
pub enum StepKind {
    /// BEGIN .. END
    Block(Vec<Step>),
    /// BEGIN ATOMIC WITH (..) .. END: a transaction, or a savepoint inside one.
    Atomic(Vec<Step>),
    /// IF
    If(Leaf, Vec<Step>, Vec<Step>),
    /// WHILE
    While(Leaf, Vec<Step>),
    /// BREAK
    Break,
    /// CONTINUE
    Continue,
    /// GOTO a label.
    Goto(String),
    /// A label.
    Label(String),
    /// BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH
    TryCatch(Vec<Step>, Vec<Step>),
    /// RETURN [n]
    Return(Option<Leaf>),
    /// DECLARE of scalars with initial values; without one the variable keeps its value (SQL Server
    /// declares at compile time), except that the first run finds NULL.
    Declare(Vec<(Slot, Leaf)>),
    /// SET @v = expr, and the compound forms.
    Set(Slot, Leaf),
    /// A data statement: bound as a whole.
    Data(Leaf),
    /// Anything else: run from its syntax tree, with its expressions as leaves in order.
    Other(Vec<Leaf>),
}

/// Something that is bound when first run.
#[derive(Debug, Default)]
pub struct Leaf {
    /// The plan, unless it depends on the session.
    pub plan: OnceLock<Arc<Bound>>,
    /// Which expression of the statement it is, where the leaf is not the statement itself.
    pub part: u16,
}
