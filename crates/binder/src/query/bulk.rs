//! OPENROWSET(BULK ..) and external tables in FROM: the files are opened for their columns.
//!
//! Such a plan is used for one execution, since the files may be others the next time.

use parquet_io::Column;
use sos::sys::is_folder;
use tsql::ast::{self, BulkOption, ExprKind, Literal};
use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Msg, Result};

use super::from::{SourceName, add_source};
use super::function::{column_type, source_column};
use crate::expr::convert_to;
use crate::names::NameLists;
use crate::{Binder, SourceColumn};
use ::files::option;
use catalog::{ExternalPlace, TableDef};
use files::open::{open_parquet, text_bytes, waiting};
use plan::expr::{Expr, ExprKind as BoundKind, Register};
use plan::query::{BulkFile, BulkFormat, BulkScan, Node, TextFormat};

/// Collation of strings in Parquet files: a UTF-8 collation, by Microsoft's table of types.
const TEXT_COLLATION: &str = "Latin1_General_100_BIN2_UTF8";

/// Maximum number of columns of a file, as of a table.
const COLUMNS_MAX: usize = 1_024;

/// Binds the rows of a file.
///
/// # Errors
/// 4834 without permission; 491 without alias; 40517 for a format other than Parquet, CSV and
/// single values; errors of the file.
pub(crate) fn bind(binder: &mut Binder<'_>, source: &ast::BulkSource) -> Result<Node> {
    if binder.rights.is_some_and(|rights| !rights.reads_files(binder.catalog)) {
        return Err(Msg::BulkNoPermission.into());
    }
    let Some(alias) = &source.alias else { return Err(Msg::BulkNeedsAlias.into()) };
    binder.session_bound = true;
    let single = match format(&source.options)? {
        Format::Parquet => return bind_parquet(binder, source, alias),
        Format::Text => return bind_text(binder, source, alias),
        Format::Single(single) => single,
    };
    if !source.schema.is_empty() {
        return Err(Msg::SyntaxNear("WITH").into());
    }
    if alias.columns.len() > 1 {
        return Err(Msg::FewerColumnsThanList(&alias.name).into());
    }
    let register = binder.new_register();
    let name = alias.columns.first().map_or("BulkColumn", |name| name);
    let ty =
        ColumnType { data_type: single, collation: text_type(binder).collation, nullable: true };
    let column = source_column(name.to_owned(), ty, register);
    add_source(binder, SourceName { alias: &alias.name, schema: None }, vec![column], None)?;
    Ok(Node::Bulk(Box::new(BulkScan {
        name: source.file.to_string(),
        files: Vec::new(),
        format: BulkFormat::Single(single),
        columns: vec![(0, register)],
        rows: 1,
        tests: Vec::new(),
    })))
}

/// Returns the type of characters without a declared collation: the database's collation.
fn text_type(binder: &Binder<'_>) -> ColumnType {
    let collation = binder.catalog.database(binder.database).map(|database| database.collation);
    let data_type = DataType::VarChar(Length::Max);
    ColumnType { data_type, collation: collation.unwrap_or_default(), nullable: true }
}

/// The format of a file.
enum Format {
    Parquet,
    Text,
    Single(DataType),
}

fn format(options: &[BulkOption]) -> Result<Format> {
    let mut found = None;
    for option in options {
        found = Some(match option {
            BulkOption::Word(word) => Format::Single(match &**word {
                "SINGLE_BLOB" => DataType::VarBinary(Length::Max),
                "SINGLE_CLOB" => DataType::VarChar(Length::Max),
                "SINGLE_NCLOB" => DataType::NVarChar(Length::Max),
                other => return Err(Msg::SyntaxNear(other).into()),
            }),
            BulkOption::Value(name, value) if &**name == "FORMAT" => match text(value) {
                Some(format) if format.eq_ignore_ascii_case("PARQUET") => Format::Parquet,
                Some(format) if format.eq_ignore_ascii_case("CSV") => return Ok(Format::Text),
                Some(format) => return refuse(&format!("FORMAT = '{format}'")),
                None => return Err(Msg::SyntaxNear(name).into()),
            },
            // A hint about the number of rows; the file's size is used instead.
            BulkOption::Value(name, _) if &**name == "ROWS_PER_BATCH" => continue,
            BulkOption::Value(name, _) => return refuse(name),
            BulkOption::Order(_) => return refuse("ORDER"),
        });
    }
    found.map_or_else(|| refuse("a format file"), Ok)
}

