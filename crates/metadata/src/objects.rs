//! Rows that several views and functions show of the catalog: objects (constraints are objects
//! too), columns of tables and views, parameters, modules.

use std::sync::Arc;

use tsql::ast::{self, StatementKind};
use types::value::ColumnType;
use types::{DataType, Value};

use crate::system_objects::{
    msdb_views, schema_of, system_objects, system_objects_that, system_row,
};
use crate::view::Scope;
use ::catalog::name::Name;
use ::catalog::{
    Catalog, ColumnDef, DBO_SCHEMA, Database, ForeignKeyDef, Generated, IndexConstraint, IndexDef,
    ModuleDef, Object, ParameterDef, TableDef, Versioning,
};
use ::plan::sink::Traits;
use ::plan::view::SystemView;
use ::session::SessionState;
use ::session::describer::ViewColumn;

/// An object: a row of `sys.objects`.
#[derive(Clone, Debug)]
pub struct ObjectRow {
    /// `name`, without the schema.
    pub name: String,
    /// `object_id`: unique in the database.
    pub id: i32,
    /// Name of the object's schema.
    pub schema: String,
    /// `schema_id` of the object's schema.
    pub schema_id: i32,
    /// `principal_id`: the owner set with ALTER AUTHORIZATION; `None` where the schema's owner owns
    /// it.
    pub owner: Option<i32>,
    /// `parent_object_id`: the table of a constraint or trigger; 0 for other objects.
    pub parent_id: i32,
    /// `type`: one or two letters, such as `U` for a table.
    pub code: &'static str,
    /// `create_date`: a `datetime` in local time.
    pub created: Value,
    /// `modify_date`: a `datetime` in local time.
    pub modified: Value,
    /// `is_ms_shipped`: whether the object is part of the server.
    pub system: bool,
    /// Whether it is a view WITH CHECK OPTION.
    pub check_option: bool,
    /// Whether it is a view WITH VIEW_METADATA.
    pub view_metadata: bool,
}

/// Returns `type_desc` of a `type`, such as `USER_TABLE`.
pub fn type_description(code: &str) -> &'static str {
    match code {
        "C" => "CHECK_CONSTRAINT",
        "D" => "DEFAULT_CONSTRAINT",
        "F" => "FOREIGN_KEY_CONSTRAINT",
        "FN" => "SQL_SCALAR_FUNCTION",
        "IF" => "SQL_INLINE_TABLE_VALUED_FUNCTION",
        "P" => "SQL_STORED_PROCEDURE",
        "PK" => "PRIMARY_KEY_CONSTRAINT",
        "SN" => "SYNONYM",
        "SO" => "SEQUENCE_OBJECT",
        "TF" => "SQL_TABLE_VALUED_FUNCTION",
        "TR" => "SQL_TRIGGER",
        "TT" => "TYPE_TABLE",
        "U" => "USER_TABLE",
        "UQ" => "UNIQUE_CONSTRAINT",
        "V" => "VIEW",
        "X" => "EXTENDED_STORED_PROCEDURE",
        _ => "",
    }
}

/// Returns the tables of a database by `object_id`; in tempdb also the session's temporary tables. Disabled indexes are
/// among the others.
pub fn tables(session: &SessionState, database: &Database) -> Vec<Arc<TableDef>> {
    let mut tables: Vec<_> = database.tables().map(TableDef::with_disabled).collect();
    if Name::same(&database.name, "tempdb") {
        tables.extend(session.temp.iter().map(TableDef::with_disabled));
    }
    tables.sort_by_key(|table| table.id);
    tables
}

/// Returns the tables of a database as [`tables`] does, and those of its table types, which have
/// columns, indexes and constraints in the catalog views, too.
pub fn tables_and_types(session: &SessionState, database: &Database) -> Vec<Arc<TableDef>> {
    let mut tables = tables(session, database);
    tables.extend(database.table_types().map(Arc::clone));
    tables.sort_by_key(|table| table.id);
    tables
}

/// Returns all objects of a database by `object_id`, constraints included.
pub fn objects(session: &SessionState, database: &Database) -> Vec<ObjectRow> {
    let mut rows = Vec::new();
    for table in tables(session, database) {
        let first = rows.len();
        push_table(&table, "U", &mut rows);
        rows[first].owner = database.owners.get(&table.id).copied();
    }
    for table in database.table_types() {
        push_table(table, "TT", &mut rows);
    }
    for object in database.objects.values() {
        if let Some(row) = module_row(object, database) {
            rows.push(row);
        }
    }
    rows.extend(msdb_rows(session, database));
    rows.sort_by_key(|row| row.id);
    rows
}

