//! Turns the elements of CREATE TABLE into a table definition: columns, keys, indexes, constraints.

mod column;
pub mod column_index;
pub mod columnstore;
mod expression;
mod filter;
mod foreign_key;
pub mod index_option;
pub mod partition;
mod period;
pub mod storage;
mod text;

pub use foreign_key::skipped;
pub use index_option::duplicate_index;

use std::sync::Arc;

use tsql::ast::{
    self, ColumnKind, ColumnOption, ConstraintKind, IndexStructure, KeyKind, TableElement,
    TableOption,
};
use types::value::ColumnType;
use types::{ConvertOptions, DataType, Error, Msg, Result, Value};

use crate::binding::{columns_of_condition, over_columns};
use ::binder::Binder;
use ::binder::types::DefaultLength;
use ::catalog::name::Name;
use ::catalog::security::Rights;
use ::catalog::{
    CatalogCell, CheckDef, ColumnDef, ColumnIndexDef, ColumnstoreDef, ForeignKeyDef, Generated,
    IndexConstraint, IndexDef, IndexFilter, IndexKind, PartitionedOn, Period, RowShape,
    ShownOptions, TableDef, Versioning, create_rows, layout_of,
};
use filter::Filtered;

/// Most columns that a table may have: SQL Server's limit for tables without a column set.
const COLUMNS_MAX: usize = 1024;

/// Identity of the table that a definition is made for.
pub struct Place<'a> {
    /// `object_id` of the new table.
    pub id: i32,
    /// `database_id` of its database.
    pub database_id: i16,
    /// Id and name of its schema.
    pub schema: (i32, String),
    /// Its name, without the schema.
    pub name: &'a str,
    /// The text that spans of the syntax tree refer to.
    pub source: &'a str,
    /// `create_date` of the table: a `datetime`.
    pub created: Value,
}

/// Builds a table definition element by element.
pub struct Shaper<'a, 'b> {
    /// Binds the expressions of defaults, checks and computed columns.
    pub binder: &'a Binder<'b>,
    /// Allocates object ids and storage ids.
    pub cell: &'a CatalogCell,
    /// The store that allocates the table's row storage.
    pub store: &'a Arc<::storage::Store>,
    /// Id, schema and name of the table.
    pub place: Place<'a>,
    /// The columns so far, in order.
    pub columns: Vec<ColumnDef>,
    indexes: Vec<IndexDef>,
    /// Disabled indexes of an adopted table.
    disabled: Vec<IndexDef>,
    checks: Vec<CheckDef>,
    foreign_keys: Vec<ForeignKeyDef>,
    ansi_nulls: bool,
    memory_optimized: bool,
    schema_only: bool,
    /// DATA_COMPRESSION of the table: 0 NONE, 1 ROW, 2 PAGE.
    compression: Option<u8>,
    /// DATA_COMPRESSION of some partitions of the table.
    partly: Vec<ast::IndexOption>,
    /// The ON clause of CREATE TABLE.
    storage: ast::Storage,
    /// New indexes whose ON clauses are not resolved yet.
    unplaced: Vec<partition::Unplaced>,
    /// The clustered columnstore index, if there is one.
    pub columnstore: Option<ColumnstoreDef>,
    /// The nonclustered columnstore index, if there is one.
    pub column_index: Option<ColumnIndexDef>,
    period: Option<Period>,
    /// Number of columns that existed before the statement.
    adopted: usize,
    /// Ordinals of columns that the statement declares NULL.
    said_null: Vec<u16>,
    /// Permissions to check for REFERENCES; `None` checks nothing.
    rights: Option<&'a Rights>,
}

impl<'a, 'b> Shaper<'a, 'b> {
    /// Returns a shaper for a table without columns.
    pub fn new(
        binder: &'a Binder<'b>,
        cell: &'a CatalogCell,
        store: &'a Arc<::storage::Store>,
        place: Place<'a>,
    ) -> Self {
        Self {
            binder,
            cell,
            store,
            place,
            columns: Vec::new(),
            indexes: Vec::new(),
            disabled: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            ansi_nulls: binder.options.ansi_nulls,
            memory_optimized: false,
            schema_only: false,
            compression: None,
            partly: Vec::new(),
            storage: ast::Storage::default(),
            unplaced: Vec::new(),
            columnstore: None,
            column_index: None,
            period: None,
            adopted: 0,
            said_null: Vec::new(),
            rights: None,
        }
    }

