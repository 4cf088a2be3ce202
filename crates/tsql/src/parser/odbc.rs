//! Parses `{fn name(arguments)}`: the scalar functions of ODBC, as T-SQL expressions of the
//! same meaning.
//!
//! A function that T-SQL has under the same name is an ordinary call; [`FUNCTIONS`] has the others.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    ArithmeticOp, Call, CallSpecial, ColumnRef, Convert, ConvertForm, Expr, ExprKind, Ident,
    Literal, ObjectName, OnFailure, Quoting, Span, TypeArguments, TypeName,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// Style of CONVERT: `yyyy-mm-dd hh:mi:ss.mmm`.
const STYLE_ODBC: i32 = 121;
/// Characters of a date, and of a time with milliseconds, in that style.
const DATE_LENGTH: u32 = 10;
const TIME_LENGTH: u32 = 12;
/// Characters of date and time.
const TIMESTAMP_LENGTH: u32 = 23;
/// Characters of a time of any precision.
const TIME_LENGTH_MAX: u32 = 16;
/// The highest precision of a time.
const PRECISION_MAX: i32 = 7;

/// A function of ODBC that T-SQL has under another name or in another form.
struct Function {
    name: &'static str,
    /// Least and most number of arguments.
    arguments: (usize, usize),
    meaning: Meaning,
}

