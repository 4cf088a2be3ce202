//! Deduces the type of each parameter from the expressions around it.
//!
//! For a parameter `@p`, E is the innermost expression with `@p` in it that is compared, assigned,
//! passed to a user's function or converted by CAST; its target is the type of the other side. If
//! there is none, E is the largest expression with `@p`. A parameter that is E itself takes the
//! type of the target (simple deduction), otherwise the types are weighed (`general.rs`).

use std::collections::{BTreeMap, HashSet};

use types::comparison::CompareOp;
use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg};

use super::{Suggested, general};
use ::catalog::{ModuleDef, ParameterDef};
use ::plan::expr::{Expr, ExprKind, Slot};
use ::plan::program::Program;
use interpreter::Stop;

/// The type that an expression is needed in.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    /// `None` if nothing asks for a type.
    pub(super) ty: Option<ColumnType>,
    /// Whether a parameter that is compared by `<` and the like: general deduction, always.
    ordered: bool,
    /// The parameter of a user's function that the value is passed to.
    formal: Option<ParameterDef>,
}

impl Target {
    /// Returns the target of a value that is assigned to a column or variable of this type.
    pub(super) fn of(ty: ColumnType) -> Self {
        Self { ty: Some(ty), ..Self::default() }
    }
}

/// The types found so far.
pub(super) struct Deduced {
    /// Names of the undeclared parameters by the slot of their variable.
    slots: BTreeMap<Slot, String>,
    /// By name in lower case.
    types: BTreeMap<String, Suggested>,
    /// Why a parameter has no type.
    failures: BTreeMap<String, Error>,
    /// The error of two parameters in one expression.
    pair: Option<Error>,
    /// Addresses of the expressions that belong to one that has been looked at.
    seen: HashSet<usize>,
}

impl Deduced {
    /// Returns the state before anything is known.
    pub(super) fn new(wanted: &[String], program: &Program) -> Self {
        let of_nulls = (0..).zip(wanted).map(|(place, name)| (Slot::undeclared(place), name));
        let by_key: BTreeMap<String, &String> =
            wanted.iter().map(|name| (name.to_lowercase(), name)).collect();
        let of_program = (0..).zip(&program.variables).filter_map(|(slot, variable)| {
            Some((Slot(slot), *by_key.get(&variable.name.to_lowercase())?))
        });
        let slots = of_nulls.chain(of_program).map(|(slot, name)| (slot, name.clone()));
        Self {
            slots: slots.collect(),
            types: BTreeMap::new(),
            failures: BTreeMap::new(),
            pair: None,
            seen: HashSet::new(),
        }
    }

    /// Returns the types in the order of the parameters.
    ///
    /// # Errors
    /// 11503 for two parameters in one expression; 11502, 11506 or 11507 for one without a type.
    pub(super) fn finish(mut self, wanted: &[String]) -> Result<Vec<Suggested>, Stop> {
        if let Some(error) = self.pair {
            return Err(error.into());
        }
        let types = wanted.iter().map(|name| {
            let key = name.to_lowercase();
            let failure = || {
                let failure = self.failures.remove(&key);
                Stop::from(failure.unwrap_or_else(|| Msg::UndeclaredNotDeduced(name).into()))
            };
            self.types.get(&key).cloned().ok_or_else(failure)
        });
        types.collect()
    }

    /// Prepares for another statement: the addresses of the last one are free.
    pub(super) fn next_statement(&mut self) {
        self.seen.clear();
    }

    /// Returns whether a variable is an undeclared parameter.
    pub(super) fn is_wanted(&self, slot: Slot) -> bool {
        self.slots.contains_key(&slot)
    }

    /// Takes the type of a parameter, unless it has one.
    pub(super) fn note(&mut self, slot: Slot, suggested: Suggested) {
        let Some(name) = self.slots.get(&slot) else { return };
        let ty = ColumnType { nullable: true, ..suggested.ty };
        self.types.entry(name.to_lowercase()).or_insert(Suggested { ty, ..suggested });
    }

    /// Looks at an expression that nothing is known about; called for all of a statement, operands
    /// after what they are operands of.
    pub(super) fn whole(&mut self, expr: &Expr) {
        if self.seen.contains(&address(expr)) {
            return;
        }
        if is_condition(expr) {
            self.condition(expr);
            return;
        }
        self.value(expr, &Target::default());
    }

