//! General deduction: of the types that a parameter could have, the one that needs the fewest
//! implicit conversions in the expression around it.
//!
//! The candidates, the order of conversions from best to worst and the rules for ties are those of
//! the documentation of sp_describe_undeclared_parameters. An expression is not bound again for
//! each candidate: the types along the path from the parameter to the expression are computed by
//! the binder's own rules.

use types::type_rules::{self, UnaryOp};
use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg};

use super::deduce::{is_implicit, unconverted};
use ::plan::expr::{Expr, ExprKind, Slot};

/// The types that are considered.
const CANDIDATES: [DataType; 22] = [
    DataType::Bit,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::BigInt,
    DataType::SmallMoney,
    DataType::Money,
    DataType::Real,
    DataType::Float,
    DataType::Decimal { precision: 38, scale: 19 },
    DataType::VarChar(Length::Limited(8_000)),
    DataType::NVarChar(Length::Limited(4_000)),
    DataType::VarBinary(Length::Limited(8_000)),
    DataType::VarChar(Length::Max),
    DataType::NVarChar(Length::Max),
    DataType::VarBinary(Length::Max),
    DataType::Date,
    DataType::Time(7),
    DataType::SmallDateTime,
    DataType::DateTime,
    DataType::DateTime2(7),
    DataType::DateTimeOffset(7),
];

/// Costs of implicit conversions: one of a worse class costs more than many of a better one.
mod cost {
    /// To another length of the same type.
    pub(super) const LENGTH: u32 = 1;
    /// Between a type of fixed length and one of variable length.
    pub(super) const VARIABLE: u32 = 100;
    /// Any other conversion that exists.
    pub(super) const OTHER: u32 = 10_000;
}

/// Functions whose counts and places are `int`, though they are computed in `bigint`.
const COUNTING: [&str; 8] =
    ["CHARINDEX", "DATEADD", "LEFT", "REPLICATE", "RIGHT", "SPACE", "STUFF", "SUBSTRING"];

/// Returns the places of the arguments that are dates, with the date part at place 0.
fn date_places(function: &str) -> &'static [usize] {
    match function {
        "YEAR" | "MONTH" | "DAY" | "EOMONTH" => &[0],
        "DATEPART" | "DATENAME" | "DATETRUNC" => &[1],
        "DATEDIFF" | "DATEDIFF_BIG" => &[1, 2],
        "DATEADD" | "DATE_BUCKET" => &[2],
        _ => &[],
    }
}

fn is_date(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Date
            | DataType::Time(_)
            | DataType::SmallDateTime
            | DataType::DateTime
            | DataType::DateTime2(_)
            | DataType::DateTimeOffset(_)
    )
}

/// Why no type was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// No candidate makes the expression valid.
    None,
    /// Two candidates are equally good, and neither converts to the other.
    Two(DataType, DataType),
}

impl Failure {
    /// Returns the error of a parameter.
    pub(super) fn of(self, name: &str) -> Error {
        match self {
            Self::None => Msg::UndeclaredNoType(name).into(),
            Self::Two(one, other) => {
                let names = (one.to_string(), other.to_string());
                Msg::UndeclaredNotUnique(name, &names.0, &names.1).into()
            }
        }
    }
}

/// Returns the type of a parameter in an expression that is more than the parameter.
pub(super) fn deduce(
    expr: &Expr,
    slot: Slot,
    target: Option<&ColumnType>,
) -> Result<ColumnType, Failure> {
    let costs = CANDIDATES.iter().filter_map(|candidate| {
        let (ty, inside) = evaluate(expr, slot, candidate)?;
        let outside = target.map_or(Some(0), |target| conversion(&ty, &target.data_type))?;
        Some((inside + outside, *candidate))
    });
    let costs: Vec<(u32, DataType)> = costs.collect();
    let Some(least) = costs.iter().map(|(cost, _)| *cost).min() else {
        return Err(Failure::None);
    };
    let best = || costs.iter().filter(|(cost, _)| *cost == least).map(|(_, of)| *of);
    // Of two lengths of one type, the smaller one.
    let is_beaten = |of: &DataType| {
        of.is_large() && best().any(|other| !other.is_large() && kind(&other) == kind(of))
    };
    let mut ties = best().filter(|of| !is_beaten(of));
    let highest = best().filter(|of| !is_beaten(of)).max_by_key(DataType::precedence);
    let Some(highest) = highest else { return Err(Failure::None) };
    let alone = |of: &DataType| {
        *of != highest && types::convert::check(of, &highest, Mode::Implicit).is_err()
    };
    match ties.find(alone) {
        Some(other) => Err(Failure::Two(other, highest)),
        None => Ok(ColumnType { data_type: highest, ..collated(expr, target) }),
    }
}

