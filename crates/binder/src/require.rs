//! Permission checks during binding, and ownership chains.
//!
//! A module needs no permission on objects of the same owner: a caller that may execute it may do
//! what it does. An object of another owner, or in another database, breaks the chain: the caller's
//! permission is checked, and the plan is not shared with other callers.

use std::sync::Arc;

use tsql::ast::{ObjectName, TableRef, TableRefKind, Target, TargetKind};
use types::{Error, Msg, Result};

use super::Binder;
use super::query::{Resolved, resolve_table};
use catalog::name::Name;
use catalog::security::{Guard, Owner, Rights, Securable, State, state_of};
use catalog::{Catalog, DBO, Database, ModuleDef, Object, SequenceDef, SynonymDef, TableDef};
use plan::view::SystemView;

impl<'a> Binder<'a> {
    /// Returns the permissions to check for an object; `None` if the ownership chain is unbroken.
    pub fn asked_about(&self, database: i16, ids: (i32, i32)) -> Option<&'a Rights> {
        let Some(chain) = self.chain else { return self.rights };
        if chain.reaches(self.catalog, Owner::of(self.catalog, database, ids)) {
            return None;
        }
        self.asked_in_module()
    }

    /// Returns the permissions to check for anything outside ownership chains.
    pub fn asked_in_module(&self) -> Option<&'a Rights> {
        if self.chain.is_some() {
            self.unchained.set(true);
        }
        self.rights
    }
}

/// Checks that a system view of a database may be read.
///
/// # Errors
/// 300 without VIEW SERVER STATE, 262 without VIEW DATABASE STATE; 297 follows both.
pub fn require_view(binder: &Binder<'_>, view: &dyn SystemView, database: &str) -> Result<()> {
    let asked = state_of(view.name());
    if asked == State::None {
        return Ok(());
    }
    let Some(rights) = binder.asked_in_module() else { return Ok(()) };
    match asked {
        // These functions check once their arguments are evaluated, which select the database.
        State::Database if view.name().starts_with("dm_db_index_") => Ok(()),
        State::Server if !rights.views_server_state() => {
            Err(Msg::ServerPermissionDenied("VIEW SERVER STATE").into())
        }
        State::Database => match binder.catalog.database(database) {
            Some(database) => rights.check_database_state(database),
            None => Ok(()),
        },
        State::Server | State::None => Ok(()),
    }
}

/// Checks a permission on a resolved object.
///
/// # Errors
/// 229 if it is missing.
pub fn require(binder: &Binder<'_>, resolved: &Resolved<'_>, permission: &str) -> Result<()> {
    match resolved {
        // Temporary tables belong to the session.
        Resolved::Table(table) if table.name.starts_with('#') => Ok(()),
        Resolved::Table(table) => {
            ask(binder, table.database_id, &Securable::table(table), permission)
        }
        Resolved::View(view, _) => require_module(binder, view, permission),
        Resolved::System(..) => Ok(()),
    }
}

/// A synonym that a statement names.
pub struct NamedSynonym<'a> {
    /// The definition of the synonym, with its target.
    pub synonym: &'a SynonymDef,
    /// The id of its database.
    pub database_id: i16,
    /// The id of its schema.
    pub schema_id: i32,
    /// Whether it has the owner of its target: then permissions on the synonym are enough.
    pub is_chained: bool,
}

impl NamedSynonym<'_> {
    /// Returns the synonym as what permissions are on.
    pub fn securable(&self) -> Securable<'_> {
        let SynonymDef { id, schema, name, .. } = self.synonym;
        Securable { id: *id, schema_id: self.schema_id, schema, name }
    }
}

/// Returns the synonym that a name is that of, if permissions are checked. Its target is given by
/// database and ids.
pub fn named_synonym<'a>(
    binder: &Binder<'a>,
    name: &ObjectName,
    (target_database, target_ids): (i16, (i32, i32)),
) -> Option<NamedSynonym<'a>> {
    binder.rights?;
    if name.is_temporary() {
        return None;
    }
    let catalog: &'a Catalog = binder.catalog;
    let database = catalog.database(name.database.as_deref().unwrap_or(binder.database))?;
    let schema = binder.schema_of(database, name);
    let Some(Object::Synonym(synonym)) = database.object(schema, &name.object) else {
        return None;
    };
    let database_id = database.id;
    let schema_id = database.schema(&synonym.schema).map_or(DBO, |schema| schema.id);
    let owner = Owner::of(catalog, database_id, (synonym.id, schema_id));
    let is_chained = owner.reaches(catalog, Owner::of(catalog, target_database, target_ids));
    Some(NamedSynonym { synonym, database_id, schema_id, is_chained })
}

