//! `Step`: a node of a compiled expression, and the compiler that chooses one for each expression.

use types::batch::{Batch, Data, Selection, Vector};
use types::type_rules::UnaryOp;
use types::value::ColumnType;
use types::{Result, Value};

use super::arithmetic::{Arithmetic, Unary};
use super::call::CallStep;
use super::case::{BRANCHES_MAX, Branch, Case, Let};
use super::compare::{Compare, IsNull};
use super::convert::Convert;
use super::like::Like;
use super::list::InList;
use super::logic::{Connected, Connective, Not};
use super::outside::{Outside, is_outside};
use super::row::{RowStep, Source};
use executor::Cx;
use executor::fault::check_cancel;
use plan::expr::{Conversion, Expr, ExprKind, Register};
use plan::walk;
use sos::sched::BytePace;

/// The input of steps: the batch, and the values of enclosing LETs.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a, 's> {
    pub(super) batch: &'a Batch,
    pub(super) locals: &'s [&'a Vector],
}

/// A node of a compiled expression. It owns its output vector.
pub(super) trait Step {
    /// Computes the output for the selected rows.
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()>;

    /// Returns the output of the last [`Self::compute`] in the same scope.
    fn output<'a>(&'a self, scope: &Scope<'a, '_>) -> &'a Vector;

    /// Selects the rows for which the step, a condition, is true.
    fn select(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        self.compute(scope, rows, cx)?;
        select_true(self.output(scope), rows, out);
        Ok(())
    }
}

/// Selects the rows for which a vector of conditions is true.
pub(super) fn select_true(truths: &Vector, rows: &Selection, out: &mut Selection) {
    match truths.data() {
        Data::Constant(Value::Bit(true), _) => out.copy_from(rows),
        Data::Constant(..) => out.clear(),
        Data::Bit(bits) if truths.nulls().is_none() => out.filter(rows, |row| bits[row]),
        Data::Bit(bits) => out.filter(rows, |row| bits[row] & !truths.nulls().is_null(row)),
        _ => out.filter(rows, |row| truths.get(row) == Value::Bit(true)),
    }
}

/// Counts the bytes that a row's expression works on: a batch of long strings takes much longer than a quantum.
///
/// # Errors
/// An error that stops the statement if the client has cancelled it.
#[inline]
pub(super) fn passed(pace: &mut BytePace, bytes: usize, cx: &mut Cx<'_>) -> Result<()> {
    if pace.passed(bytes) { check_cancel(cx) } else { Ok(()) }
}

/// Returns the bytes of strings among values.
pub(super) fn bytes_of(values: &[Value]) -> usize {
    values.iter().filter_map(Value::string_bytes).map(<[u8]>::len).sum()
}

/// Replaces `out` with the values of the selected rows, computed one by one.
pub(super) fn fill(
    out: &mut Vector,
    rows: &Selection,
    total: usize,
    mut value: impl FnMut(usize) -> Result<Value>,
) -> Result<()> {
    out.clear();
    for row in rows.iter() {
        (out.len()..row).for_each(|_| out.push_hole());
        out.push(&value(row)?);
    }
    (out.len()..total).for_each(|_| out.push_hole());
    Ok(())
}

/// Compiles expressions to steps.
pub(super) struct Compiler<'l> {
    layout: &'l [Register],
    /// Registers of the enclosing LETs, outermost first.
    locals: Vec<Register>,
    /// Nesting depth of the expression being compiled.
    level: u32,
}

/// Greatest depth of nested steps, each of which has a vector; deeper expressions are evaluated row
/// by row.
const LEVELS_MAX: u32 = 256;

impl<'l> Compiler<'l> {
    pub(super) const fn new(layout: &'l [Register]) -> Self {
        Self { layout, locals: Vec::new(), level: 0 }
    }

