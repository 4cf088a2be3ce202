//! Lookup of names and ids in a catalog snapshot.

use std::sync::Arc;

use super::name::{Name, Parts};
use super::object_index::ObjectIndex;
use super::{
    Catalog, DBO, Database, IndexDef, ModuleDef, Object, Principal, PrincipalKind, ProcedureDef,
    Schema, TableDef, UserType,
};

impl Catalog {
    /// Merges the changes that a session made to its own snapshot `mine`, which was copied from
    /// `base`.
    pub fn take_changes(&mut self, base: &Self, mine: &Self) {
        super::merge::merge(base, mine, self);
    }

    /// Finds a database by name.
    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(&(name, "") as &dyn Parts)
    }

    /// Finds a database by id.
    pub fn database_by_id(&self, id: i16) -> Option<&Arc<Database>> {
        self.databases.values().find(|d| d.id == id)
    }

    /// Returns a database to be changed; a shared one is copied. `None` if there is none of that
    /// name.
    pub fn database_mut(&mut self, name: &str) -> Option<&mut Database> {
        let database = Arc::make_mut(self.databases.get_mut(&Name::new(name))?);
        database.index = ObjectIndex::default();
        Some(database)
    }

    /// Finds an object by database, schema and name.
    pub fn find_object(&self, database: &str, schema: &str, name: &str) -> Option<&Object> {
        self.database(database)?.object(schema, name)
    }

    /// Finds a table by database, schema and name.
    pub fn find_table(&self, database: &str, schema: &str, name: &str) -> Option<&Arc<TableDef>> {
        match self.find_object(database, schema, name)? {
            Object::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Finds a procedure by database, schema and name.
    pub fn find_procedure(
        &self,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Option<&Arc<ProcedureDef>> {
        match self.find_object(database, schema, name)? {
            Object::Procedure(procedure) => Some(procedure),
            _ => None,
        }
    }
}

impl Database {
    /// Finds a user that EXECUTE AS may name: no role, and no principal that only owns schemas.
    pub fn user(&self, name: &str) -> Option<&Principal> {
        const OWNERS_ONLY: [&str; 2] = ["sys", "INFORMATION_SCHEMA"];
        let found = self.principals.get(&Name::new(name))?;
        let is_user = found.kind == PrincipalKind::SqlUser
            && !OWNERS_ONLY.iter().any(|owner| Name::same(owner, &found.name));
        is_user.then_some(&**found)
    }

    /// Finds a schema by name.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.get(&(name, "") as &dyn Parts)
    }

    /// Finds an object by schema and name.
    pub fn object(&self, schema: &str, name: &str) -> Option<&Object> {
        self.objects.get(&(schema, name) as &dyn Parts)
    }

    /// Finds an object by id.
    pub fn object_by_id(&self, id: i32) -> Option<&Object> {
        self.object_with(id).filter(|object| object.id() == id)
    }

    /// Finds a table by id.
    pub fn table_by_id(&self, id: i32) -> Option<&Arc<TableDef>> {
        match self.object_with(id)? {
            Object::Table(table) if table.id == id => Some(table),
            _ => None,
        }
    }

    /// Finds an alias type or table type by schema and name.
    pub fn user_type(&self, schema: &str, name: &str) -> Option<&Arc<UserType>> {
        self.types.get(&(schema, name) as &dyn Parts)
    }

    /// Iterates over the compiled definitions of the table types.
    pub fn table_types(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.types.values().filter_map(|user_type| user_type.shape.as_ref())
    }

    /// Iterates over the triggers of a table, with their definitions.
    pub fn triggers_on(
        &self,
        table: i32,
    ) -> impl Iterator<Item = (&Arc<ModuleDef>, &tsql::ast::CreateTrigger)> {
        self.objects.values().filter_map(move |object| match object {
            Object::Trigger(trigger) if trigger.parent_id == table => match &trigger.ast.kind {
                tsql::ast::StatementKind::CreateTrigger(create) => Some((trigger, &**create)),
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns whether foreign keys of other tables refer to this one.
    pub fn is_referenced_by_others(&self, id: i32) -> bool {
        self.tables().any(|t| t.id != id && t.foreign_keys.iter().any(|k| k.referenced == id))
    }

    /// Iterates over the tables of all schemas.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.objects.values().filter_map(|o| match o {
            Object::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Returns the owner of a type: its own, or that of its schema.
    pub fn owner_of_type(&self, of: &UserType) -> i32 {
        let of_schema = || self.schema(&of.schema).map_or(DBO, |schema| schema.owner);
        of.owner.unwrap_or_else(of_schema)
    }

    /// Inserts an object, or replaces the one of the same name.
    pub fn put(&mut self, object: Object) {
        self.objects.insert((Name::new(object.schema()), Name::new(object.name())), object);
    }

    /// Returns whether a constraint or object of this schema has the name: they share a namespace.
    pub fn is_name_taken(&self, schema: &str, name: &str) -> bool {
        self.object(schema, name).is_some()
            || self.tables().any(|t| {
                Name::same(&t.schema, schema) && t.constraint_names().any(|n| Name::same(n, name))
            })
    }
}

impl TableDef {
    /// Finds a column's ordinal by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| Name::same(&c.name, name))
    }

    /// Finds an index's position by name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| Name::same(&i.name, name))
    }

    /// Iterates over its indexes, disabled ones included.
    pub fn all_indexes(&self) -> impl Iterator<Item = &IndexDef> {
        self.indexes.iter().chain(&self.disabled)
    }

    /// Iterates over its indexes, disabled ones included, to change their definitions.
    pub fn all_indexes_mut(&mut self) -> impl Iterator<Item = &mut IndexDef> {
        self.indexes.iter_mut().chain(&mut self.disabled)
    }

    /// Finds a disabled index's position by name.
    pub fn disabled_index(&self, name: &str) -> Option<usize> {
        self.disabled.iter().position(|i| Name::same(&i.name, name))
    }

    /// Returns whether it has an index of this name, disabled or not.
    pub fn has_index(&self, name: &str) -> bool {
        self.index(name).is_some() || self.disabled_index(name).is_some()
    }

    /// Returns whether any of its indexes is disabled.
    pub fn has_disabled(&self) -> bool {
        !self.disabled.is_empty() || self.disabled_columns.is_some()
    }

    /// Returns whether its nonclustered columnstore index has this name and is disabled.
    pub fn has_disabled_columns(&self, name: &str) -> bool {
        self.disabled_columns.as_ref().is_some_and(|index| Name::same(&index.name, name))
    }

    /// Returns the clustered index if it is disabled.
    pub fn disabled_clustered(&self) -> Option<&IndexDef> {
        self.disabled.iter().find(|index| index.clustered)
    }

    /// Returns the highest `index_id` of a rowstore index; 1 without one.
    pub fn highest_index_id(&self) -> i32 {
        self.all_indexes().map(|index| index.id).max().unwrap_or(1).max(1)
    }

    /// Returns the definition as the catalog views show it, with the disabled indexes among the others.
    #[must_use]
    pub fn with_disabled(self: &Arc<Self>) -> Arc<Self> {
        if !self.has_disabled() {
            return Arc::clone(self);
        }
        let mut shown = Self::clone(self);
        shown.indexes.extend(self.disabled.iter().cloned());
        shown.indexes.sort_by_key(|index| index.id);
        if let Some(columns) = &self.disabled_columns {
            shown.column_index = Some(columns.clone());
        }
        Arc::new(shown)
    }

    /// Iterates over the names of its constraints.
    pub fn constraint_names(&self) -> impl Iterator<Item = &str> {
        let keys = self.all_indexes().filter(|i| i.constraint.is_some()).map(|i| i.name.as_str());
        let checks = self.checks.iter().map(|c| c.name.as_str());
        let foreign = self.foreign_keys.iter().map(|f| f.name.as_str());
        let defaults = self.columns.iter().filter_map(|c| c.default.as_ref());
        keys.chain(checks).chain(foreign).chain(defaults.map(|d| d.name.as_str()))
    }

    /// Returns whether any index skips duplicates instead of refusing them.
    pub fn has_ignore_dup_key(&self) -> bool {
        self.indexes.iter().any(|i| i.ignore_dup_key)
    }

    /// Returns whether the index with this storage id skips duplicates.
    pub fn ignores_duplicates(&self, index: storage::IndexId) -> bool {
        self.indexes.iter().any(|i| i.ignore_dup_key && i.storage_id() == index)
    }

    /// Returns `schema.name`, as messages name a table.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

impl Object {
    /// Returns the object id.
    pub fn id(&self) -> i32 {
        match self {
            Self::Table(o) => o.id,
            Self::Procedure(o) => o.id,
            Self::View(o) | Self::Function(o) | Self::Trigger(o) => o.id,
            Self::Synonym(o) => o.id,
            Self::Sequence(o) => o.id,
        }
    }

    /// Returns the schema's name.
    pub fn schema(&self) -> &str {
        match self {
            Self::Table(o) => &o.schema,
            Self::Procedure(o) => &o.schema,
            Self::View(o) | Self::Function(o) | Self::Trigger(o) => &o.schema,
            Self::Synonym(o) => &o.schema,
            Self::Sequence(o) => &o.schema,
        }
    }

    /// Returns the name as created.
    pub fn name(&self) -> &str {
        match self {
            Self::Table(o) => &o.name,
            Self::Procedure(o) => &o.name,
            Self::View(o) | Self::Function(o) | Self::Trigger(o) => &o.name,
            Self::Synonym(o) => &o.name,
            Self::Sequence(o) => &o.name,
        }
    }

    /// Returns the keyword for its kind in DROP.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "table",
            Self::Procedure(_) => "procedure",
            Self::View(_) => "view",
            Self::Function(_) => "function",
            Self::Trigger(_) => "trigger",
            Self::Synonym(_) => "synonym",
            Self::Sequence(_) => "sequence object",
        }
    }
}
