//! sp_rename: renames an object, column, index or type.
//!
//! The text of a module is not changed, as in SQL Server: it shows the name that it was created
//! with.

use std::sync::Arc;

use tsql::ast;
use types::{Error, Msg, Result};

use super::event::{Occurrence, renaming};
use super::{alter, change_database, table, trigger, versioning};
use ::catalog::name::Name;
use ::catalog::{
    DBO_SCHEMA, Database, IndexDef, ModuleDef, Object, ProcedureDef, SequenceDef, SynonymDef,
    TableDef, UserType,
};
use ::executor::Cx;
use compile::binding::bind_view;
use metadata::objects::{is_bound, is_bound_routine};
use tsql::parse_object_name;

/// The kind of object to rename: `@objtype` of sp_rename.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Renamed {
    /// `@objtype` omitted, or 'OBJECT'.
    Object,
    /// 'COLUMN': a column of a table or view.
    Column,
    /// 'INDEX': an index of a table.
    Index,
    /// 'USERDATATYPE': an alias or table type.
    Type,
}

/// Renames the object that `old` names.
///
/// # Errors
/// 15225 if it does not exist, 15335 if the new name is taken, 15248 for a name with too few parts,
/// 15250 for another database, 15253 for an invalid name.
pub fn run(kind: Renamed, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let name = parse_object_name(old).map_err(|_| Msg::NameSyntax(old))?;
    check_right(kind, &name, old, cx)?;
    match kind {
        Renamed::Object => of_any_kind(&name, old, new, cx),
        Renamed::Column => column(&name, old, new, cx),
        Renamed::Index => index(&name, old, new, cx),
        Renamed::Type => user_type(&name, old, new, cx),
    }
}

/// Checks the permission ALTER on the object, on the table of a column or index, or on a type's
/// schema.
///
/// # Errors
/// 15225: an object that the session may not alter is treated as missing.
fn check_right(kind: Renamed, name: &ast::ObjectName, old: &str, cx: &Cx<'_>) -> Result<()> {
    let rights = &cx.session.identity.rights;
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let Some(database) = database.filter(|_| !rights.is_all()) else { return Ok(()) };
    let schema = schema_of(kind, name, cx);
    let schema = schema.as_str();
    if kind == Renamed::Type {
        let schema = database.schema(schema);
        let may = schema.is_none_or(|schema| rights.has_on_schema(database, schema, "ALTER"));
        return if may { Ok(()) } else { Err(not_found(kind, old, cx)) };
    }
    let whole = || database.object(schema, &name.object).filter(|_| kind == Renamed::Object);
    let owner = || {
        let of = owner_of(Renamed::Index, name, cx).ok()?;
        database.object(cx.session.schema_of(database, &of), &of.object)
    };
    let constrained = || {
        let has = |t: &&Arc<TableDef>| {
            Name::same(&t.schema, schema)
                && t.constraint_names().any(|c| Name::same(c, &name.object))
        };
        database.tables().find(has).and_then(|table| database.object_by_id(table.id))
    };
    match whole().or_else(owner).or_else(constrained) {
        Some(object) if !rights.alters(database, object) => Err(not_found(kind, old, cx)),
        _ => Ok(()),
    }
}

