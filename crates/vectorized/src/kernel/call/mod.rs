//! Functions of the library: some have loops over vectors; the others call their row implementation
//! with arguments read from vectors.

mod date;
mod hash;
mod text;

use smallvec::SmallVec;
use types::batch::{Selection, Vector};
use types::value::ColumnType;
use types::{Result, Value};

use super::step::{Scope, Step, fill, passed};
use executor::Cx;
use plan::expr::Expr;
use plan::function::{Call, Evaluate, Function};
use sos::sched::BytePace;

/// The input of a function's loop.
struct Inputs<'a> {
    /// The vectors of the arguments.
    vectors: &'a [&'a Vector],
    /// The arguments as bound expressions.
    arguments: &'a [Expr],
    /// The type of the result.
    ty: &'a ColumnType,
}

/// A function over vectors. The output has a row for each row of the batch. `false`, and the output
/// is unusable, if the function has no loop for the form of its inputs, or a row failed.
type Loop = fn(&Inputs<'_>, &Selection, &mut Vector) -> bool;

/// The functions that have a loop.
static LOOPS: &[(&str, Loop)] = &[
    ("YEAR", date::year),
    ("MONTH", date::month),
    ("DAY", date::day),
    ("DATEPART", date::part),
    ("LEN", text::len),
    ("LEFT", text::left),
    ("RIGHT", text::right),
    ("SUBSTRING", text::substring),
    ("CHARINDEX", text::char_index),
    ("CONCAT", text::concat),
    ("UPPER", text::upper),
    ("LOWER", text::lower),
    ("HASHBYTES", hash::hash_bytes),
];

/// Calls a function for the rows of a batch.
pub(super) struct CallStep<'p> {
    function: &'static Function,
    own: Option<Loop>,
    arguments: &'p [Expr],
    ty: &'p ColumnType,
    steps: Vec<Box<dyn Step + 'p>>,
    output: Vector,
}

impl<'p> CallStep<'p> {
    pub(super) fn new(
        function: &'static Function,
        arguments: &'p [Expr],
        ty: &'p ColumnType,
        steps: Vec<Box<dyn Step + 'p>>,
    ) -> Self {
        let own = LOOPS.iter().find(|(name, _)| *name == function.name).map(|(_, own)| *own);
        Self { function, own, arguments, ty, steps, output: Vector::with_capacity_for(ty) }
    }
}

impl Step for CallStep<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        for step in &mut self.steps {
            step.compute(scope, rows, cx)?;
        }
        let total = scope.batch.rows();
        let inputs = self.steps.iter().map(|step| step.output(scope));
        let vectors = inputs.collect::<SmallVec<[&Vector; 4]>>();
        let (evaluate, strict) = match self.function.eval {
            Evaluate::Session(read) => {
                return fill(&mut self.output, rows, total, |_| Ok(read(cx)));
            }
            Evaluate::Strict(evaluate) => (evaluate, true),
            Evaluate::Full(evaluate) => (evaluate, false),
        };
        if let Some(own) = self.own {
            let inputs = Inputs { vectors: &vectors, arguments: self.arguments, ty: self.ty };
            self.output.reset(total);
            if own(&inputs, rows, &mut self.output) {
                return Ok(());
            }
        }
        let call = Call { arguments: self.arguments, ty: self.ty };
        let mut values = SmallVec::<[Value; 4]>::from_elem(Value::Null, vectors.len());
        // Constants are placed once.
        let mut changing = SmallVec::<[usize; 4]>::new();
        for (place, vector) in vectors.iter().enumerate() {
            match vector.constant_value() {
                Some(value) => values[place] = value.clone(),
                None => changing.push(place),
            }
        }
        let mut pace = BytePace::new();
        fill(&mut self.output, rows, total, |row| {
            let mut bytes = 0;
            for place in &changing {
                values[*place] = vectors[*place].get(row);
                bytes += values[*place].string_bytes().map_or(0, <[u8]>::len);
            }
            if strict && values.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            passed(&mut pace, bytes, cx)?;
            evaluate(cx, &call, &values)
        })
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