/// Returns the row of an object, with those of a table's constraints.
fn rows_of(object: &Object, database: &Database) -> Vec<ObjectRow> {
    let mut rows = Vec::new();
    match object {
        Object::Table(table) => {
            push_table(table, "U", &mut rows);
            rows[0].owner = database.owners.get(&table.id).copied();
        }
        module => rows.extend(module_row(module, database)),
    }
    rows
}

/// Returns the rows of objects that a database does not keep by name: table types, the tables of msdb,
/// and in tempdb the session's temporary tables.
fn others<'d>(
    session: &'d SessionState,
    database: &'d Database,
) -> impl Iterator<Item = ObjectRow> + 'd {
    let is_tempdb = Name::same(&database.name, "tempdb");
    let temporary = is_tempdb.then(|| session.temp.iter()).into_iter().flatten();
    let types = database.table_types().map(|table| (table, "TT"));
    let tables = temporary.map(|table| (table, "U")).chain(types).flat_map(|(table, code)| {
        let mut rows = Vec::new();
        push_table(table, code, &mut rows);
        rows
    });
    tables.chain(msdb_rows(session, database))
}

fn msdb_rows<'d>(
    session: &'d SessionState,
    database: &'d Database,
) -> impl Iterator<Item = ObjectRow> + 'd {
    msdb_views(session, database).map(|(id, view)| {
        let code = if view.name().ends_with("_view") { "V" } else { "U" };
        ObjectRow { code, ..system_row(session, id, view) }
    })
}

/// Adds a table with its constraints. `code` is the table's `type`.
fn push_table(table: &TableDef, code: &'static str, rows: &mut Vec<ObjectRow>) {
    let row = |name: &str, id, parent_id, code| ObjectRow {
        name: name.to_owned(),
        id,
        schema: table.schema.clone(),
        schema_id: table.schema_id,
        owner: None,
        parent_id,
        code,
        created: table.created.clone(),
        modified: table.created.clone(),
        system: false,
        check_option: false,
        view_metadata: false,
    };
    rows.push(row(&table.name, table.id, 0, code));
    for index in &table.indexes {
        let code = match index.constraint {
            Some(IndexConstraint::PrimaryKey) => "PK",
            Some(IndexConstraint::Unique) => "UQ",
            None => continue,
        };
        rows.push(row(&index.name, index.constraint_id, table.id, code));
    }
    rows.extend(table.checks.iter().map(|c| row(&c.name, c.id, table.id, "C")));
    rows.extend(table.foreign_keys.iter().map(|f| row(&f.name, f.id, table.id, "F")));
    let defaults = table.columns.iter().filter_map(|c| c.default.as_ref());
    rows.extend(defaults.map(|d| row(&d.name, d.id, table.id, "D")));
}

/// Returns true if an object is a view WITH CHECK OPTION.
pub fn checks_option(object: &Object) -> bool {
    let Object::View(view) = object else { return false };
    matches!(&view.ast.kind, StatementKind::CreateView(view) if view.check_option)
}

fn has_view_metadata(object: &Object) -> bool {
    let Object::View(view) = object else { return false };
    let StatementKind::CreateView(view) = &view.ast.kind else { return false };
    view.options.iter().any(|option| **option == *"VIEW_METADATA")
}

fn module_row(object: &Object, database: &Database) -> Option<ObjectRow> {
    let schema_id = || database.schema(object.schema()).map_or(0, |s| s.id);
    let (schema_id, parent_id, code, created, modified) = match object {
        Object::Table(_) => return None,
        Object::Procedure(p) => (p.schema_id, 0, "P", p.created.clone(), p.modified.clone()),
        Object::View(m) | Object::Function(m) | Object::Trigger(m) => {
            (m.schema_id, m.parent_id, m.type_code, m.created.clone(), m.created.clone())
        }
        // The catalog keeps no time for these: the time of the database is the earliest possible.
        Object::Synonym(_) => {
            (schema_id(), 0, "SN", database.created.clone(), database.created.clone())
        }
        Object::Sequence(_) => {
            (schema_id(), 0, "SO", database.created.clone(), database.created.clone())
        }
    };
    Some(ObjectRow {
        name: object.name().to_owned(),
        id: object.id(),
        schema: object.schema().to_owned(),
        schema_id,
        owner: database.owners.get(&object.id()).copied(),
        parent_id,
        code,
        created,
        modified,
        system: false,
        check_option: checks_option(object),
        view_metadata: has_view_metadata(object),
    })
}

