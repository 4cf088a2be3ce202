//! Conditions: comparison, LIKE, IN, BETWEEN, EXISTS and their combinations.

use tsql::ast;
use types::type_rules;
use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Msg, Result, Value};

use crate::Binder;
use crate::expr::case::{common_type, hoist, is_null, not, wrap};
use crate::expr::{bind_condition, bind_expr, convert, convert_to, not_supported};
use plan::expr::{
    CompareOp, Conversion, Expr, ExprKind, LikeArguments, QuantifiedSubquery, Quantifier,
};

/// Returns the type of a condition, `bit`.
pub(crate) fn bit_type(nullable: bool) -> ColumnType {
    ColumnType { data_type: DataType::Bit, collation: Collation::default(), nullable }
}

/// Returns a condition: an expression of type `bit` that may be unknown.
pub(crate) fn predicate(kind: ExprKind) -> Expr {
    Expr::new(kind, bit_type(true))
}

pub(crate) fn bind(binder: &mut Binder<'_>, condition: &ast::Condition) -> Result<Expr> {
    use ast::ConditionKind as Kind;
    match &condition.kind {
        Kind::And(all) => Ok(predicate(ExprKind::And(bind_all(binder, all)?))),
        Kind::Or(any) => Ok(predicate(ExprKind::Or(bind_all(binder, any)?))),
        Kind::Not(operand) => Ok(not(bind_condition(binder, operand)?)),
        Kind::Compare { op, left, right } => {
            let left = bind_expr(binder, left)?;
            let right = bind_expr(binder, right)?;
            compare_written(binder, compare_op(*op), left, right)
        }
        Kind::CompareQuantified { op, left, quantifier, query } => {
            let quantifier = match quantifier {
                ast::Quantifier::Any => Quantifier::Any,
                ast::Quantifier::All => Quantifier::All,
            };
            quantified(binder, compare_op(*op), left, quantifier, query)
        }
        Kind::Between { negated, operand, low, high } => {
            let between = bind_between(binder, operand, low, high)?;
            Ok(negate_if(*negated, between))
        }
        Kind::Like { negated, operand, pattern, escape } => {
            let like = bind_like(binder, operand, pattern, escape.as_deref())?;
            Ok(negate_if(*negated, like))
        }
        Kind::InList { negated, operand, list } => {
            Ok(negate_if(*negated, bind_in_list(binder, operand, list)?))
        }
        Kind::InQuery { negated, operand, query } => {
            let any = quantified(binder, CompareOp::Equal, operand, Quantifier::Any, query)?;
            Ok(negate_if(*negated, any))
        }
        Kind::IsNull { negated, operand } => {
            let operand = match &operand.kind {
                ast::ExprKind::Column(column) => super::name::find_column(binder, column)?,
                _ => bind_expr(binder, operand)?,
            };
            Ok(negate_if(*negated, is_null(operand)))
        }
        Kind::IsDistinct { negated, left, right } => {
            Ok(negate_if(*negated, bind_distinct(binder, left, right)?))
        }
        Kind::Exists(query) => {
            let query = crate::query::bind_exists(binder, query)?;
            Ok(Expr::new(ExprKind::Exists(Box::new(query)), bit_type(false)))
        }
        Kind::ColumnUpdated(column) => column_updated(binder, column),
        Kind::CurrentOf(_) => not_supported("WHERE CURRENT OF in this place"),
        Kind::FullText(call) => not_supported(&format!("{} (full-text search)", call.name)),
    }
}

/// Binds `UPDATE(column)` in a trigger: whether the statement names the column.
fn column_updated(binder: &Binder<'_>, column: &ast::Ident) -> Result<Expr> {
    let Some((_, table)) = binder.table_variable("inserted") else {
        return Err(Msg::UpdateOutsideTrigger.into());
    };
    let ordinal = table.column(column).ok_or(Msg::InvalidColumn(column))?;
    let ordinal = i32::try_from(ordinal).expect("a table has fewer than 2^16 columns");
    let ordinal = Value::Int(ordinal);
    let function = functions::find("UPDATE COLUMN").expect("the library has this function");
    let arguments = Box::new([Expr::constant(ordinal, DataType::Int)]);
    let named = Expr::new(ExprKind::Call(function, arguments), bit_type(false));
    compare(CompareOp::Equal, named, Expr::constant(Value::Bit(true), DataType::Bit))
}

fn bind_all(binder: &mut Binder<'_>, conditions: &[ast::Condition]) -> Result<Box<[Expr]>> {
    conditions.iter().map(|c| bind_condition(binder, c)).collect()
}

fn negate_if(negated: bool, operand: Expr) -> Expr {
    if negated { not(operand) } else { operand }
}

fn compare_op(op: ast::CompareOp) -> CompareOp {
    match op {
        ast::CompareOp::Equal => CompareOp::Equal,
        ast::CompareOp::NotEqual => CompareOp::NotEqual,
        ast::CompareOp::Less => CompareOp::Less,
        ast::CompareOp::LessOrEqual => CompareOp::LessOrEqual,
        ast::CompareOp::Greater => CompareOp::Greater,
        ast::CompareOp::GreaterOrEqual => CompareOp::GreaterOrEqual,
    }
}

