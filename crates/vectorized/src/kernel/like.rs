//! `x LIKE pattern` with the same pattern for all rows of a batch, which is compiled once.

use std::sync::Arc;

use types::batch::{ByteKind, Selection, Vector};
use types::collation::LikePattern;
use types::compare::Truth;
use types::{Collation, Result, Value};

use super::compare::{bits, truths, write};
use super::side::Strings;
use super::step::{Scope, Step, passed};
use executor::Cx;
use executor::eval::eval;
use executor::long::until_cancelled;
use plan::expr::LikeArguments;
use plan::long::PAUSE;
use sos::sched::BytePace;

/// Matches strings against a pattern that is not a column of the batch.
pub(super) struct Like<'p> {
    collation: Collation,
    text: Box<dyn Step + 'p>,
    arguments: &'p LikeArguments,
    output: Vector,
    /// Pattern and escape of the last batch, for which the pattern is compiled.
    source: Option<(Value, Option<Value>)>,
    pattern: Option<LikePattern>,
}

impl<'p> Like<'p> {
    pub(super) fn new(
        collation: Collation,
        text: Box<dyn Step + 'p>,
        arguments: &'p LikeArguments,
    ) -> Self {
        Self { collation, text, arguments, output: truths(), source: None, pattern: None }
    }

    /// Evaluates the pattern; a variable may have changed since the last batch.
    fn read(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let pattern = eval(&self.arguments.pattern, cx)?;
        let escape = self.arguments.escape.as_ref().map(|e| eval(e, cx)).transpose()?;
        let source = (pattern, escape);
        if self.source.as_ref() != Some(&source) {
            let made = LikePattern::new(&source.0, source.1.as_ref(), self.collation)?;
            self.pattern = made.map(|made| made.prepared().pausing(PAUSE));
            self.source = Some(source);
        }
        Ok(())
    }
}

impl Step for Like<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.text.compute(scope, rows, cx)?;
        let total = scope.batch.rows();
        if rows.is_empty() {
            self.output.reset(total);
            return Ok(());
        }
        self.read(cx)?;
        let Some(pattern) = &self.pattern else {
            self.output.set_constant(Value::Null, total);
            return Ok(());
        };
        let text = self.text.output(scope);
        let found = bits(&mut self.output, total);
        match Strings::of(text).and_then(|strings| Some((strings, strings.kind()?))) {
            Some((strings, kind)) if kind != ByteKind::VarBinary => {
                let (mut scratch, mut pace) = (Vec::new(), BytePace::new());
                let cancel = Arc::clone(&cx.session.connection.cancel);
                until_cancelled(&cancel, || {
                    rows.try_for_each(|row| {
                        let text = strings.get(row, kind).unwrap_or(&[]);
                        found[row] = pattern.matches_bytes(kind, text, &mut scratch);
                        passed(&mut pace, text.len(), cx)
                    })
                })?;
                self.output.parts_mut().1.add(text.nulls());
            }
            _ => rows.for_each(|row| {
                let truth = pattern.matches(&text.get(row)).map_or(Truth::Unknown, Truth::from);
                write(&mut self.output, row, truth);
            }),
        }
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