/// A column of a table or view: a row of `sys.columns`.
#[derive(Clone, Debug)]
pub struct ColumnRow {
    /// `object_id` of the table or view.
    pub object_id: i32,
    /// Name of the object's schema.
    pub schema: String,
    /// Name of the table or view.
    pub table: String,
    /// `column_id`, from 1; numbers of dropped columns are not reused.
    pub id: i32,
    /// `name` of the column.
    pub name: String,
    /// Type, collation and nullability.
    pub ty: ColumnType,
    /// `user_type_id`: the alias type's where the column has one.
    pub user_type_id: i32,
    /// Schema and name of the column's alias type, if it has one.
    pub alias: Option<(String, String)>,
    /// What a view's column has from the table's column that it is, and a table's column itself.
    pub traits: Traits,
    /// The column's definition; `None` for a view's column.
    pub definition: Option<ColumnDef>,
}

/// Returns the columns of the database's tables, table types and views, ordered by `object_id` and
/// `column_id`.
pub fn columns(scope: &Scope<'_>) -> Vec<ColumnRow> {
    let mut rows = columns_of_tables_and_views(scope);
    for table in scope.database.table_types() {
        push_columns(scope.database, table, &mut rows);
    }
    rows.sort_by_key(|row| row.object_id);
    rows
}

/// Returns the columns of the database's tables and views, ordered by `object_id` and `column_id`:
/// those of INFORMATION_SCHEMA, which has no table types.
pub fn columns_of_tables_and_views(scope: &Scope<'_>) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    for table in tables(scope.session, scope.database) {
        push_columns(scope.database, &table, &mut rows);
    }
    for object in scope.database.objects.values() {
        if let Object::View(view) = object {
            push_view_columns(scope.session, scope.database, view, &mut rows);
        }
    }
    for view in msdb_views(scope.session, scope.database) {
        push_system_columns(view, &mut rows);
    }
    // A stable sort: the columns of one object are in order already.
    rows.sort_by_key(|row| row.object_id);
    rows
}

/// Returns the columns of one table, table type, view or system view, by `object_id`; empty for other ids.
pub fn columns_of(session: &SessionState, database: &Database, id: i32) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    let own = session.temp.iter().find(|table| table.id == id);
    let of_type = || database.table_types().find(|table| table.id == id);
    if let Some(table) = own.or_else(|| database.table_by_id(id)).or_else(of_type) {
        push_columns(database, table, &mut rows);
        return rows;
    }
    if let Some(Object::View(view)) = database.object_by_id(id) {
        push_view_columns(session, database, view, &mut rows);
        return rows;
    }
    let library = session.instance.library;
    msdb_views(session, database)
        .chain(library.views())
        .filter(|view| view.0 == id)
        .for_each(|view| push_system_columns(view, &mut rows));
    rows
}

fn push_view_columns(
    session: &SessionState,
    database: &Database,
    view: &ModuleDef,
    rows: &mut Vec<ColumnRow>,
) {
    let columns = view_columns(session, database, &view.schema, &view.name);
    rows.extend((1..).zip(columns).map(|(id, column)| ColumnRow {
        object_id: view.id,
        schema: view.schema.clone(),
        table: view.name.clone(),
        id,
        name: column.name,
        ty: column.ty,
        user_type_id: match column.traits.numeric {
            true => NUMERIC_ID,
            false => column.ty.data_type.user_type_id(),
        },
        alias: None,
        traits: column.traits,
        definition: None,
    }));
}

