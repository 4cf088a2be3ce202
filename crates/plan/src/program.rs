//! A compiled batch or procedure body: control flow over leaves that are bound when first run.
//!
//! Compiling a text fixes its variables and its control flow. Before a program first runs, each [`Leaf`]
//! whose tables exist is bound (`exec/run/compile.rs`) and keeps its plan, unless the plan depends on the
//! session (temporary tables); the others are bound when control reaches them, since a batch may create the
//! table that its next line fills.

use std::sync::{Arc, OnceLock};

use sos::memory::{MemoryClerk, with_clerk};
use tsql::ast;
use types::value::ColumnType;

use crate::expr::Slot;
use crate::sink::Command;
use crate::statement::Bound;
use crate::stats::{Cost, ProgramBooks, StatementPlace};
use crate::watch::{Later, Watch};
use catalog::options::Meaning;
use catalog::security::Owner;
use catalog::{ModuleDef, TableDef, UserType};

/// A compiled batch or procedure body. Shared between the connections that run it.
#[derive(Debug)]
pub struct Program {
    /// Catalog version that the leaves' plans are good for.
    pub catalog_version: u64,
    /// Database that unqualified names are looked up in, unless it switches itself.
    pub database: Arc<str>,
    /// Whether it has a USE, or as a text EXECUTE AS or REVERT: then names are looked up in the session's current database, and a plan
    /// is good for the database that it was bound in, and for whom it was bound for.
    pub switches_database: bool,
    /// Variables: parameters first, then those declared, in order.
    pub variables: Vec<VariableDef>,
    /// Table variables and table-valued parameters.
    pub table_variables: Vec<TableVariableDef>,
    /// How many of the variables are parameters.
    pub parameters: usize,
    /// How many of the table variables are parameters.
    pub table_parameters: usize,
    /// The statements.
    pub body: Vec<Step>,
    /// Source text that spans refer to.
    pub source: Arc<str>,
    /// How many statements have a place in the statistics.
    pub statements: u32,
    /// Its books in the statistics; none in a program that is only checked.
    pub books: Option<Arc<ProgramBooks>>,
    /// Of the body of a trigger or function, which that is: those have no books.
    pub routine: Option<Routine>,
    /// Set once it has been found that all that can be bound before it runs is without mistakes.
    pub compiled: OnceLock<()>,
    /// Of a module's body, who owns the module.
    pub owner: Option<Owner>,
}

/// The trigger or function whose body a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine {
    /// Its database.
    pub database_id: i16,
    /// Its id there.
    pub object_id: i32,
    /// Which of the two.
    pub kind: RoutineKind,
}

/// What a [`Routine`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// A trigger.
    Trigger,
    /// A function.
    Function,
}

impl Routine {
    /// Names a module of this kind.
    pub fn of(module: &ModuleDef, kind: RoutineKind) -> Self {
        Self { database_id: module.database_id, object_id: module.id, kind }
    }
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
    /// Where the statement that declares it begins; 0 of a parameter.
    pub at: u32,
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
    /// Of `inserted` and `deleted`: `object_id` of what the trigger is on.
    pub image_of: Option<i32>,
    /// Where the statement that declares it begins; 0 of a parameter.
    pub at: u32,
    /// Of a parameter: its place among all parameters.
    pub ordinal: usize,
}

