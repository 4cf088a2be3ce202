//! Errors as a client sees them: number, severity, state, line, text; and the registry of messages.
//!
//! One line of the registry per message: the variant, its number, its severity and its text. Numbers,
//! severities and wording are SQL Server's (`sys.messages`).

use std::fmt;

/// The result of everything that a user's request can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error or informational message, as the ERROR and INFO tokens carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorBody>);

/// The fields of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// SQL Server's message number; 50,000 and more are the user's own.
    pub number: i32,
    /// Severity (class) 0 to 25: up to 10 informational, 11 to 16 the user's mistake, 20 and more end
    /// the connection.
    pub severity: u8,
    /// State 0 to 255.
    pub state: u8,
    /// 1-based line in the batch or procedure; 0 until someone who knows sets it.
    pub line: u32,
    /// The procedure it was raised in; empty for a batch.
    pub procedure: String,
    /// The text.
    pub message: String,
}

impl Error {
    /// Makes a message of free number and text, as RAISERROR and THROW do.
    pub fn custom(number: i32, severity: u8, state: u8, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorBody {
            number,
            severity,
            state,
            line: 0,
            procedure: String::new(),
            message: message.into(),
        }))
    }

    /// Sets the line, unless a more precise place has set it already.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        if self.0.line == 0 {
            self.0.line = line;
        }
        self
    }

    /// Sets the procedure name, unless an inner procedure has set it already.
    #[must_use]
    pub fn in_procedure(mut self, procedure: &str) -> Self {
        if self.0.procedure.is_empty() {
            self.0.procedure = procedure.to_owned();
        }
        self
    }

    /// Sets the state.
    #[must_use]
    pub fn with_state(mut self, state: u8) -> Self {
        self.0.state = state;
        self
    }

    /// Takes the fields out.
    pub fn into_body(self) -> ErrorBody {
        *self.0
    }
}

impl std::ops::Deref for Error {
    type Target = ErrorBody;
    fn deref(&self) -> &ErrorBody {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for Error {}

impl From<Msg<'_>> for Error {
    fn from(msg: Msg<'_>) -> Self {
        let (number, severity) = msg.number_and_severity();
        Self::custom(number, severity, 1, msg.to_string())
    }
}

/// Declares [`Msg`]: per message a variant with its arguments, number, severity and text.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident $(($($arg:ident: $type:ty),+))? = $number:literal, $severity:literal, $text:literal;)+) => {
        /// A message of the registry with its arguments; turn it into an [`Error`] with `.into()`.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Msg<'a> {
            $($(#[$doc])* $name $(($($type),+))?,)+
            #[doc(hidden)]
            _Lifetime(std::marker::PhantomData<&'a ()>, std::convert::Infallible),
        }

        impl Msg<'_> {
            #[expect(clippy::too_many_lines, reason = "one line per message of the registry")]
            fn number_and_severity(&self) -> (i32, u8) {
                match self {
                    $(messages!(@pattern $name $(($($arg),+))?) => ($number, $severity),)+
                    Self::_Lifetime(_, never) => match *never {},
                }
            }
        }

        impl fmt::Display for Msg<'_> {
            #[expect(clippy::too_many_lines, reason = "one line per message of the registry")]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $(($($arg),+))? => write!(f, $text),)+
                    Self::_Lifetime(_, never) => match *never {},
                }
            }
        }
    };
    (@pattern $name:ident) => { Self::$name };
    (@pattern $name:ident ($($arg:ident),+)) => { Self::$name(..) };
}