/// Adds the columns of a table.
pub fn push_columns(database: &Database, table: &TableDef, rows: &mut Vec<ColumnRow>) {
    for (id, column) in (1..).zip(&table.columns) {
        let alias = column.user_type.clone();
        let user_type_id = match column.numeric {
            true => NUMERIC_ID,
            false => type_id(database, &column.ty.data_type, alias.as_ref()),
        };
        rows.push(ColumnRow {
            object_id: table.id,
            schema: table.schema.clone(),
            table: table.name.clone(),
            id,
            name: column.name.clone(),
            ty: column.ty,
            user_type_id,
            alias,
            traits: Traits::of(column),
            definition: Some(column.clone()),
        });
    }
}

/// Returns the columns of the system views.
pub fn system_columns(session: &SessionState) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    session.instance.library.views().for_each(|view| push_system_columns(view, &mut rows));
    rows
}

fn push_system_columns((object_id, view): (i32, &dyn SystemView), rows: &mut Vec<ColumnRow>) {
    rows.extend((1..).zip(view.columns()).map(|(id, (name, ty))| ColumnRow {
        object_id,
        schema: schema_of(view).to_owned(),
        table: view.name().to_owned(),
        id,
        name: name.to_owned(),
        ty,
        user_type_id: ty.data_type.user_type_id(),
        alias: None,
        traits: Traits::default(),
        definition: None,
    }));
}

/// Returns a column's `user_type_id`: the alias type's if it has one.
fn type_id(database: &Database, data_type: &DataType, alias: Option<&(String, String)>) -> i32 {
    match alias {
        None => data_type.user_type_id(),
        Some((_, name)) if Name::same(name, "sysname") => SYSNAME_ID,
        Some((schema, name)) => {
            database.user_type(schema, name).map_or(data_type.user_type_id(), |t| t.id)
        }
    }
}

/// Both `user_type_id` and `system_type_id` of `numeric`.
const NUMERIC_ID: i32 = 108;

/// `user_type_id` of the type `sysname`.
pub const SYSNAME_ID: i32 = 256;

/// Returns a view's columns by binding its query; empty if it no longer binds.
pub fn view_columns(
    session: &SessionState,
    database: &Database,
    schema: &str,
    name: &str,
) -> Vec<ViewColumn> {
    let describer = session.instance.describer;
    describer.view_columns(session, &database.name, schema, name).unwrap_or_default()
}

/// A parameter: a row of `sys.parameters`.
#[derive(Clone, Debug)]
pub struct ParameterRow {
    /// `object_id` of the procedure or function.
    pub object_id: i32,
    /// Schema of the procedure or function.
    pub schema: String,
    /// Name of the procedure or function.
    pub procedure: String,
    /// `parameter_id`, from 1; 0 for the value that a scalar function returns.
    pub id: i32,
    /// Name, type and default; the name is empty for a return value.
    pub definition: ParameterDef,
}

/// Returns the parameters of the database's procedures and functions, and the return values of
/// scalar functions.
pub fn parameters(database: &Database) -> Vec<ParameterRow> {
    let mut rows = Vec::new();
    for object in database.objects.values() {
        let (id, schema, name, parameters, returned) = match object {
            Object::Procedure(p) => (p.id, &p.schema, &p.name, &p.parameters, None),
            Object::Function(f) => {
                let Some(routine) = &f.routine else { continue };
                (f.id, &f.schema, &f.name, &routine.parameters, routine.returns)
            }
            _ => continue,
        };
        let returned = returned.map(|ty| ParameterDef {
            name: String::new(),
            ty,
            table_type: None,
            default: None,
            default_function: None,
            output: true,
            cursor: false,
        });
        let numbered = (1..).zip(parameters.iter().cloned());
        for (number, definition) in returned.into_iter().map(|r| (0, r)).chain(numbered) {
            rows.push(ParameterRow {
                object_id: id,
                schema: schema.clone(),
                procedure: name.clone(),
                id: number,
                definition,
            });
        }
    }
    rows
}