/// Returns a type that has the collation of the result.
fn collated(expr: &Expr, target: Option<&ColumnType>) -> ColumnType {
    ColumnType { nullable: true, ..*target.unwrap_or(&expr.ty) }
}

/// Returns the type that general deduction considers for an operand beside one of this type.
pub(super) fn largest(ty: ColumnType) -> ColumnType {
    let data_type = match ty.data_type {
        DataType::Char(_) | DataType::VarChar(Length::Limited(_)) => {
            DataType::VarChar(Length::Limited(8_000))
        }
        DataType::NChar(_) | DataType::NVarChar(Length::Limited(_)) => {
            DataType::NVarChar(Length::Limited(4_000))
        }
        DataType::Text => DataType::VarChar(Length::Max),
        DataType::NText => DataType::NVarChar(Length::Max),
        DataType::Binary(_) | DataType::VarBinary(Length::Limited(_)) | DataType::RowVersion => {
            DataType::VarBinary(Length::Limited(8_000))
        }
        DataType::Image => DataType::VarBinary(Length::Max),
        DataType::Decimal { .. } => DataType::Decimal { precision: 38, scale: 19 },
        DataType::Time(_) => DataType::Time(7),
        DataType::DateTime2(_) => DataType::DateTime2(7),
        DataType::DateTimeOffset(_) => DataType::DateTimeOffset(7),
        other => other,
    };
    ColumnType { data_type, ..ty }
}

/// Returns the operands whose types decide the type of an expression, without conversions that the
/// binder has inserted.
pub(super) fn typed_by(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Convert(conversion) if is_implicit(conversion.mode) => {
            vec![unconverted(&conversion.operand)]
        }
        ExprKind::Negate(e) | ExprKind::BitNot(e) | ExprKind::Collate(e) | ExprKind::Once(_, e) => {
            vec![unconverted(e)]
        }
        ExprKind::Arithmetic(_, pair) | ExprKind::Let(_, pair) => {
            vec![unconverted(&pair.0), unconverted(&pair.1)]
        }
        ExprKind::Call(_, arguments) => arguments.iter().map(unconverted).collect(),
        ExprKind::Case(branches, otherwise) => {
            let results = branches.iter().map(|(_, result)| result);
            results.chain(otherwise.iter().map(|e| &**e)).map(unconverted).collect()
        }
        _ => Vec::new(),
    }
}

fn contains(expr: &Expr, slot: Slot) -> bool {
    match expr.kind {
        ExprKind::Variable(found) => found == slot,
        _ => typed_by(expr).into_iter().any(|part| contains(part, slot)),
    }
}

