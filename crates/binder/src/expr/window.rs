//! Window functions: OVER, the WINDOW clause, and frames.

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Mode, Msg, Result};

use crate::expr::call::{bind_order, set_clause};
use crate::expr::{bind_expr, convert_to, not_supported};
use crate::{Binder, Clause};
use catalog::name::Name;
use plan::expr::{Expr, ExprKind};
use plan::query::{FrameBound, Nulls, SortKey, WindowCall, WindowFrame, WindowFunction};

/// Finds a window function by name.
pub(crate) fn find(name: &str) -> Option<WindowFunction> {
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
        "PERCENTILE_CONT" => WindowFunction::PercentileCont,
        "PERCENTILE_DISC" => WindowFunction::PercentileDisc,
        // Its second argument is the key of WITHIN GROUP.
        _ if functions::takes_key(name).is_some() => return None,
        _ => return functions::find_aggregate(name).map(WindowFunction::Aggregate),
    })
}

/// Binds a function with OVER.
pub(crate) fn bind(
    binder: &mut Binder<'_>,
    name: &str,
    call: &ast::Call,
    over: &ast::Over,
) -> Result<Expr> {
    let Some(function) = find(name) else {
        return Err(Msg::NotWindowFunction(&name.to_ascii_lowercase()).into());
    };
    match binder.level.clause {
        Clause::Output => {}
        Clause::Argument | Clause::Window => return Err(Msg::WindowNested.into()),
        _ => return Err(Msg::WindowNotAllowed.into()),
    }
    if call.distinct {
        return Err(Msg::DistinctOver.into());
    }
    let outer = set_clause(binder, Clause::Window);
    let bound = bind_parts(binder, name, function, call, over);
    set_clause(binder, outer);
    let bound = bound?;
    let (register, ty) = (bound.register, bound.ty);
    binder.level.windows.push(bound);
    Ok(Expr::new(ExprKind::Column(register), ty))
}

/// Binds arguments and window of a function with OVER.
fn bind_parts(
    binder: &mut Binder<'_>,
    name: &str,
    function: WindowFunction,
    call: &ast::Call,
    over: &ast::Over,
) -> Result<WindowCall> {
    let over = &resolve(binder, over, 0)?;
    let nulls = nulls_of(name, function, call)?;
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        if !matches!(argument.kind, ast::ExprKind::Star) {
            arguments.push(bind_expr(binder, argument)?);
        }
    }
    let mut ty = window_type(name, function, &mut arguments)?;
    let partition =
        over.partition_by.iter().map(|e| bind_expr(binder, e)).collect::<Result<Vec<_>>>()?;
    let order = if is_percentile(function) {
        let order = percentile_order(binder, name, function, call, over)?;
        if let (WindowFunction::PercentileDisc, Some(key)) = (function, order.first()) {
            ty = ColumnType { nullable: true, ..key.expr.ty };
        }
        arguments.extend(order.iter().map(|key| key.expr.clone()));
        order
    } else {
        bind_order(binder, &over.order_by)?
    };
    check_order(name, function, &order, over)?;
    let frame = over.frame.as_ref().map(bind_frame).transpose()?;
    let register = binder.new_register();
    Ok(WindowCall { function, arguments, partition, order, frame, nulls, register, ty })
}

/// Completes a window with the parts of the named window that it refers to.
fn resolve(binder: &Binder<'_>, over: &ast::Over, depth: usize) -> Result<ast::Over> {
    let Some(base) = &over.base else { return Ok(over.clone()) };
    let named = &binder.level.named;
    if depth > named.len() {
        return Err(Msg::WindowCycle.into());
    }
    let found = named.iter().find(|(name, _)| Name::same(name, base));
    let Some((_, base)) = found else { return Err(Msg::WindowUndefined(base).into()) };
    let base = resolve(binder, base, depth + 1)?;
    let twice = (!base.partition_by.is_empty() && !over.partition_by.is_empty())
        || (!base.order_by.is_empty() && !over.order_by.is_empty())
        || (base.frame.is_some() && over.frame.is_some());
    if twice {
        return Err(Msg::WindowElementTwice.into());
    }
    let mut own = over.clone();
    own.base = None;
    if own.partition_by.is_empty() {
        own.partition_by = base.partition_by;
    }
    if own.order_by.is_empty() {
        own.order_by = base.order_by;
    }
    own.frame = own.frame.or(base.frame);
    Ok(own)
}