/// Without `@objtype` the name may also be that of a column, index or constraint of a table, such
/// as `database.schema.table.constraint`.
fn of_any_kind(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let is_missing = |done: &Result<()>| {
        done.as_ref().is_err_and(|error| [15_225, 15_248].contains(&error.number))
    };
    type Step = fn(&ast::ObjectName, &str, &str, &mut Cx<'_>) -> Result<()>;
    let kinds: [Step; 4] = [object, column, index, constraint_of_table];
    for rename in kinds {
        let done = rename(name, old, new, cx);
        if !is_missing(&done) {
            return done;
        }
    }
    Err(not_found(Renamed::Object, old, cx))
}

/// Returns the event for DDL triggers; `None` if the object does not exist.
pub fn event_of(
    kind: Renamed,
    (old, new): (&str, &str),
    given: Vec<String>,
    cx: &Cx<'_>,
) -> Option<Occurrence> {
    let name = parse_object_name(old).ok()?;
    let database = cx.session.catalog.database(&cx.session.identity.database)?;
    let schema = schema_of(kind, &name, cx);
    let schema = schema.as_str();
    let renamed = (new, given);
    let whole = |kind| (schema, &*name.object, kind);
    match kind {
        Renamed::Type => renaming(whole("TYPE"), None, renamed, cx.session),
        Renamed::Object if database.object(schema, &name.object).is_some() => {
            let object = database.object(schema, &name.object)?;
            renaming(whole(object_type(object)), None, renamed, cx.session)
        }
        Renamed::Object | Renamed::Column | Renamed::Index => {
            let of = owner_of(Renamed::Index, &name, cx).ok();
            let of = of.as_ref().map(|of| (cx.session.schema_of(database, of), &of.object));
            match of.and_then(|(owner, of)| Some((owner, of, database.object(owner, of)?))) {
                Some((owner, of, object)) => {
                    let word = part_type(kind, object, &name.object);
                    let target = Some((of.to_string(), object_type(object)));
                    renaming((owner, &name.object, word), target, renamed, cx.session)
                }
                None => renaming(whole("OBJECT"), None, renamed, cx.session),
            }
        }
    }
}

/// Returns the type of a part of a table or view, as DDL events name it.
fn part_type(kind: Renamed, of: &Object, part: &str) -> &'static str {
    match (kind, of) {
        (Renamed::Index, _) => "INDEX",
        (Renamed::Object, Object::Table(table)) if table.column(part).is_none() => {
            if table.has_index(part) { "INDEX" } else { "OBJECT" }
        }
        _ => "COLUMN",
    }
}

const fn object_type(object: &Object) -> &'static str {
    match object {
        Object::Table(_) => "TABLE",
        Object::Procedure(_) => "PROCEDURE",
        Object::View(_) => "VIEW",
        Object::Function(_) => "FUNCTION",
        Object::Trigger(_) => "TRIGGER",
        Object::Synonym(_) => "SYNONYM",
        Object::Sequence(_) => "SEQUENCE",
    }
}

fn not_found(kind: Renamed, old: &str, cx: &Cx<'_>) -> Error {
    let said = match kind {
        Renamed::Object => "(null)",
        Renamed::Column => "COLUMN",
        Renamed::Index => "INDEX",
        Renamed::Type => "USERDATATYPE",
    };
    Msg::NoItemByName(old, &cx.session.identity.database, said).into()
}

/// Returns the table's name of `table.column`, `schema.table.column` and
/// `database.schema.table.column`.
fn owner_of(kind: Renamed, name: &ast::ObjectName, cx: &Cx<'_>) -> Result<ast::ObjectName> {
    let word = if kind == Renamed::Column { "COLUMN" } else { "INDEX" };
    let Some(object) = name.schema.clone() else { return Err(Msg::AmbiguousName(word).into()) };
    check_database(name.server.as_deref(), cx)?;
    Ok(ast::ObjectName {
        schema: name.database.clone(),
        database: None,
        server: None,
        object,
        span: name.span,
    })
}

/// Returns the schema of an object, constraint or type: that written; else the session's default
/// schema if it has one of the name; else dbo.
fn schema_of(kind: Renamed, name: &ast::ObjectName, cx: &Cx<'_>) -> String {
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let Some(database) = database else { return DBO_SCHEMA.to_owned() };
    let first = cx.session.identity.rights.default_schema(database);
    let is_constraint = || {
        name.schema.is_none() && first != DBO_SCHEMA && database.is_name_taken(first, &name.object)
    };
    let schema = match kind {
        Renamed::Type => cx.session.schema_of_type(database, name),
        Renamed::Object if is_constraint() => first,
        Renamed::Object | Renamed::Column | Renamed::Index => cx.session.schema_of(database, name),
    };
    schema.to_owned()
}

/// Refuses a name in another database than the current one.
fn check_database(database: Option<&str>, cx: &Cx<'_>) -> Result<()> {
    match database {
        Some(other) if !Name::same(other, &cx.session.identity.database) => {
            Err(Msg::NotCurrentDatabase.into())
        }
        _ => Ok(()),
    }
}

/// Finds the table of `table.column` or `table.index`, and returns it with the last part.
fn of_table(
    kind: Renamed,
    name: &ast::ObjectName,
    old: &str,
    cx: &mut Cx<'_>,
) -> Result<(Arc<TableDef>, String)> {
    let of = owner_of(kind, name, cx)?;
    let table = table::find_alone(&of, cx).map_err(|error| match error.number {
        4_902 => not_found(kind, old, cx),
        _ => error,
    })?;
    Ok((table, name.object.to_string()))
}

