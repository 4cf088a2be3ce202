//! `sys.dm_sql_referencing_entities(name, class)`: the modules, constraints and tables that name an
//! object or type.

use types::Value;

use super::dependencies::{OBJECT, TYPE, class_name, dependencies, find, name_of, seen};
use super::dm_sql_referenced_entities::text_of;
use metadata::column::{
    BIT, Column, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::{RowSet, Rows, Scope, SystemView};

/// An object that names the one asked about.
struct Referencing {
    id: i32,
    schema: String,
    name: String,
    caller_dependent: bool,
}

const COLUMNS: &[Column<Referencing>] = &[
    opt("referencing_schema_name", SYSNAME, |r| text(&r.schema)),
    opt("referencing_entity_name", SYSNAME, |r| text(&r.name)),
    opt("referencing_id", INT, |r| int(r.id)),
    opt("referencing_class", TINYINT, |_| Value::TinyInt(OBJECT)),
    opt("referencing_class_desc", nv(60), |_| text(class_name(OBJECT))),
    col("is_caller_dependent", BIT, |r| bit(r.caller_dependent)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_sql_referencing_entities",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |place: usize| scope.arguments.get(place).and_then(text_of);
    let (Some(name), Some(class)) = (argument(0), argument(1)) else {
        return Ok(RowSet::default());
    };
    let class = match class.to_ascii_uppercase().as_str() {
        "OBJECT" => OBJECT,
        "TYPE" => TYPE,
        _ => return Ok(RowSet::default()),
    };
    let Some(database) = seen(scope) else { return Ok(RowSet::default()) };
    let Some(id) = find(&database, &name, class) else { return Ok(RowSet::default()) };
    let bare = |r: &super::dependencies::Dependency| {
        r.caller_dependent
            && r.class == class
            && name_of(&database, id).is_some_and(|(_, n)| n.eq_ignore_ascii_case(&r.entity))
    };
    let mut found: Vec<Referencing> = Vec::new();
    for r in dependencies(&database) {
        let is_it = r.class == class && r.referenced_id == Some(id) || bare(&r);
        if is_it
            && r.referencing_id != id
            && !found.iter().any(|old| old.id == r.referencing_id)
            && let Some((schema, name)) = name_of(&database, r.referencing_id)
        {
            let caller_dependent = r.caller_dependent;
            found.push(Referencing { id: r.referencing_id, schema, name, caller_dependent });
        }
    }
    rows(COLUMNS, found)
}
