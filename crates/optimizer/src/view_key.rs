//! The keys of catalog views, by which joins look their rows up.
//!
//! Scripts and libraries read the catalog without ORDER BY and rely on the order that SQL Server's
//! plans give: a view is looked up by its key, and the rows it is joined to keep their order, such
//! as the columns of an index in the order of the index. A view whose whole key is equated is
//! therefore the side of a hash join that the table is built over.

use super::estimate::bare;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::{Node, ViewScan};

/// Returns the columns that identify a row of a view of the schema `sys`; none if joins do not look
/// its rows up.
fn columns_of(view: &str) -> &'static [&'static str] {
    match view {
        "objects"
        | "all_objects"
        | "tables"
        | "views"
        | "procedures"
        | "triggers"
        | "sequences"
        | "synonyms"
        | "foreign_keys"
        | "key_constraints"
        | "check_constraints"
        | "default_constraints" => &["object_id"],
        "columns" | "all_columns" | "computed_columns" | "identity_columns" => {
            &["object_id", "column_id"]
        }
        "indexes" => &["object_id", "index_id"],
        "stats" => &["object_id", "stats_id"],
        "types" => &["user_type_id"],
        "schemas" => &["schema_id"],
        _ => &[],
    }
}

/// Returns the registers of a view's key that its own filters do not fix. `None` if the input is not
/// such a view, or a column of the key is not read.
pub(crate) fn key_of(node: &Node) -> Option<Vec<Register>> {
    match node {
        Node::View(view) => key_of_view(view),
        Node::Filter(inner) => {
            let mut key = key_of(&inner.0)?;
            fixed(&inner.1, &mut key);
            Some(key)
        }
        Node::Compute(inner) => key_of(&inner.0),
        _ => None,
    }
}

fn key_of_view(scan: &ViewScan) -> Option<Vec<Register>> {
    let key = columns_of(scan.view.name());
    if key.is_empty() || scan.view.schema() != "sys" {
        return None;
    }
    let columns = scan.view.columns();
    let register = |name: &&str| {
        let ordinal = columns.iter().position(|(column, _)| column == name)?;
        scan.columns.iter().find(|(at, _)| usize::from(*at) == ordinal).map(|(_, r)| *r)
    };
    key.iter().map(register).collect()
}

/// Removes the registers that a predicate sets equal to something.
fn fixed(predicate: &Expr, key: &mut Vec<Register>) {
    match &predicate.kind {
        ExprKind::And(conjuncts) => conjuncts.iter().for_each(|c| fixed(c, key)),
        ExprKind::Compare(CompareOp::Equal, _, pair) => {
            let sides = [bare(&pair.0), bare(&pair.1)];
            key.retain(|register| !sides.contains(&Some(*register)));
        }
        _ => {}
    }
}