fn column(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let of = owner_of(Renamed::Column, name, cx)?;
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let view = database.and_then(|d| d.object(cx.session.schema_of(d, &of), &of.object));
    if let Some(Object::View(view)) = view {
        let view = Arc::clone(view);
        return column_of_view(&view, &name.object, old, new, cx);
    }
    let (table, column) = of_table(Renamed::Column, name, old, cx)?;
    let Some(ordinal) = table.column(&column) else {
        return Err(not_found(Renamed::Column, old, cx));
    };
    if table.column(new).is_some_and(|taken| taken != ordinal) {
        return Err(Msg::NewNameInUse(new, "COLUMN").into());
    }
    let used = u16::try_from(ordinal).map_err(|_| Msg::InternalError)?;
    let filtered = |index: &IndexDef| index.filter.as_ref().is_some_and(|f| f.reads(used));
    if alter::reader(&table, used, cx).is_some()
        || table.all_indexes().any(filtered)
        || binds(&table, Some(&table.columns[ordinal].name), cx)
    {
        return Err(Msg::EnforcedDependencies(old).into());
    }
    let rename = |table: &TableDef| {
        let mut next = TableDef::clone(table);
        new.clone_into(&mut next.columns[ordinal].name);
        next
    };
    if table.is_history() {
        return Err(Msg::AlterHistoryColumn(&column, &cx.qualified(&table)).into());
    }
    let Some(history) = versioning::history_of(&table, cx) else {
        return table::replace(rename(&table), cx);
    };
    table::close(&history, cx)?;
    versioning::replace(rename(&table), rename(&history), cx)
}

/// Renames a column of a view. The names come from its definition, whose text is not changed: the
/// next sp_refreshview restores the old names.
fn column_of_view(
    view: &Arc<ModuleDef>,
    column: &str,
    old: &str,
    new: &str,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let columns = bind_view(cx.session, &database, &view.schema, &view.name)?;
    let Some(ordinal) = columns.iter().position(|c| Name::same(&c.name, column)) else {
        return Err(not_found(Renamed::Column, old, cx));
    };
    let mut taken = columns.iter().enumerate().filter(|(at, _)| *at != ordinal);
    if taken.any(|(_, c)| Name::same(&c.name, new)) {
        return Err(Msg::NewNameInUse(new, "COLUMN").into());
    }
    if is_named_by_bound(view.database_id, (&view.name, Some(column)), Some(view.id), cx) {
        return Err(Msg::EnforcedDependencies(old).into());
    }
    let mut next = ModuleDef::clone(view);
    let ast::StatementKind::CreateView(definition) = &mut next.ast.kind else {
        return Err(Msg::InternalError.into());
    };
    let span = definition.name.span;
    let ident = |name: &str| ast::Ident::new(name, ast::Quoting::Brackets, span);
    definition.columns = columns.iter().map(|c| ident(&c.name)).collect();
    definition.columns[ordinal] = ident(new);
    replace_view(next, cx)
}

/// Resets a view's columns to those of its text, and invalidates the plans that use it.
pub fn refresh_view(view: &ModuleDef, cx: &mut Cx<'_>) -> Result<()> {
    let parse = |quotes| tsql::parse(&view.text, quotes);
    let batch =
        parse(tsql::QuotedIdentifier::On).or_else(|_| parse(tsql::QuotedIdentifier::Off))?;
    let said = batch.statements.into_iter().find_map(|statement| match statement.kind {
        ast::StatementKind::CreateView(said) => Some(said.columns),
        _ => None,
    });
    let mut next = ModuleDef::clone(view);
    match (&mut next.ast.kind, said) {
        (ast::StatementKind::CreateView(definition), Some(columns))
            if definition.columns.len() != columns.len()
                || definition.columns.iter().zip(&columns).any(|(is, was)| is != was) =>
        {
            definition.columns = columns;
            replace_view(next, cx)
        }
        _ => cx.session.change_catalog(|_| Ok(())),
    }
}

