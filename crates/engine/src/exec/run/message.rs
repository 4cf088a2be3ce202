//! PRINT, RAISERROR and THROW.

use types::{Error, Msg, Value};

use crate::catalog::UserMessage;
use crate::exec::Cx;
use crate::exec::run::{Runner, Stop, done, ended, transactions};
use crate::plan::expr::ExprKind;
use crate::plan::program::{Leaf, LeafAst, RaisErrorStep};
use crate::plan::statement::Bound;
use crate::session::SessionState;
use crate::sink::Command;
use crate::view::source_messages::{ENGLISH, system_message};
use ::session::event::emit;
use ::session::event::emit::error::Receiver;
use tsql::ast::{self, RaisErrorOption};

/// Longest text of PRINT and RAISERROR, in characters.
const MESSAGE_LENGTH_MAX: usize = 2047;
/// Severity from which RAISERROR needs WITH LOG.
const SEVERITY_WITH_LOG: i32 = 19;
/// Severity from which an error ends the connection.
const SEVERITY_FATAL: u8 = 20;
/// The least number of a message that RAISERROR may name.
const RAISED_FIRST: i32 = 13_000;
/// Longest text of PRINT, in characters: "8,000 characters if it is non-Unicode and 4,000 characters if it is Unicode".
const PRINT_LENGTH_MAX: usize = 8_000;
/// See [`PRINT_LENGTH_MAX`].
const PRINT_UNICODE_MAX: usize = 4_000;

