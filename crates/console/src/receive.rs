//! `Receiver`: writes the tokens of an answer as they arrive.

use tds::DoneStatus;
use tds::client::Token;
use types::{ColumnType, Error, Value};

use crate::output::Output;
use crate::render::{Format, Render, value};
use crate::settings::Messages;

/// The highest severity of a message that is no error.
const SEVERITY_MESSAGE_MAX: u8 = 10;
/// The number of SELECT in a DONE token.
const SELECT: u16 = 0xC1;

/// Receives the tokens of one batch.
pub(crate) struct Receiver<'a> {
    pub(crate) render: &'a mut dyn Render,
    pub(crate) format: Format,
    pub(crate) out: &'a mut Output,
    pub(crate) errors: &'a mut Output,
    pub(crate) messages: Messages,
    /// The column types of the current result; `None` between results.
    columns: Option<Vec<ColumnType>>,
    /// Text that has not been written.
    text: String,
    /// The highest severity of a message.
    pub(crate) severity: u8,
    /// The first value of the first row.
    pub(crate) first: Option<String>,
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(
        render: &'a mut dyn Render,
        format: Format,
        messages: Messages,
        out: &'a mut Output,
        errors: &'a mut Output,
    ) -> Self {
        let (columns, text, severity, first) = (None, String::new(), 0, None);
        Self { render, format, out, errors, messages, columns, text, severity, first }
    }

    /// Processes the next token.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn take(&mut self, token: Token) -> Result<(), String> {
        match token {
            Token::Columns(columns) => {
                self.end_result();
                if !columns.is_empty() {
                    self.columns = Some(columns.iter().map(|column| column.column_type).collect());
                    self.render.begin(&columns, &mut self.text);
                }
            }
            Token::Row(values) => self.row(&values),
            Token::Done(done) => {
                let had_result = self.columns.is_some();
                self.end_result();
                // An assignment to a variable counts as a SELECT of one row, for which sqlcmd
                // prints nothing.
                let is_assignment = done.command == SELECT && !had_result;
                let shown = !self.format.is_for_programs() && !is_assignment;
                if let Some(rows) = done.row_count.filter(|_| shown) {
                    let noun = if rows == 1 { "row" } else { "rows" };
                    self.text.push_str(&format!("\n({rows} {noun} affected)\n"));
                } else if had_result && !self.format.is_for_programs() {
                    self.text.push('\n');
                }
                if done.status.has(DoneStatus::ERROR) {
                    self.severity = self.severity.max(SEVERITY_MESSAGE_MAX + 1);
                }
                return self.hand_on();
            }
            Token::Message(message) => return self.message(&message),
            Token::Order(_)
            | Token::ReturnStatus(_)
            | Token::ReturnValue { .. }
            | Token::EnvChange(_)
            | Token::LoginAck { .. }
            | Token::FeatureExtAck(_) => {}
        }
        if self.text.len() > 64 * 1024 { self.put_text() } else { Ok(()) }
    }

    fn row(&mut self, values: &[Value]) {
        if self.first.is_none()
            && let (Some(first), Some(ty)) =
                (values.first(), self.columns.as_ref().and_then(|columns| columns.first()))
        {
            self.first = value::text(first, ty);
        }
        self.render.row(values, &mut self.text);
    }

    fn end_result(&mut self) {
        if self.columns.take().is_some() {
            self.render.end(&mut self.text);
        }
    }

    fn message(&mut self, message: &Error) -> Result<(), String> {
        let is_error = message.severity > SEVERITY_MESSAGE_MAX;
        self.severity = self.severity.max(message.severity);
        let text = if is_error {
            let procedure = match message.procedure.as_str() {
                "" => String::new(),
                name => format!(", Procedure {name}"),
            };
            format!(
                "Msg {}, Level {}, State {}{procedure}, Line {}\n{}\n",
                message.number, message.severity, message.state, message.line, message.message
            )
        } else {
            format!("{}\n", message.message)
        };
        let goes_apart = self.format.is_for_programs()
            || match self.messages {
                Messages::Output => false,
                Messages::ErrorsApart => is_error,
                Messages::AllApart => true,
            };
        if self.columns.is_some() {
            self.render.settle(&mut self.text);
        }
        if goes_apart {
            self.hand_on()?;
            self.errors.put(&text)?;
            return self.errors.flush();
        }
        self.text.push_str(&text);
        self.hand_on()
    }

    /// Completes a result that a cancel has cut off.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        self.end_result();
        self.hand_on()
    }

    fn put_text(&mut self) -> Result<(), String> {
        self.out.put(&self.text)?;
        self.text.clear();
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), String> {
        self.put_text()?;
        self.out.flush()
    }
}
