//! Expressions, which have a value, and conditions, which are true, false or unknown.
//!
//! T-SQL keeps the two apart in its grammar and so does this tree: a [`Condition`] is no [`Expr`].

use super::{Ident, ObjectName, OrderBy, QueryExpression, Span, TypeName, Variable};

/// An expression that has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Which form of expression it is.
    pub kind: ExprKind,
    /// Source range, without parentheses around the expression.
    pub span: Span,
}

/// Every kind of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant, such as `1` or `N'x'`.
    Literal(Literal),
    /// `c`, `t.c`, `schema.t.c`: also where a function wants a word, as `day` in `DATEADD(day,
    /// ..)`.
    Column(Box<ColumnRef>),
    /// `@v`, `@@ROWCOUNT`: a variable or a system function.
    Variable(Variable),
    /// `-x`, `+x`, `~x`: a prefix operator.
    Unary {
        /// Minus, plus or bitwise not.
        op: UnaryOp,
        /// The expression behind the operator.
        operand: Box<Expr>,
    },
    /// A chain of operators of one precedence level, applied from left to right:
    /// `((first op1 e1) op2 e2)`. Levels: `* / %`, then `+ - & ^ |`.
    Arithmetic {
        /// The leftmost operand of the chain.
        first: Box<Expr>,
        /// Each further operand with the operator before it; at least one.
        rest: Vec<(ArithmeticOp, Expr)>,
    },
    /// `CASE WHEN condition THEN .. END`
    SearchedCase {
        /// The branches; at least one.
        branches: Vec<(Condition, Expr)>,
        /// The value of ELSE; `None` is NULL.
        otherwise: Option<Box<Expr>>,
    },
    /// `CASE input WHEN value THEN .. END`
    SimpleCase {
        /// The expression that the branches are compared with.
        input: Box<Expr>,
        /// The branches; at least one.
        branches: Vec<(Expr, Expr)>,
        /// The value of ELSE; `None` is NULL.
        otherwise: Option<Box<Expr>>,
    },
    /// `IIF(condition, a, b)`: short for a searched CASE.
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
    /// `x COLLATE name`: gives a string an explicit collation.
    Collate {
        /// The string that gets the collation.
        operand: Box<Expr>,
        /// Name of the collation, not checked here.
        collation: Ident,
    },
    /// `x AT TIME ZONE zone`
    AtTimeZone {
        /// The date and time that is converted.
        operand: Box<Expr>,
        /// Name of the time zone; any string expression.
        zone: Box<Expr>,
    },
    /// `NEXT VALUE FOR sequence [OVER (ORDER BY ..)]`
    NextValue {
        /// Name of the sequence object.
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
    /// The keyword `NULL`, a constant without type.
    Null,
    /// An integer that fits `int`.
    Int(i32),
    /// A number with a point, or an integer too big for `int`: digits with at most one point, no
    /// sign. Its type is `decimal` of exactly the written precision and scale; at most 38 digits.
    Decimal(Box<str>),
    /// `1e3`: a constant of type `float`.
    Float(f64),
    /// `$1.5`, in units of 1/10,000 (`money`).
    Money(i64),
    /// `'text'`: a constant of type `varchar`.
    String(Box<str>),
    /// `N'text'`: a constant of type `nvarchar`.
    NString(Box<str>),
    /// `0x1F`; an odd number of digits is padded in front.
    Binary(Box<[u8]>),
    /// `{d '2024-01-01'}`, `{t '10:00:00'}`, `{ts '..'}`, `{guid '..'}`
    Odbc(OdbcKind, Box<str>),
}

/// The kind of an ODBC escape literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdbcKind {
    /// `{d '2024-01-01'}`: a date.
    Date,
    /// `{t '10:00:00'}`: a time of day.
    Time,
    /// `{ts '2024-01-01 10:00:00'}`: date and time.
    Timestamp,
    /// `{guid '..'}`: a constant of type `uniqueidentifier`.
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

/// A prefix (unary) operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`: negates the operand.
    Minus,
    /// `+x`: returns the operand unchanged.
    Plus,
    /// `~x`: inverts the bits of an integer.
    BitNot,
}

/// An infix operator between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `a * b`: multiplication.
    Multiply,
    /// `a / b`: division.
    Divide,
    /// `a % b`: remainder of a division.
    Modulo,
    /// `+`: addition or concatenation.
    Add,
    /// `a - b`: subtraction.
    Subtract,
    /// `a & b`: bitwise AND.
    BitAnd,
    /// `a ^ b`: bitwise exclusive OR.
    BitXor,
    /// `a | b`: bitwise OR.
    BitOr,
    /// `a || b`: concatenation, NULL if an operand is.
    Concatenate,
}

