//! OPENROWSET(BULK ..) in FROM: the file is looked at for its columns.
//!
//! A plan with one serves one execution: the file may be another one the next time.

use parquet_io::Column;
use tsql::ast::{self, BulkOption, ExprKind, Literal};
use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Msg, Result};

use super::from::{SourceName, add_source};
use super::function::{column_type, source_column};
use crate::bind::expr::convert_to;
use crate::bind::{Binder, SourceColumn};
use crate::catalog::name::Name;
use crate::exec::bulk::rowset::open_parquet;
use crate::plan::expr::{Expr, ExprKind as BoundKind, Register};
use crate::plan::query::{BulkFormat, BulkScan, Node};

/// What strings of a Parquet file are in: as Microsoft's table of types has it, a collation of UTF-8.
const TEXT_COLLATION: &str = "Latin1_General_100_BIN2_UTF8";

/// Columns of a file that a rowset may have, as those of a table.
const COLUMNS_MAX: usize = 1_024;

/// Binds the rows of a file.
///
/// # Errors
/// 4834 without permission; 491 without alias; 40517 for another format than Parquet and single values; those of the file.
pub(super) fn bind(binder: &mut Binder<'_>, source: &ast::BulkSource) -> Result<Node> {
    if binder.rights.is_some_and(|rights| !rights.reads_files(binder.catalog)) {
        return Err(Msg::BulkNoPermission.into());
    }
    let Some(alias) = &source.alias else { return Err(Msg::BulkNeedsAlias.into()) };
    binder.session_bound = true;
    let single = match format(&source.options)? {
        Format::Parquet => return bind_parquet(binder, source, alias),
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
        path: source.file.to_string(),
        format: BulkFormat::Single(single),
        columns: vec![(0, register)],
        rows: 1,
    })))
}

/// The type of characters that say no collation: that of the database.
fn text_type(binder: &Binder<'_>) -> ColumnType {
    let collation = binder.catalog.database(binder.database).map(|database| database.collation);
    let data_type = DataType::VarChar(Length::Max);
    ColumnType { data_type, collation: collation.unwrap_or_default(), nullable: true }
}

/// What a file is read as.
enum Format {
    Parquet,
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
                Some(format) => return refuse(&format!("FORMAT = '{format}'")),
                None => return Err(Msg::SyntaxNear(name).into()),
            },
            // A hint; the file knows better.
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

fn bind_parquet(
    binder: &mut Binder<'_>,
    source: &ast::BulkSource,
    alias: &ast::TableAlias,
) -> Result<Node> {
    let file = open_parquet(&source.file)?;
    let rows = file.row_count();
    let columns = file.columns();
    let bound = match source.schema.as_slice() {
        [] => all_columns(binder, columns, &source.file)?,
        schema => chosen_columns(binder, columns, schema, &source.file)?,
    };
    match alias.columns.len() {
        0 => {}
        named if named < bound.len() => return Err(Msg::MoreColumnsThanList(&alias.name).into()),
        named if named > bound.len() => return Err(Msg::FewerColumnsThanList(&alias.name).into()),
        _ => {}
    }
    let mut scan = BulkScan {
        path: source.file.to_string(),
        format: BulkFormat::Parquet(Vec::new()),
        columns: Vec::with_capacity(bound.len()),
        rows,
    };
    let (mut read, mut shown, mut computed) = (Vec::new(), Vec::new(), Vec::new());
    for ((ordinal, bound), i) in (0_u16..).zip(bound).zip(0..) {
        let register = binder.new_register();
        scan.columns.push((ordinal, register));
        let named = alias.columns.get(i).map_or(&*bound.name, |name| name).to_owned();
        shown.push(shown_column(binder, named, &bound, register, &source.file, &mut computed)?);
        read.push((bound.column, bound.place, bound.own.data_type));
    }
    scan.format = BulkFormat::Parquet(read);
    add_source(binder, SourceName { alias: &alias.name, schema: None }, shown, None)?;
    let scan = Node::Bulk(Box::new(scan));
    Ok(if computed.is_empty() { scan } else { Node::Compute(Box::new((scan, computed))) })
}

/// A column of a file and what it is to be.
struct BoundColumn {
    name: String,
    column: Column,
    place: usize,
    /// The type that it is read as.
    own: ColumnType,
    /// The type that WITH gives it.
    wanted: Option<ColumnType>,
}

/// Makes a column known; one of another type than it is read as is converted into a register of its own.
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

/// All columns, with the types that they have by themselves.
fn all_columns(_: &Binder<'_>, columns: &[Column], file: &str) -> Result<Vec<BoundColumn>> {
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
    let collation = Collation::by_name(TEXT_COLLATION).ok_or(Msg::InternalError)?;
    Ok(ColumnType { data_type, collation, nullable: column.nullable })
}

/// The columns that WITH names.
fn chosen_columns(
    binder: &Binder<'_>,
    columns: &[Column],
    schema: &[ast::SchemaColumn],
    file: &str,
) -> Result<Vec<BoundColumn>> {
    let mut bound = Vec::with_capacity(schema.len());
    for wanted in schema {
        if wanted.path.is_some() || wanted.as_json {
            let what = "OPENROWSET(BULK ..) WITH a path of a column of a Parquet file";
            return Err(Msg::NotSupported(what).into());
        }
        let ty = column_type(binder, &wanted.data_type, wanted.collation.as_ref())?;
        // Names differ by case in a file; who means any finds the first.
        let exact = columns.iter().position(|c| c.name == wanted.name.as_str());
        let any = || columns.iter().position(|c| Name::same(&c.name, &wanted.name));
        let place = exact.or_else(any).ok_or(Msg::InvalidColumn(&wanted.name))?;
        let column = columns[place].clone();
        let mut data_type = column_data_type(&column, file)?;
        if ty.data_type.is_large() {
            data_type = match data_type {
                DataType::VarChar(_) => DataType::VarChar(Length::Max),
                DataType::VarBinary(_) => DataType::VarBinary(Length::Max),
                other => other,
            };
        }
        let own = own_type(data_type, &column)?;
        bound.push(BoundColumn {
            name: wanted.name.to_string(),
            column,
            place,
            own,
            wanted: Some(ty),
        });
    }
    Ok(bound)
}
