//! Static typing: where a method needs one node or value at most, the form of the query must
//! guarantee it.
//!
//! `value('a', 'int')` is an error even if there is only one `a`; `value('(a)[1]', 'int')` is not.

use types::{Msg, Result};

use super::syntax::{Axis, Body, Change, Clause, Expr, Query, Start, Step, Test};

/// Checks the whole argument of a method.
///
/// # Errors
/// 2389, 2337 for a sequence that may have several items, 2396 for attributes as a result.
pub(crate) fn check(query: &Query, method: &str) -> Result<()> {
    let mut checker = Checker { method, several: Vec::new() };
    match &query.body {
        Body::Value(expr) => {
            checker.walk(expr)?;
            if method == "value" && checker.many(expr) {
                return checker.fail("value");
            }
            if method == "query" && is_attribute(expr) {
                return Err(Msg::XQueryAttributeOutside(method).into());
            }
            Ok(())
        }
        Body::Change(Change::Delete(target)) => checker.walk(target),
        Body::Change(Change::Insert { what, target, .. }) => {
            checker.walk(what)?;
            checker.walk(target)?;
            match checker.many(target) {
                true => Err(Msg::XQueryInsertTarget(method, &found(target)).into()),
                false => Ok(()),
            }
        }
        Body::Change(Change::Replace { target, value }) => {
            checker.walk(target)?;
            checker.walk(value)?;
            if checker.many(target) {
                return Err(Msg::XQueryNotReplaceable(method, &found(target)).into());
            }
            match target_step(target) {
                // Without a schema, an element has no typed value that could be replaced.
                Some(Step::Axis(axis, Test::Name { .. }, _)) if *axis != Axis::Attribute => {
                    Err(Msg::XQueryReplaceTarget(method, &found(target)).into())
                }
                _ => Ok(()),
            }
        }
    }
}

/// Returns the last step of a path, also one followed by predicates.
fn target_step(expr: &Expr) -> Option<&Step> {
    match expr {
        Expr::Path(_, steps) => steps.last(),
        Expr::Filter(inner, _) => target_step(inner),
        _ => None,
    }
}

/// Returns the static type of a path's nodes, as messages show it.
fn found(expr: &Expr) -> String {
    let name = |local: &Option<String>| local.clone().unwrap_or_else(|| "*".to_owned());
    match target_step(expr) {
        Some(Step::Axis(Axis::Attribute, Test::Name { local, .. }, _)) => {
            format!("attribute({},xdt:untypedAtomic)", name(local))
        }
        Some(Step::Axis(_, Test::Name { local, .. }, _)) => {
            format!("element({},xdt:untyped)", name(local))
        }
        Some(Step::Axis(_, Test::Text, _)) => "text".to_owned(),
        Some(Step::Axis(_, Test::Comment, _)) => "comment".to_owned(),
        Some(Step::Axis(_, Test::Instruction(_), _)) => "processing-instruction".to_owned(),
        _ => "node()".to_owned(),
    }
}

fn is_attribute(expr: &Expr) -> bool {
    matches!(target_step(expr), Some(Step::Axis(Axis::Attribute, ..)))
}

struct Checker<'q> {
    method: &'q str,
    /// Variables in scope, and whether each may hold several items.
    several: Vec<(&'q str, bool)>,
}

impl<'q> Checker<'q> {
    fn fail<T>(&self, function: &str) -> Result<T> {
        Err(Msg::XQuerySingleton(self.method, function, "xdt:untypedAtomic").into())
    }

