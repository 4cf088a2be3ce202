//! A compiled batch or procedure body: control flow over leaves that are bound when first run.
//!
//! Compiling a text fixes its variables and its control flow. Before a program first runs, each
//! [`Leaf`] whose tables exist is bound (`check.rs` of the crate `compile`) and keeps its plan,
//! unless the plan depends on the session (temporary tables); the others are bound when control
//! reaches them, since a batch may create the table that its next line fills.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use sos::memory::{MemoryClerk, with_clerk};
use tsql::ast;
use types::Language;
use types::convert::DateFormat;
use types::value::ColumnType;

use crate::expr::Slot;
use crate::sink::Command;
use crate::statement::Bound;
use crate::stats::{Cost, ProgramBooks, StatementPlace};
use crate::uses::Uses;
use crate::watch::{self, Later, Watch};
use catalog::options::{IsolationLevel, Meaning};
use catalog::security::Owner;
use catalog::{ModuleDef, ModuleSchema, TableDef, UserType};

/// A compiled batch or procedure body. Shared between the connections that run it.
#[derive(Debug)]
pub struct Program {
    /// Catalog version that the leaves' plans are valid for.
    pub catalog_version: u64,
    /// Database that unqualified names are looked up in, unless it switches itself.
    pub database: Arc<str>,
    /// Whether it has USE or, as a text, EXECUTE AS or REVERT. Then names are looked up in the
    /// session's current database, and a plan is valid only for the database and principal it was
    /// bound for.
    pub switches_database: bool,
    /// Variables: parameters first, then those declared, in order.
    pub variables: Vec<VariableDef>,
    /// Table variables and table-valued parameters.
    pub table_variables: Vec<TableVariableDef>,
    /// Places of the variables and table variables, if they are many.
    pub names: Option<Box<VariableNames>>,
    /// Place of each label in its list of steps, by its name in lower case.
    pub labels: HashMap<String, usize, foldhash::fast::FixedState>,
    /// How many of the variables are parameters.
    pub parameters: usize,
    /// How many of the table variables are parameters.
    pub table_parameters: usize,
    /// For a parameterised statement: what else its list declares of each scalar parameter. Empty
    /// for others.
    pub declared: Box<[DeclaredParameter]>,
    /// Statements in source order.
    pub body: Vec<Step>,
    /// Source text that spans refer to.
    pub source: Arc<str>,
    /// How many statements have a place in the statistics.
    pub statements: u32,
    /// Its entry in the statistics; `None` for a program that is only checked or described.
    pub books: Option<Arc<ProgramBooks>>,
    /// Whether it is the body of a module that is being created: binding it asks for no permissions.
    pub is_checked_only: bool,
    /// For the body of a trigger or function: which one.
    pub routine: Option<Routine>,
    /// Set once everything that can be bound before the program runs has been bound without error.
    pub compiled: OnceLock<()>,
    /// Owner of the module, for a module's body.
    pub owner: Option<Owner>,
    /// Schema in which names without one are looked up, for a module's body; `None` for a text,
    /// whose names have the default schema of the session's user.
    pub schema: Option<ModuleSchema>,
}

/// The trigger or function whose body a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine {
    /// Id of its database.
    pub database_id: i16,
    /// `object_id` within the database.
    pub object_id: i32,
    /// Whether it is a trigger or a function.
    pub kind: RoutineKind,
}

/// What a [`Routine`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// DML or DDL trigger.
    Trigger,
    /// User-defined scalar or table-valued function.
    Function,
}

impl Routine {
    /// Returns the routine that a module of this kind is.
    pub fn of(module: &ModuleDef, kind: RoutineKind) -> Self {
        Self { database_id: module.database_id, object_id: module.id, kind }
    }
}

/// What the list of a parameterised statement declares of a scalar parameter besides name and type.
#[derive(Clone, Debug, Default)]
pub struct DeclaredParameter {
    /// Whether its value is returned, if the call asks for it.
    pub output: bool,
    /// Its value in a call that gives none.
    pub default: Option<ParameterDefault>,
}

