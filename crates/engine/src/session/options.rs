//! SET options of a session, with the values that a login gives them.

use crate::explain::Explain;

/// Transaction isolation levels, with the numbers that `sys.dm_exec_sessions` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// 1
    ReadUncommitted,
    /// 2
    #[default]
    ReadCommitted,
    /// 3
    RepeatableRead,
    /// 4
    Serializable,
    /// 5
    Snapshot,
}

/// SET options. `Default` is what a bare TDS login gets; ODBC and OLE DB logins get ANSI_DEFAULTS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ON/OFF option of the language")]
pub struct Options {
    /// QUOTED_IDENTIFIER
    pub quoted_identifier: bool,
    /// ANSI_NULLS
    pub ansi_nulls: bool,
    /// ANSI_NULL_DFLT_ON
    pub ansi_null_default: bool,
    /// ANSI_PADDING
    pub ansi_padding: bool,
    /// ANSI_WARNINGS
    pub ansi_warnings: bool,
    /// ARITHABORT
    pub arith_abort: bool,
    /// ARITHIGNORE
    pub arith_ignore: bool,
    /// CONCAT_NULL_YIELDS_NULL
    pub concat_null_yields_null: bool,
    /// CURSOR_CLOSE_ON_COMMIT
    pub cursor_close_on_commit: bool,
    /// IMPLICIT_TRANSACTIONS
    pub implicit_transactions: bool,
    /// NOCOUNT
    pub no_count: bool,
    /// NOEXEC
    pub no_exec: bool,
    /// FMTONLY
    pub format_only: bool,
    /// NUMERIC_ROUNDABORT
    pub numeric_round_abort: bool,
    /// PARSEONLY
    pub parse_only: bool,
    /// XACT_ABORT
    pub xact_abort: bool,
    /// ROWCOUNT; 0 is no limit.
    pub row_count: u64,
    /// TEXTSIZE in bytes.
    pub text_size: i32,
    /// DATEFIRST, 1 (Monday) to 7 (Sunday).
    pub date_first: u8,
    /// DATEFORMAT
    pub date_format: types::convert::DateFormat,
    /// LANGUAGE
    pub language: String,
    /// LOCK_TIMEOUT in ms; -1 waits for ever.
    pub lock_timeout_ms: i32,
    /// DEADLOCK_PRIORITY, -10 to 10.
    pub deadlock_priority: i8,
    /// SHOWPLAN_.. and STATISTICS ..
    pub explain: Explain,
}

impl Options {
    /// Tells whether statements are compiled only: NOEXEC and PARSEONLY.
    pub fn skips_statements(&self) -> bool {
        self.no_exec || self.parse_only
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quoted_identifier: false,
            ansi_nulls: false,
            ansi_null_default: false,
            ansi_padding: false,
            ansi_warnings: false,
            arith_abort: false,
            arith_ignore: false,
            concat_null_yields_null: false,
            cursor_close_on_commit: false,
            implicit_transactions: false,
            no_count: false,
            no_exec: false,
            format_only: false,
            numeric_round_abort: false,
            parse_only: false,
            xact_abort: false,
            row_count: 0,
            text_size: i32::MAX,
            date_first: 7,
            date_format: types::convert::DateFormat::Mdy,
            language: "us_english".to_owned(),
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            explain: Explain::default(),
        }
    }
}
