//! Plans as clients see them: SHOWPLAN_TEXT, SHOWPLAN_ALL, SHOWPLAN_XML, STATISTICS PROFILE and
//! XML, and the plans of the cache.
//!
//! - `op.rs` and `detail.rs` turn a bound tree into operators with names and texts, `scalar.rs` its
//!   expressions, `statement.rs` whole statements;
//! - `rows.rs` and `xml.rs` write them; `missing.rs` finds the indexes that a plan would use.
//!
//! Does not know running programs: the interpreter decides which plans are shown and when. Counts
//! of operators come from `executor::profile`. Start at `statement.rs`.
#![forbid(unsafe_code)]

mod detail;
mod missing;
mod op;
pub mod rows;
pub mod scalar;
pub mod statement;
mod xml;

pub use ::catalog::options::Explain;
pub use ::executor::profile::{self, Profile};
pub use missing::{MissingIndex, missing_indexes};

use std::sync::Arc;

use ::catalog::Catalog;
use ::metadata::function::PRODUCT_VERSION;
use ::plan::program::Program;
use ::plan::statement::Bound;
use ::plan::stats::planned;
use ::vectorized::Degree;

use statement::{Body, Shown, World};

/// Name of the result column that contains XML plans; tools recognize a plan by it.
pub const XML_COLUMN: &str = "Microsoft SQL Server 2005 XML Showplan";

/// Returns the XML document of statements.
pub fn document(statements: &[Shown]) -> String {
    xml::document(statements, PRODUCT_VERSION)
}

/// Returns the XML document of a cached program: all of its statements that have been bound, or
/// those from `first` to `last` in the text.
pub fn cached_document(
    program: &Arc<Program>,
    (catalog, database, schedulers): (&Catalog, &str, usize),
    range: Option<(u32, u32)>,
) -> Option<String> {
    if program.is_encrypted() {
        return None;
    }
    let mut statements = Vec::new();
    for (id, (span, leaf)) in (1..).zip(planned(program)) {
        let wanted = range.is_none_or(|(first, last)| first <= span.start && span.start <= last);
        let Some(bound) = leaf.plan.get().filter(|_| wanted) else { continue };
        let degree = Degree::of(catalog, database, leaf.run_hints().degree, schedulers);
        let (variables, profile) = (program.variables.as_slice(), None);
        let world = World { catalog, variables, profile, changed: 0, degree };
        let text = span.text(&program.source);
        let shown = Shown::of_bound(id, text, bound, &world);
        let has_plan = matches!(shown.body, Body::Plan(_));
        if has_plan || !matches!(**bound, Bound::Scalar(_)) {
            statements.push(shown);
        }
    }
    (!statements.is_empty()).then(|| xml::document(&statements, PRODUCT_VERSION))
}
