//! Plans as a client may see them: SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML instead of a run,
//! STATISTICS PROFILE, XML, IO and TIME after one, and the plans of the cache.
//!
//! - `op.rs` and `detail.rs` make operators with names and texts of a bound tree, `scalar.rs` its
//!   expressions, `statement.rs` whole statements;
//! - `rows.rs` and `xml.rs` write them;
//! - `collect.rs` goes through a program that is not run; `observe.rs` watches one that is;
//! - what operators did is in `executor::profile`.
//!
//! A session that wants none of this pays a look at one byte for a program and for a data statement.

mod collect;
mod detail;
mod observe;
mod op;
mod rows;
mod scalar;
mod statement;
mod xml;

pub(crate) use ::catalog::options::Explain;
pub(crate) use ::executor::profile::{self, Profile};
pub(crate) use collect::cached_document;
pub(crate) use observe::parse_time;

/// Name of the column that plans come in, by which tools know one.
const XML_COLUMN: &str = "Microsoft SQL Server 2005 XML Showplan";
