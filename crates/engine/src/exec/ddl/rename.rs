//! sp_rename: another name for an object, a column, an index or a type.
//!
//! The text of a module stays as it was, as in SQL Server: it shows the name that it was made with.

use std::sync::Arc;

use tsql::ast;
use types::{Error, Msg, Result};

use super::event::{Occurrence, renaming};
use super::{alter, change_database, table, versioning};
use crate::bind::fragment::parse_object_name;
use crate::catalog::name::Name;
use crate::catalog::{
    Database, IndexDef, ModuleDef, Object, ProcedureDef, SequenceDef, SynonymDef, TableDef,
    UserType,
};
use crate::exec::Cx;

/// What `@objtype` says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renamed {
    /// Nothing was said, or OBJECT.
    Object,
    /// COLUMN
    Column,
    /// INDEX
    Index,
    /// USERDATATYPE
    Type,
}

/// Renames what `old` names.
///
/// # Errors
/// 15225 if there is nothing of the name, 15335 if the new one is taken, 15248 for a name with too
/// few parts.
pub(crate) fn run(kind: Renamed, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let missing = || not_found(kind, old, cx);
    let name = parse_object_name(old).map_err(|_| missing())?;
    match kind {
        // Without a word what kind it is, a name of a table's column is one too.
        Renamed::Object => match object(&name, old, new, cx) {
            Err(error) if error.number == 15_225 && is_column(&name, cx) => {
                column(&name, old, new, cx)
            }
            done => done,
        },
        Renamed::Column => column(&name, old, new, cx),
        Renamed::Index => index(&name, old, new, cx),
        Renamed::Type => user_type(&name, old, new, cx),
    }
}