fn refuse(what: &str) -> Result<Format> {
    Err(Msg::NotSupported(&format!("OPENROWSET(BULK ..) with {what}")).into())
}

fn text(value: &ast::Expr) -> Option<&str> {
    match &value.kind {
        ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => Some(text),
        _ => None,
    }
}

/// Name of the statement in messages about options.
const STATEMENT: &str = "OPENROWSET(BULK ..)";

/// Estimated bytes per field: the number of rows is known only after reading the file.
const FIELD_BYTES: u64 = 8;

/// Binds the rows of a text file; WITH lists its columns in order.
fn bind_text(
    binder: &mut Binder<'_>,
    source: &ast::BulkSource,
    alias: &ast::TableAlias,
) -> Result<Node> {
    if source.schema.is_empty() {
        let what = "OPENROWSET(BULK ..) with FORMAT = 'CSV' without WITH (columns)";
        return Err(Msg::NotSupported(what).into());
    }
    let for_inserts = |option: &BulkOption| match option {
        BulkOption::Word(word) => Some(word.clone()),
        BulkOption::Value(name, _) if matches!(&**name, "BATCHSIZE" | "KILOBYTES_PER_BATCH") => {
            Some(name.clone())
        }
        BulkOption::Value(..) | BulkOption::Order(_) => None,
    };
    if let Some(word) = source.options.iter().find_map(for_inserts) {
        return Err(Msg::SyntaxNear(&word).into());
    }
    let options = option::parse(&source.options, STATEMENT)?;
    let wanted = source.schema.iter().map(|wanted| wanted_column(binder, wanted));
    let columns = wanted.collect::<Result<Vec<_>>>()?;
    match alias.columns.len() {
        0 => {}
        named if named < columns.len() => return Err(Msg::MoreColumnsThanList(&alias.name).into()),
        named if named > columns.len() => return Err(Msg::FewerColumnsThanList(&alias.name).into()),
        _ => {}
    }
    let bytes = text_bytes(&source.file)?;
    let fields = u64::try_from(columns.len()).unwrap_or(1) * FIELD_BYTES;
    let (mut shown, mut read) = (Vec::new(), Vec::new());
    for ((ordinal, (name, ty)), i) in (0_u16..).zip(&columns).zip(0..) {
        let register = binder.new_register();
        let name = alias.columns.get(i).map_or(name.as_str(), |name| name);
        let ty = ColumnType { nullable: true, ..*ty };
        shown.push(source_column(name.to_owned(), ty, register));
        read.push((ordinal, register));
    }
    add_source(binder, SourceName { alias: &alias.name, schema: None }, shown, None)?;
    Ok(Node::Bulk(Box::new(BulkScan {
        name: source.file.to_string(),
        files: Vec::new(),
        format: BulkFormat::Text(Box::new(TextFormat { options, columns })),
        columns: read,
        rows: bytes / fields + 1,
        tests: Vec::new(),
    })))
}

fn bind_parquet(
    binder: &mut Binder<'_>,
    source: &ast::BulkSource,
    alias: &ast::TableAlias,
) -> Result<Node> {
    let file = open_parquet(&source.file)?;
    let columns = file.columns();
    let bound = match source.schema.as_slice() {
        [] => all_columns(columns, &source.file)?,
        schema => {
            let wanted = schema.iter().map(|wanted| wanted_column(binder, wanted));
            let wanted = wanted.collect::<Result<Vec<_>>>()?;
            chosen_columns(columns, &wanted, &source.file)?
        }
    };
    match alias.columns.len() {
        0 => {}
        named if named < bound.len() => return Err(Msg::MoreColumnsThanList(&alias.name).into()),
        named if named > bound.len() => return Err(Msg::FewerColumnsThanList(&alias.name).into()),
        _ => {}
    }
    let names: Vec<String> = alias.columns.iter().map(ToString::to_string).collect();
    let scan = Scanned { name: source.file.to_string(), rows: file.row_count(), bound, names };
    let files = vec![bulk_file(&source.file, file.row_groups(), &scan.bound)];
    add_scan(binder, SourceName { alias: &alias.name, schema: None }, scan, files)
}

