//! Calls: functions of the library, date functions with their date part, aggregates and window
//! functions, and `@@` names.

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Mode, Msg, Result, Value};

use crate::bind::expr::{bind_expr, case, convert_to, not_supported};
use crate::bind::{Binder, Clause};
use crate::catalog::Object;
use crate::catalog::name::Name;
use crate::func::{self, AggregateFunction, Function};
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::query::{
    AggregateCall, FrameBound, SortKey, WindowCall, WindowFrame, WindowFunction,
};

pub(super) fn bind(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Expr> {
    let Some(name) = call.name.as_simple() else { return bind_user(binder, call) };
    let name = name.to_ascii_uppercase();
    if call.nulls.is_some() {
        return not_supported("IGNORE NULLS and RESPECT NULLS");
    }
    if let Some(over) = &call.over {
        return bind_window(binder, &name, call, over);
    }
    if let Some(aggregate) = func::find_aggregate(&name) {
        return bind_aggregate(binder, aggregate, call);
    }
    match name.as_str() {
        "COALESCE" => return case::bind_coalesce(binder, &call.arguments),
        "NULLIF" => {
            return match call.arguments.as_slice() {
                [left, right] => case::bind_null_if(binder, left, right),
                _ => Err(Msg::FunctionArguments("nullif", 2).into()),
            };
        }
        _ => {}
    }
    if window_function(&name).is_some() {
        return Err(Msg::WindowNeedsOrderBy(&name.to_ascii_lowercase()).into());
    }
    let Some(function) = func::find(&name) else {
        return Err(Msg::NotRecognized(&call.name.object, "built-in function name").into());
    };
    bind_function(binder, function, call)
}

fn bind_function(
    binder: &mut Binder<'_>,
    function: &'static Function,
    call: &ast::Call,
) -> Result<Expr> {
    let mut arguments = Vec::with_capacity(call.arguments.len() + 1);
    if let Some(side) = trim_side(call.special) {
        arguments.push(Expr::constant(Value::Int(side), DataType::Int));
    }
    for (position, argument) in call.arguments.iter().enumerate() {
        arguments.push(match position {
            0 if func::takes_date_part(function.name) => date_part(function.name, argument)?,
            _ => bind_expr(binder, argument)?,
        });
    }
    let (fewest, most) = function.arity;
    let count = call.arguments.len();
    if count < usize::from(fewest) || count > usize::from(most) {
        let name = function.name.to_ascii_lowercase();
        return Err(if fewest == most {
            Msg::FunctionArguments(&name, i64::from(fewest)).into()
        } else {
            Msg::FunctionArgumentRange(&name, i64::from(fewest), i64::from(most)).into()
        });
    }
    let ty = (function.bind)(binder, &mut arguments)?;
    Ok(Expr::new(ExprKind::Call(function, arguments.into()), ty))
}

/// TRIM's side travels as a first argument: 0 both, 1 leading, 2 trailing.
fn trim_side(special: ast::CallSpecial) -> Option<i32> {
    match special {
        ast::CallSpecial::TrimBoth => Some(0),
        ast::CallSpecial::TrimLeading => Some(1),
        ast::CallSpecial::TrimTrailing => Some(2),
        ast::CallSpecial::None
        | ast::CallSpecial::JsonNullOnNull
        | ast::CallSpecial::JsonAbsentOnNull
        | ast::CallSpecial::OdbcFunction => None,
    }
}

/// A date part is a bare word; it travels as an integer constant, its place in [`DatePart`].
fn date_part(function: &str, argument: &ast::Expr) -> Result<Expr> {
    let ast::ExprKind::Column(column) = &argument.kind else {
        return Err(Msg::InvalidParameter(1, &function.to_ascii_lowercase()).into());
    };
    let word = column.column.as_str();
    let place = func::date::date_part_place(word).ok_or_else(|| {
        let kind = format!("{} option", function.to_ascii_lowercase());
        types::Error::from(Msg::NotRecognized(word, &kind))
    })?;
    Ok(Expr::constant(Value::Int(place), DataType::Int))
}

/// Binds `@@name`: a function without arguments.
pub(super) fn bind_global(binder: &mut Binder<'_>, name: &str) -> Result<Expr> {
    let Some(function) = func::find(&name.to_ascii_uppercase()) else {
        return Err(Msg::MustDeclareScalar(name).into());
    };
    let ty = (function.bind)(binder, &mut Vec::new())?;
    Ok(Expr::new(ExprKind::Call(function, Box::new([])), ty))
}

pub(super) fn bind_niladic(binder: &mut Binder<'_>, niladic: ast::Niladic) -> Result<Expr> {
    let name = match niladic {
        ast::Niladic::CurrentTimestamp => "GETDATE",
        ast::Niladic::CurrentDate => "CURRENT_DATE",
        ast::Niladic::CurrentUser | ast::Niladic::SessionUser | ast::Niladic::User => "USER_NAME",
        ast::Niladic::SystemUser => "SUSER_SNAME",
    };
    bind_global(binder, name)
}

fn bind_user(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Expr> {
    let name = call.name.to_string();
    let system = call.name.schema.as_ref().is_some_and(|schema| schema.is("sys"));
    if system && let Some(function) = func::find(&call.name.object.to_ascii_uppercase()) {
        return bind_function(binder, function, call);
    }
    let prefix = call.name.schema.as_deref().unwrap_or_default();
    if is_user_function(binder, &call.name) {
        return not_supported(&format!("the user-defined function {name}"));
    }
    Err(Msg::FunctionNotFound(prefix, &name).into())
}

fn is_user_function(binder: &Binder<'_>, name: &ast::ObjectName) -> bool {
    let database = name.database.as_deref().unwrap_or(binder.database);
    let key = (Name::new(name.schema.as_deref().unwrap_or("dbo")), Name::new(&name.object));
    let database = binder.catalog.databases.get(&Name::new(database));
    database.is_some_and(|d| matches!(d.objects.get(&key), Some(Object::Function(_))))
}

fn bind_aggregate(
    binder: &mut Binder<'_>,
    function: &'static AggregateFunction,
    call: &ast::Call,
) -> Result<Expr> {
    let clause = binder.levels.last().map(|level| level.clause);
    match clause {
        Some(Clause::Output | Clause::Having) => {}
        Some(Clause::GroupBy) => return Err(Msg::AggregateInGroupBy.into()),
        Some(Clause::Plain) | None => return Err(Msg::AggregateInWhere.into()),
    }
    let (arguments, order, ty) = bind_aggregate_arguments(binder, function, call)?;
    let register = new_register(binder);
    let distinct = call.distinct;
    let bound = AggregateCall { function, arguments, distinct, order, ty, register };
    if let Some(level) = binder.levels.last_mut() {
        level.aggregates.push(bound);
    }
    Ok(Expr::new(ExprKind::Column(register), ty))
}

/// Arguments of an aggregate see the rows before grouping: no aggregates within.
fn bind_aggregate_arguments(
    binder: &mut Binder<'_>,
    function: &'static AggregateFunction,
    call: &ast::Call,
) -> Result<(Vec<Expr>, Vec<SortKey>, ColumnType)> {
    let outer = set_clause(binder, Clause::Plain);
    let bound = (|| {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            if !matches!(argument.kind, ast::ExprKind::Star) {
                arguments.push(bind_expr(binder, argument)?);
            }
        }
        let ty = (function.bind)(binder, &mut arguments)?;
        let order = bind_order(binder, &call.within_group)?;
        Ok((arguments, order, ty))
    })();
    set_clause(binder, outer);
    bound.map_err(
        |error: types::Error| {
            if error.number == 147 { Msg::NestedAggregate.into() } else { error }
        },
    )
}

fn set_clause(binder: &mut Binder<'_>, clause: Clause) -> Clause {
    match binder.levels.last_mut() {
        Some(level) => std::mem::replace(&mut level.clause, clause),
        None => clause,
    }
}

fn bind_order(binder: &mut Binder<'_>, order: &[ast::OrderBy]) -> Result<Vec<SortKey>> {
    order
        .iter()
        .map(|key| Ok(SortKey { expr: bind_expr(binder, &key.expr)?, descending: key.descending }))
        .collect()
}

fn new_register(binder: &mut Binder<'_>) -> Register {
    let register = Register(binder.registers);
    binder.registers += 1;
    register
}

fn window_function(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "ROW_NUMBER" => WindowFunction::RowNumber,
        "RANK" => WindowFunction::Rank,
        "DENSE_RANK" => WindowFunction::DenseRank,
        "NTILE" => WindowFunction::Ntile,
        "LAG" => WindowFunction::Lag,
        "LEAD" => WindowFunction::Lead,
        "FIRST_VALUE" => WindowFunction::FirstValue,
        "LAST_VALUE" => WindowFunction::LastValue,
        "PERCENT_RANK" => WindowFunction::PercentRank,
        "CUME_DIST" => WindowFunction::CumeDist,
        _ => return func::find_aggregate(name).map(WindowFunction::Aggregate),
    })
}

