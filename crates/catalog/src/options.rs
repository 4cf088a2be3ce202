//! SET options of a session, with the values that a login sets.

use crate::ModuleOptions;

/// Transaction isolation levels, with the numbers that `sys.dm_exec_sessions` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// 1: READ UNCOMMITTED, as NOLOCK.
    ReadUncommitted,
    /// 2: READ COMMITTED, the default.
    #[default]
    ReadCommitted,
    /// 3: REPEATABLE READ, without phantom protection.
    RepeatableRead,
    /// 4: SERIALIZABLE, as HOLDLOCK.
    Serializable,
    /// 5: SNAPSHOT, by row versions.
    Snapshot,
}

/// SET options. `Default` is what a plain TDS login gets; ODBC and OLE DB logins get ANSI_DEFAULTS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ON/OFF option of the language")]
pub struct Options {
    /// QUOTED_IDENTIFIER: `"x"` is an identifier.
    pub quoted_identifier: bool,
    /// ANSI_NULLS: `x = NULL` is unknown.
    pub ansi_nulls: bool,
    /// ANSI_NULL_DFLT_ON: columns allow NULL by default.
    pub ansi_null_default: bool,
    /// ANSI_NULL_DFLT_OFF: columns are NOT NULL by default.
    pub ansi_null_default_off: bool,
    /// ANSI_PADDING: new columns keep trailing blanks.
    pub ansi_padding: bool,
    /// ANSI_WARNINGS: truncation and NULLs in aggregates are reported.
    pub ansi_warnings: bool,
    /// ARITHABORT: an arithmetic error ends the statement or batch.
    pub arith_abort: bool,
    /// ARITHIGNORE: no message for arithmetic errors that give NULL.
    pub arith_ignore: bool,
    /// CONCAT_NULL_YIELDS_NULL: `x + NULL` is NULL.
    pub concat_null_yields_null: bool,
    /// CURSOR_CLOSE_ON_COMMIT: COMMIT closes cursors.
    pub cursor_close_on_commit: bool,
    /// IMPLICIT_TRANSACTIONS: statements open transactions.
    pub implicit_transactions: bool,
    /// NOCOUNT: no row counts are sent.
    pub no_count: bool,
    /// NOEXEC: statements are compiled only.
    pub no_exec: bool,
    /// FMTONLY: only column metadata is sent.
    pub format_only: bool,
    /// NO_BROWSETABLE: every SELECT is as if it had FOR BROWSE.
    pub no_browse_table: bool,
    /// NUMERIC_ROUNDABORT: loss of precision is an error.
    pub numeric_round_abort: bool,
    /// PARSEONLY: statements are parsed only.
    pub parse_only: bool,
    /// XACT_ABORT: errors roll the transaction back.
    pub xact_abort: bool,
    /// ROWCOUNT; 0 for no limit.
    pub row_count: u64,
    /// TEXTSIZE in bytes; -1 for no limit.
    pub text_size: i32,
    /// DATEFIRST, 1 (Monday) to 7 (Sunday).
    pub date_first: u8,
    /// DATEFORMAT: order of day, month and year.
    pub date_format: types::convert::DateFormat,
    /// LANGUAGE, such as us_english.
    pub language: types::Language,
    /// LOCK_TIMEOUT in ms; -1 for no timeout.
    pub lock_timeout_ms: i32,
    /// DEADLOCK_PRIORITY, -10 to 10.
    pub deadlock_priority: i8,
    /// SHOWPLAN_.. and STATISTICS .. options.
    pub explain: Explain,
}

/// The SET options that a bound plan depends on: it is valid only under equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning(u8);

impl Meaning {
    const NULLS_COMPARE: u8 = 1;
    const NULL_IS_EMPTY: u8 = 2;
    const NOT_FOR_INDEXES: u8 = 4;
    const MAKES_NULL: u8 = 8;
    const BROWSES: u8 = 16;

    /// Returns whether ANSI_NULLS is OFF: `= NULL` and `<> NULL` are true or false.
    pub fn nulls_compare(self) -> bool {
        self.0 & Self::NULLS_COMPARE != 0
    }

    /// Returns whether CONCAT_NULL_YIELDS_NULL is OFF: `+` takes NULL for an empty string.
    pub fn null_is_empty(self) -> bool {
        self.0 & Self::NULL_IS_EMPTY != 0
    }

    /// Returns whether arithmetic that fails gives NULL.
    pub fn makes_null(self) -> bool {
        self.0 & Self::MAKES_NULL != 0
    }

    /// Returns whether NO_BROWSETABLE is ON: queries return the keys of their tables too.
    pub fn browses(self) -> bool {
        self.0 & Self::BROWSES != 0
    }

    /// Returns the same with NO_BROWSETABLE ON.
    #[must_use]
    pub fn with_browsing(self) -> Self {
        Self(self.0 | Self::BROWSES)
    }

    /// Returns whether indexes on computed columns and filtered indexes may be written and `xml`
    /// methods called.
    pub fn is_for_indexes(self) -> bool {
        self.0 & Self::NOT_FOR_INDEXES == 0
    }

