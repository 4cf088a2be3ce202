//! PRINT, RAISERROR and THROW: make messages and errors.

use types::{Error, Msg, Value};

use crate::{Runner, Stop, done, ended, transactions};
use ::catalog::UserMessage;
use ::executor::Cx;
use ::plan::expr::ExprKind;
use ::plan::program::{Leaf, LeafAst, RaisErrorStep};
use ::plan::sink::Command;
use ::plan::statement::Bound;
use ::session::SessionState;
use ::session::event::emit;
use ::session::event::emit::error::Receiver;
use metadata::format::{format_message, shown, text_of, user_message};
use metadata::messages::system_message;
use tsql::ast::{self, RaisErrorOption};

/// Lowest severity for which RAISERROR needs WITH LOG.
const SEVERITY_WITH_LOG: i32 = 19;
/// Lowest severity of an error that ends the connection.
const SEVERITY_FATAL: u8 = 20;
/// Lowest message number that RAISERROR accepts.
const RAISED_FIRST: i32 = 13_000;
/// Longest text of PRINT, in characters: "8,000 characters if it is non-Unicode and 4,000
/// characters if it is Unicode".
const PRINT_LENGTH_MAX: usize = 8_000;
/// Longest Unicode text: see [`PRINT_LENGTH_MAX`].
const PRINT_UNICODE_MAX: usize = 4_000;

/// The most substitution parameters of RAISERROR.
const ARGUMENTS_MAX: usize = 20;

/// Returns the type of a value that cannot be a substitution parameter: whole numbers, texts and
/// bytes can.
fn unfit(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Null
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_)
        | Value::VarChar(_)
        | Value::NVarChar(_)
        | Value::VarBinary(_) => return None,
        Value::Bit(_) => "bit",
        Value::Decimal(_) => "numeric",
        Value::Money(_) => "money",
        Value::Real(_) => "real",
        Value::Float(_) => "float",
        Value::Date(_) => "date",
        Value::Time(_) => "time",
        Value::DateTime { .. } => "datetime",
        Value::SmallDateTime { .. } => "smalldatetime",
        Value::DateTime2 { .. } => "datetime2",
        Value::DateTimeOffset { .. } => "datetimeoffset",
        Value::UniqueIdentifier(_) => "uniqueidentifier",
        Value::Variant(_) => "sql_variant",
    })
}