fn bind_window(
    binder: &mut Binder<'_>,
    name: &str,
    call: &ast::Call,
    over: &ast::Over,
) -> Result<Expr> {
    let Some(function) = window_function(name) else {
        return Err(Msg::NotWindowFunction(&name.to_ascii_lowercase()).into());
    };
    if binder.levels.last().is_none_or(|level| level.clause != Clause::Output) {
        return Err(Msg::WindowNotAllowed.into());
    }
    if over.base.is_some() {
        return not_supported("the WINDOW clause");
    }
    if call.distinct {
        return not_supported("DISTINCT in a window function");
    }
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        if !matches!(argument.kind, ast::ExprKind::Star) {
            arguments.push(bind_expr(binder, argument)?);
        }
    }
    let ty = window_type(binder, name, function, &mut arguments)?;
    let partition =
        over.partition_by.iter().map(|e| bind_expr(binder, e)).collect::<Result<Vec<_>>>()?;
    let order = bind_order(binder, &over.order_by)?;
    if order.is_empty() && !matches!(function, WindowFunction::Aggregate(_)) {
        return Err(Msg::WindowNeedsOrderBy(&name.to_ascii_lowercase()).into());
    }
    let frame = over.frame.as_ref().map(bind_frame).transpose()?;
    let register = new_register(binder);
    let bound = WindowCall { function, arguments, partition, order, frame, register, ty };
    if let Some(level) = binder.levels.last_mut() {
        level.windows.push(bound);
    }
    Ok(Expr::new(ExprKind::Column(register), ty))
}

