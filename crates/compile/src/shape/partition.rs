//! ON scheme(column) of tables and indexes: the placement that is said, the checks of the partition
//! column, and DATA_COMPRESSION .. ON PARTITIONS.

use tsql::ast;
use types::{Msg, Result};

use super::index_option::compression;
use super::{Shaper, storage};
use ::catalog::name::Name;
use ::catalog::partition::is_of_type;
use ::catalog::{
    Catalog, ColumnDef, Database, IndexDef, PartitionFunction, PartitionedOn, TableDef,
};

/// What the ON clause of a table or index says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// There is no ON clause.
    Nothing,
    /// A filegroup: not partitioned.
    Filegroup,
    /// A partition scheme and its column.
    Scheme(PartitionedOn),
}

impl Said {
    /// Returns the placement; without an ON clause an index is placed as its table is.
    pub fn or(self, table: Option<&PartitionedOn>) -> Option<PartitionedOn> {
        match self {
            Self::Scheme(on) => Some(on),
            Self::Filegroup => None,
            Self::Nothing => table.map(|on| PartitionedOn { compression: Vec::new(), ..*on }),
        }
    }
}

/// Resolves the ON clause of a table with these columns, or of one of its indexes.
///
/// # Errors
/// 1921 for an unknown filegroup or scheme, 1911 for an unknown column, 2703 and 2726 for several,
/// 7724, 7726, 7727 and 1978 for a column that the function does not fit, 1707 for TEXTIMAGE_ON.
pub fn resolve(
    catalog: &Catalog,
    database: i16,
    (columns, table): (&[ColumnDef], &str),
    storage: &ast::Storage,
) -> Result<Said> {
    storage::check(catalog, database, storage)?;
    let Some((name, named)) = &storage.on else { return Ok(Said::Nothing) };
    let Some(database) = catalog.database_by_id(database) else { return Ok(Said::Filegroup) };
    let Some(scheme) = database.partition_schemes.get(&Name::new(name)) else {
        return Ok(Said::Filegroup);
    };
    let Some(function) = database.partition_function(scheme.function) else {
        return Err(Msg::InternalError.into());
    };
    if let Some(twice) = repeated(named) {
        return Err(types::Error::from(Msg::PartitionColumnTwice(twice)).with_state(2));
    }
    let [named] = named.as_slice() else {
        return Err(Msg::PartitionColumnCount(&function.name).into());
    };
    let place = columns.iter().position(|column| Name::same(&column.name, named));
    let column = place.and_then(|place| u16::try_from(place).ok());
    let column = column.ok_or(Msg::PartitionColumnMissing(named))?;
    check_column(&columns[usize::from(column)], table, function)?;
    if storage.textimage_on.is_some() {
        return Err(Msg::TextImagePartitioned.into());
    }
    Ok(Said::Scheme(PartitionedOn { scheme: scheme.id, column, compression: Vec::new() }))
}

fn repeated(names: &[ast::Ident]) -> Option<&str> {
    let mut rest = names.iter().enumerate();
    let found = rest.find(|(at, name)| names[..*at].iter().any(|other| Name::same(other, name)));
    found.map(|(_, name)| name.as_str())
}

fn check_column(column: &ColumnDef, table: &str, function: &PartitionFunction) -> Result<()> {
    if column.computed.is_some() && !column.persisted {
        return Err(Msg::PartitionColumnNotPersisted(&column.name, table).into());
    }
    if column.sparse {
        return Err(Msg::PartitionColumnSparse(&column.name, table).into());
    }
    if !is_of_type(column, function) {
        let of = type_name(&column.ty.data_type.to_string(), column.numeric);
        let parameter = type_name(&function.ty.data_type.to_string(), function.numeric);
        let error = Msg::PartitionColumnType(&column.name, &of, &function.name, &parameter);
        return Err(error.into());
    }
    if column.ty.data_type.is_string() && column.ty.collation != function.ty.collation {
        return Err(Msg::PartitionColumnCollation(&column.name, &function.name).into());
    }
    Ok(())
}

/// Returns a type as messages name it: `decimal` and `numeric` are two types.
pub fn type_name(of: &str, numeric: bool) -> String {
    if numeric { of.replacen("decimal", "numeric", 1) } else { of.to_owned() }
}

