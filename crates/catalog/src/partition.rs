//! Partition functions and schemes, and the tables and indexes that are placed on a scheme.
//!
//! All rows of a table are in one place. A partition is a range of values: its number is computed
//! from the partition column when rows are counted, switched or truncated.
//!
//! ```text
//!   table or index ──► PartitionedOn ──► PartitionScheme ──► PartitionFunction
//!                      column            filegroups          boundary values
//! ```

use std::cmp::Ordering;
use std::sync::Arc;

use storage::RowImage;
use types::Value;
use types::compare::order;
use types::value::ColumnType;

use super::name::Name;
use super::{ColumnDef, Database, DatabaseFile, IndexDef, TableDef};

/// First `function_id`, as in SQL Server.
const FUNCTION_ID_FIRST: i32 = 65_536;
/// First `data_space_id` of a partition scheme, as in SQL Server.
const SCHEME_ID_FIRST: i32 = 65_601;
/// Most partitions of a partition function.
pub const PARTITIONS_MAX: usize = 15_000;

/// A partition function: it maps a value to the number of a partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionFunction {
    /// `function_id`, 65536 and more.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Type and collation of the parameter.
    pub ty: ColumnType,
    /// Whether the parameter was declared as `numeric`, which the catalog shows instead of
    /// `decimal`.
    pub numeric: bool,
    /// RANGE RIGHT: a boundary value belongs to the partition on its right.
    pub right: bool,
    /// Boundary values in ascending order, without duplicates; NULL comes first.
    pub values: Vec<Value>,
    /// Creation time, as `datetime`.
    pub created: Value,
    /// Time of the last ALTER, as `datetime`.
    pub modified: Value,
}

impl PartitionFunction {
    /// Returns the number of partitions: one more than there are boundary values.
    pub fn fanout(&self) -> usize {
        self.values.len() + 1
    }

    /// Returns the number of the partition, from 1, that a value of the parameter's type is in.
    pub fn number(&self, value: &Value) -> usize {
        let is_before = |boundary: &Value| match order(boundary, value, self.ty.collation) {
            Ordering::Less => true,
            Ordering::Equal => self.right,
            Ordering::Greater => false,
        };
        self.values.partition_point(is_before) + 1
    }

    /// Returns the place of a boundary value, or the place where it would be inserted.
    ///
    /// # Errors
    /// The place where it is missing.
    pub fn find(&self, value: &Value) -> Result<usize, usize> {
        self.values.binary_search_by(|boundary| order(boundary, value, self.ty.collation))
    }

    /// Returns the boundary values below and above a partition, by its number; `None` for an open
    /// end.
    pub fn range(&self, number: usize) -> (Option<&Value>, Option<&Value>) {
        let below = number.checked_sub(2).and_then(|place| self.values.get(place));
        (below, number.checked_sub(1).and_then(|place| self.values.get(place)))
    }

    /// Returns whether a partition of this function has only values that a partition of `other` has
    /// too. The parameters are of one type.
    pub fn is_within(&self, number: usize, other: &Self, of_other: usize) -> bool {
        let ((low, high), (other_low, other_high)) = (self.range(number), other.range(of_other));
        let compare = |a: &Value, b: &Value| order(a, b, self.ty.collation);
        // A boundary on the left is excluded by LEFT and included by RIGHT; on the right it is the
        // other way round.
        let starts = match (low, other_low) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => match compare(a, b) {
                Ordering::Greater => true,
                Ordering::Equal => !self.right || other.right,
                Ordering::Less => false,
            },
        };
        let ends = match (high, other_high) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => match compare(a, b) {
                Ordering::Less => true,
                Ordering::Equal => self.right || !other.right,
                Ordering::Greater => false,
            },
        };
        starts && ends
    }
}

/// A partition scheme: it maps the partitions of a function to filegroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionScheme {
    /// `data_space_id`, 65601 and more.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// `function_id` of its partition function.
    pub function: i32,
    /// Filegroup of each partition.
    pub filegroups: Vec<String>,
    /// NEXT USED: filegroup of the next partition that SPLIT makes.
    pub next: Option<String>,
}

/// The placement of a table or index on a partition scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionedOn {
    /// `data_space_id` of the scheme.
    pub scheme: i32,
    /// Ordinal of the partition column.
    pub column: u16,
    /// DATA_COMPRESSION of the partitions that differ from that of the table or index: number of
    /// the partition and compression, ordered by number.
    pub compression: Vec<(u32, u8)>,
}

