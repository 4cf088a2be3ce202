//! The encoding of tables.

use catalog::{
    CheckDef, ColumnDef, ColumnIndexDef, ColumnTest, ColumnstoreDef, DefaultDef, ExternalPlace,
    ForeignKeyDef, Generated, IndexConstraint, IndexDef, IndexFilter, IndexKind, Period,
    ReferenceAction, RowShape, ShownOptions, StatisticsDef, TableDef, Test, Versioning, layout_of,
};
use storage::TableId;
use storage::columnstore::ColumnIndexId;
use types::{DataType, Length};

use crate::NewTable;
use crate::code::{
    Code, Cx, Fields, Result, choice, fault, put_field, put_sized, record, split_sized,
};

/// The storage id of every shape while it is made: its storage is dropped at once. A free
/// id could be that of a table whose definition is read later.
const SHAPE: TableId = TableId(u32::MAX);
/// Most columns of a table: those of a wide table with a column set in SQL Server.
const COLUMNS_MAX: usize = 30_000;

record! { ColumnDef {
    1 name, 2 ty, 3 user_type, 4 identity, 5 default, 6 computed, 7 row_guid, 8 numeric, 9 sparse,
    10 generated, 11 hidden, 12 trims, 13 persisted, 14 not_for_replication,
} }
record! { DefaultDef { 1 id, 2 name, 3 text, 4 system_named } }
choice! { Generated { RowStart = 0, RowEnd = 1 } }
record! { Period { 1 start, 2 end } }
record! { IndexDef {
    1 id, 2 name, 3 keys, 4 included, 5 unique, 6 constraint, 7 constraint_id, 8 kind, 9 clustered,
    10 bucket_count, 11 ignore_dup_key, 12 system_named, 13 filter, 14 shown, 15 on,
} }
choice! { IndexConstraint { PrimaryKey = 0, Unique = 1 } }
choice! { IndexKind { Hash = 0, Range = 1 } }
record! { ShownOptions {
    1 fill_factor, 2 is_padded, 3 no_row_locks, 4 no_page_locks, 5 is_sequential, 6 no_recompute,
    7 compression,
} }
record! { IndexFilter { 1 text, 2 tests } }
record! { ColumnTest { 1 column, 2 test } }
record! { CheckDef {
    1 id, 2 name, 3 text, 4 column, 5 enabled, 6 trusted, 7 system_named, 8 not_for_replication,
} }
record! { ForeignKeyDef {
    1 id, 2 name, 3 columns, 4 referenced, 5 referenced_columns, 6 on_delete, 7 on_update,
    8 enabled, 9 trusted, 10 system_named, 11 not_for_replication,
} }
choice! { ReferenceAction { NoAction = 0, Cascade = 1, SetNull = 2, SetDefault = 3 } }
record! { StatisticsDef { 1 name, 2 columns, 3 no_recompute } }
record! { ColumnstoreDef { 1 name, 2 compression_delay, 3 on } }
record! { ColumnIndexDef { 1 id, 2 storage_id, 3 name, 4 columns, 5 compression_delay, 6 on } }
record! { ExternalPlace { 1 data_source, 2 file_format, 3 location, 4 path } }

impl Code for ColumnIndexId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        u32::get(bytes, cx).map(Self)
    }
}

impl Code for Test {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::NotNull => out.push(1),
            Self::Compare(op, value, collation) => {
                out.push(2);
                put_sized(out, |out| op.put(out));
                put_sized(out, |out| collation.put(out));
                value.put(out);
            }
            Self::In(values, collation) => {
                out.push(3);
                put_sized(out, |out| collation.put(out));
                values.put(out);
            }
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        match bytes.split_first() {
            Some((0, [])) => Ok(Self::Null),
            Some((1, [])) => Ok(Self::NotNull),
            Some((2, rest)) => {
                let (op, rest) = split_sized(rest)?;
                let (collation, value) = split_sized(rest)?;
                let (op, value) = (Code::get(op, cx)?, Code::get(value, cx)?);
                Ok(Self::Compare(op, value, Code::get(collation, cx)?))
            }
            Some((3, rest)) => {
                let (collation, values) = split_sized(rest)?;
                Ok(Self::In(Code::get(values, cx)?, Code::get(collation, cx)?))
            }
            _ => fault("not a test of a column"),
        }
    }
}