    /// Compiles an expression to a step.
    pub(super) fn compile<'p>(&mut self, expr: &'p Expr) -> Box<dyn Step + 'p> {
        if let ExprKind::Column(register) = expr.kind
            && let Some(source) = self.source(register)
        {
            return Box::new(source);
        }
        if self.level > LEVELS_MAX {
            return Box::new(self.row(expr));
        }
        if self.is_outside(expr) {
            return Box::new(Outside::new(expr));
        }
        self.level += 1;
        let step = self.operation(expr);
        self.level -= 1;
        step
    }

    fn operation<'p>(&mut self, expr: &'p Expr) -> Box<dyn Step + 'p> {
        match &expr.kind {
            ExprKind::Collate(operand) => self.compile(operand),
            ExprKind::Negate(operand) => {
                Box::new(Unary::new(UnaryOp::Negate, &expr.ty, self.compile(operand)))
            }
            ExprKind::BitNot(operand) => {
                Box::new(Unary::new(UnaryOp::BitNot, &expr.ty, self.compile(operand)))
            }
            ExprKind::Arithmetic(op, pair) => {
                let (left, right) = (self.compile(&pair.0), self.compile(&pair.1));
                Box::new(Arithmetic::new(*op, &expr.ty, left, right))
            }
            ExprKind::Case(branches, otherwise) if branches.len() < BRANCHES_MAX => {
                self.case(&expr.ty, branches, otherwise.as_deref())
            }
            ExprKind::Let(register, pair) => self.bind(*register, &pair.0, &pair.1),
            ExprKind::Convert(conversion) => self.convert(expr, conversion),
            ExprKind::Call(function, arguments) => {
                let steps = arguments.iter().map(|argument| self.compile(argument)).collect();
                Box::new(CallStep::new(function, arguments, &expr.ty, steps))
            }
            _ => self.condition(expr),
        }
    }

    fn condition<'p>(&mut self, expr: &'p Expr) -> Box<dyn Step + 'p> {
        match &expr.kind {
            ExprKind::Compare(op, collation, pair) => {
                let (left, right) = (self.compile(&pair.0), self.compile(&pair.1));
                Box::new(Compare::new(*op, *collation, left, right))
            }
            ExprKind::And(all) => self.connected(Connective::And, all),
            ExprKind::Or(any) => self.connected(Connective::Or, any),
            ExprKind::Not(operand) => Box::new(Not::new(self.compile(operand))),
            ExprKind::IsNull(operand) => Box::new(IsNull::new(self.compile(operand))),
            ExprKind::InList(collation, operand, list)
                if list.iter().all(|item| self.is_outside(item)) =>
            {
                Box::new(InList::new(*collation, self.compile(operand), list))
            }
            ExprKind::Like(collation, arguments)
                if self.is_outside(&arguments.pattern)
                    && arguments.escape.as_ref().is_none_or(|escape| self.is_outside(escape)) =>
            {
                Box::new(Like::new(*collation, self.compile(&arguments.text), arguments))
            }
            _ => Box::new(self.row(expr)),
        }
    }

    /// Returns true if an expression has one value for all rows of a batch.
    fn is_outside(&self, expr: &Expr) -> bool {
        is_outside(expr, |register| self.source(register).is_some())
    }

    fn case<'p>(
        &mut self,
        ty: &ColumnType,
        branches: &'p [(Expr, Expr)],
        otherwise: Option<&'p Expr>,
    ) -> Box<dyn Step + 'p> {
        let branches = branches.iter().map(|(condition, result)| Branch {
            condition: self.compile(condition),
            result: self.compile(result),
            hits: Selection::default(),
        });
        let branches = branches.collect();
        Box::new(Case::new(ty, branches, otherwise.map(|e| self.compile(e))))
    }

    fn bind<'p>(
        &mut self,
        register: Register,
        value: &'p Expr,
        body: &'p Expr,
    ) -> Box<dyn Step + 'p> {
        let value = self.compile(value);
        self.locals.push(register);
        let body = self.compile(body);
        self.locals.pop();
        Box::new(Let { value, body })
    }

    fn convert<'p>(&mut self, expr: &'p Expr, conversion: &'p Conversion) -> Box<dyn Step + 'p> {
        let style = match conversion.style.as_ref().map(|style| &style.kind) {
            None => 0,
            Some(ExprKind::Constant(Value::Int(style))) => *style,
            Some(_) => return Box::new(self.row(expr)),
        };
        let operand = self.compile(&conversion.operand);
        let from = &conversion.operand.ty;
        Box::new(Convert::new(operand, from, &expr.ty, style, conversion.mode))
    }

    fn connected<'p>(
        &mut self,
        connective: Connective,
        operands: &'p [Expr],
    ) -> Box<dyn Step + 'p> {
        let is_safe = operands.iter().skip(1).all(plan::safe::cannot_fail);
        let operands = operands.iter().map(|operand| self.compile(operand)).collect();
        Box::new(Connected::new(connective, operands, is_safe))
    }

    /// Makes the step that evaluates an expression row by row.
    pub(super) fn row<'p>(&self, expr: &'p Expr) -> RowStep<'p> {
        let reads = walk::reads(expr);
        let places = self.layout.iter().chain(&self.locals).copied();
        let loads = places
            .filter(|register| reads.contains(*register))
            .filter_map(|register| Some((register, self.source(register)?)))
            .collect();
        RowStep::new(expr, loads)
    }

    /// Returns where a register's values come from: the innermost LET that defines it, or a column;
    /// `None` for the context.
    fn source(&self, register: Register) -> Option<Source> {
        let local = self.locals.iter().rposition(|r| *r == register).map(Source::Local);
        local.or_else(|| self.layout.iter().position(|r| *r == register).map(Source::Column))
    }
}
