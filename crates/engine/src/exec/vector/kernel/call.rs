//! Functions of the library: their row implementation, called with arguments out of vectors.

use smallvec::SmallVec;
use types::batch::{Selection, Vector};
use types::value::ColumnType;
use types::{Result, Value};

use super::step::{Scope, Step, fill};
use crate::exec::Cx;
use crate::func::{Call, Evaluate, Function};
use crate::plan::expr::Expr;

/// Calls a function.
pub(super) struct CallStep<'p> {
    function: &'static Function,
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
        Self { function, arguments, ty, steps, output: Vector::with_capacity_for(ty) }
    }
}

impl Step for CallStep<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        for step in &mut self.steps {
            step.compute(scope, rows, cx)?;
        }
        let total = scope.batch.rows();
        let inputs = self.steps.iter().map(|step| step.output(scope));
        let inputs = inputs.collect::<SmallVec<[&Vector; 4]>>();
        let (evaluate, strict) = match self.function.eval {
            Evaluate::Session(read) => {
                return fill(&mut self.output, rows, total, |_| Ok(read(cx)));
            }
            Evaluate::Strict(evaluate) => (evaluate, true),
            Evaluate::Full(evaluate) => (evaluate, false),
        };
        let call = Call { arguments: self.arguments, ty: self.ty };
        let mut values = SmallVec::<[Value; 4]>::from_elem(Value::Null, inputs.len());
        // A constant is put in its place once.
        let mut changing = SmallVec::<[usize; 4]>::new();
        for (place, input) in inputs.iter().enumerate() {
            match input.constant_value() {
                Some(value) => values[place] = value.clone(),
                None => changing.push(place),
            }
        }
        fill(&mut self.output, rows, total, |row| {
            for place in &changing {
                values[*place] = inputs[*place].get(row);
            }
            if strict && values.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            evaluate(cx, &call, &values)
        })
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