/// The part of a table in system versioning, by ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is not versioned.
    None,
    /// Current row versions; the history table has this id.
    Current(i32),
    /// Earlier row versions; the current table has this id.
    History(i32),
}

impl Code for Role {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Current(id) => (0_u8, *id).put(out),
            Self::History(id) => (1_u8, *id).put(out),
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::None);
        }
        match <(u8, i32)>::get(bytes, cx)? {
            (0, id) => Ok(Self::Current(id)),
            (1, id) => Ok(Self::History(id)),
            _ => fault("not a role in versioning"),
        }
    }

    fn is_usual(&self) -> bool {
        *self == Self::None
    }

    fn usual() -> Option<Self> {
        Some(Self::None)
    }
}

/// Appends a table: all but what its columns determine and what storage has.
pub(crate) fn put_table(table: &TableDef, of: Use, out: &mut Vec<u8>) {
    let TableDef {
        id,
        database_id,
        schema_id,
        schema,
        name,
        columns,
        indexes,
        disabled,
        checks,
        foreign_keys,
        statistics,
        ansi_nulls,
        memory_optimized,
        schema_only,
        compression,
        lock_escalation,
        created,
        layout: _,
        rows,
        referenced,
        columnstore,
        column_index,
        disabled_columns,
        external,
        period,
        versioning,
        on,
    } = table;
    put_field(out, 1, id);
    put_field(out, 2, database_id);
    put_field(out, 3, schema_id);
    put_field(out, 4, schema);
    put_field(out, 5, name);
    put_field(out, 6, columns);
    put_field(out, 7, indexes);
    put_field(out, 8, checks);
    put_field(out, 9, foreign_keys);
    put_field(out, 10, statistics);
    put_field(out, 11, ansi_nulls);
    put_field(out, 12, memory_optimized);
    put_field(out, 13, schema_only);
    put_field(out, 14, compression);
    put_field(out, 15, created);
    // A shape gets another storage at each start.
    put_field(out, 16, &if of == Use::Object { rows.data.id().0 } else { 0 });
    put_field(out, 17, referenced);
    put_field(out, 18, columnstore);
    put_field(out, 19, column_index);
    put_field(out, 20, external);
    put_field(out, 21, period);
    put_field(out, 22, &Role::of(versioning));
    put_field(out, 23, on);
    put_field(out, 30, lock_escalation);
    put_field(out, 31, disabled);
    put_field(out, 32, disabled_columns);
}

impl Role {
    fn of(versioning: &Versioning) -> Self {
        match versioning {
            Versioning::Off => Self::None,
            Versioning::Current { history, rows: _ } => Self::Current(*history),
            Versioning::History { current } => Self::History(*current),
        }
    }
}

/// What a table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// An object of the catalog.
    Object,
    /// A function's result, a view's columns or a table type: never has rows.
    Shape,
}

/// Returns the storage id of an encoded table, without reading the rest of it.
pub(crate) fn storage_of(bytes: &[u8]) -> Option<TableId> {
    let found = Fields::of(bytes).find(16).ok().flatten()?;
    Some(TableId(u32::from_le_bytes(found.try_into().ok()?)))
}