messages! {
    /// A token where the grammar allows none.
    SyntaxNear(token: &'a str) = 102, 15, "Incorrect syntax near '{token}'.";
    /// A keyword where the grammar allows none.
    SyntaxNearKeyword(keyword: &'a str) = 156, 15, "Incorrect syntax near the keyword '{keyword}'.";
    /// A string without its closing quote.
    UnclosedQuote(text: &'a str) = 105, 15, "Unclosed quotation mark after the character string '{text}'.";
    /// `/*` without `*/`.
    MissingEndComment = 113, 15, "Missing end comment mark '*/'.";
    /// Nesting deeper than the parser allows.
    NestedTooDeeply = 191, 15, "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.";
    /// A variable that is not declared.
    MustDeclareScalar(name: &'a str) = 137, 15, "Must declare the scalar variable \"{name}\".";
    /// A variable declared twice.
    DuplicateVariable(name: &'a str) = 134, 15, "The variable name '{name}' has already been declared. Variable names must be unique within a query batch or stored procedure.";
    /// A column that is not there.
    InvalidColumn(name: &'a str) = 207, 16, "Invalid column name '{name}'.";
    /// A table that is not there.
    InvalidObject(name: &'a str) = 208, 16, "Invalid object name '{name}'.";
    /// A column that two tables have.
    AmbiguousColumn(name: &'a str) = 209, 16, "Ambiguous column name '{name}'.";
    /// A procedure that is not there.
    ProcedureNotFound(name: &'a str) = 2812, 16, "Could not find stored procedure '{name}'.";
    /// Text that is no number, for an integer type.
    ConversionFailed(from: &'a str, value: &'a str, to: &'a str) = 245, 16, "Conversion failed when converting the {from} value '{value}' to data type {to}.";
    /// A conversion between types that failed on its value.
    ConversionError(from: &'a str, to: &'a str) = 8114, 16, "Error converting data type {from} to {to}.";
    /// A result too large for its type.
    ArithmeticOverflow(to: &'a str) = 8115, 16, "Arithmetic overflow error converting expression to data type {to}.";
    /// A constant or value too large for its type.
    ArithmeticOverflowValue(to: &'a str, value: &'a str) = 220, 16, "Arithmetic overflow error for data type {to}, value = {value}.";
    /// Division by zero.
    DivideByZero = 8134, 16, "Divide by zero error encountered.";
    /// A primary key or unique constraint violated.
    UniqueViolation(kind: &'a str, constraint: &'a str, object: &'a str, key: &'a str) = 2627, 14, "Violation of {kind} constraint '{constraint}'. Cannot insert duplicate key in object '{object}'. The duplicate key value is ({key}).";
    /// A unique index violated.
    DuplicateKey(object: &'a str, index: &'a str, key: &'a str) = 2601, 14, "Cannot insert duplicate key row in object '{object}' with unique index '{index}'. The duplicate key value is ({key}).";
    /// The row was updated by another transaction since this one started.
    UpdateConflict = 41302, 16, "The current transaction attempted to update a record that has been updated since this transaction started. The transaction was aborted.";
    /// A row read under REPEATABLE READ has changed.
    RepeatableReadFailure = 41305, 16, "The current transaction failed to commit due to a repeatable read validation failure.";
    /// A phantom under SERIALIZABLE.
    SerializableFailure = 41325, 16, "The current transaction failed to commit due to a serializable validation failure.";
    /// A transaction that this one depended on has aborted.
    CommitDependencyFailure = 41301, 16, "A previous transaction that the current transaction took a dependency on has aborted, and the current transaction can no longer commit.";
    /// Lock wait chosen as deadlock victim.
    DeadlockVictim(session: i32) = 1205, 13, "Transaction (Process ID {session}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.";
    /// LOCK_TIMEOUT reached.
    LockTimeout = 1222, 16, "Lock request time out period exceeded.";
    /// Memory over the limit.
    OutOfMemory = 701, 17, "There is insufficient system memory in resource pool 'default' to run this query.";
    /// Wrong name or password.
    LoginFailed(user: &'a str) = 18456, 14, "Login failed for user '{user}'.";
    /// The database asked for at login can't be opened.
    CannotOpenDatabase(name: &'a str) = 4060, 11, "Cannot open database \"{name}\" requested by the login. The login failed.";
    /// USE of a database that is not there.
    DatabaseNotFound(name: &'a str) = 911, 16, "Database '{name}' does not exist. Make sure that the name is entered correctly.";
    /// A panic inside a request: the session ends, the server goes on.
    InternalError = 3624, 20, "A system assertion check has failed. The session has been ended; the server log has the details.";
    /// A construct that is parsed but not supported: never ignored, always named.
    NotSupported(construct: &'a str) = 40517, 16, "Clearway does not support {construct} yet.";
    /// Truncation, with the column and the value named.
    Truncation(table: &'a str, column: &'a str, value: &'a str) = 2628, 16, "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{value}'.";
    /// NULL into a column that does not take it.
    CannotInsertNull(column: &'a str, table: &'a str, statement: &'a str) = 515, 16, "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. {statement} fails.";
}
