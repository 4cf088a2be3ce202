//! Partitions of tables and indexes as the catalog views show them, with the rows of each.
//!
//! All rows of a table are in one place, so the rows of a partition are counted when a view asks for
//! them, once for all partitions of an index. An unpartitioned table has its count at hand.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ::types::Value;
use storage::columnstore::{BLOCK_ROWS, RowGroup};
use storage::{Bounds, Order, Read, ScanSpec, Store, Transaction, TransactionOptions};

use crate::types::{IndexRow, Pages, asked_indexes, index_rows};
use crate::view::Scope;
use ::catalog::{Database, Partitioner, TableDef};
use ::session::SessionState;

/// Rows that are read per call.
const BATCH: usize = 1_024;
/// The place of the partition number in `partition_id`.
const NUMBER_BITS: u32 = 48;

/// A partition of an index or heap: a row of `sys.partitions`.
#[derive(Clone)]
pub struct PartitionRow {
    /// The index or heap that it belongs to.
    pub index: IndexRow,
    /// `partition_number`, which counts from 1.
    pub number: u32,
    filegroup: i32,
    /// The counts of all partitions; `None` if the index is not partitioned.
    counted: Option<Rc<Counted>>,
}

/// The rows of each partition of a placement, counted when they are asked for.
struct Counted {
    table: Arc<TableDef>,
    partitioner: Partitioner,
    store: Arc<Store>,
    counts: OnceCell<Vec<u64>>,
}

impl PartitionRow {
    /// Returns `partition_id`: the number of the table in storage, the index and the partition,
    /// combined.
    pub fn id(&self) -> i64 {
        let index = i64::from(self.index.id());
        let number = i64::from(self.number - 1) << NUMBER_BITS;
        number | i64::from(self.index.table.rows.data.id().0) << 16 | index
    }

    /// Returns whether its index is partitioned, so that storage does not count for it alone.
    pub fn is_one_of_many(&self) -> bool {
        self.counted.is_some()
    }

    /// Returns the `data_space_id` of its filegroup; 0 for a memory-optimized table.
    pub fn filegroup(&self) -> i32 {
        self.filegroup
    }

    /// Returns the number of committed rows.
    pub fn rows(&self) -> u64 {
        let Some(counted) = &self.counted else { return self.index.table.rows.data.row_count() };
        let place = usize::try_from(self.number - 1).unwrap_or(usize::MAX);
        counted.counts().get(place).copied().unwrap_or(0)
    }

    /// Returns `data_compression`: 0 NONE, 1 ROW, 2 PAGE.
    pub fn compression(&self) -> u8 {
        let common = self.index.shown().compression;
        self.index.on().map_or(common, |on| on.compression_of(self.number, common))
    }

    /// Returns the partition's share of the index's memory, in pages of 8 KB: by its rows, since
    /// partitions share pages.
    pub fn pages(&self) -> Pages {
        let all = self.index.pages();
        let Some(counted) = &self.counted else { return all };
        let counts = counted.counts();
        let place = usize::try_from(self.number).unwrap_or(usize::MAX).min(counts.len());
        let sum: u64 = counts.iter().sum();
        let upto: u64 = counts[..place].iter().sum();
        let before = upto - counts.get(place.wrapping_sub(1)).copied().unwrap_or(0);
        let at = |total: u64, rows: u64| match sum {
            0 => 0,
            _ => u64::try_from(u128::from(total) * u128::from(rows) / u128::from(sum)).unwrap_or(0),
        };
        let share = |total: u64| match (sum, self.number) {
            (0, 1) => total,
            _ => at(total, upto) - at(total, before),
        };
        Pages { data: share(all.data), used: share(all.used), reserved: share(all.reserved) }
    }
}

impl Counted {
    fn counts(&self) -> &[u64] {
        self.counts.get_or_init(|| {
            let mut counts = vec![0; self.partitioner.function.fanout()];
            // A table that can't be read (it is being replaced) counts as empty.
            let _ = self.count(&mut counts);
            counts
        })
    }