/// The default of a parameter.
#[derive(Clone, Debug)]
pub enum ParameterDefault {
    /// A constant, converted to the parameter's type.
    Value(types::Value),
    /// A function without arguments such as `@@SPID`, in upper case, that each call evaluates.
    Function(String),
}

/// A local variable or parameter.
#[derive(Clone, Debug)]
pub struct VariableDef {
    /// Name, including the `@`.
    pub name: String,
    /// Declared type and collation.
    pub ty: ColumnType,
    /// Whether it is a cursor variable.
    pub cursor: bool,
    /// Byte offset of the declaring statement; 0 for a parameter.
    pub at: u32,
}

/// The place of a variable.
#[derive(Clone, Copy, Debug)]
pub enum VariablePlace {
    /// Its index in [`Program::variables`].
    Scalar(usize),
    /// Its index in [`Program::table_variables`].
    Table(usize),
}

/// Variables and table variables by folded name.
pub type VariableNames = HashMap<String, VariablePlace, foldhash::fast::FixedState>;

/// A table variable, or a table-valued parameter.
#[derive(Clone, Debug)]
pub struct TableVariableDef {
    /// Name, including the `@`.
    pub name: String,
    /// Columns and indexes; each execution creates an empty table of this definition.
    pub definition: Arc<TableDef>,
    /// User-defined table type, where it is declared with one.
    pub user_type: Option<Arc<UserType>>,
    /// For `inserted` and `deleted`: `object_id` of the trigger's table or view.
    pub image_of: Option<i32>,
    /// Byte offset of the declaring statement; 0 for a parameter.
    pub at: u32,
    /// For a parameter: its position among all parameters.
    pub ordinal: usize,
}

/// One step of a program.
#[derive(Debug)]
pub struct Step {
    /// Line, 1-based in the program's source.
    pub line: u32,
    /// Byte range in the program's source.
    pub span: ast::Span,
    /// Position in the statistics.
    pub place: StatementPlace,
    /// The compiled form of the statement.
    pub kind: StepKind,
}

/// The settings that the options of an atomic block give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicSettings {
    /// The level of TRANSACTION ISOLATION LEVEL.
    pub isolation: IsolationLevel,
    /// LANGUAGE, which every atomic block declares.
    pub language: Language,
    /// DATEFIRST, 1 to 7; by default that of the language.
    pub date_first: u8,
    /// DATEFORMAT; by default that of the language.
    pub date_format: DateFormat,
    /// DELAYED_DURABILITY = ON: the commit does not wait for the log.
    pub is_delayed: bool,
}

/// What a step does.
#[derive(Debug)]
pub enum StepKind {
    /// `BEGIN .. END`, a block.
    Block(Vec<Step>),
    /// `BEGIN ATOMIC WITH (..) .. END`: runs in a transaction, or in a savepoint of an open one.
    Atomic {
        /// What the options of the WITH clause set.
        settings: AtomicSettings,
        /// Statements of the block.
        body: Vec<Step>,
        /// Whether the block's single data statement is atomic by itself, so that it needs no
        /// transaction where none is open. Computed by the binder's `atomic.rs`.
        commits_alone: bool,
    },
    /// `IF .. ELSE IF .. ELSE`: branches, then the last ELSE.
    If(Vec<Branch>, Vec<Step>),
    /// `WHILE condition body`, a loop.
    While(Leaf, Vec<Step>),
    /// BREAK: leaves the innermost loop.
    Break,
    /// CONTINUE: the loop's next round.
    Continue,
    /// GOTO the label of this name.
    Goto(String),
    /// `name:`, a target of GOTO.
    Label(String),
    /// BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH
    TryCatch(Vec<Step>, Vec<Step>),
    /// `RETURN [n]` of a batch or procedure.
    Return(Option<Leaf>),
    /// RETURN of a scalar function.
    ReturnValue(Leaf),
    /// SET @v = expr, its compound forms, and DECLARE @v type = expr.
    Assign(Slot, Leaf),
    /// DECLARE without a value: nothing to do, since variables begin as NULL.
    Declare,
    /// A data statement: bound as a whole.
    Data(Leaf),
    /// `PRINT expr`: an informational message.
    Print(Leaf),
    /// RAISERROR, with its format arguments.
    RaisError(Box<RaisErrorStep>),
    /// THROW; without operands it raises the caught error again.
    Throw(Option<Box<[Leaf; 3]>>),
    /// WAITFOR DELAY (false) or TIME (true)
    WaitFor(bool, Leaf),
    /// `EXEC procedure`, with its arguments.
    Execute(Box<ExecuteStep>),
    /// `EXEC (@sql)`: runs a text.
    ExecuteString(TextCall),
    /// `INSERT .. EXEC`: stores the rows of a call.
    InsertExecute(Box<InsertExecuteStep>),
    /// DECLARE, OPEN, FETCH, CLOSE or DEALLOCATE.
    Cursor(CursorStep),
    /// SET of an option that has a value.
    SetValue(ast::ValueOption, Leaf),
    /// Any other statement: interpreted from its syntax tree.
    Other(Box<ast::Statement>),
}

