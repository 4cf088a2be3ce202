//! AND, OR and NOT with three-valued logic. Each row evaluates only the operands that row mode
//! would.

use types::batch::{Data, Selection, Vector};
use types::compare::Truth;
use types::{Result, Value};

use super::compare::{bits, is_null, truths};
use super::step::{Scope, Step};
use executor::Cx;

/// Whether the operands are combined with AND or OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connective {
    /// True if all operands are true.
    And,
    /// True if any operand is true.
    Or,
}

/// AND or OR of operands.
pub(super) struct Connected<'p> {
    connective: Connective,
    operands: Vec<Box<dyn Step + 'p>>,
    /// Whether no operand but the first can fail. Then rows for which AND is not true are not
    /// evaluated further, although row mode goes on where it is unknown.
    is_safe: bool,
    output: Vector,
    /// Rows that are not decided yet, and those of the next operand.
    open: Selection,
    next: Selection,
    unknown: Vec<bool>,
}

impl<'p> Connected<'p> {
    pub(super) fn new(
        connective: Connective,
        operands: Vec<Box<dyn Step + 'p>>,
        is_safe: bool,
    ) -> Self {
        Self {
            connective,
            operands,
            is_safe,
            output: truths(),
            open: Selection::default(),
            next: Selection::default(),
            unknown: Vec::new(),
        }
    }

    fn select_all(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        out.copy_from(rows);
        for operand in &mut self.operands {
            if out.is_empty() {
                break;
            }
            operand.select(scope, out, cx, &mut self.next)?;
            std::mem::swap(out, &mut self.next);
        }
        Ok(())
    }

    /// As [`Self::select_all`], where operands may fail: as in row mode, an operand is evaluated
    /// for the rows for which no operand before it is false.
    fn select_guarded(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        out.copy_from(rows);
        self.unknown.clear();
        for operand in &mut self.operands {
            if out.is_empty() {
                break;
            }
            operand.compute(scope, out, cx)?;
            let truths = operand.output(scope);
            match truths.data() {
                Data::Bit(bits) if truths.nulls().is_none() => {
                    self.next.filter(out, |row| bits[row]);
                }
                _ => {
                    let unknown = &mut self.unknown;
                    unknown.resize(scope.batch.rows(), false);
                    self.next.filter(out, |row| {
                        let truth = truth(truths, row);
                        unknown[row] |= truth == Truth::Unknown;
                        truth != Truth::False
                    });
                }
            }
            std::mem::swap(out, &mut self.next);
        }
        if !self.unknown.is_empty() {
            self.next.filter(out, |row| !self.unknown[row]);
            std::mem::swap(out, &mut self.next);
        }
        Ok(())
    }

    fn select_any(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        out.clear();
        self.open.copy_from(rows);
        for operand in &mut self.operands {
            if self.open.is_empty() {
                break;
            }
            operand.select(scope, &self.open, cx, &mut self.next)?;
            out.merge(&self.next);
            self.open.remove(&self.next);
        }
        Ok(())
    }
}

impl Step for Connected<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        let total = scope.batch.rows();
        // The value that decides the result: false for AND, true for OR.
        let ending = self.connective == Connective::Or;
        bits(&mut self.output, total).fill(!ending);
        self.unknown.clear();
        self.unknown.resize(total, false);
        self.open.copy_from(rows);
        for operand in &mut self.operands {
            if self.open.is_empty() {
                break;
            }
            operand.compute(scope, &self.open, cx)?;
            let truths = operand.output(scope);
            let (Data::Bit(bits), _) = self.output.parts_mut() else {
                unreachable!("`bits` has made the output one of bits")
            };
            let unknown = &mut self.unknown;
            self.next.filter(&self.open, |row| match truth(truths, row) {
                Truth::Unknown => {
                    unknown[row] = true;
                    true
                }
                truth if truth.is_true() == ending => {
                    bits[row] = ending;
                    unknown[row] = false;
                    false
                }
                _ => true,
            });
            std::mem::swap(&mut self.open, &mut self.next);
        }
        let nulls = self.output.parts_mut().1;
        self.open.for_each(|row| {
            if self.unknown[row] {
                nulls.set(row);
            }
        });
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }

    fn select(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        match self.connective {
            Connective::Or => self.select_any(scope, rows, cx, out),
            Connective::And if self.is_safe => self.select_all(scope, rows, cx, out),
            Connective::And => self.select_guarded(scope, rows, cx, out),
        }
    }
}

/// Returns the truth value of a row in a vector of conditions.
fn truth(truths: &Vector, row: usize) -> Truth {
    match truths.data() {
        Data::Bit(_) if truths.nulls().is_null(row) => Truth::Unknown,
        Data::Bit(bits) => bits[row].into(),
        _ => match truths.get(row) {
            Value::Bit(holds) => holds.into(),
            _ => Truth::Unknown,
        },
    }
}

/// `NOT x`; unknown stays unknown.
pub(super) struct Not<'p> {
    operand: Box<dyn Step + 'p>,
    output: Vector,
}

impl<'p> Not<'p> {
    pub(super) fn new(operand: Box<dyn Step + 'p>) -> Self {
        Self { operand, output: truths() }
    }
}

impl Step for Not<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.operand.compute(scope, rows, cx)?;
        let operand = self.operand.output(scope);
        let total = scope.batch.rows();
        if is_null(operand) {
            self.output.set_constant(Value::Null, total);
            return Ok(());
        }
        let negated = bits(&mut self.output, total);
        rows.for_each(|row| negated[row] = truth(operand, row) == Truth::False);
        let nulls = self.output.parts_mut().1;
        match operand.data() {
            Data::Bit(_) => nulls.add(operand.nulls()),
            _ => rows.iter().filter(|row| truth(operand, *row) == Truth::Unknown).for_each(|row| {
                nulls.set(row);
            }),
        }
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