impl Runner<'_> {
    pub(super) fn print(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let value = self.value(leaf, cx)?;
        let text = text_of(&value, cx.session).unwrap_or_default();
        let text = match text.char_indices().nth(PRINT_UNICODE_MAX) {
            None => text,
            Some(_) if self.is_unicode(leaf, cx)? => text.chars().take(PRINT_UNICODE_MAX).collect(),
            Some(_) => text.chars().take(PRINT_LENGTH_MAX).collect(),
        };
        // PRINT is message 0 of severity 0; an empty text arrives as a blank.
        let text = if text.is_empty() { " ".to_owned() } else { text };
        let message = self.place(Error::custom(0, 0, 1, text), cx);
        emit::error::reported(cx.session, &message, Receiver::Client);
        cx.sink.message(&message)?;
        cx.session.row_count = 0;
        Ok(ended(cx, Command::NONE, None)?)
    }

    /// Tells whether what PRINT prints is Unicode text before it is made the text of a message.
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

    /// Gives a message the line of the running statement and the procedure's name.
    fn place(&self, message: Error, cx: &Cx<'_>) -> Error {
        message.at_line(cx.session.line).in_procedure(self.procedure)
    }

    pub(super) fn raise_error(&self, raise: &RaisErrorStep, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let message = self.value(&raise.message, cx)?;
        let severity = self.int(&raise.severity, cx)?.unwrap_or(0);
        let state = self.int(&raise.state, cx)?.unwrap_or(1);
        let mut arguments = Vec::with_capacity(raise.arguments.len());
        for argument in &raise.arguments {
            arguments.push(self.value(argument, cx)?);
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
            other => (50_000, severity, text_of(other, cx.session).unwrap_or_default(), false),
        };
        let log = raise.options.contains(&RaisErrorOption::Log);
        check_log(severity, log, cx)?;
        let text = format(&text, &arguments, cx.session)?;
        // A negative state is 1; one over 255 is out of range and taken as 255.
        let state = if state < 0 { 1 } else { u8::try_from(state).unwrap_or(u8::MAX) };
        // Severity 10 is informational and travels as 0.
        let severity = match u8::try_from(severity.clamp(0, 25)).unwrap_or(25) {
            10 => 0,
            other => other,
        };
        let error = self.place(Error::custom(number, severity, state, text), cx);
        let set_error = raise.options.contains(&RaisErrorOption::SetError);
        cx.session.row_count = 0;
        if log || always_logged {
            cx.sink.log(&error);
        }
        if severity > 10 {
            return self.raised(error, cx);
        }
        cx.session.last_error = if set_error { number } else { 0 };
        emit::error::reported(cx.session, &error, Receiver::Client);
        cx.sink.message(&error)?;
        if raise.options.contains(&RaisErrorOption::NoWait) {
            cx.sink.flush()?;
        }
        Ok(ended(cx, Command::NONE, None)?)
    }

    /// An error of RAISERROR goes to the CATCH block, or to the client, and ends no batch, not even
    /// under XACT_ABORT.
    fn raised(&self, error: Error, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if error.severity >= SEVERITY_FATAL {
            return self.terminated(error, cx);
        }
        if cx.session.try_depth > 0 {
            return Err(Stop::Error(error));
        }
        cx.session.last_error = error.number;
        emit::error::reported(cx.session, &error, Receiver::Client);
        cx.sink.message(&error)?;
        Ok(done(cx, Command::NONE, None, true)?)
    }

    /// An error of severity 20 or more ends the connection, whatever CATCH is around it.
    fn terminated(&self, error: Error, cx: &mut Cx<'_>) -> Result<(), Stop> {
        transactions::abort(cx)?;
        let (session, number) = (i64::from(cx.session.id), i64::from(error.number));
        let terminated = Msg::ProcessTerminated(session, number, i64::from(error.severity));
        let terminated = self.place(Error::from(terminated).with_state(2), cx);
        for message in [terminated, error, Msg::SessionKilled.into()] {
            emit::error::reported(cx.session, &message, Receiver::Client);
            cx.sink.message(&message)?;
        }
        done(cx, Command::NONE, None, true)?;
        Err(Stop::Batch)
    }

    pub(super) fn throw(&self, operands: Option<&[Leaf; 3]>, cx: &mut Cx<'_>) -> Stop {
        let Some([number, message, state]) = operands else {
            return match cx.session.handled_errors.last() {
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
        let text = text_of(&text, cx.session).unwrap_or_default();
        let state = self.int(state, cx)?.unwrap_or(1);
        let state = u8::try_from(state).map_err(|_| Msg::InvalidState(i64::from(state), 0, 255))?;
        Ok(Error::custom(number, 16, state, text))
    }

    pub(super) fn int(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<Option<i32>, Stop> {
        Ok(match self.value(leaf, cx)? {
            Value::Int(n) => Some(n),
            _ => None,
        })
    }
}

/// Checks that the login may say WITH LOG, and that it is said where a severity asks for it.
///
/// # Errors
/// 2754 for a severity of 19 and more without it, 2778 without ALTER TRACE.
fn check_log(severity: i32, log: bool, cx: &Cx<'_>) -> Result<(), Stop> {
    let may = || cx.session.rights.has_of_server(&cx.session.catalog, "ALTER TRACE");
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

/// Finds a message that sp_addmessage has added.
pub(crate) fn user_message(number: i32, session: &SessionState) -> Option<UserMessage> {
    session.catalog.messages.get(&(number, ENGLISH)).cloned()
}

/// The error for a number that is no user's message.
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

/// Returns a value's text, `None` for NULL.
pub(super) fn text_of(value: &Value, session: &SessionState) -> Option<String> {
    let collation = session.collation();
    match value {
        Value::Null => None,
        Value::Bit(b) => Some(i32::from(*b).to_string()),
        Value::TinyInt(n) => Some(n.to_string()),
        Value::SmallInt(n) => Some(n.to_string()),
        Value::Int(n) => Some(n.to_string()),
        Value::BigInt(n) => Some(n.to_string()),
        other => other.as_text(collation),
    }
}

/// Fills a format's places in: FORMATMESSAGE.
///
/// # Errors
/// 2786, 2787 as RAISERROR gives them.
pub(crate) fn format_message(
    text: &str,
    arguments: &[Value],
    session: &SessionState,
) -> types::Result<String> {
    format(text, arguments, session).map_err(|stop| match stop {
        Stop::Error(error) | Stop::Thrown(error) | Stop::Unbound(error) => error,
        Stop::Scope | Stop::Batch | Stop::Cancelled | Stop::Disconnected => {
            Msg::InternalError.into()
        }
    })
}

/// Replaces `%s`, `%d`, `%i`, `%u`, `%o`, `%x`, `%X` with flags, width and precision, as printf does.
fn format(text: &str, arguments: &[Value], session: &SessionState) -> Result<String, Stop> {
    let mut out = String::with_capacity(text.len());
    let mut next = arguments.iter();
    let mut position = 0;
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        out.push_str(&rest[..percent]);
        rest = &rest[percent + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let (specification, behind) = specification(rest, &mut next, session)?;
        position += 1;
        let value = next.next().ok_or(Msg::SubstitutionMismatch(position))?;
        substitute(&mut out, &specification, value, position, session)?;
        rest = behind;
    }
    out.push_str(rest);
    if out.chars().count() > MESSAGE_LENGTH_MAX {
        out = out.chars().take(MESSAGE_LENGTH_MAX - 3).chain("...".chars()).collect();
    }
    Ok(out)
}

/// A conversion specification of RAISERROR.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the format")]
struct Specification {
    left: bool,
    plus: bool,
    zero: bool,
    prefix: bool,
    blank: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

fn specification<'t, 'v>(
    text: &'t str,
    arguments: &mut impl Iterator<Item = &'v Value>,
    session: &SessionState,
) -> Result<(Specification, &'t str), Stop> {
    let mut found = Specification::default();
    let mut rest = text.trim_start_matches(|c| {
        match c {
            '-' => found.left = true,
            '+' => found.plus = true,
            '0' => found.zero = true,
            '#' => found.prefix = true,
            ' ' => found.blank = true,
            _ => return false,
        }
        true
    });
    found.width = count(&mut rest, arguments, session).unwrap_or(0);
    if let Some(behind) = rest.strip_prefix('.') {
        rest = behind;
        found.precision = Some(count(&mut rest, arguments, session).unwrap_or(0));
    }
    if let Some(behind) = rest.strip_prefix("I64") {
        rest = behind;
    } else {
        rest = rest.trim_start_matches(['h', 'l']);
    }
    let kind = rest.chars().next().filter(|c| "diosuxX".contains(*c));
    let Some(kind) = kind else { return Err(Msg::InvalidFormat(&format!("%{text}")).into()) };
    found.kind = kind;
    Ok((found, &rest[1..]))
}

/// Reads a number, or takes it from the arguments for `*`.
fn count<'v>(
    rest: &mut &str,
    arguments: &mut impl Iterator<Item = &'v Value>,
    session: &SessionState,
) -> Option<usize> {
    if let Some(behind) = rest.strip_prefix('*') {
        *rest = behind;
        return arguments.next().and_then(|v| text_of(v, session)).and_then(|t| t.parse().ok());
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, behind) = rest.split_at(digits);
    *rest = behind;
    number.parse().ok()
}

fn substitute(
    out: &mut String,
    specification: &Specification,
    value: &Value,
    position: i64,
    session: &SessionState,
) -> Result<(), Stop> {
    let whole = match value {
        Value::TinyInt(n) => Some(i64::from(*n)),
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    };
    let is_text = matches!(value, Value::VarChar(_) | Value::NVarChar(_));
    let body = match (specification.kind, value, whole) {
        (_, Value::Null, _) => "(null)".to_owned(),
        ('s', _, None) if is_text => {
            let text = text_of(value, session).unwrap_or_default();
            match specification.precision {
                Some(most) => text.chars().take(most).collect(),
                None => text,
            }
        }
        ('s', _, _) | (_, _, None) => return Err(Msg::SubstitutionMismatch(position).into()),
        (kind, _, Some(n)) => number(kind, n, specification),
    };
    let missing = specification.width.saturating_sub(body.chars().count());
    if specification.left {
        out.push_str(&body);
        out.extend(std::iter::repeat_n(' ', missing));
    } else {
        let fill = if specification.zero && specification.kind != 's' { '0' } else { ' ' };
        out.extend(std::iter::repeat_n(fill, missing));
        out.push_str(&body);
    }
    Ok(())
}

fn number(kind: char, n: i64, specification: &Specification) -> String {
    let digits = match kind {
        'o' => format!("{n:o}"),
        'x' => format!("{n:x}"),
        'X' => format!("{n:X}"),
        'u' => n.cast_unsigned().to_string(),
        _ => n.unsigned_abs().to_string(),
    };
    let digits = format!("{digits:0>width$}", width = specification.precision.unwrap_or(0));
    let sign = match kind {
        'd' | 'i' if n < 0 => "-",
        'd' | 'i' if specification.plus => "+",
        'd' | 'i' if specification.blank => " ",
        'o' if specification.prefix => "0",
        'x' if specification.prefix => "0x",
        'X' if specification.prefix => "0X",
        _ => "",
    };
    format!("{sign}{digits}")
}