    /// Makes foreign keys check the permission REFERENCES.
    pub fn asking(self, rights: &'a Rights) -> Self {
        Self { rights: (!rights.is_all()).then_some(rights), ..self }
    }

    /// Returns error 1702 if the table has more columns than allowed.
    pub fn check_width(&self) -> Result<()> {
        match self.columns.get(COLUMNS_MAX) {
            None => Ok(()),
            Some(column) => {
                let most = i64::try_from(COLUMNS_MAX).unwrap_or(i64::MAX);
                Err(Msg::TooManyColumns(&column.name, self.place.name, most).into())
            }
        }
    }

    /// Makes the definition of an empty table.
    ///
    /// # Errors
    /// 2705, 2715, 8110, 8111, 1750 and others for invalid elements; 40517 for unsupported options.
    pub fn build(mut self, elements: &[TableElement], options: &[TableOption]) -> Result<TableDef> {
        self.options(options)?;
        self.all_columns(elements)?;
        for element in elements {
            self.element(element)?;
        }
        self.check_generated()?;
        self.number_indexes();
        let on = self.place_table()?;
        self.finish(on)
    }

    /// Makes a table from columns that are defined already, without keys.
    ///
    /// # Errors
    /// 701 if there is not enough memory.
    pub fn build_of(mut self, columns: Vec<ColumnDef>) -> Result<TableDef> {
        self.columns = columns;
        self.finish(None)
    }

    fn options(&mut self, options: &[TableOption]) -> Result<()> {
        for option in options {
            match option {
                TableOption::MemoryOptimized(on) => self.memory_optimized = *on,
                TableOption::Durability(durability) => {
                    self.schema_only = *durability == ast::Durability::SchemaOnly;
                }
                // Rows are never compressed, for there are no pages on disk: the option is only
                // shown.
                TableOption::Other(option) if option.name.as_ref() == "DATA_COMPRESSION" => {
                    self.compression =
                        Some(index_option::compression(&option.name, &option.value)?);
                }
                TableOption::OnPartitions(option) => self.partly.push(option.clone()),
                // Needs two tables: see `versioning.rs` of the crate `ddl`.
                TableOption::Other(option) if option.name.as_ref() == "SYSTEM_VERSIONING" => {}
                TableOption::Other(option) => {
                    let what = format!("the table option {}", option.name);
                    return Err(Msg::NotSupported(&what).into());
                }
            }
        }
        Ok(())
    }

    /// Adds a column with its options.
    ///
    /// # Errors
    /// 2705 for a duplicate name; otherwise the errors of its type, default and constraints.
    pub fn column(&mut self, column: &ast::ColumnDefinition) -> Result<()> {
        let name = column.name.as_str();
        if self.columns.iter().any(|c| Name::same(&c.name, name)) {
            return Err(Msg::DuplicateColumn(name, self.place.name).into());
        }
        let numeric = matches!(&column.kind, ColumnKind::Typed(t) if t.name.object.is("numeric"));
        let (ty, user_type, computed) = match &column.kind {
            ColumnKind::Typed(type_name) => {
                let ty = self.binder.resolve_type(type_name, DefaultLength::Declaration)?;
                let system = ::binder::types::system_type(type_name, DefaultLength::Declaration)?;
                let user_type = system.is_none().then(|| {
                    let found = self.binder.find_type(&type_name.name);
                    let schema = found.map_or(::catalog::DBO_SCHEMA, |found| &found.schema);
                    (schema.to_owned(), type_name.name.object.to_string())
                });
                self.check_type(user_type.as_ref())?;
                (ty, user_type, None)
            }
            ColumnKind::Computed { expr, .. } => {
                (self.computed_type(expr)?, None, Some(self.text_of_value(expr)))
            }
            ColumnKind::ColumnSet => return Err(Msg::NotSupported("column sets").into()),
        };
        let mut defined = ColumnDef {
            name: name.to_owned(),
            ty,
            user_type,
            identity: None,
            default: None,
            computed,
            row_guid: false,
            numeric,
            sparse: false,
            generated: None,
            hidden: false,
            trims: false,
            persisted: matches!(&column.kind, ColumnKind::Computed { persisted: true, .. }),
            not_for_replication: false,
        };
        self.column_options(&mut defined, &column.options)?;
        if defined.identity.is_some() && self.columns.iter().any(|c| c.identity.is_some()) {
            return Err(Msg::MultipleIdentity(self.place.name).into());
        }
        self.columns.push(defined);
        Ok(())
    }

