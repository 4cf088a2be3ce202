//! What external tables are made of: data sources, which are folders, file formats, and the place of a table.

use parquet_io::Compression;

use super::Database;

/// The first id of data sources and of file formats, as SQL Server counts them.
const ID_FIRST: i32 = 65_536;

/// An external data source: a folder of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalDataSource {
    /// `data_source_id`
    pub id: i32,
    /// Its name as created.
    pub name: String,
    /// LOCATION as written.
    pub location: String,
    /// The folder that it names.
    pub folder: String,
}

/// An external file format: PARQUET, of which only the compression differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalFileFormat {
    /// `file_format_id`
    pub id: i32,
    /// Its name as created.
    pub name: String,
    /// DATA_COMPRESSION as written.
    pub data_compression: Option<String>,
    /// What it means for files that are written; those that are read say it themselves.
    pub compression: Compression,
}

/// Where an external table's rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalPlace {
    /// Id of the data source.
    pub data_source: i32,
    /// Id of the file format.
    pub file_format: i32,
    /// LOCATION: a file or folder of the data source.
    pub location: String,
    /// The path of that.
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
