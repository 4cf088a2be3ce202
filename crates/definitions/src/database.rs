//! The encoding of a database's own attributes, and of what belongs to it besides objects: schemas,
//! principals, permissions, types, properties, files.

use std::collections::BTreeMap;

use catalog::partition::PARTITIONS_MAX;
use catalog::scoped::SCOPED;
use catalog::{
    Class, Database, DatabaseFile, DatabaseOptions, ExtendedProperty, ExternalDataSource,
    ExternalFileFormat, FileSize, PartitionFunction, PartitionScheme, PartitionedOn, Permission,
    Principal, PrincipalKind, Restoring, Schema, UserAccess, UserType,
};
use parquet_io::Compression;
use tsql::ast::StatementKind;
use types::value::ColumnType;
use types::{Collation, Value};

use crate::code::{Code, Cx, Fields, Result, choice, fault, known, put_field, record};
use crate::text::parse_batch;

record! { Schema { 1 id, 2 name, 3 owner } }
record! { Principal {
    1 id, 2 name, 3 kind, 4 login, 5 member_of, 6 default_schema, 7 owner,
} }
choice! { PrincipalKind { SqlUser = 0, DatabaseRole = 1 } }
choice! { Class { Whole = 0, Object = 1, Schema = 2, Principal = 3, Type = 4 } }
record! { Permission {
    1 class, 2 object_id, 3 column_id, 4 principal_id, 5 permission, 6 granted, 7 with_option,
    8 grantor,
} }
record! { DatabaseFile { 1 filegroup, 2 name, 3 path, 4 memory_optimized, 5 log, 6 size } }
record! { Restoring { 1 files, 2 until_100ns } }
record! { FileSize { 1 size, 2 max, 3 growth, 4 is_percent } }
record! { ExtendedProperty { 1 name, 2 value } }
record! { ExternalDataSource { 1 id, 2 name, 3 location, 4 folder } }
record! { ExternalFileFormat { 1 id, 2 name, 3 data_compression, 4 compression } }
record! { PartitionFunction {
    1 id, 2 name, 3 ty, 4 numeric, 5 right, 6 values, 7 created, 8 modified,
} }
record! { PartitionScheme { 1 id, 2 name, 3 function, 4 filegroups, 5 next } }
record! { PartitionedOn { 1 scheme, 2 column, 3 compression } }
choice! { Compression { None = 0, Snappy = 1, Gzip = 2, Zstd = 3, Lz4 = 4 } }
choice! { UserAccess { Multi = 0, Single = 1, Restricted = 2 } }
record! { Attributes { 1 id, 2 name, 3 collation, 4 created } }

/// Checks what the search for a partition relies on.
pub(crate) fn check_function(function: &PartitionFunction) -> Result<()> {
    let collation = function.ty.collation;
    let rises = |pair: &[Value]| types::compare::order(&pair[0], &pair[1], collation).is_lt();
    match function.fanout() <= PARTITIONS_MAX && function.values.windows(2).all(rises) {
        true => Ok(()),
        false => fault("boundary values that do not rise"),
    }
}

/// The attributes of a database that are not options.
pub(crate) struct Attributes {
    pub(crate) id: i16,
    pub(crate) name: String,
    pub(crate) collation: Collation,
    pub(crate) created: Value,
}

impl Attributes {
    /// Returns the attributes of a database. The fields that have other entries are named
    /// here, so that one that is added does not compile until it has a place.
    pub(crate) fn of(database: &Database) -> Self {
        let Database {
            id,
            name,
            collation,
            created,
            schemas: _,
            objects: _,
            triggers: _,
            types: _,
            principals: _,
            options: _,
            files: _,
            permissions: _,
            properties: _,
            data_sources: _,
            file_formats: _,
            partition_functions: _,
            partition_schemes: _,
            owners: _,
            // Only the copy made for a login has any.
            withheld: _,
            // Made of the objects.
            index: _,
        } = database;
        Self { id: *id, name: name.clone(), collation: *collation, created: created.clone() }
    }
}

