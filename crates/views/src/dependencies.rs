//! Which object names which others: what `sys.sql_expression_dependencies`,
//! `sys.dm_sql_referenced_entities` and `sys.dm_sql_referencing_entities` show.
//!
//! It is found in the syntax trees of modules, constraints and computed columns when a view is read;
//! nothing is stored. Objects of the system are no dependencies, as in SQL Server.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ::catalog::{Database, ModuleDef, Object, TableDef};
use metadata::Scope;
use tsql::ast;
use tsql::{Reference, Use};

/// Class 1: an object or column.
pub(crate) const OBJECT: u8 = 1;
/// Class 6: a type.
pub(crate) const TYPE: u8 = 6;

/// A dependency: a row of the views.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// `object_id` of the referencing object.
    pub referencing_id: i32,
    /// `column_id` of a computed column; 0 for an object.
    pub referencing_minor_id: i32,
    /// Whether SCHEMABINDING, a constraint or a computed column makes it a fixed one.
    pub schema_bound: bool,
    /// Class of what is referenced: [`OBJECT`] or [`TYPE`].
    pub class: u8,
    /// Server in the name as written.
    pub server: Option<String>,
    /// Database in the name as written.
    pub database: Option<String>,
    /// Schema in the name as written.
    pub schema: Option<String>,
    /// Last part of the name.
    pub entity: String,
    /// `object_id` or `user_type_id`, if it is in this database and there.
    pub referenced_id: Option<i32>,
    /// `column_id` of the column; 0 for the whole object.
    pub referenced_minor_id: i32,
    /// Whether the caller's schema decides which object it is.
    pub caller_dependent: bool,
    /// Whether it is read.
    pub selected: bool,
    /// Whether its rows are changed.
    pub updated: bool,
}

/// Returns the database of a view without what the session may not see.
pub(crate) fn seen(scope: &Scope<'_>) -> Option<Arc<Database>> {
    let database = scope.session.catalog.database(&scope.database.name)?;
    Some(scope.session.sees(database))
}

/// Returns the name of a class.
pub(crate) fn class_name(class: u8) -> &'static str {
    if class == TYPE { "TYPE" } else { "OBJECT_OR_COLUMN" }
}

/// Returns all dependencies of the objects of a database, each once.
pub(crate) fn dependencies(database: &Database) -> Vec<Dependency> {
    let mut found = Vec::new();
    for object in database.objects.values() {
        of_object(database, object, &mut found);
    }
    for trigger in database.triggers.values() {
        of_database_trigger(database, trigger, &mut found);
    }
    found
}

/// Returns the dependencies of one object or trigger ON DATABASE.
pub(crate) fn dependencies_of(database: &Database, id: i32) -> Vec<Dependency> {
    let mut found = Vec::new();
    if let Some(object) = database.object_by_id(id) {
        of_object(database, object, &mut found);
        // A table's constraints are objects themselves.
        found.retain(|dependency| dependency.referencing_id == id);
    } else if let Some(trigger) = database.triggers.values().find(|trigger| trigger.id == id) {
        of_database_trigger(database, trigger, &mut found);
    }
    found
}

fn of_database_trigger(database: &Database, trigger: &ModuleDef, found: &mut Vec<Dependency>) {
    let named = tsql::references(&trigger.ast);
    of_module((trigger.id, "dbo", false), named, database, found);
}

/// Appends the dependencies of one object.
fn of_object(database: &Database, object: &Object, found: &mut Vec<Dependency>) {
    match object {
        Object::Table(table) => of_table(table, found),
        Object::Procedure(procedure) => {
            let bound = procedure.ast.options.contains(&ast::RoutineOption::SchemaBinding);
            let named = tsql::references_of_procedure(&procedure.ast);
            of_module((procedure.id, &procedure.schema, bound), named, database, found);
        }
        Object::View(module) | Object::Function(module) | Object::Trigger(module) => {
            let bound = is_schema_bound(&module.ast);
            let named = tsql::references(&module.ast);
            of_module((module.id, &module.schema, bound), named, database, found);
        }
        Object::Synonym(_) | Object::Sequence(_) => {}
    }
}

fn is_schema_bound(module: &ast::Statement) -> bool {
    match &module.kind {
        ast::StatementKind::CreateView(view) => {
            view.options.iter().any(|option| **option == *"SCHEMABINDING")
        }
        ast::StatementKind::CreateFunction(function) => {
            function.options.contains(&ast::RoutineOption::SchemaBinding)
        }
        _ => false,
    }
}

/// Appends what a module names. A name without a schema is looked up in the module's schema first.
fn of_module(
    (id, schema, schema_bound): (i32, &str, bool),
    named: Vec<Reference<'_>>,
    database: &Database,
    found: &mut Vec<Dependency>,
) {
    // The places of those that are found, by their names: a module may name thousands.
    let mut places = HashMap::new();
    for reference in named {
        let Some(new) = resolve(&reference, (id, schema, schema_bound), database) else { continue };
        let lower = |part: &Option<String>| part.as_deref().map(str::to_lowercase);
        let parts = [&new.schema, &new.database, &new.server].map(lower);
        match places.entry((new.class, new.entity.to_ascii_lowercase(), parts)) {
            Entry::Occupied(place) => {
                let old: &mut Dependency = &mut found[*place.get()];
                old.selected |= new.selected;
                old.updated |= new.updated;
            }
            Entry::Vacant(place) => {
                place.insert(found.len());
                found.push(new);
            }
        }
    }
}

