//! GROUP BY: its keys and grouping sets, and the rewriting of expressions above it.
//!
//! A key that is a bare column keeps the column's register; any other key gets a new one, and equal
//! expressions above read it. A column that is neither a key nor inside an aggregate is error 8120.

use std::cell::Cell;
use std::collections::HashSet;

use tsql::ast::{GroupBy, GroupingItem, GroupingSuffix};
use types::{DataType, Error, Msg, Result};

use crate::expr::bind_expr;
use crate::{Binder, Clause};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{AggregateCall, Node};
use plan::same::SameIndex;
use plan::walk::{self, Registers, Rewrite};

/// Maximum number of grouping sets, as in SQL Server.
const SETS_MAX: usize = 4_096;

/// A bound GROUP BY clause.
#[derive(Default)]
pub(crate) struct Grouping {
    /// Keys, and the registers that hold them after grouping.
    pub keys: Vec<(Expr, Register)>,
    /// Places of the keys.
    index: SameIndex,
    /// Grouping sets, as indexes into `keys`.
    pub sets: Vec<Vec<u16>>,
}

/// Binds a GROUP BY clause.
pub(crate) fn bind_group_by(
    binder: &mut Binder<'_>,
    group_by: Option<&GroupBy>,
) -> Result<Option<Grouping>> {
    let Some(group_by) = group_by else { return Ok(None) };
    if group_by.all {
        return Err(Msg::NotSupported("GROUP BY ALL").into());
    }
    binder.level.clause = Clause::GroupBy;
    let mut grouping = Grouping::default();
    let mut sets = vec![Vec::new()];
    let mut factors = Vec::with_capacity(group_by.items.len());
    for item in &group_by.items {
        factors.push(item_sets(binder, &mut grouping, item)?);
    }
    if let Some(suffix) = group_by.suffix {
        let parts: Vec<Vec<u16>> = factors.iter().filter_map(|f| f.first().cloned()).collect();
        factors = vec![match suffix {
            GroupingSuffix::Rollup => rollup(&parts)?,
            GroupingSuffix::Cube => cube(&parts)?,
        }];
    }
    // Many items of one key each, which is the usual GROUP BY, make one set in linear time.
    let mut seen = HashSet::new();
    let plain = factors.iter().all(|factor| factor.len() == 1);
    if plain {
        let mut keys: Vec<u16> = factors.drain(..).flatten().flatten().collect();
        keys.retain(|key| seen.insert(*key));
        sets = vec![keys];
    }
    for factor in factors {
        if sets.len().saturating_mul(factor.len()) > SETS_MAX {
            return Err(Msg::NotSupported("more than 4096 grouping sets").into());
        }
        sets = product(&sets, &factor);
    }
    grouping.sets = sets;
    Ok(Some(grouping))
}

fn product(left: &[Vec<u16>], right: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
    pairs
        .map(|(l, r)| {
            let mut set = l.clone();
            set.extend(r.iter().filter(|k| !l.contains(k)));
            set
        })
        .collect()
}

/// Returns the grouping sets of one item.
fn item_sets(
    binder: &mut Binder<'_>,
    grouping: &mut Grouping,
    item: &GroupingItem,
) -> Result<Vec<Vec<u16>>> {
    Ok(match item {
        GroupingItem::Expr(expr) => vec![vec![key(binder, grouping, expr)?]],
        GroupingItem::Set(exprs) => {
            let keys = exprs.iter().map(|e| key(binder, grouping, e));
            vec![keys.collect::<Result<_>>()?]
        }
        GroupingItem::Rollup(items) => rollup(&parts(binder, grouping, items)?)?,
        GroupingItem::Cube(items) => cube(&parts(binder, grouping, items)?)?,
        GroupingItem::GroupingSets(items) => {
            let mut sets = Vec::new();
            for item in items {
                sets.extend(item_sets(binder, grouping, item)?);
            }
            sets
        }
    })
}

