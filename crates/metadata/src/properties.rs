//! Finds what extended properties are attached to, from the levels that `sp_addextendedproperty`
//! and `fn_listextendedproperty` take: a schema, an object in it, a part of the object.

use crate::objects::{ObjectRow, columns, objects, parameters};
use crate::view::Scope;
use ::catalog::name::Name;
use ::catalog::{PrincipalKind, PropertyClass, Securable};

/// One level: its type and a name, or no name for all of that type.
#[derive(Clone, Debug)]
pub struct Level {
    /// `level0type`, `level1type` or `level2type`, such as `SCHEMA`, `TABLE`, `COLUMN`.
    pub kind: String,
    /// The name at this level; `None` for all.
    pub name: Option<String>,
}

impl Level {
    fn is(&self, kind: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind)
    }

    fn names(&self, name: &str) -> bool {
        self.name.as_ref().is_none_or(|wanted| Name::same(wanted, name))
    }
}

/// A securable that can have properties, with the type and name of its innermost level. Both are
/// `None` for the database.
pub struct Found {
    /// Class and ids, as `sys.extended_properties` has them.
    securable: Securable,
    /// Type of the last level, in upper case.
    pub kind: Option<String>,
    /// Name at the last level.
    pub name: Option<String>,
}

impl Found {
    /// Returns class and ids of the securable.
    pub fn securable(&self) -> Securable {
        self.securable
    }
}

/// Finds the securables that the levels name, outermost first; empty if they name none.
pub fn find(scope: &Scope<'_>, levels: &[Level]) -> Vec<Found> {
    match levels {
        [] => {
            let securable = Securable { class: PropertyClass::Database, major_id: 0, minor_id: 0 };
            vec![Found { securable, kind: None, name: None }]
        }
        [outer] => outermost(scope, outer),
        [outer, object] => in_schema(scope, outer, object),
        [outer, object, part] => {
            let owners = in_schema(scope, outer, object);
            let ids =
                owners.into_iter().filter(|o| o.securable.class == PropertyClass::ObjectOrColumn);
            ids.flat_map(|owner| parts(scope, owner.securable.major_id, part)).collect()
        }
        _ => Vec::new(),
    }
}

fn found(
    class: PropertyClass,
    (major_id, minor_id): (i32, i32),
    kind: &Level,
    name: &str,
) -> Found {
    Found {
        securable: Securable { class, major_id, minor_id },
        kind: Some(kind.kind.to_ascii_uppercase()),
        name: Some(name.to_owned()),
    }
}

fn outermost(scope: &Scope<'_>, level: &Level) -> Vec<Found> {
    if level.is("SCHEMA") {
        let schemas = scope.database.schemas.values().filter(|s| level.names(&s.name));
        return schemas.map(|s| found(PropertyClass::Schema, (s.id, 0), level, &s.name)).collect();
    }
    let wanted = match () {
        () if level.is("USER") => PrincipalKind::SqlUser,
        () if level.is("ROLE") => PrincipalKind::DatabaseRole,
        () => return Vec::new(),
    };
    let principals = scope.database.principals.values();
    let principals = principals.filter(|p| p.kind == wanted && level.names(&p.name));
    let class = PropertyClass::DatabasePrincipal;
    principals.map(|p| found(class, (p.id, 0), level, &p.name)).collect()
}

/// The `sys.objects.type` codes of a level-1 type such as `TABLE`.
fn codes(kind: &str) -> &'static [&'static str] {
    match kind.to_ascii_uppercase().as_str() {
        "TABLE" => &["U"],
        "VIEW" => &["V"],
        "PROCEDURE" => &["P"],
        "FUNCTION" => &["FN", "IF", "TF"],
        "SYNONYM" => &["SN"],
        "SEQUENCE" => &["SO"],
        _ => &[],
    }
}

/// Finds the objects of the schemas that `outer` names. Old scripts name the schema by its owner,
/// with level type `USER`.
fn in_schema(scope: &Scope<'_>, outer: &Level, level: &Level) -> Vec<Found> {
    if !outer.is("SCHEMA") && !outer.is("USER") {
        return Vec::new();
    }
    if level.is("TYPE") {
        let types = scope.database.types.values();
        let types = types.filter(|t| outer.names(&t.schema) && level.names(&t.name));
        return types.map(|t| found(PropertyClass::Type, (t.id, 0), level, &t.name)).collect();
    }
    let codes = codes(&level.kind);
    let is_meant =
        |o: &ObjectRow| codes.contains(&o.code) && outer.names(&o.schema) && level.names(&o.name);
    let rows = objects(scope.session, scope.database).into_iter().filter(is_meant);
    rows.map(|o| found(PropertyClass::ObjectOrColumn, (o.id, 0), level, &o.name)).collect()
}

/// Finds the columns, constraints, triggers, indexes or parameters of an object.
fn parts(scope: &Scope<'_>, object: i32, level: &Level) -> Vec<Found> {
    let children = |codes: &[&str]| {
        let rows = objects(scope.session, scope.database).into_iter();
        let rows = rows
            .filter(|o| o.parent_id == object && codes.contains(&o.code) && level.names(&o.name));
        rows.map(|o| found(PropertyClass::ObjectOrColumn, (o.id, 0), level, &o.name)).collect()
    };
    match level.kind.to_ascii_uppercase().as_str() {
        "COLUMN" => {
            let rows = columns(scope).into_iter();
            let rows = rows.filter(|c| c.object_id == object && level.names(&c.name));
            let class = PropertyClass::ObjectOrColumn;
            rows.map(|c| found(class, (object, c.id), level, &c.name)).collect()
        }
        "CONSTRAINT" => children(&["C", "D", "F", "PK", "UQ"]),
        "TRIGGER" => children(&["TR"]),
        "INDEX" => {
            let Some(table) = scope.database.table_by_id(object) else { return Vec::new() };
            let indexes = table.indexes.iter().filter(|i| level.names(&i.name));
            indexes.map(|i| found(PropertyClass::Index, (object, i.id), level, &i.name)).collect()
        }
        "PARAMETER" => {
            let rows = parameters(scope.database).into_iter();
            let rows = rows.filter(|p| p.object_id == object && level.names(&p.definition.name));
            let class = PropertyClass::Parameter;
            rows.map(|p| found(class, (object, p.id), level, &p.definition.name)).collect()
        }
        _ => Vec::new(),
    }
}
