//! Binds scalar expressions and conditions.
//!
//! Every operand is converted to the type that its operator needs by explicit [`ExprKind::Convert`]
//! nodes, so that evaluation never looks at types. Strings that differ only in length have one
//! representation and need no conversion; that keeps `column = @parameter` recognisable as an index
//! key. Constant operands are converted at bind time.

mod call;
mod case;
mod concatenate;
mod condition;
mod convert;
mod literal;
mod name;
mod next_value;
mod user;
mod window;
mod xml;

use tsql::ast;
use types::type_rules::{self, BinaryOp, UnaryOp};
use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg, Result, Value};

use crate::Binder;
use catalog::options::Meaning;
use plan::depth;
use plan::expr::{Expr, ExprKind};

pub use call::bind_global;
pub(crate) use call::{partition_number, set_clause, share_collation};
pub use case::{common_type, is_null};
pub(crate) use condition::predicate;
pub use condition::{compare, is_not_null};
pub use literal::constant as literal_constant;
pub use name::{check_not_null, find_variable, names_source};
pub use next_value::{
    apply as apply_next_values, compute as compute_next_values, share as share_next_values,
};
pub use plan::convert::{assign, convert_to};
pub use user::{bind_arguments, find as find_object, find_function};
pub use xml::{XmlScope, bind_modify, bind_nodes, mutator};

/// Maximum nesting of expressions. The parser has a separate limit; this one covers views and
/// functions that expand into each other.
const DEPTH_MAX: u32 = 512;

/// Binds an expression.
///
/// # Errors
/// Errors of name resolution (207, 4104, 209, 137), of types (206, 402, 257, 529, 8117) and of
/// functions.
pub fn bind_expr(binder: &mut Binder<'_>, expr: &ast::Expr) -> Result<Expr> {
    binder.depth += 1;
    if binder.depth > DEPTH_MAX {
        binder.depth -= 1;
        return Err(Msg::NestedTooDeeply.into());
    }
    let mut bound = binder.part(depth::EXPR_BYTES, |binder| bind_kind(binder, expr));
    binder.depth -= 1;
    if let Ok(bound) = &mut bound
        && binder.meaning.makes_null()
        && matches!(
            bound.kind,
            ExprKind::Negate(_)
                | ExprKind::Arithmetic(..)
                | ExprKind::Convert(_)
                | ExprKind::Call(..)
                | ExprKind::Case(..)
                | ExprKind::Let(..)
        )
    {
        bound.ty.nullable = true;
    }
    bound
}

/// Binds a condition: an expression whose value is true, false or unknown, of type `bit`.
///
/// # Errors
/// As [`bind_expr`].
pub fn bind_condition(binder: &mut Binder<'_>, condition: &ast::Condition) -> Result<Expr> {
    binder.part(depth::EXPR_BYTES, |binder| condition::bind(binder, condition))
}

fn bind_kind(binder: &mut Binder<'_>, expr: &ast::Expr) -> Result<Expr> {
    match &expr.kind {
        ast::ExprKind::Literal(literal) => literal::bind(binder, literal),
        ast::ExprKind::Column(column) => name::bind_column(binder, column),
        ast::ExprKind::Variable(variable) => name::bind_variable(binder, variable),
        ast::ExprKind::Unary { op, operand } => bind_unary(binder, *op, operand),
        ast::ExprKind::Arithmetic { first, rest } => bind_chain(binder, first, rest),
        ast::ExprKind::SearchedCase { branches, otherwise } => {
            case::bind_searched(binder, branches, otherwise.as_deref())
        }
        ast::ExprKind::SimpleCase { input, branches, otherwise } => {
            case::bind_simple(binder, input, branches, otherwise.as_deref())
        }
        ast::ExprKind::Iif(iif) => case::bind_iif(binder, iif),
        ast::ExprKind::Convert(conversion) => convert::bind(binder, conversion),
        ast::ExprKind::Call(call) => call::bind(binder, call),
        ast::ExprKind::Niladic(niladic) => call::bind_niladic(binder, *niladic),
        ast::ExprKind::Subquery(query) => bind_subquery(binder, query),
        ast::ExprKind::Collate { operand, collation } => bind_collate(binder, operand, collation),
        ast::ExprKind::AtTimeZone { operand, zone } => call::bind_at_zone(binder, operand, zone),
        ast::ExprKind::Method(method) => xml::bind_method(binder, method),
        ast::ExprKind::StaticMethod(method) => {
            not_supported(&format!("{}::{}", method.type_name, method.name))
        }
        ast::ExprKind::NextValue { sequence, over } => {
            next_value::bind(binder, sequence, over.as_deref())
        }
        ast::ExprKind::Star => Err(Msg::SyntaxNear("*").into()),
        ast::ExprKind::Default => Err(Msg::SyntaxNearKeyword("DEFAULT").into()),
    }
}

