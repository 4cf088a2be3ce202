//! Metadata functions: ids, names and properties of objects, schemas, databases, types and columns.
//! NULL for a name that does not exist.

use std::sync::Arc;

use types::date::Moment;
use types::{DataType, Length, Result, Value};

use crate::database_state::DatabaseState;
use crate::function::entry::{
    flag, id, int, lookup, of, smallint, sysname, text, variant, whole, wrap,
};
use crate::function::session::session_of;
use crate::function::{Call, Collating, Evaluate, Function};
use crate::objects::{self, ColumnRow, ObjectRow};
use crate::type_facts;
use crate::types::{TypeRow, type_rows};
use ::catalog::name::Name;
use ::catalog::{Database, IndexConstraint, ReferenceAction, TableDef, TriggerPlace};
use ::plan::function::Context;
use ::session::SessionState;
use tsql::{parse_object_name, split_name};

pub(super) static FUNCTIONS: &[Function] = &[
    lookup("OBJECT_ID", (1, 2), int, object_id),
    lookup("OBJECT_NAME", (1, 2), sysname, object_name),
    lookup("OBJECT_SCHEMA_NAME", (1, 2), sysname, object_schema_name),
    lookup("OBJECT_DEFINITION", (1, 1), |_| Ok(of(DataType::NVarChar(Length::Max))), definition),
    lookup("SCHEMA_ID", (0, 1), int, schema_id),
    lookup("SCHEMA_NAME", (0, 1), sysname, schema_name),
    lookup("DB_ID", (0, 1), smallint, db_id),
    lookup("DB_NAME", (0, 1), sysname, db_name),
    lookup("ORIGINAL_DB_NAME", (0, 0), sysname, |cx, _, _| {
        Ok(Value::nvarchar(&session_of(cx).connection.login_database))
    }),
    lookup("TYPE_ID", (1, 1), int, type_id),
    lookup("TYPE_NAME", (1, 1), sysname, type_name),
    lookup("COL_LENGTH", (2, 2), smallint, col_length),
    lookup("COL_NAME", (2, 2), sysname, col_name),
    lookup("COLUMNPROPERTY", (3, 3), int, column_property),
    lookup("OBJECTPROPERTY", (2, 2), int, object_property),
    Function {
        name: "OBJECTPROPERTYEX",
        arity: (2, 2),
        bind: variant,
        eval: Evaluate::Strict(object_property_ex),
        deterministic: false,
        collation: Collating::Apart,
    },
    lookup("INDEXPROPERTY", (3, 3), int, index_property),
    lookup("INDEX_COL", (3, 3), sysname, index_col),
    lookup("STATS_DATE", (2, 2), |_| Ok(of(DataType::DateTime)), stats_date),
    lookup("TYPEPROPERTY", (2, 2), int, type_property),
    lookup("IDENT_CURRENT", (1, 1), numeric, |cx, c, v| {
        ident(cx, c, v, |t, seed, _| objects::last_identity(t).unwrap_or(seed))
    }),
    lookup("IDENT_SEED", (1, 1), numeric, |cx, c, v| ident(cx, c, v, |_, seed, _| seed)),
    lookup("IDENT_INCR", (1, 1), numeric, |cx, c, v| ident(cx, c, v, |_, _, step| step)),
    lookup("PARSENAME", (2, 2), sysname, parse_name),
    lookup("DATABASEPROPERTYEX", (2, 2), variant, database_property),
    lookup("COLLATIONPROPERTY", (2, 2), variant, collation_property),
];

/// STATS_DATE: when the optimizer last sampled the table; NULL if it never has, or if the
/// statistics do not exist.
fn stats_date(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let number = |place| whole(values, place).and_then(|n| i32::try_from(n).ok());
    let (Some(object), Some(id)) = (number(0), number(1)) else { return Ok(Value::Null) };
    let database = session_of(cx).catalog.database(&session_of(cx).identity.database);
    let Some(table) = database.and_then(|d| d.table_by_id(object)) else { return Ok(Value::Null) };
    if !objects::statistics_ids(table).any(|known| known == id) {
        return Ok(Value::Null);
    }
    match table.rows.statistics.sampled() {
        Some(sampled) => sampled.when.to_value(&DataType::DateTime),
        None => Ok(Value::Null),
    }
}