fn parts(
    binder: &mut Binder<'_>,
    grouping: &mut Grouping,
    items: &[GroupingItem],
) -> Result<Vec<Vec<u16>>> {
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        parts.push(item_sets(binder, grouping, item)?.into_iter().flatten().collect());
    }
    Ok(parts)
}

fn rollup(parts: &[Vec<u16>]) -> Result<Vec<Vec<u16>>> {
    if parts.len() >= SETS_MAX {
        return Err(Msg::NotSupported("more than 4096 grouping sets").into());
    }
    let sets = (0..=parts.len()).rev();
    Ok(sets.map(|n| parts[..n].iter().flatten().copied().collect()).collect())
}

fn cube(parts: &[Vec<u16>]) -> Result<Vec<Vec<u16>>> {
    if parts.len() > 12 {
        return Err(Msg::NotSupported("CUBE of more than 12 items").into());
    }
    let subset = |mask: usize| {
        let chosen = parts.iter().enumerate().filter(move |(i, _)| mask & (1 << i) != 0);
        chosen.flat_map(|(_, p)| p.iter().copied()).collect()
    };
    Ok((0..1 << parts.len()).rev().map(subset).collect())
}

/// Binds a key, or finds an equal one among those bound.
fn key(binder: &mut Binder<'_>, grouping: &mut Grouping, written: &tsql::ast::Expr) -> Result<u16> {
    let expr = bind_expr(binder, written)?;
    match expr.ty.data_type {
        DataType::Text | DataType::NText | DataType::Image => {
            return Err(Msg::TextNotComparable.into());
        }
        DataType::Xml => return Err(Msg::XmlNotComparable.into()),
        _ => {}
    }
    if walk::has_own_subquery(&expr) {
        return Err(Msg::AggregateInGroupBy.into());
    }
    // A column that is NULL in every row reads no column either.
    let is_column = matches!(written.kind, tsql::ast::ExprKind::Column(_));
    if walk::reads(&expr).is_empty() && !(is_column && expr.is_null_literal()) {
        return Err(Msg::GroupByOuterOnly.into());
    }
    let place = match grouping.index.find(&expr, |place| &grouping.keys[place].0) {
        Some(place) => place,
        None => {
            let register = match expr.kind {
                ExprKind::Column(register) => register,
                _ => binder.new_register(),
            };
            let place = grouping.keys.len();
            grouping.index.insert(&expr, place);
            grouping.keys.push((expr, register));
            place
        }
    };
    // SQL Server has no number for this limit: a query with more keys has no plan there.
    u16::try_from(place).map_err(|_| Msg::NoPlan.into())
}

/// The clause of an expression, for the error it may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    SelectList,
    Having,
    OrderBy,
}

/// Rewrites expressions above the grouping.
pub(crate) struct Scope<'g> {
    keys: &'g [(Expr, Register)],
    index: &'g SameIndex,
    allowed: Registers,
    /// Registers of the rows before grouping, with the names of their columns.
    input: Registers,
    names: Vec<(Register, String)>,
    grouped: bool,
    /// Whether a grouping set may omit a key, which is NULL then.
    partial: bool,
    /// Register of the mask of omitted keys, and whether a GROUPING function uses it.
    mask: Register,
    asked: Cell<bool>,
}

impl<'g> Scope<'g> {
    pub(crate) fn new(
        binder: &Binder<'_>,
        input: &Node,
        grouping: &'g Grouping,
        aggregates: &[AggregateCall],
        mask: Register,
    ) -> Self {
        let keys = grouping.keys.iter().map(|k| k.1);
        let names = binder.level.sources.iter().flat_map(|s| {
            let prefix = s.alias.clone();
            s.columns.iter().map(move |c| (c.register, format!("{prefix}.{}", &*c.name)))
        });
        Self {
            keys: &grouping.keys,
            index: &grouping.index,
            allowed: keys.chain(aggregates.iter().map(|a| a.register)).collect(),
            input: walk::fills(input).0,
            names: names.collect(),
            grouped: !grouping.keys.is_empty(),
            partial: grouping.sets.len() > 1,
            mask,
            asked: Cell::new(false),
        }
    }