    /// Returns the same under the ANSI_NULLS that a module was created with.
    pub fn with_ansi_nulls(self, on: bool) -> Self {
        match on {
            true => Self(self.0 & !Self::NULLS_COMPARE),
            false => Self(self.0 | Self::NULLS_COMPARE),
        }
    }

    /// Returns the options that [`Meaning::byte`] gave.
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// Returns the options as a byte, for a key.
    pub fn byte(self) -> u8 {
        self.0
    }
}

/// The effect of a division by zero, an overflow or the root of a negative number, by ANSI_WARNINGS
/// and ARITHABORT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticFailure {
    /// The statement ends with the error.
    Statement,
    /// The batch ends, and its transaction is rolled back.
    Batch,
    /// The expression is NULL, and a message reports it.
    Null,
}

impl Options {
    /// Returns whether statements are compiled but not run: NOEXEC or PARSEONLY.
    pub fn skips_statements(&self) -> bool {
        self.no_exec || self.parse_only
    }

    /// Returns the options that a bound plan depends on.
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
                | bit(!self.ansi_warnings && !self.arith_abort, Meaning::MAKES_NULL)
                | bit(self.no_browse_table, Meaning::BROWSES),
        )
    }

    /// Returns the options that a module created now would keep.
    pub fn of_module(&self) -> ModuleOptions {
        ModuleOptions { quoted_identifier: self.quoted_identifier, ansi_nulls: self.ansi_nulls }
    }

    /// Sets a module's options; returns the previous ones.
    pub fn enter_module(&mut self, module: ModuleOptions) -> ModuleOptions {
        let outer = self.of_module();
        self.quoted_identifier = module.quoted_identifier;
        self.ansi_nulls = module.ansi_nulls;
        outer
    }

    /// Returns the options as the bits of `@@OPTIONS`, as sp_configure 'user options' documents
    /// them.
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

    /// Returns the effect of an arithmetic failure.
    pub fn arithmetic_failure(&self) -> ArithmeticFailure {
        match (self.ansi_warnings, self.arith_abort) {
            (true, _) => ArithmeticFailure::Statement,
            (false, true) => ArithmeticFailure::Batch,
            (false, false) => ArithmeticFailure::Null,
        }
    }

    /// Returns whether conversions and arithmetic behave as under the ANSI options, which kernels
    /// and helpers on other schedulers assume.
    pub fn computes_as_usual(&self) -> bool {
        self.ansi_warnings && !self.numeric_round_abort
    }

    /// Returns the options that have the wrong value for indexes on computed columns, filtered
    /// indexes and `xml` methods, as error 1934 lists them.
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
            no_browse_table: false,
            numeric_round_abort: false,
            parse_only: false,
            xact_abort: false,
            row_count: 0,
            text_size: i32::MAX,
            date_first: 7,
            date_format: types::convert::DateFormat::Mdy,
            language: types::Language::us_english(),
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            explain: Explain::default(),
        }
    }
}

/// A set of SHOWPLAN and STATISTICS options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explain(u8);

impl Explain {
    /// SET SHOWPLAN_TEXT: plans without statistics, as text.
    pub const PLAN_TEXT: Self = Self(1);
    /// SET SHOWPLAN_ALL: plans as rows.
    pub const PLAN_ALL: Self = Self(2);
    /// SET SHOWPLAN_XML: plans as XML.
    pub const PLAN_XML: Self = Self(4);
    /// SET STATISTICS IO: rows read per table.
    pub const IO: Self = Self(8);
    /// SET STATISTICS TIME: CPU and elapsed time.
    pub const TIME: Self = Self(16);
    /// SET STATISTICS PROFILE: the executed plan as rows.
    pub const PROFILE: Self = Self(32);
    /// SET STATISTICS XML: the executed plan as XML.
    pub const XML: Self = Self(64);
    /// Options that show plans instead of running the statement.
    pub const PLANS: Self = Self(1 | 2 | 4);
    /// Options that show the plan after the statement ran.
    pub const PLANS_AFTER: Self = Self(32 | 64);
    /// Options that need row counts per operator.
    pub const COUNTS: Self = Self(8 | 32 | 64);

    /// Returns whether any option is set.
    #[inline]
    pub fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Returns whether any of these options is set.
    pub fn has(self, options: Self) -> bool {
        self.0 & options.0 != 0
    }

    /// Returns the set without the options that show the plan after the statement ran.
    pub fn without_plans_after(self) -> Self {
        Self(self.0 & !Self::PLANS_AFTER.0)
    }

    /// Returns the set with STATISTICS XML added.
    pub fn with_document(self) -> Self {
        Self(self.0 | Self::XML.0)
    }

    /// Returns whether statements are shown instead of run.
    pub fn shows_plans(self) -> bool {
        self.has(Self::PLANS)
    }

    /// Sets or clears an option.
    pub fn set(&mut self, option: Self, on: bool) {
        if on {
            self.0 |= option.0;
        } else {
            self.0 &= !option.0;
        }
    }
}