/// COLLATIONPROPERTY: the documented properties, and `TDSCollation`, which bulk copy clients read.
fn collation_property(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let name = text(call, values, 0)?.unwrap_or_default();
    let Some(collation) = types::Collation::by_name(&name) else { return Ok(Value::Null) };
    let property = text(call, values, 1)?.unwrap_or_default();
    let int = |n: i64| wrap(i32::try_from(n).map_or(Value::Null, Value::Int), DataType::Int);
    Ok(match property.to_ascii_lowercase().as_str() {
        "codepage" => int(i64::from(collation.code_page().number())),
        "lcid" => int(i64::from(collation.lcid())),
        "comparisonstyle" => int(i64::from(collation.comparison_style())),
        "version" => wrap(Value::TinyInt(collation.version()), DataType::TinyInt),
        "tdscollation" => {
            let wire = Value::VarBinary(types::Bytes::copy_from(&collation.to_wire()));
            wrap(wire, DataType::VarBinary(Length::Limited(5)))
        }
        _ => Value::Null,
    })
}

fn numeric(_: &mut Vec<::plan::expr::Expr>) -> Result<types::ColumnType> {
    Ok(of(DataType::Decimal { precision: 38, scale: 0 }))
}

/// Returns the session's current database.
pub(super) fn current(cx: &Context<'_>) -> Option<Arc<Database>> {
    session_of(cx)
        .catalog
        .database(&session_of(cx).identity.database)
        .map(|database| session_of(cx).sees(database))
}

/// Finds an object by a name of one to three parts; temporary tables are in tempdb.
fn find(cx: &Context<'_>, name: &str) -> Option<(Arc<Database>, ObjectRow)> {
    let name = parse_object_name(name).ok()?;
    if name.object.starts_with('#') {
        let database = session_of(cx).catalog.database("tempdb").map(Arc::clone)?;
        let table = session_of(cx).temp.find(&name.object);
        let row = match table {
            Some(table) => objects::table_row(&table),
            None => objects::find_object(session_of(cx), &database, None, &name.object)?,
        };
        return Some((database, row));
    }
    let database = name.database.as_deref().unwrap_or(&session_of(cx).identity.database);
    let database = session_of(cx).sees(session_of(cx).catalog.database(database)?);
    let schema = name.schema.as_deref();
    let row = objects::find_object(session_of(cx), &database, schema, &name.object)?;
    Some((database, row))
}

fn find_table(cx: &Context<'_>, name: &str) -> Option<Arc<TableDef>> {
    let (database, row) = find(cx, name)?;
    table_by_id(cx, &database, row.id)
}

fn table_by_id(cx: &Context<'_>, database: &Database, id: i32) -> Option<Arc<TableDef>> {
    let own = session_of(cx).temp.iter().find(|t| t.id == id);
    own.or_else(|| database.table_by_id(id)).map(TableDef::with_disabled)
}

/// Returns the object with the id in the first argument, in the database of the second argument or
/// the current one.
fn by_id(cx: &Context<'_>, values: &[Value]) -> Option<ObjectRow> {
    let database = match whole(values, 1) {
        Some(n) => {
            session_of(cx).sees(session_of(cx).catalog.database_by_id(i16::try_from(n).ok()?)?)
        }
        None => current(cx)?,
    };
    objects::object_by_id(session_of(cx), &database, id(values, 0)?)
}

fn name_or_null(name: Option<&str>) -> Value {
    name.map_or(Value::Null, Value::nvarchar)
}

fn object_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let kind = text(call, values, 1)?;
    let fits =
        |row: &ObjectRow| kind.as_ref().is_none_or(|k| k.trim_end().eq_ignore_ascii_case(row.code));
    let found = text(call, values, 0)?.and_then(|name| find(cx, &name));
    Ok(found.filter(|(_, row)| fits(row)).map_or(Value::Null, |(_, row)| Value::Int(row.id)))
}

fn object_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(name_or_null(by_id(cx, values).map(|o| o.name).as_deref()))
}

fn object_schema_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(name_or_null(by_id(cx, values).map(|o| o.schema).as_deref()))
}

fn definition(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let database = current(cx);
    let found = id(values, 0).zip(database).and_then(|(id, d)| objects::definition(&d, id));
    Ok(name_or_null(found.as_deref()))
}