/// Checks that the partition column of a unique index is one of its keys: only then can uniqueness
/// be checked within a partition.
///
/// # Errors
/// 1908 if it is not.
pub fn check_unique(index: &IndexDef, columns: &[ColumnDef]) -> Result<()> {
    let Some(on) = index.on.as_ref().filter(|_| index.unique) else { return Ok(()) };
    if index.keys.iter().any(|(key, _)| *key == on.column) {
        return Ok(());
    }
    let column = &columns[usize::from(on.column)].name;
    Err(Msg::PartitionColumnUnique(column, &index.name).into())
}

/// The object of an option ON PARTITIONS, for messages: the statement's verb, `table` or `index`,
/// and its name.
pub type Subject<'a> = (&'a str, &'a str, &'a str);

/// Sets DATA_COMPRESSION of the partitions that options name with ON PARTITIONS.
///
/// # Errors
/// 7729 if the object is not partitioned, 7722 for a number out of range, 7728 for a range that is
/// turned round, 7711 for a partition that is named twice; 40517 for another option.
pub fn compress<'o>(
    on: Option<&mut PartitionedOn>,
    database: Option<&Database>,
    options: impl Iterator<Item = &'o ast::IndexOption>,
    (verb, kind, name): Subject<'_>,
) -> Result<()> {
    let mut options = options.peekable();
    if options.peek().is_none() {
        return Ok(());
    }
    let function = |on: &PartitionedOn| database.and_then(|database| database.function_of(on));
    let Some((on, fanout)) = on.and_then(|on| function(on).map(|f| f.fanout()).map(|f| (on, f)))
    else {
        return Err(Msg::NotPartitioned(verb, kind, name).into());
    };
    let mut named: Vec<u32> = Vec::new();
    for option in options {
        if *option.name != *"DATA_COMPRESSION" {
            return super::refuse(&format!("{} ON PARTITIONS", option.name));
        }
        let compression = compression(&option.name, &option.value)?;
        for number in numbers(&option.on_partitions, fanout, (kind, name))? {
            if named.contains(&number) {
                return Err(Msg::CompressionTwice.into());
            }
            named.push(number);
            on.compress(number, compression);
        }
    }
    Ok(())
}

/// Returns the partitions of a list of ranges.
///
/// # Errors
/// 7722 for a number out of range, 7728 for a range that is turned round.
pub fn numbers(
    ranges: &[(u32, u32)],
    fanout: usize,
    (kind, name): (&str, &str),
) -> Result<Vec<u32>> {
    let max = i64::try_from(fanout).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    for (from, to) in ranges {
        if from > to {
            return Err(Msg::PartitionRange(i64::from(*from), i64::from(*to)).into());
        }
        for number in [*from, *to].map(i64::from) {
            if !(1..=max).contains(&number) {
                let error = Msg::PartitionNumberRange(number, kind, name, max);
                return Err(types::Error::from(error).with_state(2));
            }
        }
        found.extend(*from..=*to);
    }
    Ok(found)
}

/// An index of the statement whose placement is resolved when all columns and indexes are known.
pub(super) struct Unplaced {
    name: String,
    storage: ast::Storage,
    /// Options with ON PARTITIONS.
    partly: Vec<ast::IndexOption>,
}

impl Shaper<'_, '_> {
    /// Makes the definition of an index on an existing table.
    ///
    /// # Errors
    /// 1911 for an unknown column, 1919 for a column whose type has no order.
    pub fn index_on(mut self, table: &TableDef, index: &ast::InlineIndex) -> Result<IndexDef> {
        self.adopt_columns(table);
        self.index(index, None)?;
        self.place_all(table.partitioned().cloned(), "create")?;
        self.take_index().ok_or_else(|| Msg::InternalError.into())
    }