/// One step of a program.
#[derive(Debug)]
pub struct Step {
    /// Its line, 1-based in the program's source.
    pub line: u32,
    /// Its place in the program's source.
    pub span: ast::Span,
    /// Its place in the statistics.
    pub place: StatementPlace,
    /// What to do.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug)]
pub enum StepKind {
    /// BEGIN .. END
    Block(Vec<Step>),
    /// BEGIN ATOMIC WITH (..) .. END: a transaction, or a savepoint inside one. `commits_alone` says
    /// that its one data statement needs neither where no transaction is open.
    Atomic {
        /// WITH.
        options: Vec<ast::AtomicOption>,
        /// The body.
        body: Vec<Step>,
        /// See `bind/atomic.rs`.
        commits_alone: bool,
    },
    /// IF, ELSE IF, ELSE
    If(Vec<Branch>, Vec<Step>),
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
    /// `RETURN [n]`
    Return(Option<Leaf>),
    /// RETURN of a scalar function.
    ReturnValue(Leaf),
    /// SET @v = expr, its compound forms, and DECLARE @v type = expr.
    Assign(Slot, Leaf),
    /// DECLARE without a value: nothing to do, since variables begin as NULL.
    Declare,
    /// A data statement: bound as a whole.
    Data(Leaf),
    /// PRINT
    Print(Leaf),
    /// RAISERROR
    RaisError(Box<RaisErrorStep>),
    /// THROW; without operands it raises the caught error again.
    Throw(Option<Box<[Leaf; 3]>>),
    /// WAITFOR DELAY (false) or TIME (true)
    WaitFor(bool, Leaf),
    /// EXEC procedure
    Execute(Box<ExecuteStep>),
    /// EXEC (@sql)
    ExecuteString(TextCall),
    /// INSERT .. EXEC
    InsertExecute(Box<InsertExecuteStep>),
    /// A cursor statement.
    Cursor(CursorStep),
    /// SET of an option that has a value.
    SetValue(ast::ValueOption, Leaf),
    /// Anything else: run from its syntax tree.
    Other(Box<ast::Statement>),
}

/// How a step counts in the statistics.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'p> {
    /// Not at all: it is no statement, or its parts count.
    Not,
    /// As its plan says.
    ByPlan(&'p Leaf),
    /// As a statement that takes next to no time.
    Cheap,
    /// As one that may take any time.
    Dear,
}

impl StepKind {
    /// Returns the number by which a DONE names the step's statement.
    pub fn command(&self) -> Command {
        match self {
            Self::Assign(..) => Command::SELECT,
            Self::Data(Leaf { ast: LeafAst::Statement(statement), .. }) => {
                Command::of(&statement.kind)
            }
            Self::Other(statement) => Command::of(&statement.kind),
            Self::Execute(_) | Self::ExecuteString(_) => Command::EXECUTE,
            Self::InsertExecute(_) => Command::INSERT,
            Self::SetValue(..) => Command::SET,
            Self::Cursor(CursorStep::Open(_)) => Command::OPEN_CURSOR,
            Self::Cursor(CursorStep::Fetch(..)) => Command::SELECT,
            _ => Command::NONE,
        }
    }

    /// Tells how the step counts.
    #[inline]
    pub fn counted(&self) -> Counted<'_> {
        match self {
            Self::Block(_)
            | Self::Atomic { .. }
            | Self::If(..)
            | Self::While(..)
            | Self::TryCatch(..)
            | Self::Break
            | Self::Continue
            | Self::Goto(_)
            | Self::Label(_)
            | Self::Return(None)
            | Self::Declare => Counted::Not,
            Self::Assign(_, leaf)
            | Self::Return(Some(leaf))
            | Self::ReturnValue(leaf)
            | Self::Data(leaf)
            | Self::Print(leaf)
            | Self::SetValue(_, leaf) => Counted::ByPlan(leaf),
            Self::Other(statement) => match &statement.kind {
                ast::StatementKind::SetOption(_) => Counted::Cheap,
                _ => Counted::Dear,
            },
            Self::RaisError(_)
            | Self::Throw(_)
            | Self::WaitFor(..)
            | Self::Execute(_)
            | Self::ExecuteString(_)
            | Self::InsertExecute(_)
            | Self::Cursor(_) => Counted::Dear,
        }
    }
}

/// EXEC (@sql) [AS ..]
#[derive(Debug)]
pub struct TextCall {
    /// What the text is put together from.
    pub parts: Vec<Leaf>,
    /// AS: whom it runs as.
    pub run_as: Option<ast::ExecuteAsWho>,
    /// WITH RESULT SETS, one shape for each; empty for NONE.
    pub result_sets: Option<Vec<std::sync::Arc<crate::sink::ResultShape>>>,
}