fn schema_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let name = text(call, values, 0)?;
    let database = current(cx);
    let default = |d| session_of(cx).identity.rights.default_schema(d);
    let name = |d| name.as_deref().unwrap_or_else(|| default(d));
    let schema = database.as_ref().and_then(|d| d.schema(name(d)));
    Ok(schema.map_or(Value::Null, |s| Value::Int(s.id)))
}

fn schema_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let database = current(cx);
    if values.is_empty() {
        // The default schema need not exist.
        let default =
            |d: &Arc<Database>| Value::nvarchar(session_of(cx).identity.rights.default_schema(d));
        return Ok(database.as_ref().map_or(Value::Null, default));
    }
    let wanted = id(values, 0);
    let schema = database.as_ref().and_then(|d| d.schemas.values().find(|s| Some(s.id) == wanted));
    Ok(name_or_null(schema.map(|s| s.name.as_str())))
}

fn db_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let name =
        text(call, values, 0)?.unwrap_or_else(|| session_of(cx).identity.database.to_string());
    let database = session_of(cx).catalog.database(&name);
    Ok(database.map_or(Value::Null, |d| Value::SmallInt(d.id)))
}

fn db_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let catalog = &session_of(cx).catalog;
    let database = match values {
        [] => catalog.database(&session_of(cx).identity.database),
        _ => match whole(values, 0) {
            Some(0) => catalog.database(&session_of(cx).identity.database),
            Some(n) => i16::try_from(n).ok().and_then(|n| catalog.database_by_id(n)),
            None => None,
        },
    };
    Ok(name_or_null(database.map(|d| d.name.as_str())))
}

fn type_id(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let found = text(call, values, 0)?.and_then(|name| find_type(cx, &name));
    Ok(found.map_or(Value::Null, |t| Value::Int(t.user_type_id)))
}

/// `schema_id` of the types of the system.
const SYS: i32 = 4;

/// Finds a type of the current database by a name of one or two parts.
fn find_type(cx: &Context<'_>, name: &str) -> Option<TypeRow> {
    let name = parse_object_name(name).ok()?;
    let database = current(cx)?;
    let own = session_of(cx).schema_of_type(&database, &name);
    let own = database.schema(own)?.id;
    // A type of the system is found first.
    let is_system = |t: &TypeRow| name.schema.is_none() && t.schema_id == SYS;
    type_rows(&database)
        .into_iter()
        .filter(|t| Name::same(&t.name, &name.object) && (t.schema_id == own || is_system(t)))
        .min_by_key(|t| !is_system(t))
}

fn type_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(id), Some(database)) = (id(values, 0), current(cx)) else { return Ok(Value::Null) };
    let rows = type_rows(&database);
    let found = rows.iter().find(|t| t.user_type_id == id);
    Ok(name_or_null(found.map(|t| t.name.as_str())))
}

fn col_length(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let found = text(call, values, 0)?.and_then(|name| find(cx, &name));
    let (Some((database, row)), Some(name)) = (found, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let column = column_of(cx, &database, row.id, &name);
    Ok(column.map_or(Value::Null, |c| Value::SmallInt(c.ty.data_type.max_length())))
}

/// Returns a property of a trigger; `None` for a name that is none.
fn trigger_fact(database: &Database, id: i32, property: &str) -> Option<bool> {
    let all = crate::triggers::triggers(database);
    let trigger = all.iter().find(|trigger| trigger.module.id == id)?;
    let what = property.strip_prefix("execis")?;
    match what {
        "triggerdisabled" => return Some(trigger.module.disabled),
        "insteadoftrigger" => return Some(trigger.instead),
        "aftertrigger" => return Some(!trigger.instead),
        "triggernotforrepl" => return Some(trigger.not_for_replication),
        _ => {}
    }
    let what = what.strip_suffix("trigger")?;
    let place = |event: &str| trigger.module.place_for(&event.to_ascii_uppercase());
    let (event, holds) = match (what.strip_prefix("first"), what.strip_prefix("last")) {
        (Some(event), _) => (event, place(event) == TriggerPlace::First),
        (None, Some(event)) => (event, place(event) == TriggerPlace::Last),
        (None, None) => (what, trigger.fires_for(&what.to_ascii_uppercase())),
    };
    ["insert", "update", "delete"].contains(&event).then_some(holds)
}

/// Finds a column of a table or view.
fn column_of(cx: &Context<'_>, database: &Database, object: i32, name: &str) -> Option<ColumnRow> {
    let columns = objects::columns_of(session_of(cx), database, object);
    columns.into_iter().find(|column| Name::same(&column.name, name))
}

fn col_name(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(database), Some(id), Some(place)) = (current(cx), id(values, 0), whole(values, 1))
    else {
        return Ok(Value::Null);
    };
    let columns = objects::columns_of(session_of(cx), &database, id);
    let column = columns.iter().find(|column| i64::from(column.id) == place);
    Ok(name_or_null(column.map(|c| c.name.as_str())))
}

