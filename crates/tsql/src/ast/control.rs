//! Control of flow, EXECUTE, transactions and variables.

use super::{
    AssignOp, ColumnDefinition, Condition, DeclareCursor, Expr, Ident, ObjectName, Span, Statement,
    TableElement, TypeName, Variable,
};

/// One variable of a DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The variable that is declared.
    pub variable: Variable,
    /// Scalar, table or cursor, with its parts.
    pub kind: DeclarationKind,
    /// Source range of this one declaration.
    pub span: Span,
}

/// What a declared variable holds.
#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationKind {
    /// `@v type [= value]`; also a variable of a table type.
    Scalar {
        /// The declared type, perhaps a table type.
        data_type: TypeName,
        /// Whether `NOT NULL` was written; only natively compiled modules have it.
        not_null: bool,
        /// The initial value; `None` is NULL.
        value: Option<Expr>,
    },
    /// `@t TABLE (..)`: a table variable.
    Table(Vec<TableElement>),
    /// `@c CURSOR`: a cursor variable.
    Cursor,
}

/// `SET @v = expr`, `SET @c = CURSOR ..`, `SET @x.modify('..')`
#[derive(Clone, Debug, PartialEq)]
pub struct SetVariable {
    /// The variable that is assigned.
    pub variable: Variable,
    /// The assignment's right side, or a method call.
    pub value: SetVariableValue,
}

/// What SET gives a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum SetVariableValue {
    /// `= expr`, `+= expr`
    Expr(AssignOp, Expr),
    /// `= CURSOR FOR ..`
    Cursor(Box<DeclareCursor>),
    /// `.method(arguments)`: calls a mutator method, as `@x.modify('..')`.
    Method(Ident, Vec<Expr>),
}

/// `BEGIN ATOMIC WITH (..) .. END`
#[derive(Clone, Debug, PartialEq)]
pub struct AtomicBlock {
    /// The options of `WITH (..)`.
    pub options: Vec<AtomicOption>,
    /// Statements between WITH and END.
    pub body: Vec<Statement>,
}

/// An option of an atomic block.
#[derive(Clone, Debug, PartialEq)]
pub enum AtomicOption {
    /// TRANSACTION ISOLATION LEVEL = SNAPSHOT
    Isolation(super::IsolationLevel),
    /// `LANGUAGE = N'us_english'`: the block's language.
    Language(Box<str>),
    /// `DATEFIRST = 7`: first day of the week, 1 (Monday) to 7.
    DateFirst(u32),
    /// `DATEFORMAT = ymd`: order of the date parts.
    DateFormat(Ident),
    /// `DELAYED_DURABILITY = ON | OFF` of the block's transaction.
    DelayedDurability(bool),
}

/// `IF c THEN ELSE IF d ..`: the first branch whose condition is true runs.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// IF and the ELSE IFs that follow it; at least one.
    pub branches: Vec<IfBranch>,
    /// The last ELSE; `None` if there is none.
    pub otherwise: Option<Statement>,
}

/// One condition with its statement.
#[derive(Clone, Debug)]
pub struct IfBranch {
    /// The condition behind IF.
    pub condition: Condition,
    /// The statement that runs if the condition is true.
    pub then: Statement,
    /// 1-based line of the branch's IF.
    pub line: u32,
    /// From IF to the end of the condition: the span that SQL Server reports while it is evaluated.
    pub span: Span,
}

/// Spans and lines do not count in a comparison; see the module [`crate::ast`].
impl PartialEq for IfBranch {
    fn eq(&self, other: &Self) -> bool {
        self.condition == other.condition && self.then == other.then
    }
}

/// `WHILE condition statement`: a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// The condition, evaluated before each iteration.
    pub condition: Condition,
    /// The loop's body, one statement or a block.
    pub body: Statement,
}

/// `WAITFOR DELAY ..` or `WAITFOR TIME ..`.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitFor {
    /// `DELAY 'hh:mm:ss.mmm'`: waits that long; a literal or a variable.
    Delay(Box<Expr>),
    /// `TIME 'hh:mm'`: waits until that time of day; a literal or a variable.
    Time(Box<Expr>),
}

/// `BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH`
#[derive(Clone, Debug, PartialEq)]
pub struct TryCatch {
    /// Statements of the TRY block.
    pub body: Vec<Statement>,
    /// Statements of the CATCH block, which run after an error in the TRY block.
    pub catch: Vec<Statement>,
}

/// `THROW number, message, state`
#[derive(Clone, Debug, PartialEq)]
pub struct Throw {
    /// The error's number, from 50000; a literal or a variable.
    pub number: Expr,
    /// The error's text; a literal or a variable.
    pub message: Expr,
    /// The error's state, from 0 to 255; a literal or a variable.
    pub state: Expr,
}