/// Returns the operator's name as in error 402.
fn op_name(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "equal to",
        CompareOp::NotEqual => "not equal to",
        CompareOp::Less => "less than",
        CompareOp::LessOrEqual => "less than or equal to",
        CompareOp::Greater => "greater than",
        CompareOp::GreaterOrEqual => "greater than or equal to",
    }
}

/// Compares two bound operands in their common type and collation.
///
/// # Errors
/// 402, 206, 306 and 305 for types that do not compare; 468 for conflicting collations.
pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    let collation = convert::common_collation(&left, &right, op_name(op))?;
    let (left, right) = super::adopt_null_types(left, right);
    for side in [&left, &right] {
        match side.ty.data_type {
            DataType::Xml => return Err(Msg::XmlNotComparable.into()),
            DataType::Text | DataType::NText | DataType::Image => {
                let names = (left.ty.data_type.name(), right.ty.data_type.name());
                return Err(Msg::IncompatibleTypes(names.0, names.1, op_name(op)).into());
            }
            _ => {}
        }
    }
    let data_type = type_rules::common(&left.ty.data_type, &right.ty.data_type)?;
    let ty = ColumnType { data_type, collation, nullable: true };
    if type_rules::rounds(&left.ty.data_type, &right.ty.data_type) {
        let pair = Box::new((as_it_is(left)?, as_it_is(right)?));
        return Ok(predicate(ExprKind::Compare(op, collation, pair)));
    }
    let left = convert_to(left, &ty, Mode::Implicit)?;
    let right = convert_to(right, &ty, Mode::Implicit)?;
    Ok(predicate(ExprKind::Compare(op, collation, Box::new((left, right)))))
}

/// Compares as written: under ANSI_NULLS OFF, `=` and `<>` are true or false if one side is the
/// literal NULL or a variable that is NULL. Comparisons between columns or computed values do not
/// change.
///
/// # Errors
/// As [`compare`].
pub(crate) fn compare_written(
    binder: &mut Binder<'_>,
    op: CompareOp,
    left: Expr,
    right: Expr,
) -> Result<Expr> {
    let is_equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
    if !binder.meaning.nulls_compare() || !is_equality {
        return compare(op, left, right);
    }
    let negated = op == CompareOp::NotEqual;
    if right.is_null_literal() || left.is_null_literal() {
        let operand = if right.is_null_literal() { left } else { right };
        return Ok(negate_if(negated, is_null(operand)));
    }
    let is_variable = |side: &Expr| matches!(side.kind, ExprKind::Variable(_));
    let (variable, other) = match (is_variable(&left), is_variable(&right)) {
        (false, false) => return compare(op, left, right),
        (_, true) => (right, left),
        (true, false) => (left, right),
    };
    let (other, hoisted) = hoist(binder, other);
    let (unknown, missing) = (is_null(variable.clone()), is_null(other.clone()));
    let may_miss = other.ty.nullable;
    let equal = compare(CompareOp::Equal, other, variable)?;
    let known = predicate(ExprKind::And(Box::new([not(unknown.clone()), equal])));
    let same = match may_miss {
        // An index can be used for this form.
        false => known,
        true => {
            let both = predicate(ExprKind::And(Box::new([unknown, missing])));
            predicate(ExprKind::Or(Box::new([both, known])))
        }
    };
    Ok(wrap(hoisted, negate_if(negated, same)))
}

/// Converts an exact number to a decimal that compares with one of any scale. The conversion is
/// added even to a decimal, so that index matching does not take it for a column compared with its
/// own type.
fn as_it_is(operand: Expr) -> Result<Expr> {
    let parts = type_rules::as_decimal(&operand.ty.data_type).ok_or(Msg::InternalError)?;
    let data_type = DataType::Decimal { precision: parts.0, scale: parts.1 };
    let ty = ColumnType { data_type, ..operand.ty };
    let conversion = Conversion { operand, style: None, mode: Mode::Implicit };
    Ok(Expr::new(ExprKind::Convert(Box::new(conversion)), ty))
}

/// Returns the expression `operand IS NOT NULL`.
pub fn is_not_null(operand: Expr) -> Expr {
    not(is_null(operand))
}

fn bind_between(
    binder: &mut Binder<'_>,
    operand: &ast::Expr,
    low: &ast::Expr,
    high: &ast::Expr,
) -> Result<Expr> {
    let operand = bind_expr(binder, operand)?;
    let (operand, hoisted) = hoist(binder, operand);
    let low = bind_expr(binder, low)?;
    let high = bind_expr(binder, high)?;
    let above = compare(CompareOp::GreaterOrEqual, operand.clone(), low)?;
    let below = compare(CompareOp::LessOrEqual, operand, high)?;
    Ok(wrap(hoisted, predicate(ExprKind::And(Box::new([above, below])))))
}