/// Returns the table whose `object_id` is the first argument.
pub(super) fn argument_table(cx: &Context<'_>, values: &[Value]) -> Option<Arc<TableDef>> {
    table_by_id(cx, &*current(cx)?, id(values, 0)?)
}

fn column_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(database), Some(id), Some(column), Some(property)) =
        (current(cx), id(values, 0), text(call, values, 1)?, text(call, values, 2)?)
    else {
        return Ok(Value::Null);
    };
    let Some(column) = column_of(cx, &database, id, &column) else { return Ok(Value::Null) };
    let ty = &column.ty.data_type;
    Ok(match property.to_ascii_lowercase().as_str() {
        "allowsnull" => flag(column.ty.nullable),
        "columnid" => Value::Int(column.id),
        "iscomputed" => flag(column.is(|c| c.computed.is_some())),
        "isidentity" => flag(column.traits.identity),
        "isrowguidcol" => flag(column.is(|c| c.row_guid)),
        "issparse" => flag(column.is(|c| c.sparse)),
        "ishidden" => flag(column.is(|c| c.hidden)),
        "generatedalwaystype" => {
            let generated = column.definition.as_ref().and_then(|c| c.generated);
            Value::Int(i32::from(crate::objects::generated_always(generated).0))
        }
        "precision" => match type_facts::character_length(ty) {
            Some(n) => Value::Int(n),
            None => Value::Int(i32::from(ty.precision())),
        },
        "scale" if type_facts::numeric_facts(ty).is_some() || ty.scale() > 0 => {
            Value::Int(i32::from(ty.scale()))
        }
        "charmaxlen" => type_facts::character_length(ty).map_or(Value::Null, Value::Int),
        "usesansitrim" => flag(!column.is(|c| c.trims)),
        "isdeterministic" | "isprecise" if !column.is(|c| c.computed.is_some()) => Value::Null,
        "isfulltextindexed"
        | "isidnotforrepl"
        | "iscolumnset"
        | "isindexable"
        | "isxmlindexable"
        | "isoutparam"
        | "iscursortype"
        | "systemdataaccess"
        | "userdataaccess"
        | "statisticalsemantics" => flag(false),
        _ => Value::Null,
    })
}

fn object_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let row = current(cx)
        .zip(id(values, 0))
        .and_then(|(database, id)| objects::object_by_id(session_of(cx), &database, id));
    let (Some(row), Some(property)) = (row, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let table = current(cx).and_then(|d| table_by_id(cx, &d, row.id));
    let property = property.to_ascii_lowercase();
    if property.starts_with("cnst") {
        let table = current(cx).and_then(|d| table_by_id(cx, &d, row.parent_id));
        let fact = table.and_then(|table| constraint_fact(row.id, &table, &property));
        return Ok(fact.map_or(Value::Null, Value::Int));
    }
    if let "isquotedidenton" | "isansinullson" | "execisquotedidenton" | "execisansinullson" =
        property.as_str()
        && table.is_none()
    {
        let modules = current(cx).map(|database| objects::modules(&database)).unwrap_or_default();
        let module = modules.into_iter().find(|module| module.id == row.id);
        let is_on = |m: objects::ModuleRow| match property.contains("quoted") {
            true => m.quoted_identifier,
            false => m.ansi_nulls,
        };
        return Ok(module.map_or(Value::Null, |m| Value::Int(i32::from(is_on(m)))));
    }
    if row.code == "TR" && property.starts_with("execis") {
        let found = current(cx).and_then(|d| trigger_fact(&d, row.id, &property));
        return Ok(found.map_or(Value::Null, flag));
    }
    if property == "isencrypted" && ["P", "V", "TR", "FN", "IF", "TF"].contains(&row.code) {
        return Ok(current(cx).map_or(Value::Null, |database| flag(database.is_encrypted(row.id))));
    }
    if property == "ownerid" {
        // A constraint or trigger belongs to the owner of its table.
        let of = if row.parent_id == 0 { row.id } else { row.parent_id };
        let owner = current(cx).map_or(1, |database| database.owner_of(of, row.schema_id));
        return Ok(Value::Int(owner));
    }
    Ok(object_fact(&row, table.as_deref(), &property).map_or(Value::Null, Value::Int))
}