/// INSERT .. EXEC: rows that a call returns go to a table.
#[derive(Debug)]
pub struct InsertExecuteStep {
    /// Where they go.
    pub target: ast::Target,
    /// The columns, if given.
    pub columns: Vec<ast::Ident>,
    /// What is run.
    pub source: InsertedCall,
}

/// What INSERT .. EXEC runs.
#[derive(Debug)]
pub enum InsertedCall {
    /// `EXEC p`
    Procedure(Box<ExecuteStep>),
    /// `EXEC (@sql)`
    Text(TextCall),
}

/// IF or ELSE IF with what follows it.
#[derive(Debug)]
pub struct Branch {
    /// Line of the IF.
    pub line: u32,
    /// Its place in the statistics.
    pub place: StatementPlace,
    /// What is asked.
    pub condition: Leaf,
    /// What is done.
    pub then: Vec<Step>,
}

/// RAISERROR.
#[derive(Debug)]
pub struct RaisErrorStep {
    /// A number or a text.
    pub message: Leaf,
    /// Severity.
    pub severity: Leaf,
    /// State.
    pub state: Leaf,
    /// What replaces `%s`, `%d`, ..
    pub arguments: Vec<Leaf>,
    /// WITH.
    pub options: Vec<ast::RaisErrorOption>,
}

/// EXEC of a procedure.
#[derive(Debug)]
pub struct ExecuteStep {
    /// What is called.
    pub procedure: ExecuteTarget,
    /// `@rc =`
    pub return_status: Option<Slot>,
    /// The arguments.
    pub arguments: Vec<ArgumentStep>,
    /// WITH RESULT SETS, one shape for each; empty for NONE.
    pub result_sets: Option<Vec<std::sync::Arc<crate::sink::ResultShape>>>,
}

/// What EXEC calls.
#[derive(Debug)]
pub enum ExecuteTarget {
    /// By name.
    Name(ast::ObjectName),
    /// By the name that a variable holds.
    Variable(Slot),
}

/// An argument of EXEC.
#[derive(Debug)]
pub struct ArgumentStep {
    /// `@p =`
    pub name: Option<String>,
    /// Its value.
    pub value: ArgumentValue,
    /// OUTPUT
    pub output: bool,
}

/// The value of an argument.
#[derive(Debug)]
pub enum ArgumentValue {
    /// An expression.
    Value(Leaf),
    /// A variable: the one that OUTPUT writes to.
    Variable(Slot),
    /// A table variable, by its place.
    Table(usize),
    /// DEFAULT
    Default,
}

/// A cursor statement.
#[derive(Debug)]
pub enum CursorStep {
    /// DECLARE c CURSOR FOR ..; or `SET @c = CURSOR FOR ..` with the variable.
    Declare(Option<Slot>, Box<ast::DeclareCursor>, Leaf),
    /// OPEN
    Open(ast::CursorRef),
    /// FETCH .. INTO variables
    Fetch(Box<ast::Fetch>, Vec<Slot>),
    /// CLOSE
    Close(ast::CursorRef),
    /// DEALLOCATE
    Deallocate(ast::CursorRef),
}

/// What of a session a plan has to be good for.
#[derive(Clone, Copy, Debug)]
pub struct AskedFor<'s> {
    /// The SET options.
    pub meaning: Meaning,
    /// The current database.
    pub database: &'s str,
    /// The key of the rights.
    pub rights: i32,
}

/// Something that is bound when first run.
#[derive(Debug)]
pub struct Leaf {
    /// What it says.
    pub ast: LeafAst,
    /// The plan, unless it depends on the session.
    pub plan: OnceLock<Arc<Bound>>,
    /// The database that it was bound in and the key of the rights, where the program switches.
    pub bound_for: OnceLock<(Arc<str>, i32)>,
    /// The SET options that it was bound under.
    pub meaning: OnceLock<Meaning>,
    /// What timing it would add to it: known with the plan.
    pub cost: OnceLock<Cost>,
    /// The sizes of tables that the plan was made for, where it joins them.
    pub watch: OnceLock<Watch>,
    /// Plans for other sizes.
    pub later: OnceLock<Box<Later>>,
}

