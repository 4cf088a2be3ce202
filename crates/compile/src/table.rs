//! Makes the definitions of tables: those of CREATE TABLE, table variables, table types, and the
//! tables `inserted` and `deleted` of triggers.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{Msg, Result, Value};

use crate::refuse;
use crate::shape::{Place, Shaper, storage};
use ::binder::Binder;
use ::catalog::{ColumnDef, Database, ExternalPlace, ModuleDef, TableDef, UserType};
use ::session::SessionState;
use metadata::objects::view_columns;

/// `database_id` of tempdb, always 2.
const TEMPDB: i16 = 2;
/// Id and name of the schema that temporary tables and table variables belong to.
const DBO: (i32, &str) = (1, "dbo");
/// Id and name of the schema that SQL Server gives the tables of table types.
const SYS: (i32, &str) = (4, "sys");

/// The source of a table's columns.
pub enum Content<'a> {
    /// The text of CREATE TABLE.
    Elements(&'a ast::CreateTable),
    /// The columns of a query's result: SELECT .. INTO.
    Columns(Vec<ColumnDef>),
    /// The columns of an external table, and the place of its files.
    External(Vec<ColumnDef>, Arc<ExternalPlace>),
}

/// Makes the definition of a table and allocates its empty row store.
///
/// # Errors
/// The errors of its elements; 701 if there is not enough memory.
pub fn shape(
    session: &SessionState,
    database: &str,
    place: Place<'_>,
    content: Content<'_>,
) -> Result<TableDef> {
    let context = crate::binding::bare_context(session, database);
    let binder = context.binder();
    let instance = &session.instance;
    let shaper = Shaper::new(&binder, &instance.catalog, &instance.store, place);
    match content {
        Content::Elements(create) => {
            let shaper = shaper.asking(&session.identity.rights).stored(&create.storage);
            let table = shaper.build(&create.elements, &create.options)?;
            storage::check_large(&table.columns, &create.storage)?;
            Ok(table)
        }
        Content::Columns(columns) => shaper.build_of(columns),
        Content::External(columns, place) => {
            let table = shaper.build_of(columns)?;
            Ok(TableDef { external: Some(place), ..table })
        }
    }
}

/// Returns the place of a temporary table or table variable: tempdb, schema dbo, a new id.
pub fn temporary_place<'a>(session: &SessionState, name: &'a str, source: &'a str) -> Place<'a> {
    Place {
        id: session.instance.catalog.next_temporary_id(),
        database_id: TEMPDB,
        schema: (DBO.0, DBO.1.to_owned()),
        name,
        source,
        created: created(),
    }
}

/// Makes the definition of a table variable.
pub fn variable(
    session: &SessionState,
    binder: &Binder<'_>,
    name: &str,
    elements: &[ast::TableElement],
) -> Result<Arc<TableDef>> {
    variable_in(session, binder, name, elements, "")
}

/// Makes the definition of a table variable that is kept with the texts of its expressions, which
/// are in `source`.
pub fn variable_in(
    session: &SessionState,
    binder: &Binder<'_>,
    name: &str,
    elements: &[ast::TableElement],
    source: &str,
) -> Result<Arc<TableDef>> {
    if elements.iter().any(|element| matches!(element, ast::TableElement::Period(..))) {
        return Err(Msg::PeriodOfVariable.into());
    }
    let place = temporary_place(session, name, source);
    let instance = &session.instance;
    let shaper = Shaper::new(binder, &instance.catalog, &instance.store, place);
    let table = shaper.build(elements, &[])?;
    if table.columnstore.is_some() || table.column_index.is_some() {
        instance.store.drop_table(table.rows.data.id());
        return refuse("columnstore indexes of table variables");
    }
    Ok(Arc::new(table))
}

/// Makes the definition of a trigger's `inserted` or `deleted`: the table's columns, without keys,
/// defaults or identity.
///
/// # Errors
/// 701 if there is not enough memory.
pub fn image_of(session: &SessionState, name: &str, table: &TableDef) -> Result<Arc<TableDef>> {
    let plain = |column: &ColumnDef| ColumnDef {
        ty: ColumnType { nullable: true, ..column.ty },
        identity: None,
        default: None,
        computed: None,
        generated: None,
        ..column.clone()
    };
    let columns = table.columns.iter().map(plain).collect();
    let place = temporary_place(session, name, "");
    shape(session, &session.identity.database, place, Content::Columns(columns)).map(Arc::new)
}

/// Makes a table definition from the columns of a view, for its INSTEAD OF triggers. It never has
/// rows.
///
/// # Errors
/// 701 if there is not enough memory.
pub fn shape_of_view(
    session: &SessionState,
    database: &Database,
    view: &ModuleDef,
) -> Result<Arc<TableDef>> {
    let columns = view_columns(session, database, &view.schema, &view.name);
    let columns = columns.into_iter().map(|column| ColumnDef {
        name: column.name,
        ty: column.ty,
        user_type: None,
        identity: None,
        default: None,
        computed: None,
        row_guid: false,
        numeric: column.traits.numeric,
        sparse: false,
        generated: None,
        hidden: false,
        trims: false,
        persisted: false,
        not_for_replication: false,
    });
    let place = Place {
        id: view.id,
        database_id: database.id,
        schema: (view.schema_id, view.schema.clone()),
        name: &view.name,
        source: "",
        created: view.created.clone(),
    };
    let shape = shape(session, &database.name, place, Content::Columns(columns.collect()))?;
    session.instance.store.drop_table(shape.rows.data.id());
    Ok(Arc::new(shape))
}

/// Makes the definition of `DECLARE @t TABLE (..)`.
///
/// # Errors
/// As for CREATE TABLE.
pub fn table_variable(
    session: &SessionState,
    binder: &Binder<'_>,
    declared: &ast::Variable,
    elements: &[ast::TableElement],
) -> Result<Arc<TableDef>> {
    variable(session, binder, &declared.name, elements)
}

/// Makes the definition of a variable or parameter of a table type.
///
/// # Errors
/// As for CREATE TABLE.
pub fn table_of_type(
    session: &SessionState,
    binder: &Binder<'_>,
    name: &str,
    user_type: &UserType,
) -> Result<Arc<TableDef>> {
    let Some(definition) = &user_type.table else {
        return Err(Msg::CannotFindType(1, &user_type.name).into());
    };
    variable(session, binder, name, &definition.elements)
}

/// Makes the definition of a table type that the catalog views show: a table of the schema `sys` with
/// an id of the database. Its storage is dropped. `source` has the texts of its expressions.
///
/// # Errors
/// As for CREATE TABLE.
pub fn shape_of_type(
    session: &SessionState,
    binder: &Binder<'_>,
    (database_id, name): (i16, &str),
    create: &ast::CreateTable,
    source: &str,
) -> Result<Arc<TableDef>> {
    let instance = &session.instance;
    let id = instance.catalog.next_object_id();
    let place = Place {
        id,
        database_id,
        schema: (SYS.0, SYS.1.to_owned()),
        name: &format!("TT_{name}_{id:08X}"),
        source,
        created: created(),
    };
    let shaper = Shaper::new(binder, &instance.catalog, &instance.store, place);
    let table = shaper.build(&create.elements, &create.options)?;
    instance.store.drop_table(table.rows.data.id());
    Ok(Arc::new(table))
}

/// Returns the current time as `datetime`, for `create_date`.
pub fn created() -> Value {
    ::catalog::clock::clock().to_value(&types::DataType::DateTime).unwrap_or(Value::Null)
}
