//! Sessions as `sys.dm_exec_sessions` and its kin show them.

use std::sync::Arc;

use types::convert::DateFormat;

use super::Scope;
use crate::catalog::name::Name;
use crate::instance::{Facts, SessionCard};

/// A session with what it told of itself.
pub(crate) struct SessionRow {
    /// Its card.
    pub(crate) card: Arc<SessionCard>,
    /// What changes rarely, read once.
    pub(crate) facts: Facts,
    /// Security id of its login.
    pub(crate) sid: Vec<u8>,
    /// Id of its current database; 0 if that is gone.
    pub(crate) database_id: i16,
}

/// ON/OFF options that the views show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// QUOTED_IDENTIFIER
    QuotedIdentifier,
    /// ARITHABORT
    ArithAbort,
    /// ANSI_NULL_DFLT_ON
    AnsiNullDefault,
    /// ANSI_WARNINGS
    AnsiWarnings,
    /// ANSI_PADDING
    AnsiPadding,
    /// ANSI_NULLS
    AnsiNulls,
    /// CONCAT_NULL_YIELDS_NULL
    ConcatNullYieldsNull,
}

impl SessionRow {
    /// Tells whether an option is ON.
    pub(crate) fn is(&self, switch: Switch) -> bool {
        let options = &self.facts.options;
        match switch {
            Switch::QuotedIdentifier => options.quoted_identifier,
            Switch::ArithAbort => options.arith_abort,
            Switch::AnsiNullDefault => options.ansi_null_default,
            Switch::AnsiWarnings => options.ansi_warnings,
            Switch::AnsiPadding => options.ansi_padding,
            Switch::AnsiNulls => options.ansi_nulls,
            Switch::ConcatNullYieldsNull => options.concat_null_yields_null,
        }
    }

    /// Returns DATEFORMAT in lower case.
    pub(crate) fn date_format(&self) -> &'static str {
        match self.facts.options.date_format {
            DateFormat::Mdy => "mdy",
            DateFormat::Dmy => "dmy",
            DateFormat::Ymd => "ymd",
            DateFormat::Ydm => "ydm",
            DateFormat::Myd => "myd",
            DateFormat::Dym => "dym",
        }
    }
}

/// Returns the sessions of the instance, by id.
pub(crate) fn session_rows(scope: &Scope<'_>) -> Vec<SessionRow> {
    let catalog = &scope.session.catalog;
    let row = |card: Arc<SessionCard>| {
        let facts = card.facts();
        let login = catalog.logins.get(&Name::new(&card.login));
        SessionRow {
            sid: login.map(|l| l.sid.clone()).unwrap_or_default(),
            database_id: catalog.database(&facts.database).map_or(0, |d| d.id),
            facts,
            card,
        }
    };
    scope.session.instance.sessions.cards().into_iter().map(row).collect()
}
