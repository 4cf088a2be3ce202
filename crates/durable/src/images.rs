//! A row of a table as the columns of a log record, and back.
//!
//! The rows of a table are columns by ordinal: their images are those of `types::row`. A row of an
//! internal table of a columnstore is opaque to the log: column 0 is its bytes, column 1 and more
//! are its blobs.

use storage::durability::{ChangeKind, RowChange};
use storage::{RowImage, TableId};
use types::Bytes;
use types::row::{RowBuffer, RowLayout};

use log::{Row, Transaction};

/// Bits of a record's table number that are the part of the table.
const PART_BITS: u32 = 3;

/// Returns the table number of a record: table and part in one.
pub(crate) fn table_number(table: TableId, part: u8) -> u32 {
    table.0 << PART_BITS | u32::from(part)
}

/// Takes a record's table number apart.
pub(crate) fn table_and_part(number: u32) -> (TableId, u8) {
    let part = u8::try_from(number & ((1 << PART_BITS) - 1)).expect("three bits fit a byte");
    (TableId(number >> PART_BITS), part)
}

/// Writes a change as one record; none if an update has changed no column.
pub(crate) fn write(transaction: &mut Transaction<'_>, change: &RowChange<'_>) {
    let table = table_number(change.table, change.part);
    let row = Row::Id(change.row.0);
    match (change.kind, change.before, change.after) {
        (ChangeKind::Delete, ..) | (_, _, None) => transaction.delete(table, row),
        (ChangeKind::Update, Some(before), Some(after)) => match change.layout {
            Some(layout) => {
                let before = layout.view(before.bytes, before.blobs);
                let after = layout.view(after.bytes, after.blobs);
                transaction.update_of(table, row, |columns| {
                    after.each_change(before, |ordinal, image| columns.push(ordinal, image));
                });
            }
            None => transaction.insert(table, row, opaque(after)),
        },
        (ChangeKind::Insert | ChangeKind::Update, _, Some(after)) => match change.layout {
            Some(layout) => {
                transaction.insert(table, row, layout.view(after.bytes, after.blobs).images());
            }
            None => transaction.insert(table, row, opaque(after)),
        },
    }
}

/// The columns of an opaque row.
fn opaque(image: RowImage<'_>) -> impl Iterator<Item = (u32, Option<&[u8]>)> {
    let blobs = (1_u32..).zip(image.blobs).map(|(ordinal, blob)| (ordinal, Some(&**blob)));
    std::iter::once((0, Some(image.bytes))).chain(blobs)
}

/// Puts a row together over `row`: the columns of `changes` on top of `base`.
///
/// # Errors
/// What is wrong with the columns; `row` is undefined then.
pub(crate) fn assemble<'v>(
    layout: Option<&RowLayout>,
    base: Option<RowImage<'_>>,
    changes: impl Iterator<Item = (u32, Option<&'v [u8]>)>,
    row: &mut RowBuffer,
) -> Result<(), String> {
    if let Some(layout) = layout {
        let base = base.map(|base| layout.view(base.bytes, base.blobs));
        return layout.assemble(base, changes, row).map_err(|error| error.to_string());
    }
    row.bytes.clear();
    row.blobs.clear();
    for (expected, (ordinal, image)) in (0_u32..).zip(changes) {
        let Some(image) = image.filter(|_| ordinal == expected) else {
            return Err(format!("part {expected} of an opaque row is missing"));
        };
        if ordinal == 0 {
            row.bytes.extend_from_slice(image);
        } else {
            row.blobs.push(Bytes::copy_from(image));
        }
    }
    Ok(())
}
