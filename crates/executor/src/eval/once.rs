//! Uncorrelated subqueries: run once per statement, at their first use.
//!
//! The results are kept in the statement's context, and discarded when the statement is restarted.

use std::sync::Arc;

use sos::park::Cancel;
use types::compare::Truth;
use types::{Msg, Result, Value};

use super::eval;
use crate::Cx;
use crate::long::{compare, group_key};
use crate::query::{Flow, Spooled, run_query};
use crate::spread::SpreadSet;
use plan::expr::{CompareOp, Expr, QuantifiedSubquery, Quantifier};

/// The kept result of a subquery.
#[derive(Clone)]
pub enum Kept {
    /// The value of a scalar subquery, or of EXISTS.
    Value(Value),
    /// The values of the query of IN or NOT IN.
    Set(Arc<ValueSet>),
    /// The values of another quantified comparison (ANY, ALL).
    List(Arc<Vec<Value>>),
    /// The rows of an index spool.
    Spool(Arc<Spooled>),
}

/// A set of values for comparison by equality.
#[derive(Default)]
pub struct ValueSet {
    /// Encoded so that equal values are equal bytes.
    keys: SpreadSet<Box<[u8]>>,
    has_null: bool,
}

impl ValueSet {
    /// Compares a value with the set: true, false, or unknown because of NULL.
    fn contains(
        &self,
        value: &Value,
        collation: types::Collation,
        key: &mut Vec<u8>,
    ) -> Result<Truth> {
        if self.keys.is_empty() && !self.has_null {
            return Ok(Truth::False);
        }
        if value.is_null() {
            return Ok(Truth::Unknown);
        }
        key.clear();
        plan::long::group_key(value, collation, key)?;
        if self.keys.contains(key.as_slice()) {
            return Ok(Truth::True);
        }
        Ok(if self.has_null { Truth::Unknown } else { Truth::False })
    }
}

/// Returns the result kept under a number.
pub fn kept<'c>(cx: &'c Cx<'_>, number: u32) -> Option<&'c Kept> {
    cx.kept.get(number as usize).and_then(Option::as_ref)
}

/// Keeps a result under a number until the statement ends.
pub fn keep(cx: &mut Cx<'_>, number: u32, what: Kept) {
    let place = number as usize;
    if place >= cx.kept.len() {
        cx.kept.resize_with(place + 1, || None);
    }
    cx.kept[place] = Some(what);
}

/// Evaluates an expression at its first use; returns the kept value afterwards.
pub(super) fn once(number: u32, operand: &Expr, cx: &mut Cx<'_>) -> Result<Value> {
    if let Some(Kept::Value(value)) = kept(cx, number) {
        return Ok(value.clone());
    }
    let value = eval(operand, cx)?;
    keep(cx, number, Kept::Value(value.clone()));
    Ok(value)
}

/// Evaluates a quantified comparison with an uncorrelated query.
pub(super) fn quantified(
    number: u32,
    subquery: &QuantifiedSubquery,
    cx: &mut Cx<'_>,
) -> Result<Truth> {
    let operand = eval(&subquery.operand, cx)?;
    let by_equality = matches!(
        (subquery.op, subquery.quantifier),
        (CompareOp::Equal, Quantifier::Any) | (CompareOp::NotEqual, Quantifier::All)
    );
    if kept(cx, number).is_none() {
        let values =
            if by_equality { Kept::Set(set_of(subquery, cx)?) } else { list_of(subquery, cx)? };
        keep(cx, number, values);
    }
    match kept(cx, number) {
        Some(Kept::Set(set)) => {
            let set = Arc::clone(set);
            let mut key = std::mem::take(&mut cx.scratch.key);
            let found = set.contains(&operand, subquery.collation, &mut key);
            cx.scratch.key = key;
            let found = found?;
            Ok(if subquery.quantifier == Quantifier::Any { found } else { !found })
        }
        Some(Kept::List(list)) => fold(subquery, &operand, list, &cx.session.connection.cancel),
        Some(Kept::Value(_) | Kept::Spool(_)) | None => Err(Msg::InternalError.into()),
    }
}

/// Compares an operand with the values, until the result is certain.
fn fold(
    subquery: &QuantifiedSubquery,
    operand: &Value,
    values: &[Value],
    cancel: &Cancel,
) -> Result<Truth> {
    let (mut result, enough) = match subquery.quantifier {
        Quantifier::Any => (Truth::False, Truth::True),
        Quantifier::All => (Truth::True, Truth::False),
    };
    for value in values {
        let holds = compare(subquery.op, operand, value, subquery.collation, cancel)?;
        result = match subquery.quantifier {
            Quantifier::Any => result.or(holds),
            Quantifier::All => result.and(holds),
        };
        if result == enough {
            break;
        }
    }
    Ok(result)
}

fn set_of(subquery: &QuantifiedSubquery, cx: &mut Cx<'_>) -> Result<Arc<ValueSet>> {
    let mut set = ValueSet::default();
    let mut key = Vec::new();
    let cancel = Arc::clone(&cx.session.connection.cancel);
    each(subquery, cx, &mut |value| {
        if value.is_null() {
            set.has_null = true;
            return Ok(());
        }
        key.clear();
        group_key(&value, subquery.collation, &mut key, &cancel)?;
        if !set.keys.contains(key.as_slice()) {
            set.keys.insert(key.as_slice().into());
        }
        Ok(())
    })?;
    Ok(Arc::new(set))
}

fn list_of(subquery: &QuantifiedSubquery, cx: &mut Cx<'_>) -> Result<Kept> {
    let mut values = Vec::new();
    each(subquery, cx, &mut |value| {
        values.push(value);
        Ok(())
    })?;
    Ok(Kept::List(Arc::new(values)))
}

fn each(
    subquery: &QuantifiedSubquery,
    cx: &mut Cx<'_>,
    see: &mut dyn FnMut(Value) -> Result<()>,
) -> Result<()> {
    let [column] = subquery.query.output.as_slice() else {
        return Err(Msg::SubqueryOneColumn.into());
    };
    run_query(&subquery.query, cx, &mut |cx| {
        let value = eval(&column.expr, cx)?;
        see(value)?;
        Ok(Flow::More)
    })
}
