//! CREATE and DROP of external data sources, file formats and tables. The crate `interpreter`
//! writes the rows of CREATE EXTERNAL TABLE .. AS SELECT (`export.rs`).
//!
//! A data source is a folder on the server. A login that creates one must be allowed to read and
//! write the server's files (ADMINISTER BULK OPERATIONS); a login that uses it can't leave that
//! folder.

use std::sync::Arc;

use parquet_io::Compression;
use tsql::ast::{self, DropKind, ExternalKind, NamedOption};
use types::value::ColumnType;
use types::{Error, Msg, Result};

use super::{change_database, table};
use ::binder::Binder;
use ::binder::external::{ALTER_FORMATS, ALTER_SOURCES, place, text, word};
use ::binder::query::column_type;
use ::catalog::name::Name;
use ::catalog::security::Rights;
use ::catalog::{Database, ExternalDataSource, ExternalFileFormat, ExternalPlace, Object};
use ::compile::refuse;
use ::executor::Cx;

/// Runs CREATE EXTERNAL DATA SOURCE and CREATE EXTERNAL FILE FORMAT.
pub fn create(create: &ast::CreateExternal, cx: &mut Cx<'_>) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    match create.kind {
        ExternalKind::DataSource => {
            let (location, folder) = source_location(&create.options)?;
            change_database(cx.session, &database, |database| {
                let (id, name) = (database.next_data_source_id(), create.name.to_string());
                let source = ExternalDataSource { id, name, location, folder };
                let taken = database.data_sources.contains_key(&Name::new(&create.name));
                check_free(taken, &create.name)?;
                database.data_sources.insert(Name::new(&create.name), Arc::new(source));
                Ok(())
            })
        }
        ExternalKind::FileFormat => {
            let (data_compression, compression) = format_options(&create.options)?;
            change_database(cx.session, &database, |database| {
                let (id, name) = (database.next_file_format_id(), create.name.to_string());
                let format = ExternalFileFormat { id, name, data_compression, compression };
                let taken = database.file_formats.contains_key(&Name::new(&create.name));
                check_free(taken, &create.name)?;
                database.file_formats.insert(Name::new(&create.name), Arc::new(format));
                Ok(())
            })
        }
    }
}

fn check_free(taken: bool, name: &str) -> Result<()> {
    if taken { Err(Msg::ExternalNameTaken(name).into()) } else { Ok(()) }
}

/// Checks that the login may create or drop one of these.
///
/// # Errors
/// 15247; 4834 for a data source without ADMINISTER BULK OPERATIONS.
pub fn check_permission(
    kind: DropKind,
    rights: &Rights,
    database: &Database,
    reads_files: bool,
) -> Result<()> {
    let permission = match kind {
        DropKind::ExternalDataSource => ALTER_SOURCES,
        DropKind::ExternalFileFormat => ALTER_FORMATS,
        _ => "ALTER",
    };
    rights.check_database(database, permission).map_err(|_| super::not_permitted())?;
    if kind == DropKind::ExternalDataSource && !reads_files {
        return Err(Msg::BulkNoPermission.into());
    }
    Ok(())
}

/// The prefix of a LOCATION that names a folder on the server.
const FILE_PREFIX: &str = "file://";

/// Reads the options of a data source: LOCATION as written, and the folder that it names.
fn source_location(options: &[NamedOption]) -> Result<(String, String)> {
    let mut found = None;
    for option in options {
        match &*option.name {
            "LOCATION" => found = Some(text(option)?),
            other => return refuse(&format!("{other} of an external data source")),
        }
    }
    let location = found.ok_or(Msg::ExternalOptionMissing("LOCATION"))?;
    let path = location.strip_prefix(FILE_PREFIX).unwrap_or(location);
    if !path.starts_with('/') {
        let what =
            "external data sources other than folders of the server (LOCATION = 'file:///folder')";
        return refuse(what);
    }
    Ok((location.to_owned(), path.trim_end_matches('/').to_owned()))
}

/// Values of DATA_COMPRESSION: the Hadoop classes that SQL Server documents, and two others.
const CODECS: [(&str, Compression); 4] = [
    ("org.apache.hadoop.io.compress.SnappyCodec", Compression::Snappy),
    ("org.apache.hadoop.io.compress.GzipCodec", Compression::Gzip),
    ("org.apache.hadoop.io.compress.ZStandardCodec", Compression::Zstd),
    ("org.apache.hadoop.io.compress.Lz4Codec", Compression::Lz4),
];