/// How the statistics count a step.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'p> {
    /// Not counted: it is no statement, or its parts are counted.
    Not,
    /// By the cost of its plan.
    ByPlan(&'p Leaf),
    /// As a statement whose duration is about that of a clock reading.
    Cheap,
    /// As a statement of any duration: it is timed each time.
    Dear,
}

impl StepKind {
    /// Returns the lists of steps within this one.
    pub fn lists(&self) -> Vec<&[Step]> {
        match self {
            Self::Block(body) | Self::Atomic { body, .. } | Self::While(_, body) => vec![body],
            Self::If(branches, otherwise) => {
                let bodies = branches.iter().map(|branch| branch.then.as_slice());
                bodies.chain([otherwise.as_slice()]).collect()
            }
            Self::TryCatch(body, catch) => vec![body, catch],
            Self::Break
            | Self::Continue
            | Self::Goto(_)
            | Self::Label(_)
            | Self::Return(_)
            | Self::ReturnValue(_)
            | Self::Assign(..)
            | Self::Declare
            | Self::Data(_)
            | Self::Print(_)
            | Self::RaisError(_)
            | Self::Throw(_)
            | Self::WaitFor(..)
            | Self::Execute(_)
            | Self::ExecuteString(_)
            | Self::InsertExecute(_)
            | Self::Cursor(_)
            | Self::SetValue(..)
            | Self::Other(_) => Vec::new(),
        }
    }

    /// Returns the number that names the statement in its DONE token.
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

    /// Returns how the statistics count the step.
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
    /// Expressions that are concatenated to the text.
    pub parts: Vec<Leaf>,
    /// AS: the login or user that it runs as.
    pub run_as: Option<ast::ExecuteAsWho>,
    /// WITH RESULT SETS: one shape for each result; empty for NONE.
    pub result_sets: Option<Vec<std::sync::Arc<crate::sink::ResultShape>>>,
}

/// INSERT .. EXEC: stores the rows that a call returns.
#[derive(Debug)]
pub struct InsertExecuteStep {
    /// Table or view that receives the rows.
    pub target: ast::Target,
    /// The columns, if given.
    pub columns: Vec<ast::Ident>,
    /// Procedure or text to run.
    pub source: InsertedCall,
}

/// The call of an INSERT .. EXEC.
#[derive(Debug)]
pub enum InsertedCall {
    /// `INSERT .. EXEC procedure`, by name or variable.
    Procedure(Box<ExecuteStep>),
    /// `INSERT .. EXEC (@sql)`, a text.
    Text(TextCall),
}

/// IF or ELSE IF with the statements that it guards.
#[derive(Debug)]
pub struct Branch {
    /// Line of the IF.
    pub line: u32,
    /// Position in the statistics.
    pub place: StatementPlace,
    /// Condition; NULL counts as false.
    pub condition: Leaf,
    /// Statements to run if it is true.
    pub then: Vec<Step>,
}