impl PartitionedOn {
    /// Returns DATA_COMPRESSION of a partition; `common` is that of the table or index.
    pub fn compression_of(&self, number: u32, common: u8) -> u8 {
        let found = self.compression.iter().find(|(partition, _)| *partition == number);
        found.map_or(common, |(_, compression)| *compression)
    }

    /// Sets DATA_COMPRESSION of a partition.
    pub fn compress(&mut self, number: u32, compression: u8) {
        self.compression.retain(|(partition, _)| *partition != number);
        self.compression.push((number, compression));
        self.compression.sort_unstable();
    }
}

/// Computes the partition of rows of a table.
pub struct Partitioner {
    /// The function that maps values to partitions.
    pub function: Arc<PartitionFunction>,
    layout: Arc<types::row::RowLayout>,
    /// Ordinal of the partition column.
    pub column: usize,
}

impl Partitioner {
    /// Returns the number of the partition that a row is in.
    pub fn number_of(&self, image: RowImage<'_>) -> usize {
        let view = self.layout.view(image.bytes, image.blobs);
        self.function.number(&view.get(self.column))
    }
}

impl TableDef {
    /// Returns the placement of the table's own rows: of its clustered index or heap.
    pub fn partitioned(&self) -> Option<&PartitionedOn> {
        if let Some(index) = &self.columnstore {
            return index.on.as_ref();
        }
        match self.all_indexes().find(|index| index.clustered) {
            Some(index) => index.on.as_ref(),
            None => self.on.as_ref(),
        }
    }

    /// Returns a mutable reference to every placement of the table and its indexes.
    pub fn placements_mut(&mut self) -> impl Iterator<Item = &mut PartitionedOn> {
        let indexes = self.indexes.iter_mut().chain(&mut self.disabled);
        let indexes = indexes.filter_map(|index| index.on.as_mut());
        let columns = self.columnstore.iter_mut().filter_map(|index| index.on.as_mut());
        let secondary = self.column_index.iter_mut().chain(&mut self.disabled_columns);
        let secondary = secondary.filter_map(|index| index.on.as_mut());
        self.on.iter_mut().chain(indexes).chain(columns).chain(secondary)
    }

    /// Returns every placement of the table and its indexes. That of a heap remains beside a
    /// clustered index and is in force when the index is dropped.
    pub fn placements(&self) -> impl Iterator<Item = &PartitionedOn> {
        let indexes = self.all_indexes().filter_map(|index| index.on.as_ref());
        let columns = self.columnstore.iter().filter_map(|index| index.on.as_ref());
        let secondary = self.column_index.iter().chain(&self.disabled_columns);
        let secondary = secondary.filter_map(|index| index.on.as_ref());
        self.on.iter().chain(indexes).chain(columns).chain(secondary)
    }
}

impl IndexDef {
    /// Returns whether the index has a column as a key or included column.
    pub fn has_column(&self, ordinal: u16) -> bool {
        self.keys.iter().any(|(key, _)| *key == ordinal) || self.included.contains(&ordinal)
    }

    /// Returns the partition column if it is neither a key nor an included column: SQL Server adds
    /// it to the index.
    pub fn added_column(&self) -> Option<u16> {
        let column = self.on.as_ref().map(|on| on.column);
        column.filter(|ordinal| !self.has_column(*ordinal))
    }
}

/// Returns the filegroups that files declare, in the order of their `data_space_id`s from 1.
pub fn filegroups(files: &[DatabaseFile]) -> Vec<&DatabaseFile> {
    let mut found: Vec<&DatabaseFile> = Vec::new();
    for file in files.iter().filter(|file| !file.log) {
        if !found.iter().any(|known| Name::same(&known.filegroup, &file.filegroup)) {
            found.push(file);
        }
    }
    found
}

impl Database {
    /// Finds a partition function by its `function_id`.
    pub fn partition_function(&self, id: i32) -> Option<&Arc<PartitionFunction>> {
        self.partition_functions.values().find(|function| function.id == id)
    }

    /// Finds a partition scheme by its `data_space_id`.
    pub fn partition_scheme(&self, id: i32) -> Option<&Arc<PartitionScheme>> {
        self.partition_schemes.values().find(|scheme| scheme.id == id)
    }

    /// Finds the partition function of a placement.
    pub fn function_of(&self, on: &PartitionedOn) -> Option<&Arc<PartitionFunction>> {
        self.partition_function(self.partition_scheme(on.scheme)?.function)
    }

    /// Returns what computes the partitions of a table's rows for a placement.
    pub fn partitioner(&self, table: &TableDef, on: &PartitionedOn) -> Option<Partitioner> {
        Some(Partitioner {
            function: Arc::clone(self.function_of(on)?),
            layout: Arc::clone(&table.layout),
            column: usize::from(on.column),
        })
    }