    /// Looks at a condition, whose operands are the targets of each other.
    fn condition(&mut self, expr: &Expr) {
        self.seen.insert(address(expr));
        match &expr.kind {
            ExprKind::Compare(op, _, pair) => {
                let ordered = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                self.pair(&pair.0, &pair.1, ordered);
            }
            ExprKind::InList(_, operand, list) => {
                let typed = list.iter().find(|item| self.parameter(item).is_none());
                match (typed, self.parameter(operand)) {
                    (Some(item), Some(_)) => self.beside(operand, item, false),
                    (None, Some(_)) => self.pair(operand, &list[0], false),
                    (_, None) => {}
                }
                list.iter().for_each(|item| self.beside(item, operand, false));
            }
            ExprKind::Like(_, like) => {
                self.like(&like.pattern, &like.text);
                self.like(&like.text, &like.pattern);
            }
            ExprKind::Quantified(quantified) => {
                if let [column] = quantified.query.output.as_slice() {
                    self.pair(&quantified.operand, &column.expr, false);
                }
            }
            _ => {}
        }
    }

    /// Two sides of a comparison: two parameters say nothing of each other.
    fn pair(&mut self, one: &Expr, other: &Expr, ordered: bool) {
        if let (Some(left), Some(right)) = (self.parameter(one), self.parameter(other)) {
            self.fail_pair(left, right);
            return;
        }
        self.beside(one, other, ordered);
        self.beside(other, one, ordered);
    }

    fn fail_pair(&mut self, one: Slot, other: Slot) {
        let (one, other) = (&self.slots[&one], &self.slots[&other]);
        if one != other {
            self.pair.get_or_insert(Msg::UndeclaredPair(one, other).into());
        }
    }

    fn beside(&mut self, value: &Expr, other: &Expr, ordered: bool) {
        if self.parameter(value).is_none() || self.parameter(other).is_some() {
            return;
        }
        // The binder has converted the other side to the stand-in's type.
        let target = Target { ordered, ..Target::of(unconverted(other).ty) };
        self.value(value, &target);
    }

    /// Takes the type of one side of LIKE from the other: of the same kind, with the greatest
    /// length.
    fn like(&mut self, value: &Expr, other: &Expr) {
        let other = unconverted(other);
        let data_type = match other.ty.data_type {
            DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText => {
                DataType::NVarChar(Length::Limited(4_000))
            }
            _ => DataType::VarChar(Length::Limited(8_000)),
        };
        if self.parameter(value).is_some() && self.parameter(other).is_none() {
            self.value(value, &Target::of(ColumnType { data_type, ..other.ty }));
        }
    }

    /// Returns the parameter that an expression has no type without. A conversion by CAST has its
    /// own type, a user's function too.
    fn parameter(&self, expr: &Expr) -> Option<Slot> {
        match &expr.kind {
            ExprKind::Variable(slot) => self.is_wanted(*slot).then_some(*slot),
            ExprKind::Convert(conversion) if !is_implicit(conversion.mode) => None,
            _ => general::typed_by(expr).into_iter().find_map(|part| self.parameter(part)),
        }
    }

    /// Looks at a value whose target is known, or that is no part of a greater one.
    pub(super) fn value(&mut self, expr: &Expr, target: &Target) {
        self.seen.insert(address(expr));
        let expr = match &expr.kind {
            ExprKind::Convert(conversion) if is_implicit(conversion.mode) => {
                return self.converted(expr, &conversion.operand, target);
            }
            _ => expr,
        };
        if let ExprKind::Variable(slot) = expr.kind {
            // The binder has given the type, as for TOP and for UNION.
            let is_typed = slot.is_undeclared() && expr.ty.nullable;
            return self.simple(slot, is_typed.then_some(expr.ty), target);
        }
        self.boundary(expr);
        let Some(slot) = self.parts(expr) else { return };
        match general::deduce(expr, slot, target.ty.as_ref()) {
            Ok(ty) => {
                let (formal, output) = (target.formal.clone(), false);
                self.note(slot, Suggested { ty, formal, output });
            }
            Err(failure) => {
                let Some(name) = self.slots.get(&slot) else { return };
                self.failures.entry(name.to_lowercase()).or_insert_with(|| failure.of(name));
            }
        }
    }

