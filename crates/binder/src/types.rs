//! Resolves data types: default lengths and precisions are filled in and checked, alias types are
//! looked up in the catalog.

use std::sync::Arc;

use tsql::ast::{self, TypeArguments, TypeName};
use types::value::ColumnType;
use types::{Collation, DataType, Error, Length, Msg, Result};

use crate::Binder;
use catalog::UserType;

/// The default length of a type without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultLength {
    /// 1: columns, variables and parameters.
    Declaration,
    /// 30: CAST and CONVERT.
    Conversion,
}

impl Binder<'_> {
    /// Resolves a type name: a system type, else an alias type of the current database.
    ///
    /// # Errors
    /// 2715 for an unknown type, 2717, 2750, 2751 and 1002 for lengths, precisions and scales out
    /// of range, 2716 for arguments that the type does not accept.
    pub fn resolve_type(&self, name: &TypeName, default: DefaultLength) -> Result<ColumnType> {
        let collation = self.database_collation();
        if let Some(data_type) = system_type(name, default)? {
            return Ok(ColumnType { data_type, collation, nullable: true });
        }
        let found = self.find_type(&name.name);
        found.and_then(|found| found.base).ok_or_else(|| unknown_type(name))
    }

    /// Finds a table type of the current database.
    pub fn find_table_type(&self, name: &ast::ObjectName) -> Option<Arc<UserType>> {
        let found = self.find_type(name)?;
        found.table.is_some().then(|| Arc::clone(found))
    }

    /// Finds an alias or table type of the current database.
    pub fn find_type(&self, name: &ast::ObjectName) -> Option<&Arc<UserType>> {
        let database = self.catalog.database(self.database)?;
        let first = self.unqualified.schema_in(database);
        let schema = database.schema_of_type(name.schema.as_deref(), first, &name.object);
        database.user_type(schema, &name.object)
    }

    /// Returns the collation that a COLLATE clause names for a type. `catalog_default` is that of the catalog's
    /// names, which is the database's own unless the database is contained, as none is here.
    ///
    /// # Errors
    /// 448 for an unknown name, 459 for a collation of Unicode types with another type.
    pub fn collation_named(&self, name: &ast::Ident, of: &DataType) -> Result<Collation> {
        if name.is("database_default") || name.is("catalog_default") {
            return Ok(self.database_collation());
        }
        Collation::of_clause(name, of)
    }

    /// Returns the collation of the current database, which variables and literals have.
    pub fn database_collation(&self) -> Collation {
        // Cached, since every string literal needs it. A view may be in another database.
        if let Some((database, collation)) = self.known_collation.get()
            && std::ptr::eq(database, self.database)
        {
            return collation;
        }
        let found = self.catalog.database(self.database);
        let collation = found.map_or_else(Collation::default, |database| database.collation);
        self.known_collation.set(Some((self.database, collation)));
        collation
    }
}

/// Returns the error for an unknown type: some are types of SQL Server that Clearway lacks.
fn unknown_type(name: &TypeName) -> types::Error {
    const MISSING: [&str; 5] = ["hierarchyid", "geometry", "geography", "json", "vector"];
    let written = &name.name.object;
    let of_system = name.name.schema.as_ref().is_none_or(|schema| schema.is("sys"));
    match MISSING.iter().find(|missing| of_system && written.is(missing)) {
        Some(missing) => Msg::NotSupported(&format!("the type {missing}")).into(),
        None => Msg::CannotFindType(1, &name.name.to_string()).into(),
    }
}

/// Resolves a system type; `None` if there is none of that name.
///
/// # Errors
/// 2717, 2750, 2751 and 1002 for lengths, precisions and scales out of range, 2716 for arguments
/// that the type does not accept.
pub fn system_type(name: &TypeName, default: DefaultLength) -> Result<Option<DataType>> {
    if name.name.database.is_some()
        || name.name.schema.as_ref().is_some_and(|schema| !schema.is("sys"))
    {
        return Ok(None);
    }
    let written = name.name.object.to_ascii_lowercase();
    let arguments = &name.arguments;
    let data_type = match written.as_str() {
        "bit" => plain(arguments, &written, DataType::Bit)?,
        "tinyint" => plain(arguments, &written, DataType::TinyInt)?,
        "smallint" => plain(arguments, &written, DataType::SmallInt)?,
        "int" | "integer" => plain(arguments, &written, DataType::Int)?,
        "bigint" => plain(arguments, &written, DataType::BigInt)?,
        "decimal" | "numeric" | "dec" => decimal(arguments, &written)?,
        "money" => plain(arguments, &written, DataType::Money)?,
        "smallmoney" => plain(arguments, &written, DataType::SmallMoney)?,
        "real" => plain(arguments, &written, DataType::Real)?,
        "float" => float(arguments)?,
        "date" => plain(arguments, &written, DataType::Date)?,
        "time" => DataType::Time(scale(arguments, &written)?),
        "datetime" => plain(arguments, &written, DataType::DateTime)?,
        "smalldatetime" => plain(arguments, &written, DataType::SmallDateTime)?,
        "datetime2" => DataType::DateTime2(scale(arguments, &written)?),
        "datetimeoffset" => DataType::DateTimeOffset(scale(arguments, &written)?),
        "text" => plain(arguments, &written, DataType::Text)?,
        "ntext" => plain(arguments, &written, DataType::NText)?,
        "image" => plain(arguments, &written, DataType::Image)?,
        "uniqueidentifier" => plain(arguments, &written, DataType::UniqueIdentifier)?,
        "rowversion" | "timestamp" => plain(arguments, &written, DataType::RowVersion)?,
        "sql_variant" => plain(arguments, &written, DataType::SqlVariant)?,
        "sysname" => plain(arguments, &written, DataType::NVarChar(Length::Limited(128)))?,
        "xml" => match arguments {
            // XML schema collections are not supported.
            TypeArguments::XmlSchema(name) => {
                return Err(Msg::XmlCollectionNotFound(&name.object).into());
            }
            _ => plain(arguments, &written, DataType::Xml)?,
        },
        _ => match string_type(&written, arguments, default)? {
            Some(data_type) => data_type,
            None => return Ok(None),
        },
    };
    Ok(Some(data_type))
}