fn replace_view(view: ModuleDef, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let view = Arc::new(view);
    change_database(cx.session, &database, |database| {
        database.put(Object::View(Arc::clone(&view)));
        Ok(())
    })?;
    cx.session.refresh_catalog();
    trigger::refresh_shapes(&view, cx)
}

/// Returns true if a schema-bound module refers to a table, and to a column of it if one is given.
/// Any word of the module's text counts, so a column of another table with the same name counts
/// too.
pub fn binds(table: &TableDef, column: Option<&str>, cx: &Cx<'_>) -> bool {
    is_named_by_bound(table.database_id, (&table.name, column), None, cx)
}

/// As [`binds`], for an object by name; ignores the module `except`.
fn is_named_by_bound(
    database: i16,
    (object, column): (&str, Option<&str>),
    except: Option<i32>,
    cx: &Cx<'_>,
) -> bool {
    let Some(database) = cx.session.catalog.database_by_id(database) else { return false };
    let names = |text: &str| {
        tsql::names_in(text, object) && column.is_none_or(|name| tsql::names_in(text, name))
    };
    let others = database.objects.values().filter(|object| Some(object.id()) != except);
    others.into_iter().any(|object| match object {
        Object::View(m) | Object::Function(m) => is_bound(&m.ast.kind) && names(&m.text),
        Object::Procedure(p) => is_bound_routine(&p.ast.options) && names(&p.text),
        Object::Trigger(_) | Object::Table(_) | Object::Synonym(_) | Object::Sequence(_) => false,
    })
}

/// Returns the name of a schema-bound module that refers to `schema.object`, and to a column of it
/// if one is given. Any word of the module's text counts as the column. A module does not bind
/// itself.
pub fn bound_module(
    database: &Database,
    (schema, object): (&str, &str),
    column: Option<&str>,
) -> Option<String> {
    let names = |text: &str| {
        tsql::names_object_in(text, schema, object)
            && column.is_none_or(|name| tsql::names_in(text, name))
    };
    let own = database.object(schema, object).map(Object::id);
    let mut others = database.objects.values().filter(|other| Some(other.id()) != own);
    others.find_map(|other| match other {
        Object::View(m) | Object::Function(m) if is_bound(&m.ast.kind) && names(&m.text) => {
            Some(m.name.clone())
        }
        Object::Procedure(p) if is_bound_routine(&p.ast.options) && names(&p.text) => {
            Some(p.name.clone())
        }
        _ => None,
    })
}

/// Renames an index; if the index belongs to a key constraint, the constraint too.
fn index(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let (table, index) = of_table(Renamed::Index, name, old, cx)?;
    let named = |name: &str| table.all_indexes().find(|index| Name::same(&index.name, name));
    let Some(found) = named(&index) else {
        return Err(not_found(Renamed::Index, old, cx));
    };
    if named(new).is_some_and(|taken| taken.id != found.id) {
        return Err(Msg::NewNameInUse(new, "INDEX").into());
    }
    // A key constraint and its index have one name.
    if found.constraint.is_some() {
        return rename_constraint(&table, &index, new, cx);
    }
    let mut next = TableDef::clone(&table);
    let renamed = next.all_indexes_mut().find(|index| index.id == found.id);
    new.clone_into(&mut renamed.ok_or(Msg::InternalError)?.name);
    table::replace(next, cx)
}

fn object(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    // `a.b.c` is in another database, or a part of the table `a.b`.
    if name.server.is_some() || check_database(name.database.as_deref(), cx).is_err() {
        return Err(not_found(Renamed::Object, old, cx));
    }
    let schema = schema_of(Renamed::Object, name, cx);
    let found =
        cx.session.catalog.database(&database).and_then(|d| d.object(&schema, &name.object));
    match found {
        None => return constraint(&schema, name, old, new, cx),
        Some(Object::Table(_)) => {
            let table = table::find_alone(name, cx)?;
            if binds(&table, None, cx) {
                return Err(Msg::EnforcedDependencies(old).into());
            }
        }
        Some(_) => {}
    }
    change_database(cx.session, &database, |database| {
        if database.is_name_taken(&schema, new) && !Name::same(&name.object, new) {
            return Err(Msg::NewNameInUse(new, "OBJECT").into());
        }
        let key = (Name::new(&schema), Name::new(&name.object));
        let object = database.objects.remove(&key).ok_or(Msg::InternalError)?;
        database.put(renamed(&object, new));
        Ok(())
    })
}