/// The parts of IIF.
#[derive(Clone, Debug, PartialEq)]
pub struct Iif {
    /// The condition that chooses the value.
    pub condition: Condition,
    /// The value if true.
    pub then: Expr,
    /// The value if false or unknown.
    pub otherwise: Expr,
}

/// The parts of a conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct Convert {
    /// CAST, CONVERT or PARSE, as written.
    pub form: ConvertForm,
    /// Whether a failed conversion gives NULL, as in the TRY_ forms, or an error.
    pub on_failure: OnFailure,
    /// The value that is converted.
    pub operand: Expr,
    /// The type that it is converted to.
    pub target: TypeName,
    /// CONVERT's style or PARSE's culture; `None` if left out.
    pub style: Option<Expr>,
}

/// Which conversion function was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertForm {
    /// `CAST(x AS t)` or `TRY_CAST(x AS t)`.
    Cast,
    /// `CONVERT(t, x [, style])`
    Convert,
    /// `PARSE(x AS t [USING culture])`
    Parse,
}

/// What a failed conversion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The statement fails with a conversion error.
    Error,
    /// The result is NULL: the TRY_ form.
    Null,
}

/// A call of a function by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function; one part for built-in ones.
    pub name: ObjectName,
    /// `DISTINCT` before the arguments, as in `COUNT(DISTINCT x)`.
    pub distinct: bool,
    /// The arguments. `COUNT(*)` has one [`ExprKind::Star`].
    pub arguments: Vec<Expr>,
    /// `WITHIN GROUP (ORDER BY ..)`
    pub within_group: Vec<OrderBy>,
    /// `IGNORE NULLS` or `RESPECT NULLS`
    pub nulls: Option<NullTreatment>,
    /// `OVER (..)`: makes the call a window function; `None` without the clause.
    pub over: Option<Over>,
    /// Extra syntax that a few functions have around their arguments.
    pub special: CallSpecial,
}

/// The few functions whose arguments are not a plain list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSpecial {
    /// A plain list of arguments.
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
    /// `{fn name(..)}`: an ODBC scalar function.
    OdbcFunction,
}

/// What a window function does with NULLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullTreatment {
    /// `IGNORE NULLS`: the function skips NULLs.
    Ignore,
    /// `RESPECT NULLS`: NULLs count as values; the default.
    Respect,
}

/// A function without parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Niladic {
    /// `CURRENT_TIMESTAMP`: date and time, as GETDATE().
    CurrentTimestamp,
    /// `CURRENT_DATE`: the date without the time.
    CurrentDate,
    /// `CURRENT_USER`: the current database user's name.
    CurrentUser,
    /// `SESSION_USER`: the current database user's name.
    SessionUser,
    /// `SYSTEM_USER`: the name of the current login.
    SystemUser,
    /// `USER`: the current database user's name.
    User,
}

/// A method call on a value: `target.name(arguments)`.
///
/// Behind a column name only the methods of `xml` (`value`, `query`, `exist`, `nodes`, `modify`)
/// parse as methods; `a.b(1)` is a [`Call`] of function `b` in schema `a`.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// The value that has the method.
    pub target: Expr,
    /// Name of the method, as `value`.
    pub name: Ident,
    /// The arguments in parentheses.
    pub arguments: Vec<Expr>,
}

/// A method call on a type: `type::name(arguments)`; without parentheses it is a property.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticMethod {
    /// The CLR type, as `geometry` or `hierarchyid`.
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
    /// `PARTITION BY` expressions; empty is one partition of all rows.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY` items within a partition.
    pub order_by: Vec<OrderBy>,
    /// `ROWS ..` or `RANGE ..`; `None` is the function's default frame.
    pub frame: Option<Frame>,
    /// Source range from OVER to its end.
    pub span: Span,
}

/// The rows around the current one that a window function sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What the bounds count: ROWS or RANGE.
    pub unit: FrameUnit,
    /// The first row of the frame.
    pub start: FrameBound,
    /// Where it ends; the current row if it was left out.
    pub end: FrameBound,
}