/// Binds `a IS DISTINCT FROM b`: not equal, where NULL equals NULL; never unknown.
fn bind_distinct(binder: &mut Binder<'_>, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
    let left = bind_expr(binder, left)?;
    let (left, left_hoisted) = hoist(binder, left);
    let right = bind_expr(binder, right)?;
    let (right, right_hoisted) = hoist(binder, right);
    let (left_null, right_null) = (is_null(left.clone()), is_null(right.clone()));
    let both_null = predicate(ExprKind::And(Box::new([left_null.clone(), right_null.clone()])));
    let equal = compare(CompareOp::Equal, left, right)?;
    let neither_null = predicate(ExprKind::And(Box::new([not(left_null), not(right_null), equal])));
    let same = predicate(ExprKind::Or(Box::new([both_null, neither_null])));
    Ok(wrap(left_hoisted, wrap(right_hoisted, not(same))))
}

fn bind_like(
    binder: &mut Binder<'_>,
    operand: &ast::Expr,
    pattern: &ast::Expr,
    escape: Option<&ast::Expr>,
) -> Result<Expr> {
    let text = bind_expr(binder, operand)?;
    let pattern = bind_expr(binder, pattern)?;
    let escape = escape.map(|e| bind_expr(binder, e)).transpose()?;
    let collation = convert::common_collation(&text, &pattern, "like")?;
    let wide = [Some(&text), Some(&pattern), escape.as_ref()]
        .into_iter()
        .flatten()
        .any(|e| e.ty.data_type.is_unicode());
    let data_type =
        if wide { DataType::NVarChar(Length::Max) } else { DataType::VarChar(Length::Max) };
    let ty = ColumnType { data_type, collation, nullable: true };
    let to_text = |e: Expr| convert_to(e, &ty, Mode::Implicit);
    let arguments = LikeArguments {
        text: to_text(text)?,
        pattern: to_text(pattern)?,
        escape: escape.map(to_text).transpose()?,
    };
    Ok(predicate(ExprKind::Like(collation, Box::new(arguments))))
}

fn bind_in_list(binder: &mut Binder<'_>, operand: &ast::Expr, list: &[ast::Expr]) -> Result<Expr> {
    let mut operands = vec![bind_expr(binder, operand)?];
    for item in list {
        operands.push(bind_expr(binder, item)?);
    }
    let rounds = |item: &Expr| {
        type_rules::rounds(&operands[0].ty.data_type, &item.ty.data_type) && !item.is_null_literal()
    };
    let of_null =
        |item: &Expr| item.is_null_literal() || matches!(item.kind, ExprKind::Variable(_));
    let nulls_compare = binder.meaning.nulls_compare() && operands.iter().any(of_null);
    if nulls_compare || operands[1..].iter().any(rounds) {
        let (operand, hoisted) = hoist(binder, operands.remove(0));
        let mut equal = |item| compare_written(binder, CompareOp::Equal, operand.clone(), item);
        let any = operands.into_iter().map(&mut equal).collect::<Result<Vec<Expr>>>()?;
        return Ok(wrap(hoisted, predicate(ExprKind::Or(any.into()))));
    }
    let ty = common_type(operands.iter())?.unwrap_or(bit_type(true));
    let mut collation = ty.collation;
    for item in &operands[1..] {
        collation = convert::common_collation(&operands[0], item, "equal to")?;
    }
    let ty = ColumnType { collation, ..ty };
    let mut converted = Vec::with_capacity(operands.len());
    for operand in operands {
        converted.push(convert_to(operand, &ty, Mode::Implicit)?);
    }
    let needle = converted.remove(0);
    Ok(predicate(ExprKind::InList(collation, Box::new(needle), converted.into())))
}

fn quantified(
    binder: &mut Binder<'_>,
    op: CompareOp,
    operand: &ast::Expr,
    quantifier: Quantifier,
    query: &ast::QueryExpression,
) -> Result<Expr> {
    let operand = bind_expr(binder, operand)?;
    let mut query = crate::query::bind_subquery(binder, query)?;
    let [column] = query.output.as_mut_slice() else { return Err(Msg::SubqueryOneColumn.into()) };
    let collation = convert::common_collation(&operand, &column.expr, op_name(op))?;
    let data_type = match (operand.is_null_literal(), column.expr.is_null_literal()) {
        (_, true) => operand.ty.data_type,
        (true, false) => column.expr.ty.data_type,
        (false, false) => type_rules::common(&operand.ty.data_type, &column.expr.ty.data_type)?,
    };
    let ty = ColumnType { data_type, collation, nullable: true };
    let operand = convert_to(operand, &ty, Mode::Implicit)?;
    column.expr = convert_to(column.expr.clone(), &ty, Mode::Implicit)?;
    let subquery = QuantifiedSubquery { operand, op, quantifier, collation, query, once: None };
    Ok(predicate(ExprKind::Quantified(Box::new(subquery))))
}
