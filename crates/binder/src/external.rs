//! Options and permissions of external tables, for CREATE EXTERNAL TABLE with rows (AS SELECT,
//! `export.rs`) and without.

use parquet_io::Compression;
use tsql::ast::{Literal, NamedOption, OptionValue};
use types::{Error, Msg, Result};

use catalog::name::Name;
use catalog::security::Rights;
use catalog::{Database, ExternalPlace};

/// Permission for the definition of data sources.
pub const ALTER_SOURCES: &str = "ALTER ANY EXTERNAL DATA SOURCE";
/// Permission for the definition of file formats.
pub const ALTER_FORMATS: &str = "ALTER ANY EXTERNAL FILE FORMAT";

/// Checks that the login may create external tables.
///
/// # Errors
/// 262 without CREATE TABLE and ALTER of data sources and file formats, 4834 without ADMINISTER
/// DATABASE BULK OPERATIONS.
pub fn check_table_permission(
    rights: &Rights,
    catalog: &catalog::Catalog,
    database: &Database,
) -> Result<()> {
    for permission in ["CREATE TABLE", ALTER_SOURCES, ALTER_FORMATS] {
        rights.check_database(database, permission)?;
    }
    if rights.uses_data_sources(catalog, database) {
        return Ok(());
    }
    Err(Msg::BulkNoPermission.into())
}

/// Returns the value of a text option.
///
/// # Errors
/// 46503 for a value of another kind.
pub fn text(option: &NamedOption) -> Result<&str> {
    match &option.value {
        OptionValue::Literal(Literal::String(text) | Literal::NString(text)) => Ok(text),
        _ => Err(Msg::ExternalOptionFormat(&option.name).into()),
    }
}

/// Returns the value of a keyword option.
///
/// # Errors
/// 46503 for a value of another kind.
pub fn word(option: &NamedOption) -> Result<&str> {
    option.value.word().ok_or_else(|| Msg::ExternalOptionFormat(&option.name).into())
}

/// Reads the options of an external table: its location, and how files are written there.
///
/// # Errors
/// 46501 for an unknown data source or file format, 46505 if one is missing.
pub fn place(options: &[NamedOption], database: &Database) -> Result<(ExternalPlace, Compression)> {
    let (mut location, mut source, mut format) = (None, None, None);
    for option in options {
        match &*option.name {
            "LOCATION" => location = Some(text(option)?),
            "DATA_SOURCE" => source = Some(word(option)?),
            "FILE_FORMAT" => format = Some(word(option)?),
            other => {
                return Err(Msg::NotSupported(&format!("{other} of an external table")).into());
            }
        }
    }
    let location = location.ok_or(Msg::ExternalOptionMissing("LOCATION"))?;
    let source = source.ok_or(Msg::ExternalOptionMissing("DATA_SOURCE"))?;
    let format = format.ok_or(Msg::ExternalOptionMissing("FILE_FORMAT"))?;
    let missing = |what| Error::from(Msg::ExternalMissing(what));
    let source = database.data_sources.get(&Name::new(source));
    let source = source.ok_or_else(|| missing("DATA_SOURCE"))?;
    let format = database.file_formats.get(&Name::new(format));
    let format = format.ok_or_else(|| missing("FILE_FORMAT"))?;
    // A path may not leave the data source's folder.
    if location.split('/').any(|part| part == "..") || location.contains('\0') {
        return Err(Msg::ExternalOptionRange("LOCATION").into());
    }
    let inner = location.trim_matches('/');
    let path = format!("{}/{inner}", source.folder);
    let place = ExternalPlace {
        data_source: source.id,
        file_format: format.id,
        location: location.to_owned(),
        path,
    };
    Ok((place, format.compression))
}