/// Hints of OPTION that act when a statement runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunHints {
    /// MAXDOP n: the number of schedulers.
    pub degree: Option<u32>,
    /// USE HINT ('DISALLOW_BATCH_MODE'): rows go through the operators one by one.
    pub row_mode: bool,
}

/// What a leaf says.
#[derive(Debug)]
pub enum LeafAst {
    /// A value.
    Value(ast::Expr),
    /// A value as a type: the argument of a statement that wants one.
    Typed(ast::Expr, ColumnType),
    /// A condition.
    Condition(ast::Condition),
    /// What a scalar function returns: as its type.
    Returned(ast::Expr, ColumnType),
    /// What a variable gets: converted to its type.
    Assignment(Slot, ast::AssignOp, ast::Expr),
    /// A data statement.
    Statement(ast::Statement),
}

impl Leaf {
    /// Returns the hints of OPTION that act when the statement runs.
    #[inline]
    pub fn run_hints(&self) -> RunHints {
        let LeafAst::Statement(statement) = &self.ast else { return RunHints::default() };
        let options = match &statement.kind {
            ast::StatementKind::Select(select) => &select.options,
            ast::StatementKind::Insert(insert) => &insert.options,
            ast::StatementKind::Update(update) => &update.options,
            ast::StatementKind::Delete(delete) => &delete.options,
            ast::StatementKind::Merge(merge) => &merge.options,
            _ => return RunHints::default(),
        };
        let mut hints = RunHints::default();
        for hint in options {
            match &hint.kind {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a number of schedulers: what is beyond is as many as there are"
                )]
                ast::QueryHintKind::Number(name, value) if &**name == "MAXDOP" => {
                    hints.degree = hints.degree.or(Some(*value as u32));
                }
                ast::QueryHintKind::UseHint(names) => {
                    hints.row_mode |=
                        names.iter().any(|name| name.eq_ignore_ascii_case("DISALLOW_BATCH_MODE"));
                }
                _ => {}
            }
        }
        // Only batches are shared with other schedulers.
        if hints.row_mode {
            hints.degree = Some(1);
        }
        hints
    }

    /// Returns the plan that is good for a session as it is now.
    #[inline]
    pub fn plan_for(&self, program: &Program, asked: &AskedFor<'_>) -> Option<&Arc<Bound>> {
        let plan = self.plan.get()?;
        if self.meaning.get() != Some(&asked.meaning) {
            return None;
        }
        if !program.switches_database {
            return Some(plan);
        }
        let (database, rights) = self.bound_for.get()?;
        (**database == *asked.database && *rights == asked.rights).then_some(plan)
    }

    /// Keeps the plan for all sessions.
    pub fn keep(&self, bound: Bound) -> &Bound {
        // Whoever is first: all bind the same.
        self.cost.get_or_init(|| bound.cost());
        if let Some(watch) = Watch::of(&bound) {
            self.watch.get_or_init(|| watch);
        }
        self.plan.get_or_init(|| with_clerk(MemoryClerk::SqlPlans, || Arc::new(bound)))
    }

    /// Makes a leaf that is not bound yet.
    pub fn new(ast: LeafAst) -> Self {
        Self {
            ast,
            plan: OnceLock::new(),
            bound_for: OnceLock::new(),
            meaning: OnceLock::new(),
            cost: OnceLock::new(),
            watch: OnceLock::new(),
            later: OnceLock::new(),
        }
    }
}

impl Program {
    /// Tells whether the program has one statement and no control flow.
    pub fn is_alone(&self) -> bool {
        let [step] = &self.body[..] else { return false };
        !matches!(
            step.kind,
            StepKind::Block(_)
                | StepKind::Atomic { .. }
                | StepKind::If(..)
                | StepKind::While(..)
                | StepKind::TryCatch(..)
        )
    }
}