fn nulls_of(name: &str, function: WindowFunction, call: &ast::Call) -> Result<Nulls> {
    let takes = matches!(
        function,
        WindowFunction::FirstValue
            | WindowFunction::LastValue
            | WindowFunction::Lag
            | WindowFunction::Lead
    );
    match call.nulls {
        None => Ok(Nulls::Respect),
        Some(_) if !takes => not_supported(&format!("IGNORE NULLS and RESPECT NULLS of {name}")),
        Some(ast::NullTreatment::Respect) => Ok(Nulls::Respect),
        Some(ast::NullTreatment::Ignore) => Ok(Nulls::Ignore),
    }
}

fn is_percentile(function: WindowFunction) -> bool {
    matches!(function, WindowFunction::PercentileCont | WindowFunction::PercentileDisc)
}

/// Returns the single key of WITHIN GROUP; PERCENTILE_CONT computes in `float`.
fn percentile_order(
    binder: &mut Binder<'_>,
    name: &str,
    function: WindowFunction,
    call: &ast::Call,
    over: &ast::Over,
) -> Result<Vec<SortKey>> {
    let name = name.to_ascii_lowercase();
    if !over.order_by.is_empty() {
        return Err(Msg::NoOrderByInOver(&name).into());
    }
    let mut order = bind_order(binder, &call.within_group)?;
    percentile_key(&name, matches!(function, WindowFunction::PercentileCont), &mut order)?;
    Ok(order)
}

/// Returns the single key of a percentile's WITHIN GROUP, converted to `float` if needed.
pub(crate) fn percentile_key(name: &str, as_float: bool, order: &mut [SortKey]) -> Result<Expr> {
    let name = name.to_ascii_lowercase();
    let [key] = order else { return Err(Msg::NeedsWithinGroup(&name).into()) };
    if as_float {
        let from = key.expr.ty.data_type;
        if !from.is_numeric() || from == DataType::Bit {
            return Err(Msg::InvalidOperandType(from.name(), &name).into());
        }
        let ty = ColumnType { data_type: DataType::Float, ..key.expr.ty };
        key.expr = convert_to(key.expr.clone(), &ty, Mode::Implicit)?;
    }
    Ok(key.expr.clone())
}

/// Checks that functions that need an order have one, and that those without a frame have none.
fn check_order(
    name: &str,
    function: WindowFunction,
    order: &[SortKey],
    over: &ast::Over,
) -> Result<()> {
    let name = name.to_ascii_lowercase();
    if order.is_empty() && !matches!(function, WindowFunction::Aggregate(_)) {
        return Err(Msg::WindowNeedsOrderBy(&name).into());
    }
    let Some(frame) = &over.frame else { return Ok(()) };
    let framed = matches!(
        function,
        WindowFunction::Aggregate(_) | WindowFunction::FirstValue | WindowFunction::LastValue
    );
    if !framed {
        return Err(Msg::NoWindowFrame(&name).into());
    }
    if order.is_empty() {
        return Err(Msg::FrameNeedsOrderBy.into());
    }
    let counted = |bound: &ast::FrameBound| {
        matches!(bound, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_))
    };
    if frame.unit == ast::FrameUnit::Range && (counted(&frame.start) || counted(&frame.end)) {
        return Err(Msg::RangeBounds.into());
    }
    Ok(())
}

fn window_type(
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
        WindowFunction::Aggregate(aggregate) => return (aggregate.bind)(arguments),
        WindowFunction::Ntile | WindowFunction::FirstValue | WindowFunction::LastValue => (1, 1),
        WindowFunction::PercentileCont | WindowFunction::PercentileDisc => (1, 1),
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
        WindowFunction::PercentileCont | WindowFunction::PercentileDisc => {
            let share = arguments.remove(0);
            arguments.push(convert_to(share, &of(DataType::Float, true), Mode::Implicit)?);
            Ok(of(DataType::Float, true))
        }
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