fn resolve(
    reference: &Reference<'_>,
    (id, schema, schema_bound): (i32, &str, bool),
    database: &Database,
) -> Option<Dependency> {
    let name = reference.name;
    let written = |part: &Option<ast::Ident>| part.as_ref().map(ast::Ident::to_string);
    let (within, server) = (written(&name.database), written(&name.server));
    let is_here = server.is_none()
        && within.as_ref().is_none_or(|other| other.eq_ignore_ascii_case(&database.name));
    let schemas: Vec<&str> = match &name.schema {
        Some(schema) => vec![schema.as_str()],
        None => vec![schema, "dbo"],
    };
    if schemas.iter().any(|s| is_system_schema(s)) {
        return None;
    }
    let entity = name.object.to_string();
    let (class, referenced_id) = if reference.used == Use::Type {
        let found = schemas.iter().find_map(|s| database.user_type(s, &entity));
        (TYPE, Some(found?.id))
    } else {
        let found = schemas.iter().filter(|_| is_here).find_map(|s| database.object(s, &entity));
        (OBJECT, found.map(Object::id))
    };
    let is_call = reference.used == Use::Call;
    let is_of_system = is_call && referenced_id.is_none() && is_system_procedure(&entity);
    if is_of_system {
        return None;
    }
    let caller_dependent = is_call && name.schema.is_none();
    Some(Dependency {
        referencing_id: id,
        referencing_minor_id: 0,
        schema_bound,
        class,
        server,
        database: within,
        schema: written(&name.schema),
        entity,
        referenced_id: referenced_id.filter(|_| !caller_dependent && name.database.is_none()),
        referenced_minor_id: 0,
        caller_dependent,
        selected: reference.used == Use::Read,
        updated: reference.used == Use::Change,
    })
}

fn is_system_schema(schema: &str) -> bool {
    schema.eq_ignore_ascii_case("sys") || schema.eq_ignore_ascii_case("INFORMATION_SCHEMA")
}

fn is_system_procedure(name: &str) -> bool {
    let start = name.get(..3).unwrap_or_default();
    start.eq_ignore_ascii_case("sp_") || start.eq_ignore_ascii_case("xp_")
}

/// Appends what the check constraints and computed columns of a table read: columns of the table.
fn of_table(table: &TableDef, found: &mut Vec<Dependency>) {
    for check in &table.checks {
        let columns = tsql::columns_of_condition(&check.text.tree);
        of_columns(table, (check.id, 0), &columns, found);
    }
    for (place, column) in table.columns.iter().enumerate() {
        if let Some(computed) = &column.computed {
            let minor = i32::try_from(place + 1).unwrap_or(i32::MAX);
            let columns = tsql::columns_of_value(&computed.tree);
            of_columns(table, (table.id, minor), &columns, found);
        }
    }
}

fn of_columns(
    table: &TableDef,
    (referencing_id, referencing_minor_id): (i32, i32),
    columns: &[&ast::ColumnRef],
    found: &mut Vec<Dependency>,
) {
    let mut places: Vec<usize> =
        columns.iter().filter_map(|column| table.column(column.column.as_str())).collect();
    places.sort_unstable();
    places.dedup();
    found.extend(places.into_iter().map(|place| Dependency {
        referencing_id,
        referencing_minor_id,
        schema_bound: true,
        class: OBJECT,
        server: None,
        database: None,
        schema: Some(table.schema.clone()),
        entity: table.name.clone(),
        referenced_id: Some(table.id),
        referenced_minor_id: i32::try_from(place + 1).unwrap_or(i32::MAX),
        caller_dependent: false,
        selected: true,
        updated: false,
    }));
}

/// Returns the schema and name of an object or check constraint.
pub(crate) fn name_of(database: &Database, id: i32) -> Option<(String, String)> {
    if let Some(object) = database.object_by_id(id) {
        return Some((object.schema().to_owned(), object.name().to_owned()));
    }
    let check = |table: &Arc<TableDef>| {
        let check = table.checks.iter().find(|check| check.id == id)?;
        Some((table.schema.clone(), check.name.clone()))
    };
    database.tables().find_map(check).or_else(|| {
        let trigger = database.triggers.values().find(|trigger| trigger.id == id)?;
        Some((String::new(), trigger.name.clone()))
    })
}

/// Finds an object or type by the name in an argument of a function: `schema.object`, with or
/// without brackets; a name without a schema is not found, as in SQL Server.
pub(crate) fn find(database: &Database, name: &str, class: u8) -> Option<i32> {
    let batch = tsql::parse(&format!("SELECT 1 FROM {name}"), tsql::QuotedIdentifier::On).ok()?;
    let [ast::Statement { kind: ast::StatementKind::Select(select), .. }] =
        batch.statements.as_slice()
    else {
        return None;
    };
    let ast::QueryBody::Select(spec) = &select.query.body else { return None };
    let [ast::TableRef { kind: ast::TableRefKind::Table(table), .. }] = spec.from.as_slice() else {
        return None;
    };
    let (schema, object) = (table.name.schema.as_ref()?, &table.name.object);
    if class == TYPE {
        return database.user_type(schema.as_str(), object.as_str()).map(|found| found.id);
    }
    database.object(schema.as_str(), object.as_str()).map(Object::id)
}
