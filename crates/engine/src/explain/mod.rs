//! Plans as a client may see them: SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML instead of a run,
//! STATISTICS PROFILE, XML, IO and TIME after one, and the plans of the cache.
//!
//! - `op.rs` and `detail.rs` make operators with names and texts of a bound tree, `scalar.rs` its
//!   expressions, `statement.rs` whole statements;
//! - `rows.rs` and `xml.rs` write them;
//! - `collect.rs` goes through a program that is not run; `observe.rs` watches one that is;
//! - `profile.rs` is what operators did.
//!
//! A session that wants none of this pays a look at one byte for a program and for a data statement.

mod collect;
mod detail;
mod observe;
mod op;
mod profile;
mod rows;
mod scalar;
mod statement;
mod xml;

pub(crate) use collect::{cached_document, sets_plans};
pub(crate) use observe::parse_time;
pub(crate) use profile::Profile;

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
    const PLANS: Self = Self(1 | 2 | 4);
    /// All that shows plans behind a run.
    const PLANS_AFTER: Self = Self(32 | 64);
    /// All that an operator has to be counted for.
    const COUNTS: Self = Self(8 | 32 | 64);

    /// Tells whether anything is wanted.
    #[inline]
    pub fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Tells whether any of these is wanted.
    pub fn has(self, options: Self) -> bool {
        self.0 & options.0 != 0
    }

    /// These, and the document of what ran.
    pub(crate) fn with_document(self) -> Self {
        Self(self.0 | Self::XML.0)
    }

    /// Tells whether statements are shown and not run.
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

/// Name of the column that plans come in, by which tools know one.
const XML_COLUMN: &str = "Microsoft SQL Server 2005 XML Showplan";