/// Scoped configurations with names that live as long as the program.
struct Scoped(BTreeMap<&'static str, i64>);

impl Scoped {
    fn put_field(out: &mut Vec<u8>, tag: u8, configurations: &BTreeMap<&'static str, i64>) {
        let named = configurations.iter().map(|(name, value)| ((*name).to_owned(), *value));
        put_field(out, tag, &named.collect::<BTreeMap<String, i64>>());
    }

    fn take(fields: &mut Fields<'_>, tag: u8, cx: &mut Cx<'_>) -> Result<Self> {
        let named: BTreeMap<String, i64> = fields.take(tag, cx)?;
        let names = || SCOPED.iter().map(|configuration| configuration.name);
        let found = named.into_iter().map(|(name, value)| Ok((known(names(), &name)?, value)));
        found.collect::<Result<_>>().map(Self)
    }
}

impl Code for DatabaseOptions {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            elevate_to_snapshot,
            read_committed_snapshot,
            allow_snapshot_isolation,
            user_access,
            compatibility_level,
            recovery,
            scoped,
            scoped_secondary,
            others,
            restoring,
        } = self;
        put_field(out, 1, elevate_to_snapshot);
        put_field(out, 2, read_committed_snapshot);
        put_field(out, 3, allow_snapshot_isolation);
        put_field(out, 4, user_access);
        put_field(out, 5, compatibility_level);
        put_field(out, 6, recovery);
        Scoped::put_field(out, 7, scoped);
        Scoped::put_field(out, 8, scoped_secondary);
        put_field(out, 9, others);
        put_field(out, 10, restoring);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let made = Self {
            elevate_to_snapshot: fields.take(1, cx)?,
            read_committed_snapshot: fields.take(2, cx)?,
            allow_snapshot_isolation: fields.take(3, cx)?,
            user_access: fields.take(4, cx)?,
            compatibility_level: fields.take(5, cx)?,
            recovery: fields.take(6, cx)?,
            scoped: Scoped::take(&mut fields, 7, cx)?.0,
            scoped_secondary: Scoped::take(&mut fields, 8, cx)?.0,
            others: fields.take(9, cx)?,
            restoring: fields.take(10, cx)?,
        };
        fields.end()?;
        Ok(made)
    }
}

/// The tree of a table type is kept as the text of CREATE TYPE, and its compiled definition as that of
/// a table without storage: so the ids of the table and its constraints survive a restart.
impl Code for UserType {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { id, schema, name, owner, base, table, shape, text, quoted } = self;
        put_field(out, 1, id);
        put_field(out, 2, schema);
        put_field(out, 3, name);
        put_field(out, 4, base);
        put_field(out, 5, &table.as_ref().map(|_| text.clone()));
        put_field(out, 6, quoted);
        put_field(out, 7, shape);
        put_field(out, 8, owner);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let (id, schema, name) = (fields.take(1, cx)?, fields.take(2, cx)?, fields.take(3, cx)?);
        let base: Option<ColumnType> = fields.take(4, cx)?;
        let text: Option<String> = fields.take(5, cx)?;
        let (quoted, shape) = (fields.take(6, cx)?, fields.take(7, cx)?);
        let owner = fields.take(8, cx)?;
        fields.end()?;
        let table = match &text {
            None => None,
            Some(text) => {
                let statements = parse_batch(text, quoted)?;
                let table = statements.into_iter().find_map(|statement| match statement.kind {
                    StatementKind::CreateType(create) => Self::table_of(&create),
                    _ => None,
                });
                let Some(table) = table else { return fault("no CREATE TYPE .. AS TABLE") };
                Some(table)
            }
        };
        let text = text.unwrap_or_default();
        Ok(Self { id, schema, name, owner, base, table, shape, text, quoted })
    }
}