/// Finds an object by schema and name: a table, module, constraint or system view.
pub fn find_object(
    session: &SessionState,
    database: &Database,
    schema: Option<&str>,
    name: &str,
) -> Option<ObjectRow> {
    let first = session.identity.rights.default_schema(database);
    let is_there = |schema: &str| {
        database.object(schema, name).is_some()
            || database
                .tables_with_constraint(name)
                .iter()
                .any(|object| Name::same(object.schema(), schema))
    };
    let default = if first != DBO_SCHEMA && is_there(first) { first } else { DBO_SCHEMA };
    let schema_of_own = schema.unwrap_or(default);
    let in_schema =
        |row: &ObjectRow| Name::same(&row.name, name) && Name::same(&row.schema, schema_of_own);
    // Constraints and objects share a name space.
    let owners = match database.object(schema_of_own, name) {
        Some(object) => vec![object],
        None => database.tables_with_constraint(name),
    };
    let mut own: Vec<ObjectRow> =
        owners.into_iter().flat_map(|object| rows_of(object, database)).filter(in_schema).collect();
    own.extend(others(session, database).filter(in_schema));
    own.into_iter().min_by_key(|row| row.id).or_else(|| {
        let in_schema = |row: &ObjectRow| match schema {
            Some(schema) => Name::same(&row.schema, schema),
            None => row.schema == "sys",
        };
        system_objects_that(session, |_, own| Name::same(own, name)).find(in_schema)
    })
}

/// Finds an object of a database by `object_id`.
pub fn object_by_id(session: &SessionState, database: &Database, id: i32) -> Option<ObjectRow> {
    let is_it = |row: &ObjectRow| row.id == id;
    let own = database.object_with(id).into_iter().flat_map(|owner| rows_of(owner, database));
    let found = own.chain(others(session, database)).find(is_it);
    found.or_else(|| system_objects_that(session, |own, _| own == id).next())
}

/// Returns the target of a synonym of the database; `None` if it is missing.
pub fn base_of_synonym(session: &SessionState, database: &Database, id: i32) -> Option<ObjectRow> {
    let target = database.objects.values().find_map(|object| match object {
        Object::Synonym(synonym) if synonym.id == id => Some(&synonym.target),
        _ => None,
    })?;
    let named = target.database.as_deref().filter(|name| !name.is_empty());
    let database = match named {
        None => database,
        Some(name) => session.catalog.database(name)?,
    };
    // The target has the schema that it was created with.
    let schema = target.schema.as_deref().filter(|name| !name.is_empty()).unwrap_or(DBO_SCHEMA);
    let id = database.object(schema, &target.object)?.id();
    object_by_id(session, database, id)
}

/// Returns the objects whose `type` is one of `codes`.
pub fn of_kind(session: &SessionState, database: &Database, codes: &[&str]) -> Vec<ObjectRow> {
    let mut rows = objects(session, database);
    rows.retain(|row| codes.contains(&row.code));
    rows
}

/// Returns the objects of the database and the system's.
pub fn all_objects(session: &SessionState, database: &Database) -> Vec<ObjectRow> {
    let mut rows = objects(session, database);
    rows.extend(system_objects(session));
    rows
}

/// Returns a table as a row of `sys.objects`.
pub fn table_row(table: &TableDef) -> ObjectRow {
    ObjectRow {
        name: table.name.clone(),
        id: table.id,
        schema: table.schema.clone(),
        schema_id: table.schema_id,
        owner: None,
        parent_id: 0,
        code: "U",
        created: table.created.clone(),
        modified: table.created.clone(),
        system: false,
        check_option: false,
        view_metadata: false,
    }
}

impl ColumnRow {
    /// Returns what `test` says of the column's definition; false for a view's column.
    pub fn is(&self, test: impl FnOnce(&ColumnDef) -> bool) -> bool {
        self.definition.as_ref().is_some_and(test)
    }

    /// `system_type_id`: 108 if declared as `numeric`, otherwise the type's own number.
    pub fn system_type_id(&self) -> u8 {
        match self.traits.numeric {
            true => u8::try_from(NUMERIC_ID).unwrap_or(u8::MAX),
            false => self.ty.data_type.system_type_id(),
        }
    }

    /// Returns the type's name as declared: `numeric` or `decimal`.
    pub fn type_name(&self) -> &'static str {
        match self.traits.numeric {
            true => "numeric",
            false => self.ty.data_type.name(),
        }
    }

    /// Returns `default_object_id`: that of the DEFAULT constraint; 0 without one.
    pub fn default_id(&self) -> i32 {
        self.definition.as_ref().and_then(|d| d.default.as_ref()).map_or(0, |d| d.id)
    }
}

impl ParameterRow {
    /// `system_type_id`: 243 for a table type.
    pub fn system_type_id(&self) -> u8 {
        match &self.definition.table_type {
            Some(_) => 243,
            None => self.definition.ty.data_type.system_type_id(),
        }
    }