/// The T-SQL expression that a function means.
#[derive(Clone, Copy)]
enum Meaning {
    /// The T-SQL function of this name, with the same arguments.
    Call(&'static str),
    /// `name(part, argument)`: DATEPART or DATENAME.
    Part(&'static str, &'static str),
    /// `name(unit, a, b)` with ODBC's word for the unit: DATEADD or DATEDIFF.
    Interval(&'static str),
    /// An operator between the two arguments.
    Operator(ArithmeticOp),
    /// The length in bytes times 8.
    BitLength,
    /// `ROUND(x, digits, 1)`, which cuts instead of rounding.
    Truncate,
    /// The date as `varchar(10)`.
    Date,
    /// The time as `varchar`, with the precision of the argument or with milliseconds.
    Time,
    /// Date and time, with the precision of the argument if it has one.
    Timestamp,
}

const fn of(name: &'static str, arguments: (usize, usize), meaning: Meaning) -> Function {
    Function { name, arguments, meaning }
}

/// The functions of ODBC (Programmer's Reference, appendix E) that are no T-SQL functions.
const FUNCTIONS: &[Function] = &[
    // Strings
    of("BIT_LENGTH", (1, 1), Meaning::BitLength),
    of("CHAR_LENGTH", (1, 1), Meaning::Call("LEN")),
    of("CHARACTER_LENGTH", (1, 1), Meaning::Call("LEN")),
    of("CONCAT", (2, 2), Meaning::Operator(ArithmeticOp::Add)),
    of("INSERT", (4, 4), Meaning::Call("STUFF")),
    of("LCASE", (1, 1), Meaning::Call("LOWER")),
    of("LENGTH", (1, 1), Meaning::Call("LEN")),
    of("LOCATE", (2, 3), Meaning::Call("CHARINDEX")),
    of("OCTET_LENGTH", (1, 1), Meaning::Call("DATALENGTH")),
    of("POSITION", (2, 2), Meaning::Call("CHARINDEX")),
    of("REPEAT", (2, 2), Meaning::Call("REPLICATE")),
    of("UCASE", (1, 1), Meaning::Call("UPPER")),
    // Numbers
    of("ATAN2", (2, 2), Meaning::Call("ATN2")),
    of("MOD", (2, 2), Meaning::Operator(ArithmeticOp::Modulo)),
    of("TRUNCATE", (2, 2), Meaning::Truncate),
    // Dates and times
    of("CURDATE", (0, 0), Meaning::Date),
    of("CURRENT_DATE", (0, 0), Meaning::Date),
    of("CURRENT_TIME", (0, 1), Meaning::Time),
    of("CURRENT_TIMESTAMP", (0, 1), Meaning::Timestamp),
    of("CURTIME", (0, 1), Meaning::Time),
    of("DAYNAME", (1, 1), Meaning::Part("DATENAME", "weekday")),
    of("DAYOFMONTH", (1, 1), Meaning::Part("DATEPART", "day")),
    of("DAYOFWEEK", (1, 1), Meaning::Part("DATEPART", "weekday")),
    of("DAYOFYEAR", (1, 1), Meaning::Part("DATEPART", "dayofyear")),
    of("EXTRACT", (2, 2), Meaning::Call("DATEPART")),
    of("HOUR", (1, 1), Meaning::Part("DATEPART", "hour")),
    of("MINUTE", (1, 1), Meaning::Part("DATEPART", "minute")),
    of("MONTHNAME", (1, 1), Meaning::Part("DATENAME", "month")),
    of("NOW", (0, 0), Meaning::Timestamp),
    of("QUARTER", (1, 1), Meaning::Part("DATEPART", "quarter")),
    of("SECOND", (1, 1), Meaning::Part("DATEPART", "second")),
    of("TIMESTAMPADD", (3, 3), Meaning::Interval("DATEADD")),
    of("TIMESTAMPDIFF", (3, 3), Meaning::Interval("DATEDIFF")),
    of("WEEK", (1, 1), Meaning::Part("DATEPART", "week")),
    // The system
    of("DATABASE", (0, 0), Meaning::Call("DB_NAME")),
    of("IFNULL", (2, 2), Meaning::Call("ISNULL")),
    of("USER", (0, 0), Meaning::Call("USER_NAME")),
];

/// ODBC's words for units of time. A fraction of a second is counted in milliseconds, the finest
/// unit that `datetime` has.
const INTERVALS: [(&str, &str); 9] = [
    ("SQL_TSI_FRAC_SECOND", "millisecond"),
    ("SQL_TSI_SECOND", "second"),
    ("SQL_TSI_MINUTE", "minute"),
    ("SQL_TSI_HOUR", "hour"),
    ("SQL_TSI_DAY", "day"),
    ("SQL_TSI_WEEK", "week"),
    ("SQL_TSI_MONTH", "month"),
    ("SQL_TSI_QUARTER", "quarter"),
    ("SQL_TSI_YEAR", "year"),
];

/// The fields of EXTRACT.
const FIELDS: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];

/// The types of ODBC's CONVERT, and what they are if no length is written.
const TYPES: [(&str, &str, TypeArguments); 27] = [
    ("SQL_BIGINT", "bigint", TypeArguments::None),
    ("SQL_BINARY", "binary", TypeArguments::None),
    ("SQL_BIT", "bit", TypeArguments::None),
    ("SQL_CHAR", "char", TypeArguments::None),
    ("SQL_DATE", "date", TypeArguments::None),
    ("SQL_DECIMAL", "decimal", TypeArguments::None),
    ("SQL_DOUBLE", "float", TypeArguments::None),
    ("SQL_FLOAT", "float", TypeArguments::None),
    ("SQL_GUID", "uniqueidentifier", TypeArguments::None),
    ("SQL_INTEGER", "int", TypeArguments::None),
    ("SQL_LONGVARBINARY", "varbinary", TypeArguments::Max),
    ("SQL_LONGVARCHAR", "varchar", TypeArguments::Max),
    ("SQL_NUMERIC", "numeric", TypeArguments::None),
    ("SQL_REAL", "real", TypeArguments::None),
    ("SQL_SMALLINT", "smallint", TypeArguments::None),
    ("SQL_TIME", "time", TypeArguments::None),
    ("SQL_TIMESTAMP", "datetime", TypeArguments::None),
    ("SQL_TINYINT", "tinyint", TypeArguments::None),
    ("SQL_TYPE_DATE", "date", TypeArguments::None),
    ("SQL_TYPE_TIME", "time", TypeArguments::None),
    ("SQL_TYPE_TIMESTAMP", "datetime", TypeArguments::None),
    ("SQL_VARBINARY", "varbinary", TypeArguments::None),
    ("SQL_VARCHAR", "varchar", TypeArguments::None),
    ("SQL_WCHAR", "nchar", TypeArguments::None),
    ("SQL_WLONGVARCHAR", "nvarchar", TypeArguments::Max),
    ("SQL_WVARCHAR", "nvarchar", TypeArguments::None),
    ("SQL_SS_TIMESTAMPOFFSET", "datetimeoffset", TypeArguments::None),
];

impl Parser<'_> {
    /// Parses `{fn name(arguments)}`.
    ///
    /// # Errors
    /// 174 and 189 for a wrong number of arguments, 155 for an unknown unit of time.
    #[inline(never)]
    pub(super) fn odbc_function(&mut self) -> Result<ExprKind> {
        self.expect_kind(TokenKind::LeftBrace)?;
        self.expect(Kw::Fn)?;
        let start = self.start();
        let name = self.any_word()?;
        let function = FUNCTIONS.iter().find(|function| name.is(function.name));
        let kind = match function {
            Some(function) => self.odbc_meaning(function)?,
            None if name.is("CONVERT") => self.odbc_convert()?,
            None => self.odbc_plain_call(name, start)?,
        };
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(kind)
    }