/// `RAISERROR (message, severity, state, arguments..) WITH ..`
#[derive(Clone, Debug, PartialEq)]
pub struct RaisError {
    /// A number of sys.messages, a string or a variable.
    pub message: Expr,
    /// The severity, from 0 to 25.
    pub severity: Expr,
    /// The state, from 0 to 255.
    pub state: Expr,
    /// The values that replace `%s`, `%d` and so on in the message.
    pub arguments: Vec<Expr>,
    /// The words of `WITH ..`, in order.
    pub options: Vec<RaisErrorOption>,
}

/// An option of RAISERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisErrorOption {
    /// `LOG`: the message also goes to the error log.
    Log,
    /// `NOWAIT`: the message is sent at once.
    NoWait,
    /// `SETERROR`: sets @@ERROR whatever the severity.
    SetError,
}

/// `EXEC [@rc =] procedure arguments [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// `@rc =`: receives the procedure's return status.
    pub return_status: Option<Variable>,
    /// The procedure, by name or through a variable.
    pub procedure: Callee,
    /// `;number` of a numbered procedure; `None` without it.
    pub number: Option<u32>,
    /// The arguments, in the order written.
    pub arguments: Vec<Argument>,
    /// WITH RECOMPILE and RESULT SETS.
    pub options: Vec<ExecuteOption>,
}

/// The procedure that EXEC calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// A procedure given by name.
    Name(ObjectName),
    /// A variable that holds the procedure's name.
    Variable(Variable),
}

/// An argument of EXEC.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// `@p =` before the value; `None` passes the argument by position.
    pub name: Option<Variable>,
    /// A literal (perhaps negative), a variable, DEFAULT, or a word, which comes as
    /// [`super::Literal::String`].
    pub value: Expr,
    /// `OUTPUT` or `OUT` was written behind the value.
    pub output: bool,
    /// Source range of the argument.
    pub span: Span,
}

/// An option of EXEC.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteOption {
    /// `RECOMPILE`: compiles a plan for this call only.
    Recompile,
    /// `RESULT SETS UNDEFINED`: result sets are not described; the default.
    ResultSetsUndefined,
    /// `RESULT SETS NONE`: no result set is expected.
    ResultSetsNone,
    /// `RESULT SETS ((column type, ..), ..)`: names and types of each result set's columns.
    ResultSets(Vec<Vec<ColumnDefinition>>),
}

/// `EXEC (a + b, ? arguments) [AS USER = 'u'] [AT server]`
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteString {
    /// The text: strings and variables, to be concatenated.
    pub text: Vec<Expr>,
    /// Arguments for `?` in a pass-through command.
    pub arguments: Vec<Argument>,
    /// `AS LOGIN = ..` or `AS USER = ..`; `None` is the current context.
    pub run_as: Option<ExecuteAsWho>,
    /// `AT server`: runs at a linked server; `None` runs here.
    pub at: Option<Ident>,
    /// The options of `WITH ..`.
    pub options: Vec<ExecuteOption>,
}

/// `EXECUTE AS who [WITH NO REVERT | COOKIE INTO @c]`
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteAs {
    /// The principal of the new execution context.
    pub who: ExecuteAsWho,
    /// `WITH NO REVERT`: the context cannot be reverted.
    pub no_revert: bool,
    /// The variable of `WITH COOKIE INTO`; `None` without it.
    pub cookie: Option<Variable>,
}

/// The principal of an EXECUTE AS clause.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteAsWho {
    /// `CALLER`: the caller of the module.
    Caller,
    /// `SELF`: the creator of the module.
    SelfUser,
    /// `OWNER`: the owner of the module.
    Owner,
    /// `USER = 'name'`: a database user; in a module's WITH clause also just `'name'`.
    User(Box<Expr>),
    /// `LOGIN = 'name'`: a login of the server.
    Login(Box<Expr>),
}

/// BEGIN, COMMIT, ROLLBACK or SAVE TRANSACTION.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    /// Which of the transaction statements it is.
    pub action: TransactionAction,
    /// Name of the transaction or savepoint; `None` if left out.
    pub name: Option<TransactionName>,
}

/// The transaction statement with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionAction {
    /// `BEGIN TRAN`: starts a transaction or nests one.
    Begin {
        /// Whether `BEGIN DISTRIBUTED TRAN` was written.
        distributed: bool,
        /// `WITH MARK ['x']`: names the transaction in the log.
        mark: Option<Option<Box<str>>>,
    },
    /// `COMMIT [TRAN | WORK]`
    Commit {
        /// `WITH (DELAYED_DURABILITY = ON | OFF)`; `None` without it.
        delayed_durability: Option<bool>,
    },
    /// `ROLLBACK [TRAN | WORK]`, also to a savepoint.
    Rollback,
    /// `SAVE TRAN`: sets a savepoint.
    Save,
}

/// A transaction's or savepoint's name.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionName {
    /// A name written in the statement.
    Name(Ident),
    /// A variable that holds the name.
    Variable(Variable),
}