/// Returns the error for a construct that is parsed but not supported.
pub fn not_supported<T>(construct: &str) -> Result<T> {
    Err(Error::from(Msg::NotSupported(construct)))
}

fn bind_unary(binder: &mut Binder<'_>, op: ast::UnaryOp, operand: &ast::Expr) -> Result<Expr> {
    let bound = bind_expr(binder, operand)?;
    let (op, make): (UnaryOp, fn(Box<Expr>) -> ExprKind) = match op {
        ast::UnaryOp::Plus => return Ok(bound),
        ast::UnaryOp::Minus => (UnaryOp::Negate, ExprKind::Negate),
        ast::UnaryOp::BitNot => (UnaryOp::BitNot, ExprKind::BitNot),
    };
    let data_type = type_rules::unary(op, &bound.ty.data_type)?;
    let ty = ColumnType { data_type, ..bound.ty };
    let bound = convert_to(bound, &ty, Mode::Implicit)?;
    if let Some(value) = bound.as_constant()
        && let Ok(folded) = types::arith::unary(op, value, &data_type)
    {
        return Ok(Expr::new(ExprKind::Constant(folded), ty));
    }
    Ok(Expr::new(make(Box::new(bound)), ty))
}

fn bind_chain(
    binder: &mut Binder<'_>,
    first: &ast::Expr,
    rest: &[(ast::ArithmeticOp, ast::Expr)],
) -> Result<Expr> {
    let mut left = bind_expr(binder, first)?;
    let mut left_ast = Some(first);
    for (op, operand) in rest {
        let mut right = bind_expr(binder, operand)?;
        if left.as_constant().is_none() || right.as_constant().is_none() {
            binder.grow(depth::EXPR_BYTES)?;
        }
        let (l, r) = (left.ty.data_type, right.ty.data_type);
        if let Some(left_ast) = left_ast.take() {
            left = literal::beside_decimal(left_ast, left, &r);
        }
        right = literal::beside_decimal(operand, right, &l);
        left = operate(*op, left, right, binder.meaning)?;
    }
    Ok(left)
}

/// Applies an infix operator to two bound operands; also used for compound assignment.
///
/// # Errors
/// 8117 and 402 for types that the operator does not accept.
#[inline(never)]
pub fn operate(op: ast::ArithmeticOp, left: Expr, right: Expr, meaning: Meaning) -> Result<Expr> {
    let op = match op {
        ast::ArithmeticOp::Multiply => BinaryOp::Multiply,
        ast::ArithmeticOp::Divide => BinaryOp::Divide,
        ast::ArithmeticOp::Modulo => BinaryOp::Modulo,
        ast::ArithmeticOp::Add => BinaryOp::Add,
        ast::ArithmeticOp::Subtract => BinaryOp::Subtract,
        ast::ArithmeticOp::BitAnd => BinaryOp::BitAnd,
        ast::ArithmeticOp::BitXor => BinaryOp::BitXor,
        ast::ArithmeticOp::BitOr => BinaryOp::BitOr,
        ast::ArithmeticOp::Concatenate => return concatenated(left, right),
    };
    arithmetic(op, left, right, meaning)
}

/// Binds `left || right`: as `+` of strings, but NULL if an operand is NULL, under
/// CONCAT_NULL_YIELDS_NULL OFF too, and a number or date beside a string becomes a string.
///
/// # Errors
/// 402 for types that do not become strings or bytes.
#[inline(never)]
fn concatenated(left: Expr, right: Expr) -> Result<Expr> {
    let text = ColumnType::nullable(DataType::VarChar(Length::Limited(1)));
    let (left, right) = match left.is_null_literal() && right.is_null_literal() {
        true => (Expr { ty: text, ..left }, Expr { ty: text, ..right }),
        false => adopt_null_types(left, right),
    };
    let (l, r) = concatenate::operands(&left.ty.data_type, &right.ty.data_type)?;
    let collation = convert::common_collation(&left, &right, "concat")?;
    let typed = |of: Expr, data_type| match of.ty.data_type == data_type {
        true => Ok(of),
        false => {
            let ty = ColumnType { data_type, collation, nullable: of.ty.nullable };
            convert_to(of, &ty, Mode::Implicit)
        }
    };
    arithmetic(BinaryOp::Add, typed(left, l)?, typed(right, r)?, Meaning::default())
}

