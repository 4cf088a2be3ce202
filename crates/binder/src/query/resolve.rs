//! Resolves the name of a table or view: temporary tables, the catalog, synonyms, system views.

use std::sync::Arc;

use tsql::ast::ObjectName;
use types::{Error, Msg, Result};

use crate::Binder;
use crate::context::{check_local, require_entry};
use catalog::name::Name;
use catalog::{ModuleDef, Object, TableDef};
use plan::view::SystemView;

/// The state of error 5313 for a synonym of an object that is neither table nor view.
const WRONG_KIND: u8 = 224;

/// The object that a name in FROM refers to.
pub enum Resolved<'a> {
    /// A table, temporary ones included.
    Table(Arc<TableDef>),
    /// A system view, and the database that it is read in.
    System(&'static dyn SystemView, &'a str),
    /// A view, and its database.
    View(Arc<ModuleDef>, &'a str),
}

/// Resolves the name of a table or view: temporary tables, the catalog, system views.
///
/// # Errors
/// 208 if there is none, or no database of that name; 5313 and 470 for a synonym whose target is
/// missing, of another kind or a synonym; 7202 for another server.
pub fn resolve_table<'a>(binder: &mut Binder<'a>, name: &ObjectName) -> Result<Resolved<'a>> {
    // Global temporary tables are in tempdb, whatever database the name has.
    let is_global = name.object.starts_with("##");
    check_local(binder, name)?;
    if name.is_temporary() && !is_global {
        binder.session_bound = true;
        let table = (binder.temp_tables)(&name.object);
        return table
            .map(Resolved::Table)
            .ok_or_else(|| Msg::InvalidObject(&name.to_string()).into());
    }
    let catalog = binder.catalog;
    let mut synonym: Option<&ObjectName> = None;
    loop {
        let target = synonym.unwrap_or(name);
        let database = target.database.as_deref().unwrap_or(binder.database);
        let database = if is_global { "tempdb" } else { database };
        let Some(database) = catalog.database(database) else {
            return Err(missing(name, synonym.is_some()));
        };
        if database.options.restoring.is_some() {
            return Err(Msg::DatabaseRestoring(&database.name).into());
        }
        require_entry(binder, database)?;
        let schema = target.schema.as_deref().unwrap_or("dbo");
        let schema = if is_global { "dbo" } else { schema };
        match database.object(schema, &target.object) {
            Some(Object::Table(table)) => return Ok(Resolved::Table(Arc::clone(table))),
            Some(Object::View(view)) => {
                return Ok(Resolved::View(Arc::clone(view), database.name.as_str()));
            }
            Some(Object::Synonym(_)) if synonym.is_some() => {
                return Err(Msg::SynonymChain(&name.to_string(), &target.to_string()).into());
            }
            Some(Object::Synonym(found)) => {
                check_local(binder, &found.target)?;
                synonym = Some(&found.target);
            }
            Some(
                Object::Procedure(_)
                | Object::Function(_)
                | Object::Trigger(_)
                | Object::Sequence(_),
            ) if synonym.is_some() => return Err(missing(name, true).with_state(WRONG_KIND)),
            Some(
                Object::Procedure(_)
                | Object::Function(_)
                | Object::Trigger(_)
                | Object::Sequence(_),
            ) => return Err(missing(name, false)),
            None => {
                let schema = target.schema.as_deref().unwrap_or_default();
                // The tables of msdb belong to its schema dbo, and exist there only.
                let is_dbo = schema.is_empty() || Name::same(schema, "dbo");
                let of_msdb = (is_dbo && Name::same(&database.name, "msdb"))
                    .then(|| binder.library.view(plan::view::MSDB, &target.object))
                    .flatten();
                let view = of_msdb.or_else(|| binder.library.view(schema, &target.object));
                if let Some(view) = view {
                    return Ok(Resolved::System(view, database.name.as_str()));
                }
                let known =
                    binder.library.known_but_missing(&database.name, schema, &target.object);
                return Err(match known {
                    Some(known) => Msg::NotSupported(&known).into(),
                    None => missing(name, synonym.is_some()),
                });
            }
        }
    }
}

/// Returns the error of a table or view that does not exist: 208, or 5313 where the name is that of
/// a synonym. It names what the statement has written.
#[cold]
fn missing(name: &ObjectName, by_synonym: bool) -> Error {
    match by_synonym {
        true => Msg::SynonymInvalid(&name.to_string()).into(),
        false => Msg::InvalidObject(&name.to_string()).into(),
    }
}