    /// Returns the type of a computed column: that of its expression over the columns before it.
    fn computed_type(&self, expr: &ast::Expr) -> Result<ColumnType> {
        let mut binder = self.own();
        let bind = |binder: &mut Binder<'_>| {
            binder.level.clause = ::binder::Clause::Definition;
            ::binder::expr::bind_expr(binder, expr)
        };
        let bound = over_columns(&mut binder, self.place.name, &self.columns, bind)?;
        self.check_computed(&bound)?;
        Ok(bound.ty)
    }

    fn column_options(&mut self, column: &mut ColumnDef, options: &[ColumnOption]) -> Result<()> {
        column::check_options(column, options, self.place.name)?;
        let mut not_null = false;
        let mut null = false;
        for option in options {
            match option {
                ColumnOption::Collate(name) => {
                    column.ty.collation =
                        self.binder.collation_named(name, &column.ty.data_type)?;
                }
                ColumnOption::Null => null = true,
                ColumnOption::NotNull => not_null = true,
                ColumnOption::Identity(bounds) => {
                    column.identity = Some(column::identity(column, bounds.as_ref())?);
                    not_null = true;
                }
                ColumnOption::RowGuidCol => column.row_guid = true,
                ColumnOption::NotForReplication => column.not_for_replication = true,
                ColumnOption::Constraint(constraint) => {
                    if let ConstraintKind::Key { kind: KeyKind::Primary, .. } = constraint.kind {
                        not_null = true;
                    }
                    if let ConstraintKind::Default { value, .. } = &constraint.kind {
                        column.default = Some(self.default(constraint, value, &column.name)?);
                    }
                }
                ColumnOption::Index(_) => {}
                ColumnOption::Sparse => column.sparse = true,
                ColumnOption::FileStream => return refuse("FILESTREAM columns"),
                ColumnOption::Hidden => column.hidden = true,
                ColumnOption::GeneratedRowStart => column.generated = Some(Generated::RowStart),
                ColumnOption::GeneratedRowEnd => column.generated = Some(Generated::RowEnd),
                ColumnOption::Masked(_) => return refuse("MASKED columns"),
            }
        }
        if null {
            self.said_null.extend(u16::try_from(self.columns.len()));
        }
        not_null |= period::check_column(column, null)?;
        if null && not_null && column.identity.is_none() {
            return Err(Msg::PrimaryKeyNullable(self.place.name).into());
        }
        if column.sparse && (not_null || !column::may_be_sparse(column)) {
            return Err(Msg::SparseColumn(&column.name, self.place.name).into());
        }
        column.ty.nullable = match (null, not_null) {
            (_, true) => false,
            (true, false) => true,
            // Neither NULL nor NOT NULL: an alias type has its own rule, rowversion is NOT NULL,
            // and other types follow the options of the session and the database.
            (false, false) if column.user_type.is_some() => column.ty.nullable,
            // Nullable if the expression is: `ISNULL(a, 0)`, a constant and GETDATE() are not.
            (false, false) if column.computed.is_some() => column.ty.nullable,
            (false, false) => {
                column.ty.data_type != DataType::RowVersion && self.is_null_the_default()
            }
        };
        column.trims = !self.binder.options.ansi_padding && column::may_be_trimmed(&column.ty);
        Ok(())
    }

    /// Returns whether a column declared neither NULL nor NOT NULL allows NULL: ANSI_NULL_DFLT_ON
    /// or _OFF of the session, otherwise ANSI_NULL_DEFAULT of the database.
    fn is_null_the_default(&self) -> bool {
        let options = self.binder.options;
        let database = self.binder.catalog.database(self.binder.database);
        let of_database = || {
            let said = database.and_then(|d| d.options.others.get("ANSI_NULL_DEFAULT"));
            said.is_some_and(|said| said == "ON")
        };
        options.ansi_null_default || (!options.ansi_null_default_off && of_database())
    }

    /// Returns the constraint's declared name, or a generated one such as `PK__table__30CEB18A`.
    fn constraint_name(
        &self,
        constraint: &ast::Constraint,
        kind: &str,
        column: &str,
        id: i32,
    ) -> (String, bool) {
        if let Some(name) = &constraint.name {
            return (name.to_string(), false);
        }
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let name = match column {
            "" => format!("{kind}__{}__{id:08X}", cut(self.place.name, 8)),
            _ => format!("{kind}__{}__{}__{id:08X}", cut(self.place.name, 9), cut(column, 5)),
        };
        (name, true)
    }

    /// Adds a column, a constraint, an index or a period.
    ///
    /// # Errors
    /// The errors of the element.
    pub fn element(&mut self, element: &TableElement) -> Result<()> {
        match element {
            TableElement::Column(column) => {
                let own = [column.name.clone()];
                for option in &column.options {
                    match option {
                        ColumnOption::Constraint(c) => self.constraint(c, Some(&own))?,
                        ColumnOption::Index(index) => self.index(index, Some(&own))?,
                        _ => {}
                    }
                }
                Ok(())
            }
            TableElement::Constraint(constraint) => self.constraint(constraint, None),
            TableElement::Index(index) => self.index(index, None),
            TableElement::Period(start, end) => self.add_period(start, end),
        }
    }

    /// Adds a constraint. `own` is the column whose definition contains it, if any.
    pub fn constraint(
        &mut self,
        constraint: &ast::Constraint,
        own: Option<&[ast::Ident; 1]>,
    ) -> Result<()> {
        match &constraint.kind {
            ConstraintKind::Key { not_enforced: true, .. } => refuse("NOT ENFORCED"),
            ConstraintKind::Key { kind, structure, columns, options, storage, .. } => {
                self.check_storage(storage)?;
                self.key(constraint, *kind, *structure, columns, options, own)?;
                if let Some(index) = self.indexes.last() {
                    let name = index.name.clone();
                    self.note_place(&name, storage, options);
                }
                Ok(())
            }
            ConstraintKind::Check { condition, not_for_replication } => {
                self.check_condition(condition, own.map(|[own]| own))?;
                let id = self.cell.next_object_id();
                let column = own.map_or("", |own| own[0].as_str());
                let (name, system_named) = self.constraint_name(constraint, "CK", column, id);
                let text = self.text_of_condition(condition);
                let column = match own {
                    Some(_) => self.columns.iter().position(|c| Name::same(&c.name, column)),
                    None => self.only_column(condition),
                };
                let column = column.and_then(|c| u16::try_from(c).ok());
                self.checks.push(CheckDef {
                    id,
                    name,
                    text,
                    column,
                    enabled: true,
                    trusted: true,
                    system_named,
                    not_for_replication: *not_for_replication,
                });
                Ok(())
            }
            ConstraintKind::ForeignKey { .. } => self.foreign_key(constraint, own),
            ConstraintKind::Default { value, column: Some(column), .. } => {
                self.default_for(constraint, value, column)
            }
            ConstraintKind::Default { column: None, .. } => Ok(()),
            ConstraintKind::Connection(_) => refuse("graph tables"),
        }
    }

    /// Returns the column that a condition reads, if it is only one: such a CHECK belongs to it.
    fn only_column(&self, condition: &ast::Condition) -> Option<usize> {
        let (binder, table) = (&mut self.own(), self.place.name);
        let read = columns_of_condition(binder, table, &self.columns, condition);
        let [column] = read[..] else { return None };
        Some(usize::from(column))
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of ConstraintKind::Key")]
    fn key(
        &mut self,
        constraint: &ast::Constraint,
        kind: KeyKind,
        structure: Option<IndexStructure>,
        columns: &[ast::IndexColumn],
        options: &[ast::IndexOption],
        own: Option<&[ast::Ident; 1]>,
    ) -> Result<()> {
        let keys = match own {
            Some([column]) if columns.is_empty() => vec![(self.ordinal(column)?, false)],
            _ => self.keys(columns)?,
        };
        let primary = kind == KeyKind::Primary;
        if primary {
            let mut known = self.indexes.iter().chain(&self.disabled);
            if known.any(|i| i.constraint == Some(IndexConstraint::PrimaryKey)) {
                return Err(match self.adopted {
                    0 => Msg::MultiplePrimaryKeys(self.place.name).into(),
                    _ => Msg::PrimaryKeyExists(self.place.name).into(),
                });
            }
            for (ordinal, _) in &keys {
                if self.said_null.contains(ordinal) {
                    return Err(Msg::PrimaryKeyNullable(self.place.name).into());
                }
                self.columns[usize::from(*ordinal)].ty.nullable = false;
            }
        }
        let id = self.cell.next_object_id();
        let (name, system_named) =
            self.constraint_name(constraint, if primary { "PK" } else { "UQ" }, "", id);
        let mut index = self.index_of(name, keys, structure, options)?;
        index.unique = true;
        index.constraint =
            Some(if primary { IndexConstraint::PrimaryKey } else { IndexConstraint::Unique });
        index.constraint_id = id;
        index.system_named = system_named;
        // A primary key is clustered by default, unless the table has another clustered index.
        index.clustered |= primary && structure.is_none() && !self.memory_optimized;
        self.indexes.push(index);
        Ok(())
    }

    /// Adds an index. `own` is the column whose definition contains it, if any.
    pub fn index(&mut self, index: &ast::InlineIndex, own: Option<&[ast::Ident; 1]>) -> Result<()> {
        if columnstore::is_any(index) {
            return self.add_columnstore(index);
        }
        let keys = match own {
            Some([column]) if index.columns.is_empty() => vec![(self.ordinal(column)?, false)],
            _ => self.keys(&index.columns)?,
        };
        self.check_storage(&index.storage)?;
        let mut known = self.indexes.iter().chain(&self.disabled);
        if known.any(|i| Name::same(&i.name, &index.name)) {
            return Err(duplicate_index(&index.name, self.place.name));
        }
        let mut defined =
            self.index_of(index.name.to_string(), keys, index.structure, &index.options)?;
        defined.unique = index.unique;
        let is_computed = |(c, _): &(u16, bool)| {
            self.columns.get(usize::from(*c)).is_some_and(|c| c.computed.is_some())
        };
        if index.filter.is_some() || defined.keys.iter().any(is_computed) {
            self.check_index_settings()?;
        }
        if let Some(condition) = &index.filter {
            defined.filter = Some(Arc::new(self.filter(&index.name, condition, &defined)?));
        }
        for column in &index.include {
            let ordinal = self.ordinal(column)?;
            let is_key = defined.keys.iter().any(|(key, _)| *key == ordinal);
            if is_key || defined.included.contains(&ordinal) {
                return Err(Msg::IndexColumnTwice("index", column).into());
            }
            defined.included.push(ordinal);
        }
        self.indexes.push(defined);
        self.note_place(&index.name, &index.storage, &index.options);
        Ok(())
    }

    /// Checks the SET options that an index on an expression requires: the session's and the
    /// table's.
    fn check_index_settings(&self) -> Result<()> {
        ::binder::dml::check_options(self.binder, "CREATE INDEX")?;
        if self.ansi_nulls {
            return Ok(());
        }
        let text = format!(
            "Cannot create index. Object '{}' was created with the following SET options off: 'ANSI_NULLS'.",
            self.place.name
        );
        Err(Error::custom(1935, 16, 1, text))
    }

    fn filter(
        &self,
        name: &str,
        condition: &ast::Condition,
        index: &IndexDef,
    ) -> Result<IndexFilter> {
        if self.memory_optimized {
            return Err(Msg::NotSupportedWith(
                "feature",
                "filtered index",
                "indexes on memory optimized tables",
            )
            .into());
        }
        if index.clustered {
            return Err(Msg::FilterIncorrect(name, self.place.name).into());
        }
        let (table, columns) = (self.place.name, self.columns.as_slice());
        let (date_format, language) =
            (self.binder.options.date_format, self.binder.options.language);
        let options = ConvertOptions { date_format, language, ..ConvertOptions::default() };
        let filtered = Filtered { index: name, table, columns, options };
        let tests = filter::bind(self.binder, &filtered, condition)?;
        let text = tsql::definition_of_condition(condition, self.place.source, tsql::Lists::In);
        Ok(IndexFilter { text, tests })
    }

    /// Checks that the filegroups of ON and TEXTIMAGE_ON exist.
    ///
    /// # Errors
    /// 1921 for an unknown filegroup.
    pub fn check_storage(&self, storage: &ast::Storage) -> Result<()> {
        storage::check(self.binder.catalog, self.place.database_id, storage)
    }

    fn index_of(
        &self,
        name: String,
        keys: Vec<(u16, bool)>,
        structure: Option<IndexStructure>,
        options: &[ast::IndexOption],
    ) -> Result<IndexDef> {
        let kind = match structure {
            Some(IndexStructure::Hash) => IndexKind::Hash,
            Some(
                IndexStructure::ClusteredColumnstore | IndexStructure::NonclusteredColumnstore,
            ) => {
                return refuse("columnstore indexes");
            }
            Some(IndexStructure::Clustered | IndexStructure::Nonclustered) | None => {
                IndexKind::Range
            }
        };
        for (ordinal, _) in &keys {
            let column = &self.columns[usize::from(*ordinal)];
            let ty = column.ty.data_type;
            if ty.is_large() || ty == DataType::Xml {
                return Err(Error::custom(
                    1919,
                    16,
                    1,
                    format!(
                        "Column '{}' in table '{}' is of a type that is invalid for use as a key column in an index.",
                        column.name, self.place.name
                    ),
                ));
            }
        }
        let mut index = IndexDef {
            id: 0,
            name,
            keys,
            included: Vec::new(),
            unique: false,
            constraint: None,
            constraint_id: 0,
            kind,
            clustered: structure == Some(IndexStructure::Clustered),
            bucket_count: None,
            ignore_dup_key: false,
            system_named: false,
            filter: None,
            shown: ShownOptions::default(),
            on: None,
        };
        // Options of some partitions are set when the index is placed.
        let whole = |option: &&ast::IndexOption| option.on_partitions.is_empty();
        for option in options.iter().filter(whole) {
            index_option::set(&mut index, option)?;
        }
        index_option::check_hash(&index, (self.place.name, self.memory_optimized))?;
        let compresses = |option: &ast::IndexOption| *option.name == *"DATA_COMPRESSION";
        if options.iter().any(|o| !whole(&o)) && options.iter().any(|o| whole(&o) && compresses(o))
        {
            return Err(Msg::CompressionTwice.into());
        }
        Ok(index)
    }

    fn keys(&self, columns: &[ast::IndexColumn]) -> Result<Vec<(u16, bool)>> {
        column::check_listed(columns, self.place.name)?;
        let mut keys: Vec<(u16, bool)> = Vec::with_capacity(columns.len());
        for column in columns {
            let ordinal = self.ordinal(&column.name)?;
            if keys.iter().any(|(o, _)| *o == ordinal) {
                return Err(Msg::IndexColumnTwice("index", &column.name).into());
            }
            keys.push((ordinal, column.descending));
        }
        Ok(keys)
    }

    fn ordinal(&self, column: &ast::Ident) -> Result<u16> {
        let place = self.columns.iter().position(|c| Name::same(&c.name, column));
        let ordinal = place.and_then(|place| u16::try_from(place).ok());
        ordinal.ok_or_else(|| Msg::IndexColumnNotFound(column).into())
    }

    /// Starts from the columns of an existing table.
    pub fn adopt_columns(&mut self, table: &TableDef) {
        self.columns.clone_from(&table.columns);
        self.ansi_nulls = table.ansi_nulls;
        self.memory_optimized = table.memory_optimized;
        self.period = table.period;
        self.adopted = table.columns.len();
    }

    /// Starts from the whole definition of an existing table.
    pub fn adopt(&mut self, table: &TableDef) {
        self.adopt_columns(table);
        self.indexes.clone_from(&table.indexes);
        self.disabled.clone_from(&table.disabled);
        self.checks.clone_from(&table.checks);
        self.foreign_keys.clone_from(&table.foreign_keys);
    }

    /// Returns the adopted definition with the additions. Its layout and rows are those of the
    /// table.
    ///
    /// # Errors
    /// 13509 for a generated column of a table without a period.
    pub fn changed(mut self, table: &TableDef) -> Result<TableDef> {
        self.check_generated()?;
        self.place_all(table.partitioned().cloned(), "alter")?;
        let is_heap = table.columnstore.is_none() && !self.indexes.iter().any(|i| i.clustered);
        Ok(TableDef {
            // A clustered index takes the place of the heap, with its own placement.
            on: table.on.clone().filter(|_| is_heap),
            columns: self.columns,
            indexes: self.indexes,
            checks: self.checks,
            foreign_keys: self.foreign_keys,
            period: self.period,
            ..table.clone()
        })
    }

    /// Makes the definition of a single column.
    pub fn one_column(mut self, column: &ast::ColumnDefinition) -> Result<ColumnDef> {
        self.column(column)?;
        self.columns.pop().ok_or_else(|| Msg::InternalError.into())
    }

    /// Returns the index added last.
    pub fn take_index(&mut self) -> Option<IndexDef> {
        self.indexes.pop()
    }

    /// Numbers the indexes: the clustered one is 1 and comes first; the others count from 2.
    fn number_indexes(&mut self) {
        let mut clustered = false;
        for index in &mut self.indexes {
            index.clustered &= !clustered;
            clustered |= index.clustered;
        }
        self.indexes
            .sort_by_key(|i| (!i.clustered, i.constraint != Some(IndexConstraint::PrimaryKey)));
        for (next, index) in (2..).zip(self.indexes.iter_mut().filter(|i| !i.clustered)) {
            index.id = next;
        }
        for index in self.indexes.iter_mut().filter(|i| i.clustered) {
            index.id = 1;
        }
    }

    fn finish(self, on: Option<PartitionedOn>) -> Result<TableDef> {
        let layout = layout_of(&self.columns);
        let rows = create_rows(
            self.store,
            self.cell,
            &RowShape {
                columns: &self.columns,
                indexes: &self.indexes,
                layout: &layout,
                memory_optimized: self.memory_optimized,
                has_columns: self.columnstore.is_some(),
                durable: catalog::table::is_durable(
                    self.place.id,
                    self.place.database_id,
                    self.schema_only,
                ),
                restored: None,
            },
        )?;
        if self.place.id < 0 || self.place.database_id == catalog::table::TEMPDB {
            rows.data.make_private();
        }
        let mut indexes = self.indexes;
        // DATA_COMPRESSION of the table applies to its clustered index, unless that has its own.
        let clustered = indexes.iter_mut().find(|index| index.clustered);
        if let (Some(index), Some(compression)) = (clustered, self.compression) {
            index.shown.compression = index.shown.compression.max(compression);
        }
        let mut table = TableDef {
            id: self.place.id,
            database_id: self.place.database_id,
            schema_id: self.place.schema.0,
            schema: self.place.schema.1,
            name: self.place.name.to_owned(),
            columns: self.columns,
            indexes,
            disabled: Vec::new(),
            checks: self.checks,
            foreign_keys: self.foreign_keys,
            statistics: Vec::new(),
            ansi_nulls: self.ansi_nulls,
            memory_optimized: self.memory_optimized,
            schema_only: self.schema_only,
            compression: self.compression.unwrap_or(0),
            lock_escalation: 0,
            created: self.place.created,
            layout,
            rows,
            referenced: false,
            columnstore: self.columnstore,
            column_index: self.column_index,
            disabled_columns: None,
            external: None,
            period: self.period,
            versioning: Versioning::Off,
            on,
        };
        let checked = columnstore::check(&table);
        if let Err(error) = checked.and_then(|()| column_index::check(&mut table)) {
            self.store.drop_table(table.rows.data.id());
            return Err(error);
        }
        Ok(table)
    }
}

fn refuse<T>(what: &str) -> Result<T> {
    Err(Msg::NotSupported(what).into())
}
