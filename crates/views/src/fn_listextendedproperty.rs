//! `sys.fn_listextendedproperty`: the extended properties of the objects selected by up to three
//! levels of type and name.

use std::sync::Arc;

use ::catalog::ExtendedProperty;
use ::catalog::name::Name;
use metadata::column::{Column, SYSNAME, VARIANT, col, opt, or_null, rows, shape, text};
use metadata::properties::{Found, Level, find};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(Arc<Found>, Arc<ExtendedProperty>)>] = &[
    opt("objtype", SYSNAME, |r| or_null(r.0.kind.as_ref(), |kind| text(kind))),
    opt("objname", SYSNAME, |r| or_null(r.0.name.as_ref(), |name| text(name))),
    col("name", SYSNAME, |r| text(&r.1.name)),
    opt("value", VARIANT, |r| r.1.value.clone()),
];

/// The function. Arguments: the property's name, then type and name of each level.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_listextendedproperty",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 7,
};

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |at: usize| {
        let value = scope.arguments.get(at)?;
        value.as_text(scope.session.collation())
    };
    let levels = (1..7)
        .step_by(2)
        .map_while(|at| Some(Level { kind: argument(at)?, name: argument(at + 1) }));
    let found = find(scope, &levels.collect::<Vec<_>>());
    let wanted = argument(0);
    let is_wanted = |p: &&Arc<ExtendedProperty>| {
        wanted.as_ref().is_none_or(|wanted| Name::same(wanted, &p.name))
    };
    let mut items = Vec::new();
    for found in found.into_iter().map(Arc::new) {
        let properties = scope.database.properties_of(found.securable()).filter(is_wanted);
        items.extend(properties.map(|p| (Arc::clone(&found), Arc::clone(p))));
    }
    rows(COLUMNS, items)
}