/// Returns a property of a table's constraint.
fn constraint_fact(id: i32, table: &TableDef, property: &str) -> Option<i32> {
    let index = table.indexes.iter().find(|i| i.constraint.is_some() && i.constraint_id == id);
    let foreign = table.foreign_keys.iter().find(|k| k.id == id);
    let check = table.checks.iter().find(|c| c.id == id);
    let is_trusted = foreign.is_none_or(|k| k.trusted) && check.is_none_or(|c| c.trusted);
    let is_enabled = foreign.is_none_or(|k| k.enabled) && check.is_none_or(|c| c.enabled);
    Some(i32::from(match property {
        "cnstisclustkey" => index.is_some_and(|i| i.clustered),
        "cnstisnonclustkey" => index.is_some_and(|i| !i.clustered),
        "cnstiscolumn" => check.is_some_and(|c| c.column.is_some()),
        "cnstisdeletecascade" => foreign.is_some_and(|k| k.on_delete == ReferenceAction::Cascade),
        "cnstisupdatecascade" => foreign.is_some_and(|k| k.on_update == ReferenceAction::Cascade),
        "cnstisdisabled" => !is_enabled,
        "cnstisnottrusted" => !is_trusted,
        "cnstisnotrepl" => false,
        _ => return None,
    }))
}

/// Returns a property of an object; a property of tables is NULL for other objects.
fn object_fact(row: &ObjectRow, table: Option<&TableDef>, property: &str) -> Option<i32> {
    let is = |codes: &[&str]| Some(i32::from(codes.contains(&row.code)));
    let of_table = |test: &dyn Fn(&TableDef) -> bool| table.map(|t| i32::from(test(t)));
    match property {
        "istable" => is(&["U", "S"]),
        "isusertable" => is(&["U"]),
        "issystemtable" => is(&["S"]),
        "isview" => is(&["V"]),
        "isprocedure" => is(&["P"]),
        "istrigger" => is(&["TR"]),
        "isscalarfunction" => is(&["FN"]),
        "isinlinefunction" => is(&["IF"]),
        "istablefunction" => is(&["IF", "TF"]),
        "isprimarykey" => is(&["PK"]),
        "isuniquecnst" => is(&["UQ"]),
        "isforeignkey" => is(&["F"]),
        "ischeckcnst" => is(&["C"]),
        "isdefaultcnst" => is(&["D"]),
        // What CREATE DEFAULT and CREATE RULE make, which are not there; a constraint is neither.
        "isdefault" | "isrule" => Some(0),
        "isconstraint" => is(&["PK", "UQ", "F", "C", "D"]),
        "isexecuted" => is(&["P", "V", "TR", "FN", "IF", "TF"]),
        "ismsshipped" => Some(i32::from(row.system)),
        "schemaid" => Some(row.schema_id),
        "isansinullson" if table.is_some() => of_table(&|t| t.ansi_nulls),
        "isquotedidenton" if table.is_some() => Some(1),
        "tablehasprimarykey" => of_table(&|t| {
            t.indexes.iter().any(|i| i.constraint == Some(IndexConstraint::PrimaryKey))
        }),
        "tablehasuniquecnst" => {
            of_table(&|t| t.indexes.iter().any(|i| i.constraint == Some(IndexConstraint::Unique)))
        }
        "tablehasidentity" => of_table(&|t| t.columns.iter().any(|c| c.identity.is_some())),
        "tablehasforeignkey" => of_table(&|t| !t.foreign_keys.is_empty()),
        "tablehasforeignref" => of_table(&|t| t.referenced),
        "tablehascheckcnst" => of_table(&|t| !t.checks.is_empty()),
        "tablehasdefaultcnst" => of_table(&|t| t.columns.iter().any(|c| c.default.is_some())),
        "tablehasindex" | "isindexed" => of_table(&|t| !t.indexes.is_empty()),
        "tablehasclustindex" => of_table(&|t| t.indexes.iter().any(|i| i.clustered)),
        "tablehasnonclustindex" => of_table(&|t| t.indexes.iter().any(|i| !i.clustered)),
        "tablehasrowguidcol" => of_table(&|t| t.columns.iter().any(|c| c.row_guid)),
        "tableismemoryoptimized" => of_table(&|t| t.memory_optimized),
        "tabletemporaltype" => {
            table.as_ref().map(|t| i32::from(crate::objects::temporal_type(t).0))
        }
        "tableistemporal" | "tableisfake" | "tablehastextimage" if table.is_some() => Some(0),
        _ => None,
    }
}

