//! `Speaker`: encodes calls and statements for one kind of server, and decodes rows as text, so that
//! the answers of different servers can be compared.

use ::tpcc::{Call, Lines, Scale, Terminal, Transaction, Value};

use crate::Result;

/// The text of NULL.
pub(crate) const NULL: &str = "NULL";
/// The text of every date with a time: servers call their clocks at different times.
pub(crate) const TIME: &str = "(time)";
/// The message of an order that is rolled back because it has an item that does not exist.
pub(crate) const NOT_VALID: &str = "Item number is not valid";

/// A row, its values as text.
pub(crate) type Row = Vec<String>;

/// An error that a server has answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The server's code of the error; empty if the answer could not be read.
    pub(crate) code: String,
    /// The server's message, without its code.
    pub(crate) text: String,
}

impl Refusal {
    /// Makes one of an answer that could not be read.
    pub(crate) fn unreadable(text: String) -> Self {
        Self { code: String::new(), text }
    }

    /// Returns it as an error for the user.
    pub(crate) fn into_text(self) -> String {
        match self.code.is_empty() {
            true => self.text,
            false => format!("error {}: {}", self.code, self.text),
        }
    }
}

/// One connection's state of a server's protocol.
pub(crate) trait Speaker {
    /// Returns the messages that open a connection: see `Protocol::opening`.
    fn opening(&self) -> Vec<Vec<u8>>;

    /// Checks the answer to a step of the opening.
    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()>;

    /// Returns the statements that a connection runs before others, once the database is there.
    fn entering(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the messages that prepare the calls of all transactions on a connection.
    fn preparing(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Checks the answer to a step of the preparation, and keeps what calls need.
    fn prepared(&mut self, answer: &[u8]) -> Result<()>;

    /// Returns a message with a statement as text.
    fn statement(&self, text: &str) -> Vec<u8>;

    /// Appends a message with a call to `out`.
    fn put(&self, call: &Call, out: &mut Vec<u8>);

    /// Returns the length of the answer at the start of `received`; `None` if it is not whole yet.
    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>>;

    /// Decodes the rows of all results of a whole answer.
    ///
    /// # Errors
    /// The server's first error, or that the answer cannot be read.
    fn rows(&self, answer: &[u8]) -> Result<Vec<Row>, Refusal>;

    /// Returns the codes of errors after which the same call may succeed: the transaction was ended
    /// because of others.
    fn passing_codes(&self) -> &'static [&'static str];
}

/// Returns a call with the parameters of a transaction, whose values have no meaning.
pub(crate) fn example(transaction: Transaction) -> Call {
    let terminal = Terminal { scale: Scale::full(1), number: 0, lines: Lines::Sorted };
    terminal.input(transaction, &mut |from, _| from)
}

/// Returns the index of a transaction among all.
pub(crate) fn index(transaction: Transaction) -> usize {
    Transaction::ALL.iter().position(|it| *it == transaction).unwrap_or(0)
}

/// Returns whether an argument is a text.
pub(crate) fn is_text(value: &Value) -> bool {
    matches!(value, Value::Text(..))
}