/// Returns the type of an expression, and the cost of the conversions in it, if a parameter has
/// this type. `None` if the expression is not valid then.
fn evaluate(expr: &Expr, slot: Slot, candidate: &DataType) -> Option<(DataType, u32)> {
    let part = |part: &Expr| match contains(part, slot) {
        true => evaluate(part, slot, candidate),
        false => Some((own_type(part), 0)),
    };
    match &expr.kind {
        ExprKind::Variable(found) if *found == slot => Some((*candidate, 0)),
        ExprKind::Convert(conversion) => part(unconverted(&conversion.operand)),
        ExprKind::Once(_, e) => part(unconverted(e)),
        ExprKind::Collate(e) => part(unconverted(e)).filter(|(ty, _)| ty.is_string()),
        ExprKind::Negate(e) => unary(UnaryOp::Negate, part(unconverted(e))?),
        ExprKind::BitNot(e) => unary(UnaryOp::BitNot, part(unconverted(e))?),
        ExprKind::Arithmetic(op, pair) => {
            let (left, before) = part(unconverted(&pair.0))?;
            let (right, behind) = part(unconverted(&pair.1))?;
            let types = type_rules::binary(*op, &left, &right).ok()?;
            let own = conversion(&left, &types.left)? + conversion(&right, &types.right)?;
            Some((types.result, before + behind + own))
        }
        ExprKind::Let(_, pair) => match contains(&pair.0, slot) {
            true => part(unconverted(&pair.0)),
            false => part(unconverted(&pair.1)),
        },
        ExprKind::Case(..) => {
            let results = typed_by(expr).into_iter().filter(|e| !is_null(e)).map(part);
            common(&results.collect::<Option<Vec<_>>>()?)
        }
        ExprKind::Call(function, arguments) => {
            let bound =
                arguments.iter().map(|argument| Some((argument, part(unconverted(argument))?)));
            let bound = bound.collect::<Option<Vec<_>>>()?;
            let mut given: Vec<Expr> =
                bound.iter().map(|(argument, (ty, _))| stand_in(argument, slot, *ty)).collect();
            let before: Vec<DataType> = given.iter().map(|e| e.ty.data_type).collect();
            let result = (function.bind)(&mut given).ok()?;
            let mut total: u32 = bound.iter().map(|(_, (_, cost))| *cost).sum();
            let dates = date_places(function.name);
            for (place, (from, to)) in before.iter().zip(&given).enumerate() {
                if dates.contains(&place) && !is_date(&to.ty.data_type) {
                    return None;
                }
                let to = match to.ty.data_type {
                    DataType::BigInt if COUNTING.contains(&function.name) => DataType::Int,
                    to => to,
                };
                total += conversion(from, &to)?;
            }
            Some((result.data_type, total))
        }
        _ => None,
    }
}

/// Returns an argument as it was before it was bound: a variable of the type that the parameter
/// gives it, or itself.
fn stand_in(argument: &Expr, slot: Slot, ty: DataType) -> Expr {
    let own = unconverted(argument);
    match contains(own, slot) {
        true => {
            let ty = ColumnType { data_type: ty, nullable: true, ..own.ty };
            Expr::new(ExprKind::Variable(Slot(0)), ty)
        }
        false => own.clone(),
    }
}

fn unary(op: UnaryOp, (ty, cost): (DataType, u32)) -> Option<(DataType, u32)> {
    let result = type_rules::unary(op, &ty).ok()?;
    Some((result, cost + conversion(&ty, &result)?))
}

/// Returns the common type of results, and what it costs to convert them to it.
fn common(results: &[(DataType, u32)]) -> Option<(DataType, u32)> {
    let mut all = results.iter().map(|(ty, _)| *ty);
    let first = all.next()?;
    let common = all.try_fold(first, |one, other| type_rules::common(&one, &other).ok())?;
    let mut total = 0;
    for (ty, cost) in results {
        total += cost + conversion(ty, &common)?;
    }
    Some((common, total))
}

fn is_null(expr: &Expr) -> bool {
    expr.as_constant().is_some_and(types::Value::is_null)
}

/// Returns the type of an operand; that of NULL is `int`.
fn own_type(expr: &Expr) -> DataType {
    if is_null(expr) { DataType::Int } else { expr.ty.data_type }
}

/// Returns the cost of an implicit conversion; `None` if there is none.
fn conversion(from: &DataType, to: &DataType) -> Option<u32> {
    if from == to {
        return Some(0);
    }
    types::convert::check(from, to, Mode::Implicit).ok()?;
    Some(match (kind(from), kind(to)) {
        (Some(one), Some(other)) if one == other => cost::LENGTH,
        (Some((one, _)), Some((other, _))) if one == other => cost::VARIABLE,
        _ => cost::OTHER,
    })
}

/// Returns the basic type of a type with a length or a scale, and whether its length is fixed.
fn kind(ty: &DataType) -> Option<(&'static str, bool)> {
    Some(match ty {
        DataType::Char(_) => ("char", true),
        DataType::VarChar(_) | DataType::Text => ("char", false),
        DataType::NChar(_) => ("nchar", true),
        DataType::NVarChar(_) | DataType::NText => ("nchar", false),
        DataType::Binary(_) | DataType::RowVersion => ("binary", true),
        DataType::VarBinary(_) | DataType::Image => ("binary", false),
        DataType::Decimal { .. } => ("decimal", true),
        DataType::Time(_) => ("time", true),
        DataType::DateTime2(_) => ("datetime2", true),
        DataType::DateTimeOffset(_) => ("datetimeoffset", true),
        _ => return None,
    })
}
