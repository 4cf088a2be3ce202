//! Evaluates bound expressions, row by row: one match over the kinds of expression.
//!
//! Operands that are constants, variables or columns are read in place; only computed values are
//! moved. Conditions are evaluated to [`Truth`], not to a `bit`.

mod once;

use std::sync::Arc;

use sos::park::Cancel;
use types::collation::LikePattern;
use types::compare::Truth;
use types::type_rules::BinaryOp;
use types::value::ColumnType;
use types::{Collation, Msg, Result, Value};

use crate::arithmetic::soften;
use crate::fault::check_cancel;
use crate::long::{Takes, compare};
use crate::query::{Flow, run_query};
use crate::{Cx, long};
use plan::expr::{
    CompareOp, Conversion, Expr, ExprKind, LikeArguments, QuantifiedSubquery, Quantifier,
};
use plan::function::{Call, Evaluate, Function};
use plan::query::Query;

pub use once::{Kept, keep, kept};

/// Evaluates an expression.
///
/// # Errors
/// Errors of arithmetic (8115, 8134), conversion (245, 8114 and others), functions and subqueries
/// (512).
pub fn eval(expr: &Expr, cx: &mut Cx<'_>) -> Result<Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Ok(value.clone()),
        ExprKind::Variable(slot) => Ok(cx.frame.variables[slot.0 as usize].clone()),
        ExprKind::Column(register) => Ok(cx.registers[register.0 as usize].clone()),
        ExprKind::Collate(operand) => eval(operand, cx),
        ExprKind::Negate(operand) => {
            let value = eval(operand, cx)?;
            types::arith::unary(types::type_rules::UnaryOp::Negate, &value, &expr.ty.data_type)
                .or_else(|error| soften(error, cx))
        }
        ExprKind::BitNot(operand) => {
            let value = eval(operand, cx)?;
            types::arith::unary(types::type_rules::UnaryOp::BitNot, &value, &expr.ty.data_type)
        }
        ExprKind::Arithmetic(op, operands) => {
            with_operands(&operands.0, &operands.1, cx, |l, r, _| {
                long::ask_for_result(Takes::Joined, &expr.ty.data_type, [l, r].into_iter())?;
                if let (BinaryOp::Add, Some(joined)) =
                    (*op, long::join_values(l, r, &expr.ty.data_type))
                {
                    return Ok(joined);
                }
                types::arith::binary(*op, l, r, &expr.ty.data_type)
            })
            .or_else(|error| soften(error, cx))
        }
        ExprKind::Case(branches, otherwise) => eval_case(branches, otherwise.as_deref(), cx),
        ExprKind::Let(register, parts) => {
            cx.registers[register.0 as usize] = eval(&parts.0, cx)?;
            eval(&parts.1, cx)
        }
        ExprKind::Convert(conversion) => eval_convert(conversion, &expr.ty, cx),
        ExprKind::Call(function, arguments) => eval_call(function, arguments, &expr.ty, cx),
        ExprKind::CallUser(call) => cx.host.call_scalar(call, cx),
        ExprKind::NextValue(sequence) => sequence.take(),
        ExprKind::ScalarSubquery(query) => eval_scalar_subquery(query, cx),
        ExprKind::Once(number, operand) => once::once(*number, operand, cx),
        ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::InList(..)
        | ExprKind::Like(..)
        | ExprKind::Exists(_)
        | ExprKind::Quantified(_) => Ok(match truth(expr, cx)? {
            Truth::True => Value::Bit(true),
            Truth::False => Value::Bit(false),
            Truth::Unknown => Value::Null,
        }),
    }
}