    /// Returns the register of the mask of omitted keys, if a GROUPING function uses it.
    pub(crate) fn grouping_id(&self) -> Option<Register> {
        self.asked.get().then_some(self.mask)
    }

    /// Returns the place of the key that an expression is.
    fn place(&self, expr: &Expr) -> Option<usize> {
        self.index.find(expr, |place| &self.keys[place].0)
    }

    /// Replaces an expression by the register of the key that it is; returns whether it was one.
    fn replace(&self, expr: &mut Expr) -> bool {
        let Some(place) = self.place(expr) else { return false };
        expr.kind = ExprKind::Column(self.keys[place].1);
        expr.ty.nullable |= self.partial;
        true
    }

    /// Replaces the arguments of GROUPING and GROUPING_ID by the mask and the bits to return.
    fn grouping(&self, function: &str, arguments: &[Expr]) -> Result<Box<[Expr]>> {
        self.asked.set(true);
        let mask = Expr::constant(types::Value::Int(0), DataType::Int);
        let mut bits = vec![Expr { kind: ExprKind::Column(self.mask), ..mask }];
        for (number, argument) in (1_i64..).zip(arguments) {
            let place = self.place(argument);
            let place = place.ok_or(Msg::GroupingArgument(number, function))?;
            let bit = i32::try_from(self.keys.len() - 1 - place)
                .expect("the number of a key fits 16 bits");
            bits.push(Expr::constant(types::Value::Int(bit), DataType::Int));
        }
        Ok(bits.into())
    }

    /// Rewrites an expression to read the keys instead of the ungrouped rows.
    pub(crate) fn apply(&self, expr: &mut Expr, place: Place) -> Result<()> {
        let mut wrong = None;
        let mut failed = None;
        walk::rewrite(expr, &mut |e| {
            if self.replace(e) {
                return Rewrite::Done;
            }
            if let ExprKind::Call(function, arguments) = &mut e.kind
                && matches!(function.name, "GROUPING" | "GROUPING_ID")
            {
                match self.grouping(function.name, arguments) {
                    Ok(bits) => *arguments = bits,
                    Err(error) => failed = Some(error),
                }
                return Rewrite::Done;
            }
            let mut inner = |e: &mut Expr| match self.replace(e) {
                true => Rewrite::Done,
                false => Rewrite::Enter,
            };
            let subquery = match &mut e.kind {
                ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => {
                    walk::rewrite_query(query, &mut inner);
                    true
                }
                ExprKind::Quantified(quantified) => {
                    walk::rewrite_query(&mut quantified.query, &mut inner);
                    walk::rewrite(&mut quantified.operand, &mut inner);
                    true
                }
                _ => false,
            };
            if let ExprKind::Column(register) = e.kind {
                wrong = wrong.or(self.check(register));
            } else if subquery {
                walk::visit(e, &mut |inner| {
                    if let ExprKind::Column(register) = inner.kind {
                        wrong = wrong.or(self.check(register));
                    }
                });
            }
            Rewrite::Enter
        });
        if let Some(error) = failed {
            return Err(error);
        }
        wrong.map_or(Ok(()), |register| Err(self.error(register, place)))
    }

    fn check(&self, register: Register) -> Option<Register> {
        (self.input.contains(register) && !self.allowed.contains(register)).then_some(register)
    }

    fn error(&self, register: Register, place: Place) -> Error {
        let name = self.names.iter().find(|(r, _)| *r == register);
        let name = name.map(|(_, n)| n.as_str()).unwrap_or_default();
        match (place, self.grouped) {
            (Place::SelectList, true) => Msg::NotInGroupBy(name),
            (Place::SelectList, false) => Msg::NotInGroupBy(name),
            (Place::Having, _) => Msg::NotInGroupByHaving(name),
            (Place::OrderBy, true) => Msg::NotInGroupByOrderBy(name),
            (Place::OrderBy, false) => Msg::NoGroupByOrderBy(name),
        }
        .into()
    }
}
