//! Defaults of parameters that each call evaluates, such as `@p int = @@SPID`.

use std::any::Any;
use std::sync::Arc;

use types::date::Moment;
use types::value::ColumnType;
use types::{Msg, Value};

use crate::Stop;
use crate::execute::convert_argument;
use ::executor::Frame;
use ::plan::function::{Call, EvalContext, Evaluate};
use ::session::SessionState;

/// Returns the value of a system function, converted to a parameter's type.
///
/// # Errors
/// 137 if the function is unknown, and the errors of the conversion.
pub fn parameter_default(
    function: &str,
    ty: &ColumnType,
    frame: &Frame,
    session: &mut SessionState,
) -> Result<Value, Stop> {
    let library = session.instance.library;
    let Some(function) = library.scalar(function) else {
        return Err(Msg::MustDeclareScalar(function).into());
    };
    let from = (function.bind)(&mut Vec::new())?;
    let mut context = Caller { session, frame, parsed: None, now: None };
    let value = match function.eval {
        Evaluate::Session(read) => read(&mut context),
        Evaluate::Strict(read) | Evaluate::Full(read) => {
            read(&mut context, &Call { arguments: &[], ty: &from }, &[])?
        }
    };
    convert_argument(value, &from, ty, session)
}

/// What a system function may ask while a call's parameters are filled.
struct Caller<'a> {
    session: &'a mut SessionState,
    frame: &'a Frame,
    parsed: Option<Box<dyn Any + Send>>,
    now: Option<Moment>,
}

impl EvalContext for Caller<'_> {
    fn now(&mut self) -> Moment {
        *self.now.get_or_insert_with(::catalog::clock::clock)
    }

    fn convert_options(&self) -> types::convert::ConvertOptions {
        self.session.convert_options()
    }

    fn date_first(&self) -> u8 {
        self.session.options.date_first
    }

    fn next_sequential_id(&self) -> Value {
        self.session.instance.catalog.next_sequential_id()
    }

    fn updated_columns(&self) -> Option<&[u8]> {
        None
    }

    fn document(&self, _: i64) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    fn parsed(&mut self) -> &mut Option<Box<dyn Any + Send>> {
        &mut self.parsed
    }

    fn cancel(&self) -> &Arc<sos::park::Cancel> {
        &self.session.connection.cancel
    }

    fn session(&self) -> &dyn Any {
        &*self.session
    }

    fn session_mut(&mut self) -> &mut dyn Any {
        &mut *self.session
    }

    fn frame(&self) -> &dyn Any {
        self.frame
    }
}
