//! ON, TEXTIMAGE_ON and FILESTREAM_ON of tables and indexes. Nothing is stored in filegroups, but
//! naming one that does not exist is an error, as is any partition scheme: there are none.

use tsql::ast;
use types::{Msg, Result};

use super::refuse;
use ::catalog::{Catalog, ColumnDef};

/// Checks the filegroups and partition schemes that a table or an index names.
///
/// # Errors
/// 1921 for a filegroup or a partition scheme that does not exist; 40517 for FILESTREAM.
pub fn check(catalog: &Catalog, database: i16, storage: &ast::Storage) -> Result<()> {
    let files = catalog.database_by_id(database).map_or(&[][..], |found| found.files.as_slice());
    if let Some((name, column)) = &storage.on {
        match column {
            Some(_) => return Err(Msg::InvalidDataSpace("partition scheme", name).into()),
            None => ::catalog::check_filegroup(files, name)?,
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
