//! Definitions behind external tables: data sources, which are folders, file formats, and a table's
//! location.

use parquet_io::Compression;

use super::Database;

/// First id of data sources and of file formats, as in SQL Server.
const ID_FIRST: i32 = 65_536;

/// An external data source: a folder on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalDataSource {
    /// `data_source_id`, 65536 and more.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// LOCATION clause as written.
    pub location: String,
    /// Path of the folder that LOCATION names.
    pub folder: String,
}

/// An external file format: always PARQUET, with a compression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalFileFormat {
    /// `file_format_id`, 65536 and more.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// DATA_COMPRESSION clause as written.
    pub data_compression: Option<String>,
    /// Compression of files that are written; files that are read declare their own.
    pub compression: Compression,
}

/// The location of an external table's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalPlace {
    /// Id of the data source.
    pub data_source: i32,
    /// Id of the file format.
    pub file_format: i32,
    /// LOCATION: a file or folder of the data source.
    pub location: String,
    /// Path of that file or folder.
    pub path: String,
}

impl Database {
    /// Returns the id for a new data source.
    pub fn next_data_source_id(&self) -> i32 {
        self.data_sources.values().map(|source| source.id + 1).max().unwrap_or(ID_FIRST)
    }

    /// Returns the id for a new file format.
    pub fn next_file_format_id(&self) -> i32 {
        self.file_formats.values().map(|format| format.id + 1).max().unwrap_or(ID_FIRST)
    }
}