fn object_property_ex(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    if text(call, values, 1)?.is_some_and(|p| p.eq_ignore_ascii_case("BaseType")) {
        let row = current(cx).zip(id(values, 0)).and_then(|(database, id)| {
            let row = objects::object_by_id(session_of(cx), &database, id)?;
            match row.code {
                "SN" => objects::base_of_synonym(session_of(cx), &database, id),
                _ => Some(row),
            }
        });
        return Ok(row.map_or(Value::Null, |row| {
            let code = format!("{:<2}", row.code);
            wrap(Value::VarChar(types::Bytes::copy_from(code.as_bytes())), DataType::Char(2))
        }));
    }
    Ok(wrap(object_property(cx, call, values)?, DataType::Int))
}

fn index_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(table), Some(name), Some(property)) =
        (argument_table(cx, values), text(call, values, 1)?, text(call, values, 2)?)
    else {
        return Ok(Value::Null);
    };
    let Some(index) = table.index(&name).map(|at| &table.indexes[at]) else {
        return Ok(Value::Null);
    };
    Ok(match property.to_ascii_lowercase().as_str() {
        "indexid" => Value::Int(index.id),
        "isclustered" => flag(index.clustered),
        "isunique" => flag(index.unique),
        "indexfillfactor" | "indexdepth" => Value::Int(0),
        "isdisabled" => flag(table.disabled.iter().any(|disabled| disabled.id == index.id)),
        "isfulltextkey"
        | "ishypothetical"
        | "ispadindex"
        | "isstatistics"
        | "iscolumnstore"
        | "isautostatistics"
        | "isoptimizedforsequentialkey"
        | "ispagelockdisallowed"
        | "isrowlockdisallowed" => flag(false),
        _ => Value::Null,
    })
}

fn index_col(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let table = text(call, values, 0)?.and_then(|name| find_table(cx, &name));
    let (Some(table), Some(index), Some(place)) = (table, id(values, 1), whole(values, 2)) else {
        return Ok(Value::Null);
    };
    let index = table.indexes.iter().find(|i| i.id == index);
    let place = usize::try_from(place - 1).ok();
    let key = index.zip(place).and_then(|(i, place)| i.keys.get(place));
    Ok(name_or_null(key.map(|k| table.columns[usize::from(k.0)].name.as_str())))
}

fn type_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (Some(name), Some(property)) = (text(call, values, 0)?, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(row) = find_type(cx, &name) else { return Ok(Value::Null) };
    Ok(match property.to_ascii_lowercase().as_str() {
        "allowsnull" => flag(row.nullable),
        "ownerid" => Value::Int(row.schema_id),
        "precision" if row.precision > 0 => Value::Int(i32::from(row.precision)),
        "precision" => Value::Int(i32::from(row.max_length)),
        "scale" if row.precision > 0 => Value::Int(i32::from(row.scale)),
        "usesansitrim" => flag(true),
        _ => Value::Null,
    })
}