/// RAISERROR with its operands.
#[derive(Debug)]
pub struct RaisErrorStep {
    /// Message number or text.
    pub message: Leaf,
    /// Severity, 0 to 25.
    pub severity: Leaf,
    /// State, 0 to 255.
    pub state: Leaf,
    /// Values for `%s`, `%d` and so on.
    pub arguments: Vec<Leaf>,
    /// Options after WITH: LOG, NOWAIT, SETERROR.
    pub options: Vec<ast::RaisErrorOption>,
}

/// EXEC of a procedure.
#[derive(Debug)]
pub struct ExecuteStep {
    /// The procedure, by name or variable.
    pub procedure: ExecuteTarget,
    /// `@rc =`: variable that receives the return status.
    pub return_status: Option<Slot>,
    /// Arguments in the order of the call.
    pub arguments: Vec<ArgumentStep>,
    /// WITH RESULT SETS: one shape for each result; empty for NONE.
    pub result_sets: Option<Vec<std::sync::Arc<crate::sink::ResultShape>>>,
}

/// The procedure of an EXEC.
#[derive(Debug)]
pub enum ExecuteTarget {
    /// A name in the statement.
    Name(ast::ObjectName),
    /// The name that a variable holds at run time.
    Variable(Slot),
}

/// An argument of EXEC.
#[derive(Debug)]
pub struct ArgumentStep {
    /// `@p =`: the parameter's name.
    pub name: Option<String>,
    /// Value, variable or DEFAULT.
    pub value: ArgumentValue,
    /// OUTPUT: the parameter's final value is copied back.
    pub output: bool,
}

/// The value of an argument.
#[expect(clippy::large_enum_variant, reason = "most arguments are values")]
#[derive(Debug)]
pub enum ArgumentValue {
    /// An expression to evaluate.
    Value(Leaf),
    /// A variable: the one that OUTPUT writes to.
    Variable(Slot),
    /// A table variable, by its index in the program.
    Table(usize),
    /// `DEFAULT`: the parameter's default value.
    Default,
}

/// A statement about a cursor.
#[expect(clippy::large_enum_variant, reason = "few steps are about cursors")]
#[derive(Debug)]
pub enum CursorStep {
    /// DECLARE c CURSOR FOR ..; or `SET @c = CURSOR FOR ..` with the variable.
    Declare(Option<Slot>, Box<ast::DeclareCursor>, Leaf),
    /// `OPEN c`: runs the cursor's query.
    Open(ast::CursorRef),
    /// FETCH .. INTO variables
    Fetch(Box<ast::Fetch>, Vec<Slot>),
    /// `CLOSE c`: frees the result.
    Close(ast::CursorRef),
    /// `DEALLOCATE c`: removes the reference.
    Deallocate(ast::CursorRef),
    /// `SET @c = cursor`: the variable refers to the cursor.
    Refer(Slot, ast::CursorRef),
}

/// The session state that a plan must match to be reused.
#[derive(Clone, Copy, Debug)]
pub struct AskedFor<'s> {
    /// SET options that change the meaning of a text.
    pub meaning: Meaning,
    /// Name of the current database.
    pub database: &'s str,
    /// Key of the principal's permissions.
    pub rights: i32,
}

/// A part of a program that is bound when first run.
#[derive(Debug)]
pub struct Leaf {
    /// Syntax tree to bind.
    pub ast: LeafAst,
    /// Plan shared by all sessions; unset if the plan depends on the session.
    pub plan: OnceLock<Arc<Bound>>,
    /// For a program that switches databases: the database and the permission key it was bound for.
    pub bound_for: OnceLock<(Arc<str>, i32)>,
    /// SET options it was bound under.
    pub meaning: OnceLock<Meaning>,
    /// Whether timing would show in its duration; known once it is bound.
    pub cost: OnceLock<Cost>,
    /// Table sizes that the plan was made for, where it joins tables.
    pub watch: OnceLock<Watch>,
    /// Plans for other table sizes.
    pub later: OnceLock<Box<Later>>,
    /// The indexes that the plan uses; known once it has run.
    pub uses: OnceLock<Uses>,
    /// Hints of a Query Store, in the place of those of OPTION.
    pub hinted: OnceLock<RunHints>,
    /// Whether it has USE HINT ('QUERY_PLAN_PROFILE').
    pub is_profiled: bool,
}