/// Binds the rows of an external table: of its file, or of all files in its folder.
///
/// # Errors
/// 16562 if there is none; errors of the files.
pub(crate) fn bind_external(
    binder: &mut Binder<'_>,
    table: &TableDef,
    place: &ExternalPlace,
    name: SourceName<'_>,
) -> Result<Node> {
    binder.session_bound = true;
    let paths = external_files(table, place)?;
    let wanted: Vec<(String, ColumnType)> =
        table.columns.iter().map(|column| (column.name.clone(), column.ty)).collect();
    let (mut files, mut rows, mut first) = (Vec::with_capacity(paths.len()), 0_u64, None);
    for path in &paths {
        let file = open_parquet(path)?;
        rows = rows.saturating_add(file.row_count());
        let bound = chosen_columns(file.columns(), &wanted, path);
        let bound = bound.map_err(|error| match error.number {
            207 => Msg::ExternalFile(&error.message, path).into(),
            _ => error,
        })?;
        let last = bulk_file(path, file.row_groups(), &bound);
        let first: &Vec<BoundColumn> = first.get_or_insert(bound);
        for (one, (other, _)) in first.iter().zip(&last.columns) {
            let own = one.own.data_type;
            let is_same = other.data_type.as_ref().is_ok_and(|ty| same_vectors(*ty, own));
            if !is_same {
                let what = format!("column {} has another type in another file", one.name);
                return Err(Msg::ExternalFile(&what, path).into());
            }
        }
        files.push(last);
    }
    let bound = first.ok_or(Msg::ExternalNotAccessible(&table.name))?;
    let scan = Scanned { name: table.name.clone(), rows, bound, names: Vec::new() };
    add_scan(binder, name, scan, files)
}

/// Returns whether values of both types have the same kind of vector, apart from lengths.
fn same_vectors(one: DataType, other: DataType) -> bool {
    match (one, other) {
        (DataType::VarChar(_), DataType::VarChar(_))
        | (DataType::VarBinary(_), DataType::VarBinary(_)) => true,
        _ => one == other,
    }
}

/// Returns whether a path is a folder; asked in a wait, because a file system may not answer.
fn is_waited_folder(path: &str) -> bool {
    waiting(|| Ok(is_folder(path))).unwrap_or(false)
}

/// Returns the files of an external table, by name, except those that begin with `.` or `_`.
fn external_files(table: &TableDef, place: &ExternalPlace) -> Result<Vec<String>> {
    if !is_waited_folder(&place.path) {
        return Ok(vec![place.path.clone()]);
    }
    let names = waiting(|| sos::sys::folder_names(&place.path));
    let mut names = names.map_err(|_| Msg::ExternalNotAccessible(&table.name))?;
    names.retain(|name| !name.starts_with(['.', '_']));
    names.sort_unstable();
    let paths = names.into_iter().map(|name| format!("{}/{name}", place.path));
    let files: Vec<String> = paths.filter(|path| !is_waited_folder(path)).collect();
    if files.is_empty() {
        return Err(Msg::ExternalNotAccessible(&table.name).into());
    }
    Ok(files)
}

fn bulk_file(path: &str, groups: usize, bound: &[BoundColumn]) -> BulkFile {
    let columns = bound.iter().map(|bound| (bound.column.clone(), bound.place)).collect();
    BulkFile { path: path.to_owned(), columns, groups }
}

/// The columns that a scan of files returns.
struct Scanned {
    name: String,
    rows: u64,
    bound: Vec<BoundColumn>,
    /// Names for the columns, if the statement lists them.
    names: Vec<String>,
}

/// Adds the columns of a scan as a source, and returns the scan.
fn add_scan(
    binder: &mut Binder<'_>,
    name: SourceName<'_>,
    scanned: Scanned,
    files: Vec<BulkFile>,
) -> Result<Node> {
    let Scanned { name: file, rows, bound, names } = scanned;
    let (mut columns, mut types) = (Vec::with_capacity(bound.len()), Vec::new());
    let (mut shown, mut computed) = (Vec::new(), Vec::new());
    for ((ordinal, bound), i) in (0_u16..).zip(bound).zip(0..) {
        let register = binder.new_register();
        columns.push((ordinal, register));
        let named = names.get(i).unwrap_or(&bound.name).clone();
        shown.push(shown_column(binder, named, &bound, register, &file, &mut computed)?);
        types.push(bound.own.data_type);
    }
    let format = BulkFormat::Parquet(types);
    let scan = BulkScan { name: file, files, format, columns, rows, tests: Vec::new() };
    add_source(binder, name, shown, None)?;
    let scan = Node::Bulk(Box::new(scan));
    Ok(if computed.is_empty() { scan } else { Node::Compute(Box::new((scan, computed))) })
}