    /// Parses the call of a function that T-SQL has under the same name.
    fn odbc_plain_call(&mut self, name: Ident, start: u32) -> Result<ExprKind> {
        let mut kind = self.call_by_name(ObjectName::simple(name))?;
        let ExprKind::Call(call) = &mut kind else {
            return Err(self.error_at(Msg::SyntaxNear("fn"), start));
        };
        call.special = CallSpecial::OdbcFunction;
        Ok(kind)
    }

    fn odbc_meaning(&mut self, function: &Function) -> Result<ExprKind> {
        let start = self.start();
        let is_call = self.at_kind(TokenKind::LeftParen);
        let mut arguments = match function.name {
            _ if !is_call => Vec::new(),
            "EXTRACT" => self.odbc_pair(Kw::From)?,
            "POSITION" => self.odbc_pair(Kw::In)?,
            _ => self.arguments()?,
        };
        let (least, most) = function.arguments;
        if !(least..=most).contains(&arguments.len()) {
            let name = function.name.to_ascii_lowercase();
            let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
            let message = if least == most {
                Msg::FunctionArguments(&name, number(least))
            } else {
                Msg::FunctionArgumentRange(&name, number(least), number(most))
            };
            return Err(self.error_at(message, start));
        }
        let span = self.span_from(start);
        match (function.meaning, function.name) {
            (Meaning::Interval(_), _) => self.odbc_unit(function.name, &mut arguments, start)?,
            (_, "EXTRACT") => self.odbc_field(&arguments, start)?,
            (Meaning::Time | Meaning::Timestamp, _) if !arguments.is_empty() => {
                self.odbc_precision(&arguments, start)?;
            }
            _ => {}
        }
        Ok(function.meaning.of(arguments, span))
    }

    /// Parses `(a FROM b)` or `(a IN b)`, where a comma is accepted as well.
    fn odbc_pair(&mut self, between: Kw) -> Result<Vec<Expr>> {
        self.parens(|parser| {
            let first = parser.expr()?;
            if !parser.eat(between) {
                parser.expect_kind(TokenKind::Comma)?;
            }
            Ok(vec![first, parser.expr()?])
        })
    }

    /// Replaces the first argument, ODBC's word for a unit of time, by T-SQL's.
    fn odbc_unit(&self, function: &str, arguments: &mut [Expr], start: u32) -> Result<()> {
        let word = word_of(&arguments[0]);
        let unit = INTERVALS.iter().find(|(odbc, _)| word.eq_ignore_ascii_case(odbc));
        let Some((_, part)) = unit else {
            let kind = function.to_ascii_lowercase();
            return Err(self.error_at(Msg::UnrecognizedOption(word, &kind), start));
        };
        arguments[0] = part_word(part, arguments[0].span);
        Ok(())
    }

    fn odbc_field(&self, arguments: &[Expr], start: u32) -> Result<()> {
        let word = word_of(&arguments[0]);
        match FIELDS.iter().any(|field| word.eq_ignore_ascii_case(field)) {
            true => Ok(()),
            false => Err(self.error_at(Msg::UnrecognizedOption(word, "extract"), start)),
        }
    }

    fn odbc_precision(&self, arguments: &[Expr], start: u32) -> Result<()> {
        match &arguments[0].kind {
            ExprKind::Literal(Literal::Int(0..=PRECISION_MAX)) => Ok(()),
            _ => Err(self.error_at(Msg::SyntaxNear("("), start)),
        }
    }

    /// Parses `(x, SQL_TYPE)` of ODBC's CONVERT. The type may have a length, and be one of T-SQL's.
    fn odbc_convert(&mut self) -> Result<ExprKind> {
        self.parens(|parser| {
            let operand = parser.expr()?;
            parser.expect_kind(TokenKind::Comma)?;
            let mut target = parser.type_name()?;
            let odbc = target
                .name
                .as_simple()
                .and_then(|name| TYPES.iter().find(|(odbc, ..)| name.is(odbc)));
            match odbc {
                Some((_, name, arguments)) => {
                    target.name = ObjectName::simple(word(name, target.span));
                    if target.arguments == TypeArguments::None {
                        target.arguments = arguments.clone();
                    }
                }
                None if target.name.object.to_ascii_uppercase().starts_with("SQL_") => {
                    let name = target.name.to_string();
                    let start = target.span.start;
                    return Err(parser.error_at(Msg::TypeNotDefined(&name), start));
                }
                None => {}
            }
            Ok(convert(target, operand, None))
        })
    }
}