/// Hints of OPTION that act when a statement runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunHints {
    /// MAXDOP n: upper limit of schedulers.
    pub degree: Option<u32>,
    /// USE HINT ('DISALLOW_BATCH_MODE'): operators process single rows.
    pub row_mode: bool,
    /// USE HINT ('QUERY_PLAN_PROFILE'): other sessions see what its operators have done so far.
    pub profile: bool,
}

impl RunHints {
    /// Returns those of an OPTION clause.
    #[inline]
    pub fn of(options: &[ast::QueryHint]) -> Self {
        let mut hints = Self::default();
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
                    let has = |hint: &str| names.iter().any(|n| n.eq_ignore_ascii_case(hint));
                    hints.row_mode |= has("DISALLOW_BATCH_MODE");
                    hints.profile |= has("QUERY_PLAN_PROFILE");
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
}

/// The syntax tree of a leaf, with the type that it must have.
#[derive(Debug)]
pub enum LeafAst {
    /// An expression of any type.
    Value(ast::Expr),
    /// An expression converted to the type that the statement's argument has.
    Typed(ast::Expr, ColumnType),
    /// A condition of IF or WHILE.
    Condition(ast::Condition),
    /// RETURN of a scalar function: converted to its return type.
    Returned(ast::Expr, ColumnType),
    /// SET @v: converted to the variable's type.
    Assignment(Slot, ast::AssignOp, ast::Expr),
    /// A SELECT, INSERT, UPDATE, DELETE or MERGE.
    Statement(ast::Statement),
}

impl Leaf {
    /// Returns the hints of OPTION that act when the statement runs.
    #[inline]
    pub fn run_hints(&self) -> RunHints {
        if let Some(hinted) = self.hinted.get() {
            return *hinted;
        }
        let LeafAst::Statement(statement) = &self.ast else { return RunHints::default() };
        match &statement.kind {
            ast::StatementKind::Select(select) => RunHints::of(&select.options),
            ast::StatementKind::Insert(insert) => RunHints::of(&insert.options),
            ast::StatementKind::Update(update) => RunHints::of(&update.options),
            ast::StatementKind::Delete(delete) => RunHints::of(&delete.options),
            ast::StatementKind::Merge(merge) => RunHints::of(&merge.options),
            _ => RunHints::default(),
        }
    }

    /// Returns the stored plan if it is valid for the session's current state.
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

    /// Stores the plan for all sessions.
    pub fn keep(&self, bound: Bound) -> &Bound {
        // Two sessions may race here; both bind to the same plan, so the first one is kept.
        self.cost.get_or_init(|| bound.cost());
        if let Some(watch) = Watch::of(&bound) {
            self.watch.get_or_init(|| watch);
        }
        self.plan.get_or_init(|| with_clerk(MemoryClerk::SqlPlans, || Arc::new(bound)))
    }

    /// Counts an execution of a plan of this leaf, which began at `now`, for the indexes that it uses.
    #[inline]
    pub fn count_uses(&self, bound: &Bound, now: u64) {
        match self.plan.get() {
            Some(plan) if std::ptr::eq(&raw const **plan, bound) => {
                self.uses.get_or_init(|| Uses::of(bound)).count(now);
            }
            _ => self.count_other_uses(bound, now),
        }
    }

    #[cold]
    fn count_other_uses(&self, bound: &Bound, now: u64) {
        match watch::uses(&self.later, bound) {
            Some(uses) => uses.count(now),
            None => Uses::of(bound).count(now),
        }
    }

    /// Returns a leaf that is not bound yet.
    pub fn new(ast: LeafAst) -> Self {
        let mut leaf = Self {
            ast,
            plan: OnceLock::new(),
            bound_for: OnceLock::new(),
            meaning: OnceLock::new(),
            cost: OnceLock::new(),
            watch: OnceLock::new(),
            later: OnceLock::new(),
            uses: OnceLock::new(),
            hinted: OnceLock::new(),
            is_profiled: false,
        };
        leaf.is_profiled = leaf.run_hints().profile;
        leaf
    }
}

impl Program {
    /// Returns whether the program is a single statement without control flow.
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
