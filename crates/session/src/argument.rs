//! Arguments of procedure calls, from EXEC and from RPC.

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use crate::TableParameter;
use crate::stop::Stop;
use catalog::{TableRows, UserType};

/// An argument of a procedure call.
#[derive(Clone)]
pub struct Argument {
    /// Parameter name, including the `@`; empty if positional.
    pub name: String,
    /// Type of the value.
    pub ty: ColumnType,
    /// The value; for an OUTPUT argument after the call, the parameter's final value.
    pub value: Value,
    /// Whether it is passed as OUTPUT.
    pub output: bool,
    /// Whether it is DEFAULT instead of a value.
    pub default: bool,
    /// The rows, for a table-valued parameter.
    pub table: Option<TableArgument>,
    /// The name of the variable, if it is a cursor variable.
    pub cursor: Option<String>,
}

/// The value of a table-valued parameter.
#[derive(Clone)]
pub enum TableArgument {
    /// Rows with their table type; `None` for a variable that was declared column by column.
    Rows(Arc<TableRows>, Option<Arc<UserType>>),
    /// Rows sent by a client; stored in a table once the parameter's type is known.
    Sent(Box<TableParameter>),
}

impl TableArgument {
    /// Returns the rows for a parameter of this type.
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

    /// Returns the name of its type, for the error of a type clash.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Rows(_, Some(of)) => &of.name,
            Self::Sent(sent) if !sent.type_name.1.is_empty() => &sent.type_name.1,
            Self::Rows(_, None) | Self::Sent(_) => "table",
        }
    }
}

/// Returns the type `nvarchar(max)` with this collation.
pub const fn text_type(collation: types::Collation) -> ColumnType {
    ColumnType { data_type: DataType::NVarChar(Length::Max), collation, nullable: true }
}