    /// `user_type_id`: the table type's for a table-valued parameter.
    pub fn user_type_id(&self) -> i32 {
        match &self.definition.table_type {
            Some(table) => table.id,
            None => self.definition.ty.data_type.user_type_id(),
        }
    }
}

/// A module: a row of `sys.sql_modules`, for a procedure, view, function or trigger.
pub struct ModuleRow {
    /// `object_id` of the module.
    pub id: i32,
    /// `definition`; `None` (NULL) for a module WITH ENCRYPTION.
    pub text: Option<String>,
    /// `uses_ansi_nulls`: SET ANSI_NULLS when it was created.
    pub ansi_nulls: bool,
    /// `uses_quoted_identifier`: SET QUOTED_IDENTIFIER when it was created.
    pub quoted_identifier: bool,
    /// `uses_native_compilation`: NATIVE_COMPILATION, which requires SCHEMABINDING.
    pub native: bool,
    /// `is_schema_bound`: created WITH SCHEMABINDING.
    pub schema_bound: bool,
    /// `is_recompiled`: created WITH RECOMPILE.
    pub recompiled: bool,
    /// `null_on_null_input`: RETURNS NULL ON NULL INPUT.
    pub null_on_null: bool,
    /// `execute_as_principal_id`: WITH EXECUTE AS; `None` for CALLER.
    pub execute_as: Option<::catalog::ExecuteAs>,
}

fn of_module(module: &ModuleDef) -> ModuleRow {
    ModuleRow {
        id: module.id,
        text: (!module.is_encrypted()).then(|| module.text.clone()),
        ansi_nulls: module.options.ansi_nulls,
        quoted_identifier: module.options.quoted_identifier,
        native: false,
        schema_bound: is_bound(&module.ast.kind),
        recompiled: false,
        null_on_null: matches!(
            &module.ast.kind,
            ast::StatementKind::CreateFunction(function)
                if function.options.contains(&ast::RoutineOption::ReturnsNullOnNullInput)
        ),
        execute_as: module.execute_as,
    }
}

/// Returns the modules of a database.
pub fn modules(database: &Database) -> Vec<ModuleRow> {
    let of_objects = database.objects.values().filter_map(module_of);
    let all = of_objects.chain(database.triggers.values().map(|trigger| of_module(trigger)));
    let shown = |row: ModuleRow| match database.withheld.contains(&row.id) {
        true => ModuleRow { text: None, ..row },
        false => row,
    };
    all.map(shown).collect()
}

fn module_of(object: &Object) -> Option<ModuleRow> {
    match object {
        Object::Procedure(p) => Some(ModuleRow {
            id: p.id,
            text: (!p.is_encrypted()).then(|| p.text.clone()),
            ansi_nulls: p.options.ansi_nulls,
            quoted_identifier: p.options.quoted_identifier,
            native: p.native,
            schema_bound: p.ast.options.contains(&ast::RoutineOption::SchemaBinding),
            recompiled: p.ast.options.contains(&ast::RoutineOption::Recompile),
            null_on_null: false,
            execute_as: p.execute_as,
        }),
        Object::View(m) | Object::Function(m) | Object::Trigger(m) => Some(of_module(m)),
        Object::Table(_) | Object::Synonym(_) | Object::Sequence(_) => None,
    }
}

/// Returns the server's modules, which are its triggers.
pub fn server_modules(catalog: &Catalog) -> Vec<ModuleRow> {
    catalog.triggers.values().map(|trigger| of_module(trigger)).collect()
}

/// Returns the `stats_id`s of a table: the ids of its indexes, then numbers above them for the
/// statistics that CREATE STATISTICS made.
pub fn statistics_ids(table: &TableDef) -> impl Iterator<Item = i32> {
    let own = (table.highest_index_id() + 1..).zip(&table.statistics).map(|(number, _)| number);
    table.indexes.iter().map(|index| index.id).chain(own)
}

/// Returns the definition of a module; `None` if there is no such module or its text is withheld.
pub fn definition(database: &Database, id: i32) -> Option<String> {
    if database.withheld.contains(&id) {
        return None;
    }
    let trigger = || database.triggers.values().find(|trigger| trigger.id == id);
    let of_object = database.object_by_id(id).and_then(module_of);
    of_object.or_else(|| trigger().map(|trigger| of_module(trigger)))?.text
}

