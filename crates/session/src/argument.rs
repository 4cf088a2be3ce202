//! Arguments of calls, as EXEC and RPC bring them.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use crate::TableParameter;
use crate::stop::Stop;
use catalog::{TableRows, UserType};

/// An argument of a call.
#[derive(Clone)]
pub struct Argument {
    /// With its `@`; empty if positional.
    pub name: String,
    /// Type of the value.
    pub ty: ColumnType,
    /// Value; after the call of an OUTPUT argument the parameter's.
    pub value: Value,
    /// OUTPUT was said.
    pub output: bool,
    /// DEFAULT was said.
    pub default: bool,
    /// A table-valued argument.
    pub table: Option<TableArgument>,
}

/// A table-valued argument.
#[derive(Clone)]
pub enum TableArgument {
    /// Rows, and the table type that they are of; none of a variable that was declared column by column.
    Rows(Arc<TableRows>, Option<Arc<UserType>>),
    /// What a client has sent: rows are made of it when the parameter is known.
    Sent(Box<TableParameter>),
}

impl TableArgument {
    /// Takes the rows for a parameter of this type.
    ///
    /// # Errors
    /// 206 for rows of another type.
    pub fn into_rows(self, wanted: &UserType) -> Result<Arc<TableRows>, Stop> {
        let Self::Rows(rows, of) = self else { return Err(Msg::InternalError.into()) };
        match of {
            Some(of) if of.id == wanted.id => Ok(rows),
            Some(of) => Err(Msg::OperandClash(&of.name, &wanted.name).into()),
            None => Err(Msg::OperandClash("table", &wanted.name).into()),
        }
    }

    /// The name of its type, as an operand of a clash.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Rows(_, Some(of)) => &of.name,
            Self::Sent(sent) if !sent.type_name.1.is_empty() => &sent.type_name.1,
            Self::Rows(_, None) | Self::Sent(_) => "table",
        }
    }
}

/// `nvarchar(max)`.
pub const fn text_type(collation: types::Collation) -> ColumnType {
    ColumnType { data_type: DataType::NVarChar(Length::Max), collation, nullable: true }
}