    fn count(&self, counts: &mut [u64]) -> storage::Result<()> {
        let reader = self.store.begin(TransactionOptions::STATEMENT);
        let data = &self.table.rows.data;
        let read = Read::COMMITTED;
        let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
        let mut scan = reader.scan(data, spec)?;
        let mut images = Vec::with_capacity(BATCH);
        loop {
            sos::sched::yield_if_quantum_due();
            images.clear();
            scan.next_images(&mut images, BATCH)?;
            if images.is_empty() {
                break;
            }
            for image in &images {
                counts[self.partitioner.number_of(*image) - 1] += 1;
            }
        }
        for group in reader.row_groups(data, read)? {
            self.count_group(&reader, group, counts)?;
        }
        Ok(())
    }

    /// Counts the rows of a row group that are not deleted.
    fn count_group(
        &self,
        reader: &Transaction,
        group: RowGroup<'_>,
        counts: &mut [u64],
    ) -> storage::Result<()> {
        let mut deleted =
            reader.deleted_rows(&self.table.rows.data, group.id(), Read::COMMITTED)?;
        deleted.sort_unstable();
        let column = self.partitioner.column;
        let segment = group.segment(column);
        let mut values = ::types::batch::Vector::of_type(&self.table.columns[column].ty.data_type);
        for block in 0..segment.blocks() {
            values.clear();
            segment.block(block, &mut values);
            for at in 0..values.len() {
                let row = u32::try_from(block * BLOCK_ROWS + at).unwrap_or(u32::MAX);
                if deleted.binary_search(&row).is_err() {
                    let value: Value = values.get(at);
                    counts[self.partitioner.function.number(&value) - 1] += 1;
                }
            }
        }
        Ok(())
    }
}

/// Returns the partitions of a database's tables and indexes, by index and number.
pub fn partition_rows(session: &SessionState, database: &Database) -> Vec<PartitionRow> {
    expand(session, database, index_rows(session, database))
}

/// Returns the partitions selected by the first four arguments of a table function, the ids of
/// database, object and index and the number of the partition, with their `database_id`s.
///
/// # Errors
/// As [`asked_indexes`].
pub fn asked_partitions(scope: &Scope<'_>) -> ::types::Result<Vec<(i16, PartitionRow)>> {
    let wanted = match scope.arguments.get(3) {
        Some(Value::Int(number)) if *number > 0 => u32::try_from(*number).ok(),
        _ => None,
    };
    let mut of_database: BTreeMap<i16, Vec<IndexRow>> = BTreeMap::new();
    for (id, index) in asked_indexes(scope)? {
        of_database.entry(id).or_default().push(index);
    }
    let mut found = Vec::new();
    for (id, indexes) in of_database {
        let Some(database) = scope.session.catalog.database_by_id(id) else { continue };
        let partitions = expand(scope.session, database, indexes);
        let partitions = partitions.into_iter().filter(|p| wanted.is_none_or(|n| n == p.number));
        found.extend(partitions.map(|partition| (id, partition)));
    }
    Ok(found)
}

fn expand(
    session: &SessionState,
    database: &Database,
    indexes: Vec<IndexRow>,
) -> Vec<PartitionRow> {
    let mut rows: Vec<PartitionRow> = Vec::with_capacity(indexes.len());
    for index in indexes {
        let partitioner = index.on().and_then(|on| database.partitioner(&index.table, on));
        let Some(partitioner) = partitioner else {
            let filegroup = index.data_space();
            rows.push(PartitionRow { index, number: 1, filegroup, counted: None });
            continue;
        };
        // Aligned indexes of a table are counted together.
        let known = rows.iter().rev().take_while(|row| row.index.table.id == index.table.id);
        let counted = known.filter_map(|row| row.counted.clone()).find(|counted| {
            let other = &counted.partitioner;
            other.column == partitioner.column
                && Arc::ptr_eq(&other.function, &partitioner.function)
        });
        let scheme = index.on().and_then(|on| database.partition_scheme(on.scheme));
        let groups = scheme.map_or(&[][..], |scheme| scheme.filegroups.as_slice());
        let groups: Vec<i32> =
            groups.iter().map(|group| database.filegroup_id(group).unwrap_or(1)).collect();
        let counted = counted.unwrap_or_else(|| {
            Rc::new(Counted {
                table: Arc::clone(&index.table),
                partitioner,
                store: Arc::clone(&session.instance.store),
                counts: OnceCell::new(),
            })
        });
        rows.extend((1..).zip(groups).map(|(number, filegroup)| PartitionRow {
            index: index.clone(),
            number,
            filegroup,
            counted: Some(Rc::clone(&counted)),
        }));
    }
    rows
}