/// Reads a table and makes its storage. The history table of one with [`Role::Current`] is not
/// linked yet.
pub(crate) fn get_table(bytes: &[u8], of: Use, cx: &mut Cx<'_>) -> Result<(TableDef, Role)> {
    let mut fields = Fields::of(bytes);
    let (id, database_id) = (fields.take(1, cx)?, fields.take(2, cx)?);
    let (schema_id, schema) = (fields.take(3, cx)?, fields.take(4, cx)?);
    let name: String = fields.take(5, cx)?;
    let (columns, indexes) = (fields.take::<Vec<_>>(6, cx)?, fields.take::<Vec<_>>(7, cx)?);
    let (checks, foreign_keys) = (fields.take(8, cx)?, fields.take(9, cx)?);
    let (statistics, ansi_nulls) = (fields.take(10, cx)?, fields.take(11, cx)?);
    let (memory_optimized, schema_only) = (fields.take(12, cx)?, fields.take(13, cx)?);
    let (compression, created) = (fields.take(14, cx)?, fields.take(15, cx)?);
    let (storage, referenced) = (TableId(fields.take(16, cx)?), fields.take(17, cx)?);
    let (columnstore, column_index) = (fields.take(18, cx)?, fields.take(19, cx)?);
    let (external, period) = (fields.take(20, cx)?, fields.take(21, cx)?);
    let (role, on) = (fields.take(22, cx)?, fields.take(23, cx)?);
    let (lock_escalation, disabled, disabled_columns) =
        (fields.take(30, cx)?, fields.take::<Vec<_>>(31, cx)?, fields.take(32, cx)?);
    fields.end()?;
    [&indexes, &disabled].iter().try_for_each(|indexes| check(&columns, indexes))?;
    if of == Use::Object && !cx.storages.insert(storage) {
        return fault(format!("storage {} is another table's", storage.0));
    }
    let layout = layout_of(&columns);
    let has_columns = Option::<ColumnstoreDef>::is_some(&columnstore);
    let rows = cx.tables.make(&NewTable {
        shape: RowShape {
            columns: &columns,
            indexes: &indexes,
            layout: &layout,
            memory_optimized,
            has_columns,
            durable: of == Use::Object && catalog::table::is_durable(id, database_id, schema_only),
            restored: Some(if of == Use::Object { storage } else { SHAPE }),
        },
        id,
        name: &name,
        is_shape: of == Use::Shape,
    })?;
    let table = TableDef {
        id,
        database_id,
        schema_id,
        schema,
        name,
        columns,
        indexes,
        disabled,
        checks,
        foreign_keys,
        statistics,
        ansi_nulls,
        memory_optimized,
        schema_only,
        compression,
        lock_escalation,
        created,
        layout,
        rows,
        referenced,
        columnstore,
        column_index,
        disabled_columns,
        external,
        period,
        versioning: versioning_of(role),
        on,
    };
    check_ordinals(&table)?;
    Ok((table, role))
}

/// Returns what a table knows of its versions before it is linked with its history table.
fn versioning_of(role: Role) -> Versioning {
    match role {
        Role::None | Role::Current(_) => Versioning::Off,
        Role::History(current) => Versioning::History { current },
    }
}

/// Checks what the row layout and the indexes rely on.
fn check(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    if columns.len() > COLUMNS_MAX {
        return fault(format!("{} columns", columns.len()));
    }
    for column in columns {
        let is_valid = match column.ty.data_type {
            DataType::Char(length) | DataType::Binary(length) => (1..=8_000).contains(&length),
            DataType::NChar(length) => (1..=4_000).contains(&length),
            DataType::VarChar(Length::Limited(length))
            | DataType::VarBinary(Length::Limited(length)) => (1..=8_000).contains(&length),
            DataType::NVarChar(Length::Limited(length)) => (1..=4_000).contains(&length),
            _ => true,
        };
        if !is_valid {
            return fault(format!("the column `{}` has an invalid length", column.name));
        }
    }
    for index in indexes {
        let filter = index.filter.iter().flat_map(|filter| &filter.tests).map(|test| test.column);
        let used = index.keys.iter().map(|(key, _)| *key).chain(filter);
        in_range(used.chain(index.included.iter().copied()), columns)?;
        if index.bucket_count.is_some_and(|count| count > catalog::BUCKET_COUNT_MAX) {
            return fault(format!("the index `{}` has too many buckets", index.name));
        }
    }
    Ok(())
}

/// Checks the ordinals that other parts of the table have.
fn check_ordinals(table: &TableDef) -> Result<()> {
    let checks = table.checks.iter().filter_map(|check| check.column);
    let keys = table.foreign_keys.iter().flat_map(|key| key.columns.iter().copied());
    let statistics = table.statistics.iter().flat_map(|of| of.columns.iter().copied());
    let index = table.column_index.iter().chain(&table.disabled_columns);
    let index = index.flat_map(|index| index.columns.iter().copied());
    let on = table.placements().map(|on| on.column);
    let all = checks.chain(keys).chain(statistics).chain(index).chain(table.period_columns());
    let all = all.chain(on);
    in_range(all, &table.columns)
}

fn in_range(mut ordinals: impl Iterator<Item = u16>, columns: &[ColumnDef]) -> Result<()> {
    match ordinals.find(|ordinal| usize::from(*ordinal) >= columns.len()) {
        Some(ordinal) => fault(format!("there is no column {}", u32::from(ordinal) + 1)),
        None => Ok(()),
    }
}