/// Ids and names of an object that may have column permissions.
pub struct Guarded {
    /// The id of its database.
    pub database_id: i16,
    id: i32,
    schema_id: i32,
    schema: String,
    name: String,
}

impl Guarded {
    /// Returns the object whose permissions a column of this source needs: a synonym if the name is
    /// that of one which has the owner of its target.
    pub fn of(binder: &Binder<'_>, name: &ObjectName, resolved: &Resolved<'_>) -> Option<Self> {
        let target = match resolved {
            // Temporary tables belong to the session.
            Resolved::Table(table) if table.name.starts_with('#') => return None,
            Resolved::Table(table) => Self {
                database_id: table.database_id,
                id: table.id,
                schema_id: table.schema_id,
                schema: table.schema.clone(),
                name: table.name.clone(),
            },
            Resolved::View(view, _) => Self {
                database_id: view.database_id,
                id: view.id,
                schema_id: view.schema_id,
                schema: view.schema.clone(),
                name: view.name.clone(),
            },
            Resolved::System(..) => return None,
        };
        Self::of_synonym(binder, name, resolved).or(Some(target))
    }

    /// Returns the synonym that the name is that of, if it has the owner of its target.
    fn of_synonym(binder: &Binder<'_>, name: &ObjectName, resolved: &Resolved<'_>) -> Option<Self> {
        let named = named_synonym(binder, name, ids_of(resolved)?).filter(|n| n.is_chained)?;
        Some(Self {
            database_id: named.database_id,
            id: named.synonym.id,
            schema_id: named.schema_id,
            schema: named.synonym.schema.clone(),
            name: named.synonym.name.clone(),
        })
    }

    /// Returns the object as what permissions are on.
    pub fn securable(&self) -> Securable<'_> {
        let Self { id, schema_id, schema, name, .. } = self;
        Securable { id: *id, schema_id: *schema_id, schema, name }
    }
}

/// Returns the database and ids of an object that has permissions.
fn ids_of(resolved: &Resolved<'_>) -> Option<(i16, (i32, i32))> {
    match resolved {
        Resolved::Table(table) => Some((table.database_id, (table.id, table.schema_id))),
        Resolved::View(view, _) => Some((view.database_id, (view.id, view.schema_id))),
        Resolved::System(..) => None,
    }
}

/// Checks a permission on a synonym, if the name is that of one. Returns whether that is enough.
///
/// # Errors
/// 229 if it is missing.
fn require_synonym(
    binder: &Binder<'_>,
    name: &ObjectName,
    target: (i16, (i32, i32)),
    permission: &str,
) -> Result<bool> {
    let Some(named) = named_synonym(binder, name, target) else { return Ok(false) };
    ask(binder, named.database_id, &named.securable(), permission)?;
    Ok(named.is_chained)
}

/// Checks a permission on the table or view that a name refers to. A synonym has permissions of its
/// own; those of its target are checked as well where the two have different owners.
///
/// # Errors
/// 229 if one is missing, with the name of the object that it is missing on.
pub fn require_named(
    binder: &Binder<'_>,
    name: &ObjectName,
    resolved: &Resolved<'_>,
    permission: &str,
) -> Result<()> {
    let Some(target) = ids_of(resolved) else { return Ok(()) };
    match require_synonym(binder, name, target, permission)? {
        true => Ok(()),
        false => require(binder, resolved, permission),
    }
}

fn ask(binder: &Binder<'_>, database: i16, object: &Securable<'_>, permission: &str) -> Result<()> {
    let Some(rights) = binder.asked_about(database, (object.id, object.schema_id)) else {
        return Ok(());
    };
    match binder.catalog.database_by_id(database) {
        Some(database) => rights.check(database, object, permission),
        None => Ok(()),
    }
}

/// Checks a permission on a table that is changed through a view of another owner.
///
/// # Errors
/// 229 if it is missing.
pub fn require_crossing(
    binder: &Binder<'_>,
    view: &ModuleDef,
    table: &TableDef,
    permission: &str,
) -> Result<()> {
    let of_view = Owner::of_module(binder.catalog, view);
    let of_table = Owner::of(binder.catalog, table.database_id, (table.id, table.schema_id));
    if of_view.reaches(binder.catalog, of_table) {
        return Ok(());
    }
    let Some(rights) = binder.asked_in_module() else { return Ok(()) };
    match binder.catalog.database_by_id(table.database_id) {
        Some(database) => rights.check(database, &Securable::table(table), permission),
        None => Ok(()),
    }
}