/// Evaluates a condition.
///
/// # Errors
/// As [`eval`].
pub fn truth(expr: &Expr, cx: &mut Cx<'_>) -> Result<Truth> {
    match &expr.kind {
        ExprKind::Compare(op, collation, operands) => {
            with_operands(&operands.0, &operands.1, cx, |l, r, cancel| {
                compare(*op, l, r, *collation, cancel)
            })
        }
        ExprKind::And(all) => {
            let mut result = Truth::True;
            for operand in all {
                result = result.and(truth(operand, cx)?);
                if result == Truth::False {
                    break;
                }
            }
            Ok(result)
        }
        ExprKind::Or(any) => {
            let mut result = Truth::False;
            for operand in any {
                result = result.or(truth(operand, cx)?);
                if result == Truth::True {
                    break;
                }
            }
            Ok(result)
        }
        ExprKind::Not(operand) => Ok(!truth(operand, cx)?),
        ExprKind::IsNull(operand) => match in_place(operand, cx) {
            Some(value) => Ok(value.is_null().into()),
            None => Ok(eval(operand, cx)?.is_null().into()),
        },
        ExprKind::InList(collation, operand, list) => in_list(*collation, operand, list, cx),
        ExprKind::Like(collation, arguments) => like(*collation, arguments, cx),
        ExprKind::Exists(query) => exists(query, cx),
        ExprKind::Quantified(subquery) => quantified(subquery, cx),
        ExprKind::Let(register, parts) => {
            cx.registers[register.0 as usize] = eval(&parts.0, cx)?;
            truth(&parts.1, cx)
        }
        _ => Ok(match eval(expr, cx)? {
            Value::Null => Truth::Unknown,
            Value::Bit(holds) => holds.into(),
            _ => Truth::Unknown,
        }),
    }
}

/// Returns an operand's value if it does not have to be computed.
#[inline]
pub fn in_place<'v>(expr: &'v Expr, cx: &'v Cx<'_>) -> Option<&'v Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value),
        ExprKind::Variable(slot) => cx.frame.variables.get(slot.0 as usize),
        ExprKind::Column(register) => cx.registers.get(register.0 as usize),
        _ => None,
    }
}

/// Evaluates two operands, left first, and passes them to `use_them` without copying values that are
/// in place, together with what is set when the client cancels.
fn with_operands<R>(
    left: &Expr,
    right: &Expr,
    cx: &mut Cx<'_>,
    use_them: impl FnOnce(&Value, &Value, &Cancel) -> Result<R>,
) -> Result<R> {
    if let (Some(l), Some(r)) = (in_place(left, cx), in_place(right, cx)) {
        return use_them(l, r, &cx.session.connection.cancel);
    }
    if let Some(r) = in_place(right, cx)
        && matches!(left.kind, ExprKind::Convert(_) | ExprKind::Call(..))
    {
        // Copied: evaluating the left side may change the registers that the right one reads.
        let r = r.clone();
        return use_them(&eval(left, cx)?, &r, &cx.session.connection.cancel);
    }
    let l = eval(left, cx)?;
    if let Some(r) = in_place(right, cx) {
        return use_them(&l, r, &cx.session.connection.cancel);
    }
    let r = eval(right, cx)?;
    use_them(&l, &r, &cx.session.connection.cancel)
}

fn eval_case(
    branches: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    cx: &mut Cx<'_>,
) -> Result<Value> {
    for (condition, result) in branches {
        if truth(condition, cx)?.is_true() {
            return eval(result, cx);
        }
    }
    otherwise.map_or(Ok(Value::Null), |e| eval(e, cx))
}

fn eval_convert(conversion: &Conversion, to: &ColumnType, cx: &mut Cx<'_>) -> Result<Value> {
    let style = match &conversion.style {
        None => 0,
        Some(style) => match eval(style, cx)? {
            Value::Int(style) => style,
            _ => return Ok(Value::Null),
        },
    };
    let options = cx.convert_options();
    let from = &conversion.operand.ty;
    let convert = |value: &Value| {
        long::ask_for_result(Takes::Converted, &to.data_type, std::iter::once(value))?;
        types::convert(value, from, to, style, conversion.mode, &options)
    };
    let convert = |value: &Value, cx: &Cx<'_>| match long::is_long(value) {
        true => plan::long::cancellable(&cx.session.connection.cancel, || convert(value)),
        false => convert(value),
    };
    let (is_long, converted) = match in_place(&conversion.operand, cx) {
        Some(value) => (long::is_long(value), convert(value, cx)),
        None => {
            let value = eval(&conversion.operand, cx)?;
            (long::is_long(&value), convert(&value, cx))
        }
    };
    if is_long {
        check_cancel(cx)?;
    }
    converted.or_else(|error| soften(error, cx))
}

/// Number of arguments that are stored on the stack.
const ARGUMENTS_INLINE: usize = 4;