/// A column of a file with its requested type.
struct BoundColumn {
    name: String,
    column: Column,
    place: usize,
    /// Type that it is read as.
    own: ColumnType,
    /// Type that WITH declares.
    wanted: Option<ColumnType>,
}

/// Adds a column to the source; one that is read as another type is converted into a separate
/// register.
fn shown_column(
    binder: &mut Binder<'_>,
    name: String,
    bound: &BoundColumn,
    register: Register,
    file: &str,
    computed: &mut Vec<(Register, Expr)>,
) -> Result<SourceColumn> {
    let Some(wanted) = bound.wanted.filter(|wanted| *wanted != bound.own) else {
        return Ok(source_column(name, bound.own, register));
    };
    let value = Expr::new(BoundKind::Column(register), bound.own);
    let converted = convert_to(value, &wanted, Mode::Assignment).map_err(|_| {
        let physical = format!("{:?}", bound.column.physical);
        let of = wanted.data_type.to_string();
        types::Error::from(Msg::ExternalType(&name, &of, &physical, file))
    })?;
    let register = binder.new_register();
    computed.push((register, converted));
    Ok(source_column(name, wanted, register))
}

/// Returns all columns with the types of the file.
fn all_columns(columns: &[Column], file: &str) -> Result<Vec<BoundColumn>> {
    if columns.len() > COLUMNS_MAX {
        return Err(Msg::ExternalFile("it has more than 1,024 columns", file).into());
    }
    let bound = |(place, column): (usize, &Column)| {
        let data_type = column_data_type(column, file)?;
        let (name, column) = (column.name.clone(), column.clone());
        Ok(BoundColumn { name, own: own_type(data_type, &column)?, column, place, wanted: None })
    };
    columns.iter().enumerate().map(bound).collect()
}

fn column_data_type(column: &Column, file: &str) -> Result<DataType> {
    column.data_type.clone().map_err(|why| {
        let what = format!("{} ({why})", column.name);
        Msg::ExternalTypeUnknown(&what, file).into()
    })
}

fn own_type(data_type: DataType, column: &Column) -> Result<ColumnType> {
    let collation = Collation::by_name(TEXT_COLLATION)
        .expect("every name of a collation in the source is known");
    Ok(ColumnType { data_type, collation, nullable: column.nullable })
}

/// Returns the name and type of a column of WITH.
fn wanted_column(binder: &Binder<'_>, wanted: &ast::SchemaColumn) -> Result<(String, ColumnType)> {
    if wanted.path.is_some() || wanted.as_json {
        let what = "OPENROWSET(BULK ..) WITH a path of a column";
        return Err(Msg::NotSupported(what).into());
    }
    let ty = column_type(binder, &wanted.data_type, wanted.collation.as_ref())?;
    Ok((wanted.name.to_string(), ty))
}

/// Returns the columns that WITH names.
fn chosen_columns(
    columns: &[Column],
    wanted: &[(String, ColumnType)],
    file: &str,
) -> Result<Vec<BoundColumn>> {
    let mut bound = Vec::with_capacity(wanted.len());
    let names = || columns.iter().map(|column| column.name.as_str());
    let lists = NameLists::new(names(), wanted.len());
    for (name, ty) in wanted {
        // Names in a file may differ only in case: an exact match is preferred, else the first one.
        let found = lists.find(names(), name);
        let exact = found.iter().find(|place| columns[**place].name == *name);
        let place = exact.or(found.first()).ok_or(Msg::InvalidColumn(name))?;
        let column = columns[*place].clone();
        let mut data_type = column_data_type(&column, file)?;
        if may_be_long(&ty.data_type) {
            data_type = match data_type {
                DataType::VarChar(_) => DataType::VarChar(Length::Max),
                DataType::VarBinary(_) => DataType::VarBinary(Length::Max),
                other => other,
            };
        }
        let own = own_type(data_type, &column)?;
        bound.push(BoundColumn {
            name: name.clone(),
            column,
            place: *place,
            own,
            wanted: Some(*ty),
        });
    }
    Ok(bound)
}

/// Returns whether values of a type may take more than 8,000 bytes in UTF-8.
fn may_be_long(wanted: &DataType) -> bool {
    /// UTF-16 units that always fit: three bytes each.
    const UNITS_MAX: u16 = 8_000 / 3;
    match wanted {
        DataType::NChar(units) | DataType::NVarChar(Length::Limited(units)) => *units > UNITS_MAX,
        DataType::Char(bytes) | DataType::VarChar(Length::Limited(bytes)) => *bytes > UNITS_MAX,
        other => other.is_large(),
    }
}
