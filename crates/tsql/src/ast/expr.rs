//! Expressions, which have a value, and conditions, which are true, false or unknown.
//!
//! T-SQL keeps the two apart in its grammar and so does this tree: a [`Condition`] is no [`Expr`].

use super::{Ident, ObjectName, OrderBy, QueryExpression, Span, TypeName, Variable};

/// An expression that has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where; parentheses around it are left out.
    pub span: Span,
}

/// Every kind of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// `c`, `t.c`, `schema.t.c`: also where a function wants a word, as `day` in `DATEADD(day, ..)`.
    Column(Box<ColumnRef>),
    /// `@v`, `@@ROWCOUNT`
    Variable(Variable),
    /// `-x`, `+x`, `~x`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// A chain of operators of one precedence level, applied from left to right:
    /// `((first op1 e1) op2 e2)`. Levels: `* / %`, then `+ - & ^ |`.
    Arithmetic {
        /// The leftmost operand.
        first: Box<Expr>,
        /// Each further operand with the operator before it; at least one.
        rest: Vec<(ArithmeticOp, Expr)>,
    },
    /// `CASE WHEN condition THEN .. END`
    SearchedCase {
        /// The branches; at least one.
        branches: Vec<(Condition, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// `CASE input WHEN value THEN .. END`
    SimpleCase {
        /// What is compared.
        input: Box<Expr>,
        /// The branches; at least one.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// `IIF(condition, a, b)`
    Iif(Box<Iif>),
    /// `CAST(x AS t)`, `CONVERT(t, x, style)`, `PARSE(x AS t USING c)` and their TRY_ forms.
    Convert(Box<Convert>),
    /// A function by name, aggregates and window functions included.
    Call(Box<Call>),
    /// `CURRENT_TIMESTAMP` and other functions without parentheses.
    Niladic(Niladic),
    /// `x.value('p', 't')`: a method of a value.
    Method(Box<Method>),
    /// `geometry::Parse(..)`: a method of a type.
    StaticMethod(Box<StaticMethod>),
    /// `(SELECT ..)` as a value.
    Subquery(Box<QueryExpression>),
    /// `x COLLATE name`
    Collate {
        /// The string.
        operand: Box<Expr>,
        /// The collation's name.
        collation: Ident,
    },
    /// `x AT TIME ZONE zone`
    AtTimeZone {
        /// The date.
        operand: Box<Expr>,
        /// The zone's name.
        zone: Box<Expr>,
    },
    /// `NEXT VALUE FOR sequence [OVER (ORDER BY ..)]`
    NextValue {
        /// The sequence.
        sequence: Box<ObjectName>,
        /// The order in which rows get values.
        over: Option<Box<Over>>,
    },
    /// `*` as the sole argument: `COUNT(*)`, `CHECKSUM(*)`.
    Star,
    /// `DEFAULT` where a value may stand: VALUES, SET, EXEC and arguments of user functions.
    Default,
}

/// A constant as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `NULL`
    Null,
    /// An integer that fits `int`.
    Int(i32),
    /// A number with a point, or an integer too big for `int`: digits with at most one point, no sign.
    /// Its type is `decimal` of exactly the written precision and scale; at most 38 digits.
    Decimal(Box<str>),
    /// `1e3`
    Float(f64),
    /// `$1.5` in 1/10,000
    Money(i64),
    /// `'text'`
    String(Box<str>),
    /// `N'text'`
    NString(Box<str>),
    /// `0x1F`; an odd number of digits is padded in front.
    Binary(Box<[u8]>),
    /// `{d '2024-01-01'}`, `{t '10:00:00'}`, `{ts '..'}`, `{guid '..'}`
    Odbc(OdbcKind, Box<str>),
}

/// The kind of an ODBC escape literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdbcKind {
    /// `d`
    Date,
    /// `t`
    Time,
    /// `ts`
    Timestamp,
    /// `guid`
    Guid,
}

/// A column by name, or one of the pseudo columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// The column; `$action`, `$IDENTITY` and `$ROWGUID` keep their `$`.
    pub column: Ident,
    /// The table, alias, `inserted` or `deleted` before it.
    pub table: Option<ObjectName>,
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
}

/// An infix operator between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `+`: addition or concatenation.
    Add,
    /// `-`
    Subtract,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
}

/// The parts of IIF.
#[derive(Clone, Debug, PartialEq)]
pub struct Iif {
    /// What is asked.
    pub condition: Condition,
    /// The value if true.
    pub then: Expr,
    /// The value if false or unknown.
    pub otherwise: Expr,
}

/// The parts of a conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct Convert {
    /// Which function.
    pub form: ConvertForm,
    /// Whether a failure gives NULL.
    pub on_failure: OnFailure,
    /// The value.
    pub operand: Expr,
    /// The target.
    pub target: TypeName,
    /// CONVERT's style or PARSE's culture.
    pub style: Option<Expr>,
}

/// Which conversion function was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertForm {
    /// `CAST(x AS t)`
    Cast,
    /// `CONVERT(t, x [, style])`
    Convert,
    /// `PARSE(x AS t [USING culture])`
    Parse,
}

/// What a failed conversion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// An error.
    Error,
    /// NULL: the TRY_ form.
    Null,
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function; one part for built-in ones.
    pub name: ObjectName,
    /// DISTINCT before the arguments.
    pub distinct: bool,
    /// The arguments. `COUNT(*)` has one [`ExprKind::Star`].
    pub arguments: Vec<Expr>,
    /// `WITHIN GROUP (ORDER BY ..)`
    pub within_group: Vec<OrderBy>,
    /// `IGNORE NULLS` or `RESPECT NULLS`
    pub nulls: Option<NullTreatment>,
    /// `OVER (..)`
    pub over: Option<Over>,
    /// What is special about a few functions' arguments.
    pub special: CallSpecial,
}

