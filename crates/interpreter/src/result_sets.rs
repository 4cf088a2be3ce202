//! EXECUTE .. WITH RESULT SETS: checks the result sets of a call against the description, and
//! converts them to its names and types.

use std::sync::Arc;

use types::convert::check;
use types::value::ColumnType;
use types::{ConvertOptions, Error, Mode, Msg, Result, Value};

use crate::Stop;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Disconnected, Done, EnvChange, ResultShape, ResultSink, Sent};

/// Runs a call whose results must match `sets`, which is empty for RESULT SETS NONE.
///
/// # Errors
/// 11535 and 11536 for the number of sets, 11537, 11538 and 11553 for columns, types and NULLs, the
/// errors of converting a value, and those of the call.
pub(crate) fn run(
    sets: &[Arc<ResultShape>],
    cx: &mut Cx<'_>,
    call: impl FnOnce(&mut Cx<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let options = cx.convert_options();
    let mut described =
        Described { inner: &mut *cx.sink, sets, options, sent: Vec::new(), begun: 0, failed: None };
    let outcome = {
        let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut described);
        call(&mut inner)
    };
    let Described { begun, failed, .. } = described;
    if let Some(error) = failed {
        return Err(error.into());
    }
    outcome?;
    if begun < sets.len() {
        return Err(Msg::ResultSetsFewer(count(sets.len()), count(begun)).into());
    }
    Ok(())
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A sink that passes results on with the described columns. A result that does not match ends the
/// call as if the client had disconnected; `failed` has the error.
struct Described<'a> {
    inner: &'a mut dyn ResultSink,
    sets: &'a [Arc<ResultShape>],
    options: ConvertOptions,
    /// The column types of the current result set, as sent.
    sent: Vec<ColumnType>,
    /// Number of result sets so far.
    begun: usize,
    failed: Option<Error>,
}

impl Described<'_> {
    fn fail(&mut self, error: impl Into<Error>) -> Disconnected {
        self.failed = Some(error.into());
        Disconnected
    }

    /// Checks the columns of a result set against its description.
    fn fit(&self, shape: &ResultShape) -> Result<Arc<ResultShape>> {
        let Some(wanted) = self.sets.get(self.begun) else {
            return Err(Msg::ResultSetsMore(count(self.sets.len())).into());
        };
        let number = count(self.begun + 1);
        let (width, sent) = (wanted.columns.len(), shape.columns.len());
        if width != sent {
            return Err(Msg::ResultSetColumns(count(width), number, count(sent)).into());
        }
        for (place, (to, from)) in (1..).zip(wanted.columns.iter().zip(&shape.columns)) {
            let (to, from) = (&to.column_type.data_type, &from.column_type.data_type);
            if check(from, to, Mode::Implicit).is_err() {
                let (to, from) = (to.to_string(), from.to_string());
                return Err(Msg::ResultSetType(&to, place, number, &from).into());
            }
        }
        Ok(Arc::clone(wanted))
    }

    fn converted(&self, values: &[Value]) -> Result<Vec<Value>> {
        let wanted = &self.sets[self.begun - 1].columns;
        let places = (1..).zip(values.iter().zip(&self.sent).zip(wanted));
        let convert =
            |(place, ((value, from), to)): (i64, ((&Value, &ColumnType), &ColumnInfo))| {
                if matches!(value, Value::Null) && !to.column_type.nullable {
                    return Err(Msg::ResultSetNull(place, count(self.begun)).into());
                }
                types::convert(value, from, &to.column_type, 0, Mode::Implicit, &self.options)
            };
        places.map(convert).collect()
    }
}

impl ResultSink for Described<'_> {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        let wanted = self.fit(shape).map_err(|error| self.fail(error))?;
        self.sent = shape.columns.iter().map(|column| column.column_type).collect();
        self.begun += 1;
        self.inner.columns(&wanted)
    }
    fn row(&mut self, values: &[Value]) -> Sent {
        let row = self.converted(values).map_err(|error| self.fail(error))?;
        self.inner.row(&row)
    }
    fn done(&mut self, done: Done) -> Sent {
        self.inner.done(done)
    }
    fn message(&mut self, message: &Error) -> Sent {
        self.inner.message(message)
    }
    fn return_status(&mut self, status: i32) -> Sent {
        self.inner.return_status(status)
    }
    fn return_value(&mut self, ordinal: u16, column: &ColumnInfo, value: &Value) -> Sent {
        self.inner.return_value(ordinal, column, value)
    }
    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        self.inner.env_change(change)
    }
    fn log(&mut self, message: &Error) {
        self.inner.log(message);
    }
    fn flush(&mut self) -> Sent {
        self.inner.flush()
    }
    fn sent(&self) -> Option<u64> {
        self.inner.sent()
    }
}
