//! `Shapes`: a cache of encoded COLMETADATA, so that a cached plan encodes none.
//!
//! Direct-mapped by the result shape's id, one per worker: no lock, no shared write, and
//! connections that run the same statements share the entries.

use std::rc::Rc;

use engine::sink::{ColumnInfo, ResultShape};
use tds::{Column, ColumnFlags, Columns, TdsVersion};

/// Number of entries; a power of two.
const PLACES: usize = 64;
/// Results with more columns than this are not cached: their metadata is large and rarely used
/// again.
const COLUMNS_MAX: usize = 256;

/// Encoded metadata by result shape.
pub(crate) struct Shapes {
    places: Vec<Option<(u64, Rc<Columns>)>>,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { places: vec![None; PLACES] }
    }
}

impl Shapes {
    /// Returns the metadata of a shape for a version, from the cache or newly encoded.
    pub(crate) fn get(&mut self, shape: &ResultShape, version: TdsVersion) -> Rc<Columns> {
        let place = usize::try_from(shape.id % (PLACES as u64)).unwrap_or(0);
        if let Some((id, columns)) = &self.places[place]
            && (*id, columns.version()) == (shape.id, version)
        {
            return Rc::clone(columns);
        }
        let columns = Rc::new(encode(shape, version));
        if shape.columns.len() <= COLUMNS_MAX {
            self.places[place] = Some((shape.id, Rc::clone(&columns)));
        }
        columns
    }
}

fn encode(shape: &ResultShape, version: TdsVersion) -> Columns {
    let columns: Vec<Column<'_>> = shape.columns.iter().map(column).collect();
    Columns::new(&columns, version)
}

fn column(info: &ColumnInfo) -> Column<'_> {
    let flags = if info.traits.identity {
        ColumnFlags::IDENTITY
    } else if info.updatable {
        ColumnFlags::UPDATABLE_UNKNOWN
    } else {
        ColumnFlags::COMPUTED
    };
    let numeric = info.traits.numeric;
    Column { name: &info.name, column_type: info.column_type, flags, table: "", numeric }
}