/// The few functions whose arguments are not a plain list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSpecial {
    /// Nothing.
    None,
    /// `TRIM(LEADING x FROM y)`: arguments are `[x, y]`.
    TrimLeading,
    /// `TRIM(TRAILING x FROM y)`: arguments are `[x, y]`.
    TrimTrailing,
    /// `TRIM(x FROM y)` and `TRIM(BOTH x FROM y)`: arguments are `[x, y]`.
    TrimBoth,
    /// `JSON_OBJECT(k: v, ..)`: arguments alternate key, value; NULL ON NULL (the default).
    JsonNullOnNull,
    /// `JSON_OBJECT(.. ABSENT ON NULL)`, `JSON_ARRAY(.. ABSENT ON NULL)`
    JsonAbsentOnNull,
    /// `{fn name(..)}`
    OdbcFunction,
}

/// What a window function does with NULLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullTreatment {
    /// IGNORE NULLS
    Ignore,
    /// RESPECT NULLS
    Respect,
}

/// A function without parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Niladic {
    /// CURRENT_TIMESTAMP
    CurrentTimestamp,
    /// CURRENT_DATE
    CurrentDate,
    /// CURRENT_USER
    CurrentUser,
    /// SESSION_USER
    SessionUser,
    /// SYSTEM_USER
    SystemUser,
    /// USER
    User,
}

/// A method call on a value: `target.name(arguments)`.
///
/// Behind a column name only the methods of `xml` (`value`, `query`, `exist`, `nodes`, `modify`) are
/// taken for methods; `a.b(1)` is a [`Call`] of function `b` in schema `a`.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// The value.
    pub target: Expr,
    /// The method.
    pub name: Ident,
    /// Its arguments.
    pub arguments: Vec<Expr>,
}

/// A method call on a type: `type::name(arguments)`; without parentheses it is a property.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticMethod {
    /// The type.
    pub type_name: ObjectName,
    /// The method or property.
    pub name: Ident,
    /// Its arguments; `None` for a property.
    pub arguments: Option<Vec<Expr>>,
}

/// A window: `OVER (PARTITION BY .. ORDER BY .. ROWS ..)` or `OVER name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Over {
    /// The window of the WINDOW clause it refers to or starts from.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderBy>,
    /// ROWS or RANGE.
    pub frame: Option<Frame>,
    /// Where.
    pub span: Span,
}

/// A window frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// ROWS or RANGE.
    pub unit: FrameUnit,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends; the current row if it was left out.
    pub end: FrameBound,
}

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Peers.
    Range,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING
    Preceding(Box<Expr>),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(Box<Expr>),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// A search condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What it is.
    pub kind: ConditionKind,
    /// Where; parentheses around it are left out.
    pub span: Span,
}

/// Every kind of condition.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionKind {
    /// All of them; two and more.
    And(Vec<Condition>),
    /// Any of them; two and more.
    Or(Vec<Condition>),
    /// `NOT x`
    Not(Box<Condition>),
    /// `a = b`
    Compare {
        /// The operator.
        op: CompareOp,
        /// Its left side.
        left: Box<Expr>,
        /// Its right side.
        right: Box<Expr>,
    },
    /// `a = ANY (SELECT ..)`, `a > ALL (SELECT ..)`; SOME is ANY.
    CompareQuantified {
        /// The operator.
        op: CompareOp,
        /// Its left side.
        left: Box<Expr>,
        /// ANY or ALL.
        quantifier: Quantifier,
        /// Its right side.
        query: Box<QueryExpression>,
    },
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// NOT was written.
        negated: bool,
        /// What is compared.
        operand: Box<Expr>,
        /// Lower bound, included.
        low: Box<Expr>,
        /// Upper bound, included.
        high: Box<Expr>,
    },
    /// `x [NOT] LIKE pattern [ESCAPE c]`
    Like {
        /// NOT was written.
        negated: bool,
        /// The string.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character.
        escape: Option<Box<Expr>>,
    },
    /// `x [NOT] IN (a, b)`
    InList {
        /// NOT was written.
        negated: bool,
        /// What is looked for.
        operand: Box<Expr>,
        /// Where; at least one.
        list: Vec<Expr>,
    },
    /// `x [NOT] IN (SELECT ..)`
    InQuery {
        /// NOT was written.
        negated: bool,
        /// What is looked for.
        operand: Box<Expr>,
        /// Where.
        query: Box<QueryExpression>,
    },
    /// `x IS [NOT] NULL`
    IsNull {
        /// NOT was written.
        negated: bool,
        /// What is asked.
        operand: Box<Expr>,
    },
    /// `x IS [NOT] DISTINCT FROM y`
    IsDistinct {
        /// NOT was written.
        negated: bool,
        /// Left side.
        left: Box<Expr>,
        /// Right side.
        right: Box<Expr>,
    },
    /// `EXISTS (SELECT ..)`
    Exists(Box<QueryExpression>),
    /// `UPDATE(column)` in a trigger.
    ColumnUpdated(Ident),
    /// `CURRENT OF cursor`, only as the whole WHERE of UPDATE and DELETE.
    CurrentOf(super::CursorRef),
    /// `CONTAINS(..)`, `FREETEXT(..)`: full-text search.
    FullText(Box<Call>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `<>`, `!=`
    NotEqual,
    /// `<`, `!>=` does not exist.
    Less,
    /// `<=`, `!>`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`, `!<`
    GreaterOrEqual,
}

/// How many rows of a subquery a comparison must hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// One: ANY or SOME.
    Any,
    /// Every one.
    All,
}