fn eval_call(
    function: &'static Function,
    arguments: &[Expr],
    ty: &ColumnType,
    cx: &mut Cx<'_>,
) -> Result<Value> {
    let (evaluate, strict) = match function.eval {
        Evaluate::Session(read) => return Ok(read(cx)),
        Evaluate::Strict(evaluate) => (evaluate, true),
        Evaluate::Full(evaluate) => (evaluate, false),
    };
    let mut values = smallvec::SmallVec::<[Value; ARGUMENTS_INLINE]>::new();
    for argument in arguments {
        let value = eval(argument, cx)?;
        if strict && value.is_null() {
            return Ok(Value::Null);
        }
        values.push(value);
    }
    long::ask_for_result(Takes::Called, &ty.data_type, values.iter())?;
    let call = Call { arguments, ty };
    let result = if values.iter().any(long::is_long) {
        let cancel = Arc::clone(&cx.session.connection.cancel);
        let result = plan::long::cancellable(&cancel, || evaluate(cx, &call, &values));
        check_cancel(cx)?;
        result
    } else {
        evaluate(cx, &call, &values)
    };
    result.or_else(|error| soften(error, cx))
}

fn in_list(collation: Collation, operand: &Expr, list: &[Expr], cx: &mut Cx<'_>) -> Result<Truth> {
    let needle = eval(operand, cx)?;
    let mut result = Truth::False;
    for item in list {
        let computed = match in_place(item, cx) {
            Some(_) => None,
            None => Some(eval(item, cx)?),
        };
        let value = computed.as_ref().or_else(|| in_place(item, cx)).unwrap_or(&Value::Null);
        let cancel = &cx.session.connection.cancel;
        let found = compare(CompareOp::Equal, &needle, value, collation, cancel)?;
        result = result.or(found);
        if result == Truth::True {
            break;
        }
    }
    Ok(result)
}

fn like(collation: Collation, arguments: &LikeArguments, cx: &mut Cx<'_>) -> Result<Truth> {
    let text = eval(&arguments.text, cx)?;
    let pattern = eval(&arguments.pattern, cx)?;
    let escape = arguments.escape.as_ref().map(|e| eval(e, cx)).transpose()?;
    if text.is_null() || pattern.is_null() || escape.as_ref().is_some_and(Value::is_null) {
        return Ok(Truth::Unknown);
    }
    // Compiled for each row: LIKE is no point access, and most patterns are short.
    let pattern = LikePattern::new(&pattern, escape.as_ref(), collation)?;
    let Some(pattern) = pattern.map(|p| p.pausing(plan::long::PAUSE)) else {
        return Ok(Truth::Unknown);
    };
    let matches = if long::is_long(&text) {
        let cancel = &cx.session.connection.cancel;
        long::until_cancelled(cancel, || Ok(pattern.matches(&text)))?
    } else {
        pattern.matches(&text)
    };
    Ok(matches.map_or(Truth::Unknown, Truth::from))
}

fn eval_scalar_subquery(query: &Query, cx: &mut Cx<'_>) -> Result<Value> {
    let [column] = query.output.as_slice() else { return Err(Msg::SubqueryOneColumn.into()) };
    let mut result = None;
    run_query(query, cx, &mut |cx| {
        if result.is_some() {
            return Err(Msg::SubqueryMoreThanOne.into());
        }
        result = Some(eval(&column.expr, cx)?);
        Ok(Flow::More)
    })?;
    Ok(result.unwrap_or(Value::Null))
}

fn exists(query: &Query, cx: &mut Cx<'_>) -> Result<Truth> {
    let mut found = false;
    run_query(query, cx, &mut |_| {
        found = true;
        Ok(Flow::Enough)
    })?;
    Ok(found.into())
}

fn quantified(subquery: &QuantifiedSubquery, cx: &mut Cx<'_>) -> Result<Truth> {
    let [column] = subquery.query.output.as_slice() else {
        return Err(Msg::SubqueryOneColumn.into());
    };
    if let Some(number) = subquery.once {
        return once::quantified(number, subquery, cx);
    }
    let operand = eval(&subquery.operand, cx)?;
    let (start, enough) = match subquery.quantifier {
        Quantifier::Any => (Truth::False, Truth::True),
        Quantifier::All => (Truth::True, Truth::False),
    };
    let mut result = start;
    run_query(&subquery.query, cx, &mut |cx| {
        let value = eval(&column.expr, cx)?;
        let cancel = &cx.session.connection.cancel;
        let holds = compare(subquery.op, &operand, &value, subquery.collation, cancel)?;
        result = match subquery.quantifier {
            Quantifier::Any => result.or(holds),
            Quantifier::All => result.and(holds),
        };
        Ok(if result == enough { Flow::Enough } else { Flow::More })
    })?;
    Ok(result)
}