/// Reads the options of a file format: DATA_COMPRESSION as written, and the codec.
fn format_options(options: &[NamedOption]) -> Result<(Option<String>, Compression)> {
    let mut is_parquet = false;
    let mut compression = (None, Compression::None);
    for option in options {
        match &*option.name {
            "FORMAT_TYPE" if word(option)?.eq_ignore_ascii_case("PARQUET") => is_parquet = true,
            "FORMAT_TYPE" => {
                let what = word(option)?.to_ascii_uppercase();
                return refuse(&format!("external file formats with FORMAT_TYPE = {what}"));
            }
            "DATA_COMPRESSION" => {
                let name = text(option)?;
                let known = CODECS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                let (_, codec) = known.ok_or(Msg::ExternalOptionSyntax(&option.name))?;
                compression = (Some(name.to_owned()), *codec);
            }
            other => return refuse(&format!("{other} of an external file format")),
        }
    }
    if is_parquet {
        return Ok(compression);
    }
    Err(Msg::ExternalOptionMissing("FORMAT_TYPE").into())
}

/// Runs CREATE EXTERNAL TABLE without AS SELECT.
pub fn create_table(create: &ast::CreateExternalTable, cx: &mut Cx<'_>) -> Result<()> {
    let name = create.name.database.as_deref().filter(|d| !d.is_empty());
    let name = name.unwrap_or(&cx.session.identity.database);
    let database = cx.session.catalog.database(name).ok_or(Msg::DatabaseNotFound(name))?;
    let (place, _) = place(&create.options, database)?;
    if create.columns.is_empty() {
        return Err(Msg::ExternalOptions("CREATE EXTERNAL TABLE").into());
    }
    let columns = {
        let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
        let binder = context.binder();
        let each = create.columns.iter().map(|column| defined(&binder, column));
        each.collect::<Result<Vec<_>>>()?
    };
    publish(&create.name, &columns, place, cx)
}

fn defined(binder: &Binder<'_>, column: &ast::ExternalColumn) -> Result<(String, ColumnType)> {
    let Some(data_type) = &column.data_type else {
        return Err(Msg::ExternalOptions("CREATE EXTERNAL TABLE").into());
    };
    let ty = column_type(binder, data_type, column.collation.as_ref())?;
    // Files may contain NULLs even if the definition says NOT NULL.
    Ok((column.name.to_string(), ColumnType { nullable: column.nullable.unwrap_or(true), ..ty }))
}

/// Adds an external table to the catalog.
///
/// # Errors
/// 2714 if the name is taken, 2705 for a duplicate column, 46518 for a type that files can't store.
pub fn publish(
    name: &ast::ObjectName,
    columns: &[(String, ColumnType)],
    place: ExternalPlace,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for (column, ty) in columns {
        if parquet_io::check_type(column, ty).is_err() {
            return Err(Msg::ExternalNotSupported("type", &ty.data_type.to_string()).into());
        }
    }
    table::create_external(name, columns, Arc::new(place), cx)
}

/// Runs DROP EXTERNAL TABLE, DATA SOURCE and FILE FORMAT; returns false if the object does not
/// exist. Files are not deleted.
pub fn drop(kind: DropKind, name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    if kind == DropKind::ExternalTable {
        return drop_table(name, cx);
    }
    let database = Arc::clone(&cx.session.identity.database);
    let key = Name::new(&name.object);
    change_database(cx.session, &database, |database| {
        let is_source = kind == DropKind::ExternalDataSource;
        let id = match is_source {
            true => database.data_sources.get(&key).map(|source| source.id),
            false => database.file_formats.get(&key).map(|format| format.id),
        };
        let Some(id) = id else { return Ok(false) };
        let uses = |place: &ExternalPlace| match is_source {
            true => place.data_source == id,
            false => place.file_format == id,
        };
        let user = database.tables().find(|t| t.external.as_deref().is_some_and(uses));
        if let Some(table) = user {
            let verb =
                if is_source { "drop external data source" } else { "drop external file format" };
            return Err(Msg::ReferencedByObject(verb, &name.object, &table.name).into());
        }
        Ok(match is_source {
            true => database.data_sources.remove(&key).is_some(),
            false => database.file_formats.remove(&key).is_some(),
        })
    })
}

fn drop_table(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<bool> {
    let Some((found, schema)) = crate::find_place(name, cx) else { return Ok(false) };
    let (database, schema) = (found.name.clone(), schema.to_owned());
    let key = (Name::new(&schema), Name::new(&name.object));
    let gone = change_database(cx.session, &database, |database| {
        let Some(Object::Table(table)) = database.objects.get(&key) else { return Ok(None) };
        if table.external.is_none() {
            let right = "DROP TABLE";
            return Err(Msg::WrongDrop("EXTERNAL TABLE", &name.object, "table", right).into());
        }
        let table = Arc::clone(table);
        database.objects.remove(&key);
        Ok(Some(table))
    })?;
    let Some(table) = gone else { return Ok(false) };
    cx.session.note_gone(&table.rows.data);
    Ok(true)
}

/// Returns the error of a definition that external tables do not allow.
pub fn refused(name: &str) -> Error {
    Msg::ExternalNotSupported("change of table", name).into()
}