impl Meaning {
    /// Returns the expression for arguments whose number is right.
    fn of(self, arguments: Vec<Expr>, span: Span) -> ExprKind {
        let expr = |kind| Expr { kind, span };
        let int = |number| expr(ExprKind::Literal(Literal::Int(number)));
        match self {
            Self::Call(name) => call(name, arguments, span),
            Self::Part(name, part) => {
                let part = std::iter::once(part_word(part, span));
                call(name, part.chain(arguments).collect(), span)
            }
            Self::Interval(name) => call(name, arguments, span),
            Self::Operator(operator) => {
                let mut operands = arguments.into_iter();
                match (operands.next(), operands.next()) {
                    (Some(first), Some(second)) => chain(first, operator, second),
                    (Some(only), None) => only.kind,
                    (None, _) => ExprKind::Literal(Literal::Null),
                }
            }
            Self::BitLength => {
                let bytes = expr(call("DATALENGTH", arguments, span));
                chain(bytes, ArithmeticOp::Multiply, int(8))
            }
            Self::Truncate => call("ROUND", arguments.into_iter().chain([int(1)]).collect(), span),
            Self::Date => text_of_now(DATE_LENGTH, span),
            Self::Time => match precision(&arguments) {
                Some(digits) => {
                    let time = type_name("time", TypeArguments::One(digits), span);
                    let now = expr(call("SYSDATETIME", Vec::new(), span));
                    let time = expr(convert(time, now, None));
                    let text = TypeArguments::One(TIME_LENGTH_MAX);
                    convert(type_name("varchar", text, span), time, None)
                }
                None => {
                    let whole = expr(text_of_now(TIMESTAMP_LENGTH, span));
                    let length = i32::try_from(TIME_LENGTH).unwrap_or(i32::MAX);
                    let time = expr(call("RIGHT", vec![whole, int(length)], span));
                    let text = TypeArguments::One(TIME_LENGTH);
                    convert(type_name("varchar", text, span), time, None)
                }
            },
            Self::Timestamp => match precision(&arguments) {
                Some(digits) => {
                    let now = expr(call("SYSDATETIME", Vec::new(), span));
                    convert(type_name("datetime2", TypeArguments::One(digits), span), now, None)
                }
                None => call("GETDATE", Vec::new(), span),
            },
        }
    }
}

/// Returns the precision that an argument says, checked before.
fn precision(arguments: &[Expr]) -> Option<u32> {
    match arguments.first().map(|argument| &argument.kind) {
        Some(ExprKind::Literal(Literal::Int(digits))) => u32::try_from(*digits).ok(),
        _ => None,
    }
}

/// Returns `CONVERT(varchar(length), GETDATE(), 121)`.
fn text_of_now(length: u32, span: Span) -> ExprKind {
    let now = Expr { kind: call("GETDATE", Vec::new(), span), span };
    let style = Expr { kind: ExprKind::Literal(Literal::Int(STYLE_ODBC)), span };
    convert(type_name("varchar", TypeArguments::One(length), span), now, Some(style))
}

fn convert(target: TypeName, operand: Expr, style: Option<Expr>) -> ExprKind {
    let (form, on_failure) = (ConvertForm::Convert, OnFailure::Error);
    ExprKind::Convert(Box::new(Convert { form, on_failure, operand, target, style }))
}

fn call(name: &str, arguments: Vec<Expr>, span: Span) -> ExprKind {
    ExprKind::Call(Box::new(Call {
        name: ObjectName::simple(word(name, span)),
        distinct: false,
        arguments,
        within_group: Vec::new(),
        nulls: None,
        over: None,
        special: CallSpecial::None,
    }))
}

fn chain(first: Expr, operator: ArithmeticOp, second: Expr) -> ExprKind {
    ExprKind::Arithmetic { first: Box::new(first), rest: vec![(operator, second)] }
}

fn type_name(name: &str, arguments: TypeArguments, span: Span) -> TypeName {
    TypeName { name: ObjectName::simple(word(name, span)), arguments, span }
}

fn word(text: &str, span: Span) -> Ident {
    Ident::new(text, Quoting::None, span)
}

/// Returns a word where a function wants one, as `day` in DATEADD.
fn part_word(text: &str, span: Span) -> Expr {
    let column = ColumnRef { column: word(text, span), table: None };
    Expr { kind: ExprKind::Column(Box::new(column)), span }
}

/// Returns the word that an argument is; empty for any other expression.
fn word_of(argument: &Expr) -> &str {
    match &argument.kind {
        ExprKind::Column(column) if column.table.is_none() => column.column.as_str(),
        _ => "",
    }
}
