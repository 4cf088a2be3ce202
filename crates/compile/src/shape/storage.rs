//! ON, TEXTIMAGE_ON and FILESTREAM_ON of tables and indexes. Nothing is stored in filegroups, but
//! naming one that does not exist is an error. `partition.rs` has what is about partition schemes.

use tsql::ast;
use types::{Msg, Result};

use super::refuse;
use ::catalog::name::Name;
use ::catalog::{Catalog, ColumnDef};

/// Checks the filegroups and partition schemes that a table or an index names.
///
/// # Errors
/// 1921 for a filegroup or a partition scheme that does not exist; 40517 for FILESTREAM.
pub fn check(catalog: &Catalog, database: i16, storage: &ast::Storage) -> Result<()> {
    let found = catalog.database_by_id(database);
    let files = found.map_or(&[][..], |found| found.files.as_slice());
    if let Some((name, columns)) = &storage.on {
        let is_scheme =
            found.is_some_and(|found| found.partition_schemes.contains_key(&Name::new(name)));
        match columns.is_empty() {
            _ if is_scheme => {}
            false => return Err(Msg::InvalidDataSpace("partition scheme", name).into()),
            true => ::catalog::check_filegroup(files, name)?,
        }
    }
    if let Some(name) = &storage.textimage_on {
        ::catalog::check_filegroup(files, name)?;
    }
    match &storage.filestream_on {
        Some(name) if !name.is("NULL") => refuse("FILESTREAM_ON"),
        _ => Ok(()),
    }
}

/// Checks TEXTIMAGE_ON, which requires a column of a large-value type.
///
/// # Errors
/// 1709 if the table has no such column.
pub fn check_large(columns: &[ColumnDef], storage: &ast::Storage) -> Result<()> {
    let is_large = |column: &ColumnDef| {
        let ty = column.ty.data_type;
        ty.is_large() || ty == types::DataType::Xml
    };
    if storage.textimage_on.is_some() && !columns.iter().any(is_large) {
        return Err(Msg::TextImageWithoutLarge.into());
    }
    Ok(())
}