/// The unit in which a frame's bounds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// `ROWS`: bounds count single rows.
    Rows,
    /// `RANGE`: rows that are equal in ORDER BY belong together.
    Range,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`: the partition's first row.
    UnboundedPreceding,
    /// `n PRECEDING`: n rows before the current one.
    Preceding(Box<Expr>),
    /// `CURRENT ROW`: the current row, or its peers with RANGE.
    CurrentRow,
    /// `n FOLLOWING`: n rows after the current one.
    Following(Box<Expr>),
    /// `UNBOUNDED FOLLOWING`: the partition's last row.
    UnboundedFollowing,
}

/// A search condition: true, false or unknown for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Which form of condition it is.
    pub kind: ConditionKind,
    /// Source range, without parentheses around the condition.
    pub span: Span,
}

/// Every kind of condition.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionKind {
    /// `a AND b AND ..`; at least two conditions.
    And(Vec<Condition>),
    /// `a OR b OR ..`; at least two conditions.
    Or(Vec<Condition>),
    /// `NOT x`: true if x is false.
    Not(Box<Condition>),
    /// `a = b` and the other comparisons.
    Compare {
        /// The comparison, as `=` or `<>`.
        op: CompareOp,
        /// The operand left of the operator.
        left: Box<Expr>,
        /// The operand right of the operator.
        right: Box<Expr>,
    },
    /// `a = ANY (SELECT ..)`, `a > ALL (SELECT ..)`; SOME is ANY.
    CompareQuantified {
        /// The comparison, as `=` or `<>`.
        op: CompareOp,
        /// The value compared with each row.
        left: Box<Expr>,
        /// `ANY` (also `SOME`) or `ALL`.
        quantifier: Quantifier,
        /// The subquery, which has one column.
        query: Box<QueryExpression>,
    },
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// Whether `NOT BETWEEN` was written.
        negated: bool,
        /// The value that is tested.
        operand: Box<Expr>,
        /// The lower bound, part of the range.
        low: Box<Expr>,
        /// The upper bound, part of the range.
        high: Box<Expr>,
    },
    /// `x [NOT] LIKE pattern [ESCAPE c]`
    Like {
        /// Whether `NOT LIKE` was written.
        negated: bool,
        /// The string that is matched.
        operand: Box<Expr>,
        /// The pattern with `%`, `_` and `[..]`.
        pattern: Box<Expr>,
        /// The escape character; `None` without ESCAPE.
        escape: Option<Box<Expr>>,
    },
    /// `x [NOT] IN (a, b)`
    InList {
        /// Whether `NOT IN` was written.
        negated: bool,
        /// The value that is searched for.
        operand: Box<Expr>,
        /// The values that it is compared with; at least one.
        list: Vec<Expr>,
    },
    /// `x [NOT] IN (SELECT ..)`
    InQuery {
        /// Whether `NOT IN` was written.
        negated: bool,
        /// The value that is searched for.
        operand: Box<Expr>,
        /// The subquery, which has one column.
        query: Box<QueryExpression>,
    },
    /// `x IS [NOT] NULL`
    IsNull {
        /// Whether `IS NOT NULL` was written.
        negated: bool,
        /// The expression that is tested for NULL.
        operand: Box<Expr>,
    },
    /// `x IS [NOT] DISTINCT FROM y`
    IsDistinct {
        /// Whether `IS NOT DISTINCT FROM` was written.
        negated: bool,
        /// The operand left of IS.
        left: Box<Expr>,
        /// The operand right of FROM.
        right: Box<Expr>,
    },
    /// `EXISTS (SELECT ..)`: true if the subquery returns a row.
    Exists(Box<QueryExpression>),
    /// `UPDATE(column)` in a trigger.
    ColumnUpdated(Ident),
    /// `CURRENT OF cursor`, only as the whole WHERE of UPDATE and DELETE.
    CurrentOf(super::CursorRef),
    /// `CONTAINS(..)`, `FREETEXT(..)`: full-text search.
    FullText(Box<Call>),
}

/// A comparison operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `a = b`: equal.
    Equal,
    /// `a <> b` or `a != b`: not equal.
    NotEqual,
    /// `a < b`: less than. T-SQL has no `!>=`.
    Less,
    /// `a <= b` or `a !> b`: less than or equal.
    LessOrEqual,
    /// `a > b`: greater than.
    Greater,
    /// `a >= b` or `a !< b`: greater than or equal.
    GreaterOrEqual,
}

/// How many rows of a subquery a comparison must hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// At least one row: ANY or SOME.
    Any,
    /// Every row; true for an empty subquery.
    All,
}
