//! CASE, and LET, which evaluates an operand once for several uses.

use smallvec::SmallVec;
use types::batch::{Data, Selection, Vector};
use types::value::ColumnType;
use types::{Result, Value};

use super::arithmetic::push_holes;
use super::step::{Scope, Step};
use executor::Cx;

/// Searched CASE: each row evaluates the conditions up to the first true one, and that branch's
/// result.
pub(super) struct Case<'p> {
    branches: Vec<Branch<'p>>,
    otherwise: Option<Box<dyn Step + 'p>>,
    output: Vector,
    /// Rows without a true condition so far.
    open: Selection,
    /// Rows that take ELSE.
    rest: Selection,
    /// For each row, the number of the branch that it takes; the number of branches for ELSE.
    chosen: Vec<u16>,
}

/// One WHEN .. THEN .. of a CASE.
pub(super) struct Branch<'p> {
    pub(super) condition: Box<dyn Step + 'p>,
    pub(super) result: Box<dyn Step + 'p>,
    pub(super) hits: Selection,
}

/// Most branches that a step supports; a longer CASE is evaluated row by row.
pub(super) const BRANCHES_MAX: usize = 1_000;

impl<'p> Case<'p> {
    pub(super) fn new(
        ty: &ColumnType,
        branches: Vec<Branch<'p>>,
        otherwise: Option<Box<dyn Step + 'p>>,
    ) -> Self {
        Self {
            branches,
            otherwise,
            output: Vector::with_capacity_for(ty),
            open: Selection::default(),
            rest: Selection::default(),
            chosen: Vec::new(),
        }
    }
}

impl Step for Case<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        let total = scope.batch.rows();
        self.chosen.clear();
        self.chosen.resize(total, 0);
        self.open.copy_from(rows);
        let mut number = 0;
        for branch in &mut self.branches {
            branch.hits.clear();
            if !self.open.is_empty() {
                branch.condition.select(scope, &self.open, cx, &mut branch.hits)?;
            }
            branch.result.compute(scope, &branch.hits, cx)?;
            branch.hits.for_each(|row| self.chosen[row] = number);
            self.open.remove(&branch.hits);
            number += 1;
        }
        self.open.for_each(|row| self.chosen[row] = number);
        self.rest.copy_from(&self.open);
        if let Some(otherwise) = &mut self.otherwise {
            otherwise.compute(scope, &self.rest, cx)?;
        }
        let mut sources = SmallVec::<[(Option<&Vector>, &Selection); 4]>::new();
        let branches = self.branches.iter();
        sources.extend(branches.map(|b| (Some(b.result.output(scope)), &b.hits)));
        sources.push((self.otherwise.as_ref().map(|e| e.output(scope)), &self.rest));
        if !assemble_fixed(&sources, total, &mut self.output) {
            assemble(&sources, rows, &self.chosen, &mut self.output);
            push_holes(&mut self.output, total);
        }
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}

/// Copies the rows of each source to their positions, if all sources are constants or have the
/// output's fixed-width form; `false`, and `output` is unusable, if not.
fn assemble_fixed(
    sources: &[(Option<&Vector>, &Selection)],
    total: usize,
    output: &mut Vector,
) -> bool {
    output.reset(total);
    for (source, rows) in sources {
        if rows.is_empty() {
            continue;
        }
        let Some(source) = source else {
            let nulls = output.parts_mut().1;
            rows.for_each(|row| nulls.set(row));
            continue;
        };
        if !copy_fixed(source, rows, output) {
            return false;
        }
    }
    true
}

fn copy_fixed(source: &Vector, rows: &Selection, output: &mut Vector) -> bool {
    let (data, nulls) = output.parts_mut();
    macro_rules! copy {
        ($to:expr, $from:expr) => {
            rows.for_each(|row| $to[row] = $from[row])
        };
    }
    match (data, source.data()) {
        (_, Data::Constant(Value::Null, _)) => rows.for_each(|row| nulls.set(row)),
        (Data::Int(to), Data::Constant(Value::Int(v), _)) => rows.for_each(|row| to[row] = *v),
        (Data::BigInt(to), Data::Constant(Value::BigInt(v), _)) => {
            rows.for_each(|row| to[row] = *v);
        }
        (Data::Float(to), Data::Constant(Value::Float(v), _)) => {
            rows.for_each(|row| to[row] = *v);
        }
        (Data::ShortDecimal { digits, precision, scale }, Data::Constant(Value::Decimal(v), _))
            if v.precision == *precision && v.scale == *scale =>
        {
            let Ok(v) = i64::try_from(v.mantissa()) else { return false };
            rows.for_each(|row| digits[row] = v);
        }
        (Data::Decimal { digits, precision, scale }, Data::Constant(Value::Decimal(v), _))
            if v.precision == *precision && v.scale == *scale =>
        {
            rows.for_each(|row| digits[row] = v.mantissa());
        }
        (Data::Bit(to), Data::Bit(from)) => copy!(to, from),
        (Data::Int(to), Data::Int(from)) | (Data::Date(to), Data::Date(from)) => copy!(to, from),
        (Data::BigInt(to), Data::BigInt(from))
        | (Data::Money(to), Data::Money(from))
        | (Data::DateTime(to), Data::DateTime(from))
        | (Data::DateTime2(to), Data::DateTime2(from)) => copy!(to, from),
        (Data::Float(to), Data::Float(from)) => copy!(to, from),
        (
            Data::ShortDecimal { digits: to, precision: p, scale: s },
            Data::ShortDecimal { digits: from, precision, scale },
        ) if p == precision && s == scale => copy!(to, from),
        (
            Data::Decimal { digits: to, precision: p, scale: s },
            Data::Decimal { digits: from, precision, scale },
        ) if p == precision && s == scale => copy!(to, from),
        _ => return false,
    }
    if !source.nulls().is_none() {
        rows.for_each(|row| {
            if source.nulls().is_null(row) {
                nulls.set(row);
            }
        });
    }
    true
}

/// Appends each row from the source that it takes.
fn assemble(
    sources: &[(Option<&Vector>, &Selection)],
    rows: &Selection,
    chosen: &[u16],
    output: &mut Vector,
) {
    output.clear();
    rows.for_each(|row| {
        push_holes(output, row);
        match sources[usize::from(chosen[row])].0 {
            Some(source) => output.push_from(source, row),
            None => output.push_null(),
        }
    });
}

/// Evaluates a value, then a body that reads it through a register.
pub(super) struct Let<'p> {
    pub(super) value: Box<dyn Step + 'p>,
    pub(super) body: Box<dyn Step + 'p>,
}

/// Values of the enclosing LETs, outermost first.
type Locals<'a> = SmallVec<[&'a Vector; 4]>;

impl<'p> Let<'p> {
    fn locals<'a>(value: &'a (dyn Step + 'p), scope: &Scope<'a, '_>) -> Locals<'a> {
        let mut locals = Locals::from_slice(scope.locals);
        locals.push(value.output(scope));
        locals
    }
}

impl Step for Let<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.value.compute(scope, rows, cx)?;
        let locals = Self::locals(&*self.value, scope);
        self.body.compute(&Scope { locals: &locals, ..*scope }, rows, cx)
    }

    fn output<'a>(&'a self, scope: &Scope<'a, '_>) -> &'a Vector {
        let locals = Self::locals(&*self.value, scope);
        self.body.output(&Scope { locals: &locals, ..*scope })
    }

    fn select(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        self.value.compute(scope, rows, cx)?;
        let locals = Self::locals(&*self.value, scope);
        self.body.select(&Scope { locals: &locals, ..*scope }, rows, cx, out)
    }
}