    /// Looks at a value that the binder has converted: a lone parameter without a target takes the
    /// type that it is converted to.
    fn converted(&mut self, expr: &Expr, operand: &Expr, target: &Target) {
        let is_alone = matches!(unconverted(operand).kind, ExprKind::Variable(_));
        match target.ty {
            None if is_alone => self.value(operand, &Target::of(expr.ty)),
            _ => self.value(operand, target),
        }
    }

    fn simple(&mut self, slot: Slot, given: Option<ColumnType>, target: &Target) {
        let ty = match target.ty {
            Some(ty) if target.ordered => Some(general::largest(ty)),
            Some(ty) => Some(ty),
            None => given,
        };
        if let Some(ty) = ty {
            self.note(slot, Suggested { ty, formal: target.formal.clone(), output: false });
        }
    }

    /// Looks at the parts of an expression; returns the parameter that its type depends on.
    fn parts(&mut self, expr: &Expr) -> Option<Slot> {
        let parts = general::typed_by(expr);
        for part in &parts {
            self.seen.insert(address(part));
            if !matches!(part.kind, ExprKind::Variable(_)) {
                self.boundary(part);
            }
        }
        let mut found: Option<Slot> = None;
        for part in parts {
            let slot = match &part.kind {
                ExprKind::Variable(slot) => self.is_wanted(*slot).then_some(*slot),
                ExprKind::Convert(conversion) if !is_implicit(conversion.mode) => None,
                _ => self.parts(part),
            };
            match (found, slot) {
                (Some(one), Some(other)) => self.fail_pair(one, other),
                (None, _) => found = slot,
                (Some(_), None) => {}
            }
        }
        found
    }

    /// Looks at the arguments of a user's function: their targets are its parameters.
    pub(super) fn arguments(&mut self, arguments: &[Expr], module: &ModuleDef) {
        let formals = module.routine.as_ref().map(|of| of.parameters.as_slice());
        for (argument, formal) in arguments.iter().zip(formals.unwrap_or_default()) {
            let (ty, formal) = (Some(formal.ty), Some(formal.clone()));
            self.value(argument, &Target { ty, formal, ordered: false });
        }
    }

    /// Looks at the operands whose targets are known by the expression itself.
    fn boundary(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Convert(conversion) if !is_implicit(conversion.mode) => {
                self.value(&conversion.operand, &Target::of(expr.ty));
            }
            ExprKind::CallUser(call) => {
                self.arguments(&call.arguments, &call.module);
            }
            // COALESCE tests its operands: they have the types of the results.
            ExprKind::Case(branches, _) => {
                for (condition, result) in branches {
                    if let Some(operand) = tested(condition)
                        && same_variable(operand, result)
                    {
                        self.seen.extend([address(condition), address(operand)]);
                        if let ExprKind::Not(inner) = &condition.kind {
                            self.seen.insert(address(inner));
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns `x` of the condition `NOT x IS NULL`.
fn tested(condition: &Expr) -> Option<&Expr> {
    let ExprKind::Not(inner) = &condition.kind else { return None };
    let ExprKind::IsNull(operand) = &inner.kind else { return None };
    Some(operand)
}

fn same_variable(one: &Expr, other: &Expr) -> bool {
    match (&unconverted(one).kind, &unconverted(other).kind) {
        (ExprKind::Variable(one), ExprKind::Variable(other)) => one == other,
        _ => false,
    }
}

fn is_condition(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Compare(..)
            | ExprKind::InList(..)
            | ExprKind::Like(..)
            | ExprKind::Quantified(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull(_)
            | ExprKind::Exists(_)
    )
}

/// Returns the identity of an expression of a tree that does not move.
fn address(expr: &Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

/// Returns whether the binder has inserted a conversion.
pub(super) fn is_implicit(mode: Mode) -> bool {
    matches!(mode, Mode::Implicit | Mode::Assignment)
}

/// Returns an expression without the conversions that the binder has inserted.
pub(super) fn unconverted(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Convert(conversion) if is_implicit(conversion.mode) => {
            unconverted(&conversion.operand)
        }
        _ => expr,
    }
}