impl Runner<'_> {
    pub(crate) fn print(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let value = self.value(leaf, cx)?;
        let text = shown(&value, PRINT_LENGTH_MAX, cx.session).unwrap_or_default();
        let text = match text.char_indices().nth(PRINT_UNICODE_MAX) {
            None => text,
            Some(_) if self.is_unicode(leaf, cx)? => text.chars().take(PRINT_UNICODE_MAX).collect(),
            Some(_) => text.chars().take(PRINT_LENGTH_MAX).collect(),
        };
        // PRINT sends message 0 of severity 0; an empty text is sent as a blank.
        let text = if text.is_empty() { " ".to_owned() } else { text };
        let message = self.place(Error::custom(0, 0, 1, text), cx);
        emit::error::reported(cx.session, &message, Receiver::Client);
        cx.sink.message(&message)?;
        cx.session.last.row_count = 0;
        Ok(ended(cx, Command::NONE, None)?)
    }

    /// Returns true if the operand of PRINT is Unicode text, before it is converted.
    fn is_unicode(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<bool, Stop> {
        if let LeafAst::Typed(ast::Expr { kind: ast::ExprKind::Literal(literal), .. }, _) =
            &leaf.ast
        {
            return Ok(matches!(literal, ast::Literal::NString(_)));
        }
        self.with_plan(leaf, cx, |bound, _| {
            let Bound::Scalar(scalar) = bound else { return Err(Msg::InternalError.into()) };
            let printed = match &scalar.expr.kind {
                ExprKind::Convert(conversion) => &conversion.operand,
                _ => &scalar.expr,
            };
            Ok(printed.ty.data_type.is_unicode())
        })
    }

    /// Adds the statement's line and the procedure's name to a message.
    fn place(&self, message: Error, cx: &Cx<'_>) -> Error {
        message.at_line(cx.session.request.line).in_procedure(self.procedure)
    }

    pub(crate) fn raise_error(&self, raise: &RaisErrorStep, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if raise.arguments.len() > ARGUMENTS_MAX {
            let most = i64::try_from(ARGUMENTS_MAX).unwrap_or(i64::MAX);
            return Err(Msg::TooManySubstitutions(most).into());
        }
        let message = self.value(&raise.message, cx)?;
        let severity = self.int(&raise.severity, cx)?.unwrap_or(0);
        let state = self.int(&raise.state, cx)?.unwrap_or(1);
        let mut arguments = Vec::with_capacity(raise.arguments.len());
        // Message, severity and state are the first three.
        for (place, argument) in (4_i64..).zip(&raise.arguments) {
            let value = self.value(argument, cx)?;
            if let Some(of) = unfit(&value) {
                return Err(Msg::SubstitutionType(of, place).into());
            }
            arguments.push(value);
        }
        let (number, severity, text, always_logged) = match &message {
            Value::Int(number) => {
                let Some(message) = known_message(*number, cx.session) else {
                    return Err(message_by_number(*number, severity, state));
                };
                let own = i32::from(message.severity);
                let severity = if severity < 0 { own } else { severity };
                (*number, severity, message.text, message.logged)
            }
            other => (50_000, severity, text_of(other, cx.session)?.unwrap_or_default(), false),
        };
        let log = raise.options.contains(&RaisErrorOption::Log);
        check_log(severity, log, cx)?;
        let text = format_message(&text, &arguments, cx.session)?;
        // A negative state becomes 1; one above 255 becomes 255.
        let state = if state < 0 { 1 } else { u8::try_from(state).unwrap_or(u8::MAX) };
        // Severity 10 is informational and is sent as 0.
        let severity = match u8::try_from(severity.clamp(0, 25)).unwrap_or(25) {
            10 => 0,
            other => other,
        };
        let error = self.place(Error::custom(number, severity, state, text), cx);
        let set_error = raise.options.contains(&RaisErrorOption::SetError);
        cx.session.last.row_count = 0;
        if log || always_logged {
            cx.sink.log(&error);
        }
        if severity > 10 {
            return self.raised(error, cx);
        }
        cx.session.last.error = if set_error { number } else { 0 };
        emit::error::reported(cx.session, &error, Receiver::Client);
        cx.sink.message(&error)?;
        if raise.options.contains(&RaisErrorOption::NoWait) {
            cx.sink.flush()?;
        }
        Ok(ended(cx, Command::NONE, None)?)
    }

    /// Passes an error of RAISERROR to the CATCH block or to the client. It never ends the batch,
    /// not even with XACT_ABORT.
    fn raised(&self, error: Error, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if error.severity >= SEVERITY_FATAL {
            return self.terminated(error, cx);
        }
        if cx.session.request.try_depth > 0 {
            return Err(Stop::Error(error));
        }
        cx.session.last.error = error.number;
        emit::error::reported(cx.session, &error, Receiver::Client);
        cx.sink.message(&error)?;
        Ok(done(cx, Command::NONE, None, true)?)
    }

    /// Ends the connection, which an error of severity 20 or more does even inside TRY.
    fn terminated(&self, error: Error, cx: &mut Cx<'_>) -> Result<(), Stop> {
        transactions::abort(cx)?;
        let (session, number) = (i64::from(cx.session.connection.id), i64::from(error.number));
        let terminated = Msg::ProcessTerminated(session, number, i64::from(error.severity));
        let terminated = self.place(Error::from(terminated).with_state(2), cx);
        for message in [terminated, error, Msg::SessionKilled.into()] {
            emit::error::reported(cx.session, &message, Receiver::Client);
            cx.sink.message(&message)?;
        }
        done(cx, Command::NONE, None, true)?;
        Err(Stop::Batch)
    }

    pub(crate) fn throw(&self, operands: Option<&[Leaf; 3]>, cx: &mut Cx<'_>) -> Stop {
        let Some([number, message, state]) = operands else {
            return match cx.session.request.handled_errors.last() {
                Some(error) => Stop::Thrown(error.clone()),
                None => Msg::ThrowOutsideCatch.into(),
            };
        };
        match self.throw_operands(number, message, state, cx) {
            Ok(error) => Stop::Thrown(error),
            Err(stop) => stop,
        }
    }

    fn throw_operands(
        &self,
        number: &Leaf,
        message: &Leaf,
        state: &Leaf,
        cx: &mut Cx<'_>,
    ) -> Result<Error, Stop> {
        let number = self.int(number, cx)?.unwrap_or(0);
        if number < 50_000 {
            return Err(Error::from(Msg::ThrowNumber(i64::from(number))).with_state(10).into());
        }
        let text = self.value(message, cx)?;
        let text = text_of(&text, cx.session)?.unwrap_or_default();
        let state = self.int(state, cx)?.unwrap_or(1);
        let state = u8::try_from(state).map_err(|_| Msg::InvalidState(i64::from(state), 0, 255))?;
        Ok(Error::custom(number, 16, state, text))
    }

    pub(crate) fn int(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<Option<i32>, Stop> {
        Ok(match self.value(leaf, cx)? {
            Value::Int(n) => Some(n),
            _ => None,
        })
    }
}

/// Checks that WITH LOG is allowed, and that it is given for a severity that requires it.
///
/// # Errors
/// 2754 for a severity of 19 or more without WITH LOG, 2778 without ALTER TRACE.
fn check_log(severity: i32, log: bool, cx: &Cx<'_>) -> Result<(), Stop> {
    let may = || cx.session.identity.rights.has_of_server(&cx.session.catalog, "ALTER TRACE");
    let severe = severity >= SEVERITY_WITH_LOG;
    if severe && !(log && may()) {
        return Err(Msg::SeverityNeedsLog(18).into());
    }
    if log && !may() {
        return Err(Msg::LogDenied.into());
    }
    Ok(())
}

/// Finds a message of sys.messages that RAISERROR may name.
fn known_message(number: i32, session: &SessionState) -> Option<UserMessage> {
    user_message(number, session)
        .or_else(|| (number >= RAISED_FIRST).then(|| system_message(number)).flatten())
}

/// Returns the error for a number that no user-defined message has.
fn message_by_number(number: i32, severity: i32, state: i32) -> Stop {
    if number < RAISED_FIRST || number == 50_000 {
        return Msg::RaiseErrorNumber(i64::from(number), 13_000, 2_147_483_647).into();
    }
    let text = format!(
        "Error {number}, severity {severity}, state {state} was raised, but no message with that \
         error number was found in sys.messages. If error is larger than 50000, make sure the \
         user-defined message is added using sp_addmessage."
    );
    Error::custom(18054, 16, 1, text).into()
}
