//! Control of flow, EXECUTE, transactions and variables.

use super::{
    AssignOp, ColumnDefinition, Condition, DeclareCursor, Expr, Ident, ObjectName, Span, Statement,
    TableElement, TypeName, Variable,
};

/// One variable of a DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The variable.
    pub variable: Variable,
    /// What it holds.
    pub kind: DeclarationKind,
    /// Where.
    pub span: Span,
}

/// What a declared variable holds.
#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationKind {
    /// `@v type [= value]`; also a variable of a table type.
    Scalar {
        /// Its type.
        data_type: TypeName,
        /// Its first value.
        value: Option<Expr>,
    },
    /// `@t TABLE (..)`
    Table(Vec<TableElement>),
    /// `@c CURSOR`
    Cursor,
}

/// `SET @v = expr`, `SET @c = CURSOR ..`, `SET @x.modify('..')`
#[derive(Clone, Debug, PartialEq)]
pub struct SetVariable {
    /// The variable.
    pub variable: Variable,
    /// What it gets.
    pub value: SetVariableValue,
}

/// What SET gives a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum SetVariableValue {
    /// `= expr`, `+= expr`
    Expr(AssignOp, Expr),
    /// `= CURSOR FOR ..`
    Cursor(Box<DeclareCursor>),
    /// `.method(arguments)`
    Method(Ident, Vec<Expr>),
}

/// `BEGIN ATOMIC WITH (..) .. END`
#[derive(Clone, Debug, PartialEq)]
pub struct AtomicBlock {
    /// WITH.
    pub options: Vec<AtomicOption>,
    /// The body.
    pub body: Vec<Statement>,
}

/// An option of an atomic block.
#[derive(Clone, Debug, PartialEq)]
pub enum AtomicOption {
    /// TRANSACTION ISOLATION LEVEL = SNAPSHOT
    Isolation(super::IsolationLevel),
    /// LANGUAGE = N'us_english'
    Language(Box<str>),
    /// DATEFIRST = 7
    DateFirst(u32),
    /// DATEFORMAT = ymd
    DateFormat(Ident),
    /// DELAYED_DURABILITY = ON
    DelayedDurability(bool),
}

/// `IF c THEN ELSE IF d ..`: the first branch whose condition is true runs.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// IF and the ELSE IFs that follow it; at least one.
    pub branches: Vec<IfBranch>,
    /// The last ELSE.
    pub otherwise: Option<Statement>,
}

/// One condition with its statement.
#[derive(Clone, Debug)]
pub struct IfBranch {
    /// What is asked.
    pub condition: Condition,
    /// What is done.
    pub then: Statement,
    /// Line of its IF.
    pub line: u32,
    /// From IF to the end of the condition: the span that SQL Server reports while it is evaluated.
    pub span: Span,
}

/// Positions do not tell trees apart; see the module [`crate::ast`].
impl PartialEq for IfBranch {
    fn eq(&self, other: &Self) -> bool {
        self.condition == other.condition && self.then == other.then
    }
}

/// `WHILE condition statement`
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// What is asked before each round.
    pub condition: Condition,
    /// What is done.
    pub body: Statement,
}

/// WAITFOR.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitFor {
    /// `DELAY 'hh:mm:ss.mmm'` or a variable
    Delay(Box<Expr>),
    /// `TIME 'hh:mm'` or a variable
    Time(Box<Expr>),
}

/// `BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH`
#[derive(Clone, Debug, PartialEq)]
pub struct TryCatch {
    /// What is tried.
    pub body: Vec<Statement>,
    /// What is done on an error.
    pub catch: Vec<Statement>,
}

/// `THROW number, message, state`
#[derive(Clone, Debug, PartialEq)]
pub struct Throw {
    /// A literal or variable.
    pub number: Expr,
    /// A literal or variable.
    pub message: Expr,
    /// A literal or variable.
    pub state: Expr,
}

/// `RAISERROR (message, severity, state, arguments..) WITH ..`
#[derive(Clone, Debug, PartialEq)]
pub struct RaisError {
    /// A number of sys.messages, a string or a variable.
    pub message: Expr,
    /// Severity.
    pub severity: Expr,
    /// State.
    pub state: Expr,
    /// What replaces `%s`, `%d`, ..
    pub arguments: Vec<Expr>,
    /// WITH.
    pub options: Vec<RaisErrorOption>,
}

/// An option of RAISERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisErrorOption {
    /// LOG
    Log,
    /// NOWAIT
    NoWait,
    /// SETERROR
    SetError,
}

/// `EXEC [@rc =] procedure arguments [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// `@rc =`
    pub return_status: Option<Variable>,
    /// What is called.
    pub procedure: Callee,
    /// `;number`
    pub number: Option<u32>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// WITH RECOMPILE and RESULT SETS.
    pub options: Vec<ExecuteOption>,
}

/// What EXEC calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// By name.
    Name(ObjectName),
    /// By the name that a variable holds.
    Variable(Variable),
}

/// An argument of EXEC.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// `@p =`
    pub name: Option<Variable>,
    /// A literal (perhaps negative), a variable, DEFAULT, or a word, which comes as
    /// [`super::Literal::String`].
    pub value: Expr,
    /// OUTPUT or OUT.
    pub output: bool,
    /// Where.
    pub span: Span,
}

/// An option of EXEC.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteOption {
    /// RECOMPILE
    Recompile,
    /// RESULT SETS UNDEFINED
    ResultSetsUndefined,
    /// RESULT SETS NONE
    ResultSetsNone,
    /// RESULT SETS ((column type, ..), ..)
    ResultSets(Vec<Vec<ColumnDefinition>>),
}

/// `EXEC (a + b, ? arguments) [AS USER = 'u'] [AT server]`
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteString {
    /// The text: strings and variables, to be concatenated.
    pub text: Vec<Expr>,
    /// Arguments for `?` in a pass-through command.
    pub arguments: Vec<Argument>,
    /// AS LOGIN or AS USER.
    pub run_as: Option<ExecuteAsWho>,
    /// AT linked server.
    pub at: Option<Ident>,
    /// WITH.
    pub options: Vec<ExecuteOption>,
}

/// `EXECUTE AS who [WITH NO REVERT | COOKIE INTO @c]`
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteAs {
    /// Who.
    pub who: ExecuteAsWho,
    /// NO REVERT.
    pub no_revert: bool,
    /// COOKIE INTO.
    pub cookie: Option<Variable>,
}

/// Under whose name something runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteAsWho {
    /// CALLER
    Caller,
    /// SELF
    SelfUser,
    /// OWNER
    Owner,
    /// USER = 'name'; in a module's WITH also just 'name'
    User(Box<Expr>),
    /// LOGIN = 'name'
    Login(Box<Expr>),
}

/// A transaction statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    /// What is done.
    pub action: TransactionAction,
    /// The transaction's or savepoint's name.
    pub name: Option<TransactionName>,
}

/// What is done with a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionAction {
    /// BEGIN TRAN
    Begin {
        /// BEGIN DISTRIBUTED TRAN
        distributed: bool,
        /// WITH MARK \['x'\]
        mark: Option<Option<Box<str>>>,
    },
    /// COMMIT \[TRAN | WORK\]
    Commit {
        /// WITH (DELAYED_DURABILITY = ON)
        delayed_durability: Option<bool>,
    },
    /// ROLLBACK \[TRAN | WORK\]
    Rollback,
    /// SAVE TRAN
    Save,
}

/// A transaction's name.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionName {
    /// By name.
    Name(Ident),
    /// In a variable.
    Variable(Variable),
}
