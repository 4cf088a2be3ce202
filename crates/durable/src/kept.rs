//! The rows of SCHEMA_ONLY tables over a restart, if the server was started to keep them.
//!
//! ```text
//! orderly stop   no request runs ─► write schema_only.tmp, sync, rename, sync the folder
//! next start     read schema_only into the tables ─► remove it, sync the folder ─► first request
//! ```
//!
//! The file has the format of a backup. It is used once: a start that is not asked for it removes it
//! as well, because later changes of definitions would not be in it. After a kill there is no file,
//! and the tables are empty.

use std::collections::HashMap;
use std::io;

use catalog::{BackupFacts, Catalog, TableDef};
use sos::sys::Disk;
use storage::recovery::Source;
use storage::{RowImage, TableId};

use crate::backup::{BackupReader, BackupWriter, Piece, rows_of};
use crate::folder::Folder;
use crate::recovery::tables_of;

/// The name of the file.
const FILE: &str = "schema_only";

/// What SCHEMA_ONLY tables have of the last stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Whether there was anything to take back: the last stop was orderly, and kept the tables.
    pub is_found: bool,
    /// Tables that were kept.
    pub tables: u64,
    /// The rows in all of them.
    pub rows: u64,
}

/// Writes the rows of all SCHEMA_ONLY tables, and where their identity values go on.
pub(crate) fn write(folder: &Folder, catalog: &Catalog) -> io::Result<Kept> {
    let disk: &dyn Disk = &*folder.disk;
    let mut writer = BackupWriter::begin(disk, FILE, false, &BackupFacts::default())?;
    let mut end = BackupFacts::default();
    let mut kept = Kept { is_found: true, ..Kept::default() };
    for table in tables_of(catalog).filter(|table| table.schema_only) {
        let data = &table.rows.data;
        let id = data.id().0;
        kept.tables += 1;
        end.set(&format!("identity {id}"), table.rows.identity.peek());
        for part in 0..data.part_count() {
            for range in data.changed_ranges(part, 0) {
                let mut written = Ok(());
                data.read_range(range, |row, image| {
                    if written.is_ok() {
                        written = writer.row((id, part), row, image);
                    }
                });
                written?;
            }
        }
    }
    kept.rows = writer.rows();
    writer.finish(end)?;
    Ok(kept)
}

/// Takes back what the last stop has kept. The tables are empty.
pub(crate) fn take_back<'t>(
    folder: &Folder,
    tables: impl Iterator<Item = &'t TableDef>,
) -> Result<Kept, String> {
    if !is_there(folder)? {
        return Ok(Kept::default());
    }
    read(folder, tables)
        .map_err(|why| format!("{FILE}: {why}; a start without --keep-schema-only leaves it out"))
}

/// Removes the file, before the first request.
pub(crate) fn remove(folder: &Folder) -> Result<(), String> {
    if !is_there(folder)? {
        return Ok(());
    }
    let removed = folder.disk.remove(FILE).and_then(|()| folder.disk.sync_folder(""));
    removed.map_err(|error| format!("{FILE}: {error}"))
}

fn is_there(folder: &Folder) -> Result<bool, String> {
    let names = folder.disk.list("").map_err(|error| error.to_string())?;
    Ok(names.iter().any(|name| name == FILE))
}

/// Reads the file into the tables, which are empty.
fn read<'t>(folder: &Folder, tables: impl Iterator<Item = &'t TableDef>) -> Result<Kept, String> {
    let mut reader = BackupReader::open(&*folder.disk, FILE).map_err(|error| error.to_string())?;
    let mut kept = Kept { is_found: true, ..Kept::default() };
    let tables: HashMap<TableId, &TableDef> =
        tables.map(|table| (table.rows.data.id(), table)).collect();
    let opened = tables.iter().map(|(id, table)| (*id, table.rows.data.restore()));
    let opened: HashMap<TableId, _> = opened.collect();
    while let Some(piece) = reader.next_piece().map_err(|error| error.to_string())? {
        let Piece::Rows((table, part), rows) = piece else { continue };
        let Some(restore) = opened.get(&TableId(table)) else {
            return Err(format!("it has rows of table {table}, which is not there"));
        };
        let read = rows_of(rows, |id, row| {
            let put = restore.put(part, id, RowImage::from(row), Source::Checkpoint);
            match put.map_err(|error| error.to_string())? {
                true => Ok(()),
                false => Err(format!("no table has row {} of part {part}", id.0)),
            }
        });
        read?.ok_or("a row is not readable")?;
    }
    for (id, restore) in opened {
        kept.tables += 1;
        let finished = restore.finish();
        kept.rows += finished.map_err(|error| format!("table {}: {error}", id.0))?;
        let key = format!("identity {}", id.0);
        if let Some(table) = tables.get(&id).filter(|_| reader.end().0.contains_key(&key)) {
            table.rows.identity.set(reader.end().number(&key));
        }
    }
    Ok(kept)
}