/// Checks a permission on a view or function.
///
/// # Errors
/// 229 if it is missing.
pub fn require_module(binder: &Binder<'_>, module: &ModuleDef, permission: &str) -> Result<()> {
    let (schema, name) = (module.schema.as_str(), module.name.as_str());
    let object = Securable { id: module.id, schema_id: module.schema_id, schema, name };
    ask(binder, module.database_id, &object, permission)
}

/// Checks a permission on the function that a name refers to, as [`require_named`].
///
/// # Errors
/// 229 if it is missing.
pub fn require_routine(
    binder: &Binder<'_>,
    name: &ObjectName,
    module: &ModuleDef,
    permission: &str,
) -> Result<()> {
    let target = (module.database_id, (module.id, module.schema_id));
    if require_synonym(binder, name, target, permission)? {
        return Ok(());
    }
    require_module(binder, module, permission)
}

/// Checks the permission to take values of a sequence: UPDATE.
///
/// # Errors
/// 229 if it is missing.
pub fn require_sequence(binder: &Binder<'_>, database: &str, sequence: &SequenceDef) -> Result<()> {
    let Some(database) = binder.catalog.database(database) else { return Ok(()) };
    let (schema, name) = (sequence.schema.as_str(), sequence.name.as_str());
    let schema_id = database.schema(schema).map_or(DBO, |schema| schema.id);
    ask(binder, database.id, &Securable { id: sequence.id, schema_id, schema, name }, "UPDATE")
}

/// Checks permissions on the target of a data-changing statement; `from` resolves aliases. Returns
/// the synonym whose permissions are those for reading its columns, if the target is named by one.
///
/// # Errors
/// 229; 46519 for an external table, which cannot be changed.
pub fn require_target(
    binder: &mut Binder<'_>,
    target: &Target,
    from: &[TableRef],
    permissions: &[&str],
) -> Result<Option<Guarded>> {
    let TargetKind::Name(name) = &target.kind else { return Ok(None) };
    let name = name.as_simple().and_then(|alias| named(from, alias)).unwrap_or(name);
    // The binder reports a name that does not resolve.
    let Ok(resolved) = resolve_table(binder, name) else { return Ok(None) };
    if let Resolved::Table(table) = &resolved
        && table.external.is_some()
    {
        return Err(Error::from(Msg::ExternalDml).with_state(16));
    }
    for permission in permissions {
        require_named(binder, name, &resolved, permission)?;
    }
    Ok(Guarded::of_synonym(binder, name, &resolved))
}

/// Finds the table that an alias of FROM refers to.
pub fn named<'f>(from: &'f [TableRef], alias: &str) -> Option<&'f ObjectName> {
    from.iter().find_map(|table| match &table.kind {
        TableRefKind::Table(source) => {
            let is_it = source.alias.as_deref().is_some_and(|a| Name::same(a, alias));
            is_it.then_some(&source.name)
        }
        TableRefKind::Joined { first, joins } => named(std::slice::from_ref(first), alias)
            .or_else(|| joins.iter().find_map(|j| named(std::slice::from_ref(&j.right), alias))),
        _ => None,
    })
}

/// Returns the permissions that guard the columns of an object, and its database; `None` if no check is
/// needed.
fn guarded_by<'a>(
    binder: &Binder<'a>,
    database_id: i16,
    object: &Securable<'_>,
) -> Option<(&'a Rights, &'a Arc<Database>)> {
    let rights = binder.asked_about(database_id, (object.id, object.schema_id))?;
    let catalog: &'a Catalog = binder.catalog;
    Some((rights, catalog.database_by_id(database_id)?))
}

/// Returns the column permissions of a resolved object with this many columns.
pub fn guard(
    binder: &Binder<'_>,
    database_id: i16,
    object: &Securable<'_>,
    columns: usize,
) -> Option<Arc<Guard>> {
    let (rights, database) = guarded_by(binder, database_id, object)?;
    Guard::of(rights, database, object, columns)
}

/// Returns the permissions for reading and changing columns of a statement's target: see
/// [`Guard::of_target`].
pub fn target_guard(
    binder: &Binder<'_>,
    database_id: i16,
    object: &Securable<'_>,
    columns: usize,
) -> Option<Arc<Guard>> {
    let (rights, database) = guarded_by(binder, database_id, object)?;
    Guard::of_target(rights, database, object, columns)
}

/// Returns the column permissions for OUTPUT of an object: see [`Guard::of_output`].
pub fn output_guard(
    binder: &Binder<'_>,
    database_id: i16,
    object: &Securable<'_>,
    places: impl Iterator<Item = Option<usize>>,
) -> Option<Arc<Guard>> {
    let (rights, database) = guarded_by(binder, database_id, object)?;
    Guard::of_output(rights, database, object, places)
}