    /// Places a new table and its indexes; returns the placement of a heap.
    pub(super) fn place_table(&mut self) -> Result<Option<PartitionedOn>> {
        let said = self.resolve_on(&self.storage)?;
        let mut on = self.place_all(said.or(None), "create")?;
        let database = self.binder.catalog.database_by_id(self.place.database_id);
        let subject = ("create", "table", self.place.name);
        let partly = std::mem::take(&mut self.partly);
        if self.compression.is_some() && !partly.is_empty() {
            return Err(Msg::CompressionTwice.into());
        }
        let clustered = self.indexes.iter_mut().find(|index| index.clustered);
        let has_clustered = clustered.is_some() || self.columnstore.is_some();
        let placed = clustered.map_or(&mut on, |index| &mut index.on);
        let database = database.map(AsRef::as_ref);
        compress(placed.as_mut(), database, partly.iter(), subject)?;
        Ok(on.filter(|_| !has_clustered))
    }

    /// Sets the ON clause of CREATE TABLE.
    pub fn stored(self, storage: &ast::Storage) -> Self {
        Self { storage: storage.clone(), ..self }
    }

    pub(super) fn is_memory_optimized(&self) -> bool {
        self.memory_optimized
    }

    /// Notes the ON clause and the options of an index, to be resolved by [`Self::place_all`].
    pub(super) fn note_place(
        &mut self,
        name: &str,
        storage: &ast::Storage,
        options: &[ast::IndexOption],
    ) {
        let partly = options.iter().filter(|option| !option.on_partitions.is_empty());
        let partly: Vec<ast::IndexOption> = partly.cloned().collect();
        self.unplaced.push(Unplaced { name: name.to_owned(), storage: storage.clone(), partly });
    }

    /// Places the new indexes of a table. `table` is the placement of the table so far. Returns the
    /// placement of the table's rows: that of a new clustered index, or `table`.
    pub(super) fn place_all(
        &mut self,
        table: Option<PartitionedOn>,
        verb: &str,
    ) -> Result<Option<PartitionedOn>> {
        let unplaced = std::mem::take(&mut self.unplaced);
        let mut said = Vec::with_capacity(unplaced.len());
        for index in &unplaced {
            said.push(self.resolve_on(&index.storage)?);
        }
        // Indexes are aligned with the clustered index, where the rows are.
        let is_clustered = |name: &str| {
            let own = self.columnstore.as_ref().is_some_and(|index| index.name == name);
            own || self.indexes.iter().any(|index| index.clustered && index.name == name)
        };
        let clustered = unplaced.iter().position(|index| is_clustered(&index.name));
        let rows = match clustered {
            Some(place) => said[place].clone().or(table.as_ref()),
            None => table,
        };
        let database = self.binder.catalog.database_by_id(self.place.database_id);
        for (index, said) in unplaced.iter().zip(said) {
            let mut on = said.or(rows.as_ref());
            let subject = (verb, "index", index.name.as_str());
            let database = database.map(AsRef::as_ref);
            compress(on.as_mut(), database, index.partly.iter(), subject)?;
            if let Some(defined) = self.columnstore.as_mut().filter(|it| it.name == index.name) {
                defined.on = on;
                continue;
            }
            if let Some(defined) = self.column_index.as_mut().filter(|it| it.name == index.name) {
                defined.on = on;
                continue;
            }
            let defined = self.indexes.iter_mut().find(|defined| defined.name == index.name);
            if let Some(defined) = defined {
                defined.on = on;
                check_unique(defined, &self.columns)?;
            }
        }
        Ok(rows)
    }

    /// Resolves an ON clause over the columns so far.
    ///
    /// # Errors
    /// As [`resolve`]; 40517 for a memory-optimized table.
    pub(super) fn resolve_on(&self, storage: &ast::Storage) -> Result<Said> {
        let columns = (self.columns.as_slice(), self.place.name);
        let said = resolve(self.binder.catalog, self.place.database_id, columns, storage)?;
        if matches!(said, Said::Scheme(_)) && self.is_memory_optimized() {
            return super::refuse("partitions of memory-optimized tables");
        }
        Ok(said)
    }
}

/// Resolves the ON clause of a columnstore index of an existing table, and its options ON
/// PARTITIONS.
///
/// # Errors
/// As [`resolve`] and [`compress`].
pub fn of_index(
    catalog: &Catalog,
    table: &TableDef,
    index: &ast::InlineIndex,
) -> Result<Option<PartitionedOn>> {
    let columns = (table.columns.as_slice(), table.name.as_str());
    let said = resolve(catalog, table.database_id, columns, &index.storage)?;
    Ok(said.or(table.partitioned()))
}