    /// Returns the `data_space_id` of a filegroup; `None` if it does not exist.
    pub fn filegroup_id(&self, name: &str) -> Option<i32> {
        let wanted = if Name::same(name, "default") { "PRIMARY" } else { name };
        let groups = filegroups(&self.files);
        let place = groups.iter().position(|group| Name::same(&group.filegroup, wanted))?;
        i32::try_from(place + 1).ok()
    }

    /// Returns a filegroup's name as it was created. `default` is the primary filegroup.
    pub fn filegroup_name(&self, name: &str) -> Option<&str> {
        let place = usize::try_from(self.filegroup_id(name)? - 1).ok()?;
        filegroups(&self.files).get(place).map(|group| group.filegroup.as_str())
    }

    /// Returns the id for a new partition function.
    pub fn next_function_id(&self) -> i32 {
        let highest = self.partition_functions.values().map(|function| function.id + 1).max();
        highest.unwrap_or(FUNCTION_ID_FIRST)
    }

    /// Returns the id for a new partition scheme.
    pub fn next_scheme_id(&self) -> i32 {
        let highest = self.partition_schemes.values().map(|scheme| scheme.id + 1).max();
        highest.unwrap_or(SCHEME_ID_FIRST)
    }
}

/// Returns whether a column has the type of a partition function's parameter: `decimal` and
/// `numeric` are two types here.
pub fn is_of_type(column: &ColumnDef, function: &PartitionFunction) -> bool {
    column.ty.data_type == function.ty.data_type && column.numeric == function.numeric
}

#[cfg(test)]
mod tests {
    use types::DataType;

    use super::*;

    fn function(right: bool, values: &[Option<i32>]) -> PartitionFunction {
        let collation = types::Collation::default();
        let ty = ColumnType { data_type: DataType::Int, collation, nullable: true };
        let value = |value: &Option<i32>| value.map_or(Value::Null, Value::Int);
        PartitionFunction {
            id: FUNCTION_ID_FIRST,
            name: "f".to_owned(),
            ty,
            numeric: false,
            right,
            values: values.iter().map(value).collect(),
            created: Value::Null,
            modified: Value::Null,
        }
    }

    fn numbers(function: &PartitionFunction, values: &[Option<i32>]) -> Vec<usize> {
        let value = |value: &Option<i32>| value.map_or(Value::Null, Value::Int);
        values.iter().map(|v| function.number(&value(v))).collect()
    }

    /// The page "CREATE PARTITION FUNCTION" has these two functions.
    #[test]
    fn a_boundary_belongs_to_the_side_that_range_names() {
        let values = [Some(-5), Some(1), Some(2), Some(100), Some(101), Some(1_000), None];
        let left = function(false, &[Some(1), Some(100), Some(1_000)]);
        assert_eq!(numbers(&left, &values), [1, 1, 2, 2, 3, 3, 1]);
        let right = function(true, &[Some(1), Some(100), Some(1_000)]);
        assert_eq!(numbers(&right, &values), [1, 2, 2, 3, 3, 4, 1]);
    }

    /// "If NULL is a boundary and RIGHT is given, the first partition is empty and NULLs are in the
    /// second."
    #[test]
    fn null_is_the_lowest_value() {
        let left = function(false, &[None, Some(10)]);
        assert_eq!(numbers(&left, &[None, Some(-1), Some(11)]), [1, 2, 3]);
        let right = function(true, &[None, Some(10)]);
        assert_eq!(numbers(&right, &[None, Some(-1), Some(11)]), [2, 2, 3]);
    }

    /// Each pair of partitions is compared by the values from -1 to 31 that they have.
    #[test]
    fn a_partition_is_within_another_if_all_its_values_are() {
        let lists: [&[Option<i32>]; 4] =
            [&[Some(10), Some(20)], &[Some(10), Some(30)], &[Some(20)], &[]];
        let mut within = 0;
        for (right, other_right) in [(false, false), (true, true)] {
            for (a, b) in lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b))) {
                let (one, other) = (function(right, a), function(other_right, b));
                for number in 1..=one.fanout() {
                    for of_other in 1..=other.fanout() {
                        let mut inside = (-1..=31).map(Value::Int);
                        let really = inside.all(|value| {
                            one.number(&value) != number || other.number(&value) == of_other
                        });
                        assert_eq!(one.is_within(number, &other, of_other), really);
                        within += usize::from(really);
                    }
                }
            }
        }
        assert!(within > 20, "{within}");
    }
}