/// Returns the collation's name of a string type; NULL for other types.
pub fn collation_name(ty: &ColumnType) -> Value {
    let string = ty.data_type.is_string() && ty.data_type != DataType::Xml;
    if string { Value::nvarchar(&ty.collation.name()) } else { Value::Null }
}

/// Returns the name of a collation's code page, as CHARACTER_SET_NAME of INFORMATION_SCHEMA has it.
pub fn character_set_name(collation: types::Collation) -> &'static str {
    match collation.code_page().number() {
        1252 => "iso_1",
        65_001 => "utf8",
        437 => "cp437",
        850 => "cp850",
        874 => "cp874",
        932 => "cp932",
        936 => "cp936",
        949 => "cp949",
        950 => "cp950",
        1250 => "cp1250",
        1251 => "cp1251",
        1253 => "cp1253",
        1254 => "cp1254",
        1255 => "cp1255",
        1256 => "cp1256",
        1257 => "cp1257",
        1258 => "cp1258",
        _ => "",
    }
}

/// Returns CHARACTER_SET_NAME of a string type; NULL for other types.
pub fn character_set(ty: &ColumnType) -> Value {
    match ty.data_type {
        DataType::Char(_) | DataType::VarChar(_) | DataType::Text => {
            Value::nvarchar(character_set_name(ty.collation))
        }
        DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText => Value::nvarchar("UNICODE"),
        _ => Value::Null,
    }
}

/// Finds the unique index of the referenced table that a foreign key refers to.
pub fn referenced_key<'t>(table: &'t TableDef, foreign: &ForeignKeyDef) -> Option<&'t IndexDef> {
    let covers = |index: &&IndexDef| {
        index.is_key()
            && index.keys.len() == foreign.referenced_columns.len()
            && foreign.referenced_columns.iter().all(|c| index.keys.iter().any(|k| k.0 == *c))
    };
    table.indexes.iter().find(covers)
}

/// Returns the last identity value that the table generated; `None` before the first.
pub fn last_identity(table: &TableDef) -> Option<i64> {
    let (seed, increment) = table.columns.iter().find_map(|c| c.identity)?;
    // Relaxed: a statistic.
    let next = table.rows.identity.peek();
    (next != seed).then(|| next - increment)
}

/// `generated_always_type` and its description.
pub fn generated_always(generated: Option<Generated>) -> (u8, &'static str) {
    match generated {
        None => (0, "NOT_APPLICABLE"),
        Some(Generated::RowStart) => (1, "AS_ROW_START"),
        Some(Generated::RowEnd) => (2, "AS_ROW_END"),
    }
}

/// `temporal_type` of a table and its description.
pub fn temporal_type(table: &TableDef) -> (u8, &'static str) {
    match table.versioning {
        Versioning::Off => (0, "NON_TEMPORAL_TABLE"),
        Versioning::History { .. } => (1, "HISTORY_TABLE"),
        Versioning::Current { .. } => (2, "SYSTEM_VERSIONED_TEMPORAL_TABLE"),
    }
}

/// Returns true if a view or function was created WITH SCHEMABINDING.
pub fn is_bound(kind: &ast::StatementKind) -> bool {
    match kind {
        ast::StatementKind::CreateView(view) => {
            view.options.iter().any(|option| **option == *"SCHEMABINDING")
        }
        ast::StatementKind::CreateFunction(function) => is_bound_routine(&function.options),
        _ => false,
    }
}

/// Returns true if a routine's options contain SCHEMABINDING.
pub fn is_bound_routine(options: &[ast::RoutineOption]) -> bool {
    options.contains(&ast::RoutineOption::SchemaBinding)
}

/// Returns the column names of a table or view; empty for an object without columns and for a view
/// that no longer binds.
pub fn columns_of_object(
    session: &SessionState,
    database: &Database,
    object: &Object,
) -> Vec<String> {
    match object {
        Object::Table(table) => table.columns.iter().map(|column| column.name.clone()).collect(),
        Object::View(view) => {
            let columns = view_columns(session, database, &view.schema, &view.name);
            columns.into_iter().map(|column| column.name).collect()
        }
        Object::Procedure(_)
        | Object::Function(_)
        | Object::Trigger(_)
        | Object::Sequence(_)
        | Object::Synonym(_) => Vec::new(),
    }
}
