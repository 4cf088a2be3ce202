//! SET options of a session, with the values that a login gives them.

use crate::ModuleOptions;

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
    /// ANSI_NULL_DFLT_OFF
    pub ansi_null_default_off: bool,
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
    /// TEXTSIZE in bytes; -1 is no limit.
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

/// What of the SET options is part of a bound plan: a plan is good where they mean the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning(u8);

impl Meaning {
    const NULLS_COMPARE: u8 = 1;
    const NULL_IS_EMPTY: u8 = 2;
    const NOT_FOR_INDEXES: u8 = 4;
    const MAKES_NULL: u8 = 8;

    /// ANSI_NULLS is OFF: `= NULL` and `<> NULL` are true or false.
    pub fn nulls_compare(self) -> bool {
        self.0 & Self::NULLS_COMPARE != 0
    }

    /// CONCAT_NULL_YIELDS_NULL is OFF: NULL is an empty string to `+`.
    pub fn null_is_empty(self) -> bool {
        self.0 & Self::NULL_IS_EMPTY != 0
    }

    /// Arithmetic that fails gives NULL.
    pub fn makes_null(self) -> bool {
        self.0 & Self::MAKES_NULL != 0
    }

    /// Indexes on computed columns and filtered indexes may be written, and `xml` has its methods.
    pub fn is_for_indexes(self) -> bool {
        self.0 & Self::NOT_FOR_INDEXES == 0
    }

    /// The same under ANSI_NULLS as a module was created with.
    pub fn with_ansi_nulls(self, on: bool) -> Self {
        match on {
            true => Self(self.0 & !Self::NULLS_COMPARE),
            false => Self(self.0 | Self::NULLS_COMPARE),
        }
    }

    /// Returns it as part of a key.
    pub fn byte(self) -> u8 {
        self.0
    }
}

/// What a division by zero, an overflow or a root of a negative number does: ANSI_WARNINGS and ARITHABORT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticFailure {
    /// It ends its statement.
    Statement,
    /// It ends the batch, and the transaction with it.
    Batch,
    /// The expression is NULL, and a message tells it.
    Null,
}

impl Options {
    /// Returns whether statements are compiled only: NOEXEC and PARSEONLY.
    pub fn skips_statements(&self) -> bool {
        self.no_exec || self.parse_only
    }

    /// What of the options a bound plan goes by.
    pub fn meaning(&self) -> Meaning {
        let indexed = self.ansi_nulls
            && self.ansi_padding
            && self.ansi_warnings
            && self.concat_null_yields_null
            && self.quoted_identifier
            && !self.numeric_round_abort;
        let bit = |on: bool, bit: u8| if on { bit } else { 0 };
        Meaning(
            bit(!self.ansi_nulls, Meaning::NULLS_COMPARE)
                | bit(!self.concat_null_yields_null, Meaning::NULL_IS_EMPTY)
                | bit(!indexed, Meaning::NOT_FOR_INDEXES)
                | bit(!self.ansi_warnings && !self.arith_abort, Meaning::MAKES_NULL),
        )
    }

    /// What of them a module keeps that is created now.
    pub fn of_module(&self) -> ModuleOptions {
        ModuleOptions { quoted_identifier: self.quoted_identifier, ansi_nulls: self.ansi_nulls }
    }

    /// Goes by a module's options; returns those before.
    pub fn enter_module(&mut self, module: ModuleOptions) -> ModuleOptions {
        let outer = self.of_module();
        self.quoted_identifier = module.quoted_identifier;
        self.ansi_nulls = module.ansi_nulls;
        outer
    }

    /// Returns the options as the bits of `@@OPTIONS`, as sp_configure 'user options' documents them.
    pub fn bits(&self) -> i32 {
        let bits = [
            (self.implicit_transactions, 2),
            (self.cursor_close_on_commit, 4),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arith_abort, 64),
            (self.arith_ignore, 128),
            (self.quoted_identifier, 256),
            (self.no_count, 512),
            (self.ansi_null_default, 1024),
            (self.ansi_null_default_off, 2048),
            (self.concat_null_yields_null, 4096),
            (self.numeric_round_abort, 8192),
            (self.xact_abort, 16384),
        ];
        bits.into_iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
    }

    /// What happens to an expression whose arithmetic fails.
    pub fn arithmetic_failure(&self) -> ArithmeticFailure {
        match (self.ansi_warnings, self.arith_abort) {
            (true, _) => ArithmeticFailure::Statement,
            (false, true) => ArithmeticFailure::Batch,
            (false, false) => ArithmeticFailure::Null,
        }
    }

    /// Returns whether conversions and arithmetic do what they do under the ANSI options: what kernels and
    /// helpers on other schedulers take for granted.
    pub fn computes_as_usual(&self) -> bool {
        self.ansi_warnings && !self.numeric_round_abort
    }

    /// Returns the options that have to be otherwise for indexes on computed columns, filtered indexes and the
    /// methods of `xml`, as error 1934 lists them.
    pub fn wrong_for_indexes(&self) -> String {
        let wrong = [
            (!self.ansi_nulls, "ANSI_NULLS"),
            (!self.quoted_identifier, "QUOTED_IDENTIFIER"),
            (!self.concat_null_yields_null, "CONCAT_NULL_YIELDS_NULL"),
            (!self.ansi_warnings, "ANSI_WARNINGS"),
            (!self.ansi_padding, "ANSI_PADDING"),
            (!self.ansi_warnings && !self.arith_abort, "ARITHABORT"),
            (self.numeric_round_abort, "NUMERIC_ROUNDABORT"),
        ];
        let names = wrong.into_iter().filter(|(wrong, _)| *wrong).map(|(_, name)| name);
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quoted_identifier: false,
            ansi_nulls: false,
            ansi_null_default: false,
            ansi_null_default_off: false,
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

/// What a session wants to know of its statements: a set of options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explain(u8);

impl Explain {
    /// SHOWPLAN_TEXT
    pub const PLAN_TEXT: Self = Self(1);
    /// SHOWPLAN_ALL
    pub const PLAN_ALL: Self = Self(2);
    /// SHOWPLAN_XML
    pub const PLAN_XML: Self = Self(4);
    /// STATISTICS IO
    pub const IO: Self = Self(8);
    /// STATISTICS TIME
    pub const TIME: Self = Self(16);
    /// STATISTICS PROFILE
    pub const PROFILE: Self = Self(32);
    /// STATISTICS XML
    pub const XML: Self = Self(64);
    /// All that shows plans instead of running anything.
    pub const PLANS: Self = Self(1 | 2 | 4);
    /// All that shows plans behind a run.
    pub const PLANS_AFTER: Self = Self(32 | 64);
    /// All that an operator has to be counted for.
    pub const COUNTS: Self = Self(8 | 32 | 64);

    /// Returns whether anything is wanted.
    #[inline]
    pub fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Returns whether any of these is wanted.
    pub fn has(self, options: Self) -> bool {
        self.0 & options.0 != 0
    }

    /// These, and the document of what ran.
    pub fn with_document(self) -> Self {
        Self(self.0 | Self::XML.0)
    }

    /// Returns whether statements are shown and not run.
    pub fn shows_plans(self) -> bool {
        self.has(Self::PLANS)
    }

    /// Switches an option.
    pub fn set(&mut self, option: Self, on: bool) {
        if on {
            self.0 |= option.0;
        } else {
            self.0 &= !option.0;
        }
    }
}