fn window_type(
    binder: &mut Binder<'_>,
    name: &str,
    function: WindowFunction,
    arguments: &mut Vec<Expr>,
) -> Result<ColumnType> {
    let of = |data_type, nullable| ColumnType {
        data_type,
        collation: types::Collation::default(),
        nullable,
    };
    let (fewest, most) = match function {
        WindowFunction::Aggregate(aggregate) => return (aggregate.bind)(binder, arguments),
        WindowFunction::Ntile | WindowFunction::FirstValue | WindowFunction::LastValue => (1, 1),
        WindowFunction::Lag | WindowFunction::Lead => (1, 3),
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => (0, 0),
    };
    if arguments.len() < fewest || arguments.len() > most {
        return Err(Msg::WindowArguments(
            &name.to_ascii_lowercase(),
            if fewest == 0 { 0 } else { 1 },
        )
        .into());
    }
    match function {
        WindowFunction::PercentRank | WindowFunction::CumeDist => Ok(of(DataType::Float, false)),
        WindowFunction::Lag | WindowFunction::Lead => {
            let ty = ColumnType { nullable: true, ..arguments[0].ty };
            if arguments.len() > 1 {
                let offset = arguments.remove(1);
                arguments
                    .insert(1, convert_to(offset, &of(DataType::BigInt, true), Mode::Implicit)?);
            }
            if arguments.len() == 3 {
                let default = arguments.remove(2);
                arguments.push(convert_to(default, &ty, Mode::Implicit)?);
            }
            Ok(ty)
        }
        WindowFunction::FirstValue | WindowFunction::LastValue => {
            Ok(ColumnType { nullable: true, ..arguments[0].ty })
        }
        WindowFunction::Ntile => {
            let count = arguments.remove(0);
            arguments.push(convert_to(count, &of(DataType::BigInt, true), Mode::Implicit)?);
            Ok(of(DataType::BigInt, false))
        }
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::Aggregate(_) => Ok(of(DataType::BigInt, false)),
    }
}

fn bind_frame(frame: &ast::Frame) -> Result<WindowFrame> {
    let bound = |bound: &ast::FrameBound| -> Result<FrameBound> {
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::Preceding(count) => FrameBound::Preceding(frame_count(count)?),
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::Following(count) => FrameBound::Following(frame_count(count)?),
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
        })
    };
    let rows = frame.unit == ast::FrameUnit::Rows;
    Ok(WindowFrame { rows, start: bound(&frame.start)?, end: bound(&frame.end)? })
}

fn frame_count(count: &ast::Expr) -> Result<u64> {
    match &count.kind {
        ast::ExprKind::Literal(ast::Literal::Int(n)) if *n >= 0 => {
            u64::try_from(*n).map_err(|_| Msg::SyntaxNear("-").into())
        }
        _ => not_supported("a window frame bound that is not an integer literal"),
    }
}