fn string_type(
    written: &str,
    arguments: &TypeArguments,
    default: DefaultLength,
) -> Result<Option<DataType>> {
    let most = if matches!(written, "nchar" | "nvarchar" | "national char") { 4000 } else { 8000 };
    let length = || length(arguments, written, default, most);
    let fixed = || match length()? {
        Length::Limited(n) => Ok(n),
        Length::Max => Err(Error::from(Msg::SyntaxNear("max"))),
    };
    Ok(Some(match written {
        "char" | "character" => DataType::Char(fixed()?),
        "varchar" => DataType::VarChar(length()?),
        "nchar" => DataType::NChar(fixed()?),
        "nvarchar" => DataType::NVarChar(length()?),
        "binary" => DataType::Binary(fixed()?),
        "varbinary" => DataType::VarBinary(length()?),
        _ => return Ok(None),
    }))
}

fn plain(arguments: &TypeArguments, name: &str, data_type: DataType) -> Result<DataType> {
    match arguments {
        TypeArguments::None => Ok(data_type),
        _ => Err(Msg::CannotSpecifyWidth(1, name).into()),
    }
}

fn length(
    arguments: &TypeArguments,
    name: &str,
    default: DefaultLength,
    most: u16,
) -> Result<Length> {
    match arguments {
        TypeArguments::None => Ok(Length::Limited(match default {
            DefaultLength::Declaration => 1,
            DefaultLength::Conversion => 30,
        })),
        TypeArguments::Max => Ok(Length::Max),
        TypeArguments::One(n) => match u16::try_from(*n) {
            Ok(n) if (1..=most).contains(&n) => Ok(Length::Limited(n)),
            _ => Err(Msg::SizeExceeds(i64::from(*n), "type", name, i64::from(most)).into()),
        },
        TypeArguments::Two(..) | TypeArguments::XmlSchema(_) => {
            Err(Msg::CannotSpecifyWidth(1, name).into())
        }
    }
}

fn decimal(arguments: &TypeArguments, name: &str) -> Result<DataType> {
    let (precision, scale) = match arguments {
        TypeArguments::None => (18, 0),
        TypeArguments::One(p) => (*p, 0),
        TypeArguments::Two(p, s) => (*p, *s),
        TypeArguments::Max | TypeArguments::XmlSchema(_) => {
            return Err(Msg::CannotSpecifyWidth(1, name).into());
        }
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision @ 1..=38), Ok(scale)) if scale <= precision => {
            Ok(DataType::Decimal { precision, scale })
        }
        (Ok(1..=38), _) => {
            Err(Msg::ScaleTooLarge(1, i64::from(scale), i64::from(precision)).into())
        }
        _ => Err(Msg::PrecisionTooLarge(1, i64::from(precision), 38).into()),
    }
}

fn float(arguments: &TypeArguments) -> Result<DataType> {
    match arguments {
        TypeArguments::None => Ok(DataType::Float),
        TypeArguments::One(1..=24) => Ok(DataType::Real),
        TypeArguments::One(25..=53) => Ok(DataType::Float),
        TypeArguments::One(n) => Err(Msg::PrecisionTooLarge(1, i64::from(*n), 53).into()),
        _ => Err(Msg::CannotSpecifyWidth(1, "float").into()),
    }
}

fn scale(arguments: &TypeArguments, name: &str) -> Result<u8> {
    match arguments {
        TypeArguments::None => Ok(7),
        TypeArguments::One(n) => match u8::try_from(*n) {
            Ok(n @ 0..=7) => Ok(n),
            _ => Err(Msg::ScaleInvalid(1, i64::from(*n)).into()),
        },
        _ => Err(Msg::CannotSpecifyWidth(1, name).into()),
    }
}