/// Applies an arithmetic operator to two bound operands.
///
/// # Errors
/// 8117 and 402 for types that the operator does not accept.
#[inline(never)]
fn arithmetic(op: BinaryOp, left: Expr, right: Expr, meaning: Meaning) -> Result<Expr> {
    let collation = convert::common_collation(&left, &right, "add")?;
    let (left, right) = adopt_null_types(left, right);
    let types = type_rules::binary(op, &left.ty.data_type, &right.ty.data_type)?;
    let nullable = left.ty.nullable || right.ty.nullable;
    let ty = ColumnType { data_type: types.result, collation, nullable };
    let left = convert_to(left, &ColumnType { data_type: types.left, ..ty }, Mode::Implicit)?;
    let right = convert_to(right, &ColumnType { data_type: types.right, ..ty }, Mode::Implicit)?;
    if meaning.null_is_empty() && op == BinaryOp::Add && types.result.is_string() {
        let pair = Box::new((or_empty(left)?, or_empty(right)?));
        let ty = ColumnType { nullable: false, ..ty };
        return Ok(Expr::new(ExprKind::Arithmetic(op, pair), ty));
    }
    if let (Some(l), Some(r)) = (left.as_constant(), right.as_constant())
        && let Ok(folded) = types::arith::binary(op, l, r, &types.result)
    {
        return Ok(Expr::new(ExprKind::Constant(folded), ty));
    }
    // As in SQL Server, a result that may overflow is nullable, whatever its operands are.
    let is_certain = types.result.is_string()
        || matches!(types.result, DataType::Binary(_) | DataType::VarBinary(_))
        || matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
    let ty = ColumnType { nullable: nullable || !is_certain, ..ty };
    Ok(Expr::new(ExprKind::Arithmetic(op, Box::new((left, right))), ty))
}

/// Returns `ISNULL(text, '')`: an operand of `+` under CONCAT_NULL_YIELDS_NULL OFF.
fn or_empty(text: Expr) -> Result<Expr> {
    if !text.ty.nullable {
        return Ok(text);
    }
    let value = match text.ty.data_type.is_unicode() {
        true => Value::nvarchar(""),
        false => Value::varchar("", text.ty.collation),
    };
    let ty = ColumnType { nullable: false, ..text.ty };
    if text.is_null_literal() || matches!(text.as_constant(), Some(Value::Null)) {
        return Ok(Expr::new(ExprKind::Constant(value), ty));
    }
    let function = functions::find("ISNULL").expect("the library has this function");
    let arguments = Box::new([text, Expr::new(ExprKind::Constant(value), ty)]);
    Ok(Expr::new(ExprKind::Call(function, arguments), ty))
}

/// Gives a literal NULL the type of the other operand.
fn adopt_null_types(mut left: Expr, mut right: Expr) -> (Expr, Expr) {
    if left.is_null_literal() {
        left.ty.data_type = right.ty.data_type;
    } else if right.is_null_literal() {
        right.ty.data_type = left.ty.data_type;
    }
    (left, right)
}

fn bind_subquery(binder: &mut Binder<'_>, query: &ast::QueryExpression) -> Result<Expr> {
    let query = crate::query::bind_subquery(binder, query)?;
    let [column] = query.output.as_slice() else { return Err(Msg::SubqueryOneColumn.into()) };
    let ty = ColumnType { nullable: true, ..column.expr.ty };
    Ok(Expr::new(ExprKind::ScalarSubquery(Box::new(query)), ty))
}

fn bind_collate(
    binder: &mut Binder<'_>,
    operand: &ast::Expr,
    collation: &ast::Ident,
) -> Result<Expr> {
    let operand = bind_expr(binder, operand)?;
    if !operand.ty.data_type.is_string() && !operand.is_null_literal() {
        return Err(Msg::InvalidForCollate(operand.ty.data_type.name()).into());
    }
    let collation = binder.collation_named(collation, &operand.ty.data_type)?;
    let ty = ColumnType { collation, ..operand.ty };
    Ok(Expr::new(ExprKind::Collate(Box::new(operand)), ty))
}