/// The event that it is to DDL triggers; none where there is nothing of the name.
pub(crate) fn event_of(
    kind: Renamed,
    (old, new): (&str, &str),
    given: Vec<String>,
    cx: &Cx<'_>,
) -> Option<Occurrence> {
    let name = parse_object_name(old).ok()?;
    let database = cx.session.catalog.database(&cx.session.database)?;
    let schema = name.schema.as_deref().unwrap_or("dbo");
    let renamed = (new, given);
    let whole = |kind| (schema, &*name.object, kind);
    match kind {
        Renamed::Type => renaming(whole("TYPE"), None, renamed, cx.session),
        Renamed::Object if database.object(schema, &name.object).is_some() => {
            let object = database.object(schema, &name.object)?;
            renaming(whole(object_type(object)), None, renamed, cx.session)
        }
        Renamed::Object | Renamed::Column | Renamed::Index => {
            let word = if kind == Renamed::Index { "INDEX" } else { "COLUMN" };
            let owner = name.database.as_deref().unwrap_or("dbo");
            match name.schema.as_deref().filter(|table| database.object(owner, table).is_some()) {
                Some(table) => {
                    let target = Some((table.to_owned(), "TABLE"));
                    renaming((owner, &name.object, word), target, renamed, cx.session)
                }
                None => renaming(whole("OBJECT"), None, renamed, cx.session),
            }
        }
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

/// Tells whether a name is that of a table's column.
fn is_column(name: &ast::ObjectName, cx: &mut Cx<'_>) -> bool {
    let found = of_table(Renamed::Column, name, "", cx);
    found.is_ok_and(|(table, column)| table.column(&column).is_some())
}

fn not_found(kind: Renamed, old: &str, cx: &Cx<'_>) -> Error {
    let said = match kind {
        Renamed::Object => "(null)",
        Renamed::Column => "COLUMN",
        Renamed::Index => "INDEX",
        Renamed::Type => "USERDATATYPE",
    };
    Msg::NoItemByName(old, &cx.session.database, said).into()
}

/// The table of `table.column`, `schema.table.column`, and the last part.
fn of_table(
    kind: Renamed,
    name: &ast::ObjectName,
    old: &str,
    cx: &mut Cx<'_>,
) -> Result<(Arc<TableDef>, String)> {
    let word = if kind == Renamed::Column { "COLUMN" } else { "INDEX" };
    let Some(owner) = name.schema.clone() else { return Err(Msg::AmbiguousName(word).into()) };
    let of = ast::ObjectName {
        schema: name.database.clone(),
        database: name.server.clone(),
        server: None,
        object: owner,
        span: name.span,
    };
    let table = table::find_alone(&of, cx).map_err(|error| match error.number {
        4_902 => not_found(kind, old, cx),
        _ => error,
    })?;
    Ok((table, name.object.to_string()))
}

fn column(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
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
        || table.indexes.iter().any(filtered)
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

/// Tells whether a schema-bound module names a table, and a column of it if one is given. Any word of
/// its text counts: who names a column of another table like this one's is refused too.
pub(super) fn binds(table: &TableDef, column: Option<&str>, cx: &Cx<'_>) -> bool {
    let Some(database) = cx.session.catalog.database_by_id(table.database_id) else { return false };
    let names = |text: &str| {
        tsql::names_in(text, &table.name) && column.is_none_or(|name| tsql::names_in(text, name))
    };
    database.objects.values().any(|object| match object {
        Object::View(m) | Object::Function(m) => is_bound(&m.ast.kind) && names(&m.text),
        Object::Procedure(p) => is_bound_routine(&p.ast.options) && names(&p.text),
        Object::Trigger(_) | Object::Table(_) | Object::Synonym(_) | Object::Sequence(_) => false,
    })
}

fn is_bound(kind: &ast::StatementKind) -> bool {
    match kind {
        ast::StatementKind::CreateView(view) => {
            view.options.iter().any(|option| **option == *"SCHEMABINDING")
        }
        ast::StatementKind::CreateFunction(function) => is_bound_routine(&function.options),
        _ => false,
    }
}

fn is_bound_routine(options: &[ast::RoutineOption]) -> bool {
    options.contains(&ast::RoutineOption::SchemaBinding)
}

fn index(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let (table, index) = of_table(Renamed::Index, name, old, cx)?;
    let Some(place) = table.index(&index) else {
        return Err(not_found(Renamed::Index, old, cx));
    };
    if table.index(new).is_some_and(|taken| taken != place) {
        return Err(Msg::NewNameInUse(new, "INDEX").into());
    }
    let mut next = TableDef::clone(&table);
    new.clone_into(&mut next.indexes[place].name);
    table::replace(next, cx)
}

fn object(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.database);
    let schema = name.schema.as_deref().unwrap_or("dbo").to_owned();
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

/// A constraint is an object too; its name is with its table.
fn constraint(
    schema: &str,
    name: &ast::ObjectName,
    old: &str,
    new: &str,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let catalog = Arc::clone(&cx.session.catalog);
    let database = catalog.database(&cx.session.database).ok_or(Msg::InternalError)?;
    let has = |t: &&Arc<TableDef>| {
        Name::same(&t.schema, schema) && t.constraint_names().any(|c| Name::same(c, &name.object))
    };
    let Some(of) = database.tables().find(has) else {
        return Err(not_found(Renamed::Object, old, cx));
    };
    if database.is_name_taken(schema, new) && !Name::same(&name.object, new) {
        return Err(Msg::NewNameInUse(new, "OBJECT").into());
    }
    table::close(of, cx)?;
    let mut next = TableDef::clone(of);
    let is_it = |found: &str| Name::same(found, &name.object);
    let names = next.indexes.iter_mut().filter(|i| i.constraint.is_some()).map(|i| &mut i.name);
    let names = names
        .chain(next.checks.iter_mut().map(|c| &mut c.name))
        .chain(next.foreign_keys.iter_mut().map(|f| &mut f.name))
        .chain(next.columns.iter_mut().filter_map(|c| c.default.as_mut()).map(|d| &mut d.name));
    for found in names.filter(|found| is_it(found)) {
        new.clone_into(found);
    }
    table::replace(next, cx)
}

fn user_type(name: &ast::ObjectName, old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    let schema = name.schema.as_deref().unwrap_or("dbo").to_owned();
    let database = Arc::clone(&cx.session.database);
    let missing = not_found(Renamed::Type, old, cx);
    change_database(cx.session, &database, |database: &mut Database| {
        if database.user_type(&schema, new).is_some() && !Name::same(&name.object, new) {
            return Err(Msg::NewNameInUse(new, "USERDATATYPE").into());
        }
        let used = database.tables().any(|table| {
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