fn ident(
    cx: &Context<'_>,
    call: &Call<'_>,
    values: &[Value],
    read: fn(&TableDef, i64, i64) -> i64,
) -> Result<Value> {
    let table = text(call, values, 0)?.and_then(|name| find_table(cx, &name));
    let number = table.and_then(|t| {
        let (seed, step) = t.columns.iter().find_map(|c| c.identity)?;
        Some(read(&t, seed, step))
    });
    Ok(number.map_or(Value::Null, |n| Value::Decimal(types::Decimal::new(i128::from(n), 38, 0))))
}

/// PARSENAME. Parts count from the right: 1 object, 2 schema, 3 database, 4 server.
fn parse_name(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let parts = text(call, values, 0)?.and_then(|name| split_name(&name)).unwrap_or_default();
    let place = whole(values, 1).and_then(|place| usize::try_from(place).ok());
    let part = place.and_then(|place| parts.iter().rev().nth(place.checked_sub(1)?));
    Ok(name_or_null(part.map(String::as_str).filter(|part| !part.is_empty())))
}

pub(super) fn database_property(
    cx: &mut Context<'_>,
    call: &Call<'_>,
    values: &[Value],
) -> Result<Value> {
    let (Some(name), Some(property)) = (text(call, values, 0)?, text(call, values, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(database) = session_of(cx).catalog.database(&name) else { return Ok(Value::Null) };
    let state = DatabaseState::of(session_of(cx), database);
    let word = |text: &str| wrap(Value::nvarchar(text), DataType::NVarChar(Length::Limited(128)));
    let number = |n: i32| wrap(Value::Int(n), DataType::Int);
    let others = &database.options.others;
    let on = |option: &str| number(i32::from(others.get(option).is_some_and(|v| v == "ON")));
    Ok(match property.to_ascii_lowercase().as_str() {
        "collation" => word(&database.collation.name()),
        "status" => word(state.name()),
        "recovery" => word(&database.options.recovery),
        "updateability" if others.contains_key("READ_ONLY") => word("READ_ONLY"),
        "updateability" => word("READ_WRITE"),
        "useraccess" => word(database.options.user_access.name()),
        "comparisonstyle" => {
            number(i32::try_from(database.collation.comparison_style()).unwrap_or(0))
        }
        "lcid" => number(i32::try_from(database.collation.lcid()).unwrap_or(0)),
        "sqlsortorder" => wrap(Value::TinyInt(database.collation.sort_id()), DataType::TinyInt),
        "isansinulldefault" => on("ANSI_NULL_DEFAULT"),
        "isansinullsenabled" => on("ANSI_NULLS"),
        "isansipaddingenabled" => on("ANSI_PADDING"),
        "isansiwarningsenabled" => on("ANSI_WARNINGS"),
        "isarithmeticabortenabled" => on("ARITHABORT"),
        "isautoclose" => on("AUTO_CLOSE"),
        "isautoshrink" => on("AUTO_SHRINK"),
        "isnullconcat" => on("CONCAT_NULL_YIELDS_NULL"),
        "isnumericroundabortenabled" => on("NUMERIC_ROUNDABORT"),
        "isquotedidentifiersenabled" => on("QUOTED_IDENTIFIER"),
        "isrecursivetriggersenabled" => on("RECURSIVE_TRIGGERS"),
        "isclosecursorsoncommitenabled" => on("CURSOR_CLOSE_ON_COMMIT"),
        "isfulltextenabled"
        | "isinstandby"
        | "ismergepublished"
        | "ispublished"
        | "issubscribed"
        | "issyncwithbackup"
        | "istornpagedetectionenabled" => number(0),
        "isxtpsupported" => number(1),
        "lastgoodcheckdbtime" => {
            wrap(last_good_check(session_of(cx), database), DataType::DateTime)
        }
        _ => Value::Null,
    })
}

/// 1900-01-01 in seconds since 1970.
const UNIX_1900: i64 = -2_208_988_800;

/// Returns when CHECKDB has last found no error; 1900-01-01 if it never has.
fn last_good_check(session: &SessionState, database: &Database) -> Value {
    let catalog = session.instance.catalog.load();
    let known = catalog.backups.of_database(database);
    match known.map(|known| crate::backup::time(known, crate::backup::CHECKED)) {
        Some(time) if !time.is_null() => time,
        _ => Moment::from_unix(UNIX_1900, 0).to_value(&DataType::DateTime).unwrap_or(Value::Null),
    }
}