    /// Returns whether an expression may give more than one item.
    fn many(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Sequence(all) => all.len() > 1 || all.iter().any(|e| self.many(e)),
            Expr::Variable(name) => {
                self.several.iter().rev().find(|(n, _)| n == name).is_some_and(|(_, many)| *many)
            }
            Expr::Flwor(clauses, result) => {
                clauses.iter().any(|c| matches!(c, Clause::For(..))) || self.many(result)
            }
            Expr::If(parts) => self.many(&parts.1) || self.many(&parts.2),
            Expr::Union(_) => true,
            Expr::Path(start, steps) => {
                let first = match start {
                    Start::Root | Start::Context => false,
                    Start::Nodes(nodes) => self.many(nodes),
                };
                steps.iter().fold(first, |many, step| self.step_many(many, step))
            }
            Expr::Filter(inner, predicates) => {
                self.many(inner) && !predicates.iter().any(is_position)
            }
            Expr::Call(function, arguments) => {
                matches!(function.name, "data" | "distinct-values")
                    && arguments.first().is_some_and(|a| self.many(a))
            }
            _ => false,
        }
    }

    fn step_many(&self, many: bool, step: &Step) -> bool {
        match step {
            Step::Each(expr) => many || self.many(expr),
            Step::Axis(Axis::Own | Axis::Parent, ..) => many,
            Step::Axis(Axis::Attribute, Test::Name { local: Some(_), .. }, _) => many,
            Step::Axis(_, _, predicates) => many || !predicates.iter().any(is_position),
        }
    }

    /// Checks every function's arguments.
    fn walk(&mut self, expr: &'q Expr) -> Result<()> {
        match expr {
            Expr::Integer(_)
            | Expr::Double(_)
            | Expr::Text(_)
            | Expr::External(_)
            | Expr::Context
            | Expr::Comment(_)
            | Expr::Instruction(..) => Ok(()),
            Expr::Variable(name) => match self.several.iter().any(|(n, _)| n == name) {
                true => Ok(()),
                false => Err(Msg::XQueryUndeclaredVariable(self.method, name).into()),
            },
            Expr::Sequence(all) => all.iter().try_for_each(|e| self.walk(e)),
            Expr::Flwor(clauses, result) => self.walk_flwor(clauses, result),
            Expr::Quantified(_, bindings, test) => {
                let outer = self.several.len();
                for (name, from) in bindings {
                    self.walk(from)?;
                    self.several.push((name, false));
                }
                self.walk(test)?;
                self.several.truncate(outer);
                Ok(())
            }
            Expr::If(parts) => {
                self.walk(&parts.0)?;
                self.walk(&parts.1)?;
                self.walk(&parts.2)
            }
            Expr::Or(pair)
            | Expr::And(pair)
            | Expr::Union(pair)
            | Expr::Compare(_, pair)
            | Expr::Arithmetic(_, pair) => {
                self.walk(&pair.0)?;
                self.walk(&pair.1)
            }
            Expr::Negate(inner) | Expr::Attribute(_, inner) | Expr::TextNode(inner) => {
                self.walk(inner)
            }
            Expr::Path(start, steps) => {
                if let Start::Nodes(nodes) = start {
                    self.walk(nodes)?;
                }
                steps.iter().try_for_each(|step| match step {
                    Step::Each(expr) => self.walk(expr),
                    Step::Axis(_, _, predicates) => {
                        predicates.iter().try_for_each(|p| self.walk(p))
                    }
                })
            }
            Expr::Filter(inner, predicates) => {
                self.walk(inner)?;
                predicates.iter().try_for_each(|p| self.walk(p))
            }
            Expr::Call(function, arguments) => {
                for argument in arguments {
                    self.walk(argument)?;
                    if function.single && self.many(argument) {
                        return self.fail(function.name);
                    }
                }
                Ok(())
            }
            Expr::Element(made) => {
                let parts = made.attributes.iter().flat_map(|(_, parts)| parts);
                parts.chain(&made.content).try_for_each(|e| self.walk(e))
            }
        }
    }

    fn walk_flwor(&mut self, clauses: &'q [Clause], result: &'q Expr) -> Result<()> {
        let outer = self.several.len();
        for clause in clauses {
            match clause {
                Clause::For(name, from) => {
                    self.walk(from)?;
                    self.several.push((name, false));
                }
                Clause::Let(name, value) => {
                    self.walk(value)?;
                    let many = self.many(value);
                    self.several.push((name, many));
                }
                Clause::Where(test) => self.walk(test)?,
                Clause::OrderBy(keys) => keys.iter().try_for_each(|(key, _)| self.walk(key))?,
            }
        }
        self.walk(result)?;
        self.several.truncate(outer);
        Ok(())
    }
}

/// Returns whether a predicate selects at most one item: `[1]`, `[last()]`, `[position() = 1]`.
fn is_position(predicate: &Expr) -> bool {
    match predicate {
        Expr::Integer(_) => true,
        Expr::Call(function, _) => function.name == "last",
        Expr::External(_) => false,
        Expr::Compare(super::syntax::Comparison::Equal, pair) => {
            let position =
                |e: &Expr| matches!(e, Expr::Call(function, _) if function.name == "position");
            let number = |e: &Expr| {
                matches!(e, Expr::Integer(_) | Expr::External(_))
                    || matches!(e, Expr::Call(function, _) if function.name == "last")
            };
            position(&pair.0) && number(&pair.1) || position(&pair.1) && number(&pair.0)
        }
        _ => false,
    }
}