fn renamed(object: &Object, new: &str) -> Object {
    let name = new.to_owned();
    let module =
        |m: &Arc<ModuleDef>| Arc::new(ModuleDef { name: name.clone(), ..ModuleDef::clone(m) });
    match object {
        Object::Table(t) => Object::Table(Arc::new(TableDef { name, ..TableDef::clone(t) })),
        Object::Procedure(p) => {
            Object::Procedure(Arc::new(ProcedureDef { name, ..ProcedureDef::clone(p) }))
        }
        Object::View(m) => Object::View(module(m)),
        Object::Function(m) => Object::Function(module(m)),
        Object::Trigger(m) => Object::Trigger(module(m)),
        Object::Synonym(s) => {
            Object::Synonym(Arc::new(SynonymDef { name, ..SynonymDef::clone(s) }))
        }
        Object::Sequence(s) => {
            Object::Sequence(Arc::new(SequenceDef { name, ..SequenceDef::clone(s) }))
        }
    }
}

/// Renames a constraint, which is an object whose name is stored in its table.
fn constraint(
    schema: &str,
    name: &ast::ObjectName,
    old: &str,
    new: &str,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let catalog = Arc::clone(&cx.session.catalog);
    let database = catalog.database(&cx.session.identity.database).ok_or(Msg::InternalError)?;
    let has = |t: &&Arc<TableDef>| {
        Name::same(&t.schema, schema) && t.constraint_names().any(|c| Name::same(c, &name.object))
    };
    let Some(of) = database.tables().find(has) else {
        return Err(not_found(Renamed::Object, old, cx));
    };
    table::close(of, cx)?;
    rename_constraint(of, &name.object, new, cx)
}

/// Renames a constraint that is named as `schema.table.constraint`.
fn constraint_of_table(
    name: &ast::ObjectName,
    old: &str,
    new: &str,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let (table, constraint) = of_table(Renamed::Index, name, old, cx)?;
    if !table.constraint_names().any(|found| Name::same(found, &constraint)) {
        return Err(not_found(Renamed::Object, old, cx));
    }
    rename_constraint(&table, &constraint, new, cx)
}

fn rename_constraint(of: &TableDef, name: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let database = cx.session.catalog.database_by_id(of.database_id).ok_or(Msg::InternalError)?;
    if database.is_name_taken(&of.schema, new) && !Name::same(name, new) {
        return Err(Msg::NewNameInUse(new, "OBJECT").into());
    }
    let mut next = TableDef::clone(of);
    let keys = next.indexes.iter_mut().chain(&mut next.disabled);
    let names = keys.filter(|i| i.constraint.is_some()).map(|i| &mut i.name);
    let names = names
        .chain(next.checks.iter_mut().map(|c| &mut c.name))
        .chain(next.foreign_keys.iter_mut().map(|f| &mut f.name))
        .chain(next.columns.iter_mut().filter_map(|c| c.default.as_mut()).map(|d| &mut d.name));
    for found in names.filter(|found| Name::same(found, name)) {
        new.clone_into(found);
    }
    table::replace(next, cx)
}

fn user_type(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let schema = schema_of(Renamed::Type, name, cx);
    let database = Arc::clone(&cx.session.identity.database);
    let missing = not_found(Renamed::Type, old, cx);
    change_database(cx.session, &database, |database: &mut Database| {
        if database.user_type(&schema, new).is_some() && !Name::same(&name.object, new) {
            return Err(Msg::NewNameInUse(new, "USERDATATYPE").into());
        }
        let used = database.tables().chain(database.table_types()).any(|table| {
            table.columns.iter().any(|column| {
                column
                    .user_type
                    .as_ref()
                    .is_some_and(|(s, n)| Name::same(s, &schema) && Name::same(n, &name.object))
            })
        });
        if used {
            return Err(Msg::NotSupported("sp_rename of a type that columns have").into());
        }
        let key = (Name::new(&schema), Name::new(&name.object));
        let Some(found) = database.types.remove(&key) else { return Err(missing) };
        let renamed = UserType { name: new.to_owned(), ..UserType::clone(&found) };
        database.types.insert((Name::new(&schema), Name::new(new)), Arc::new(renamed));
        Ok(())
    })
}
