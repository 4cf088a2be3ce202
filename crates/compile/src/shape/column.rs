//! What a column's type and options allow.

use types::value::ColumnType;
use types::{DataType, Length};

use ::catalog::ColumnDef;

/// Tells whether a column has nothing that SPARSE can't be together with.
pub(super) fn may_be_sparse(column: &ColumnDef) -> bool {
    let no_type = matches!(
        column.ty.data_type,
        DataType::Text | DataType::NText | DataType::Image | DataType::RowVersion
    );
    let is_plain = column.computed.is_none() && column.default.is_none() && !column.row_guid;
    is_plain && !no_type && column.user_type.is_none()
}

/// Tells whether ANSI_PADDING OFF cuts blanks or zeros off what a column of this type gets. One of a fixed length
/// that may not be NULL is filled up all the same.
pub(super) fn may_be_trimmed(ty: &ColumnType) -> bool {
    match ty.data_type {
        DataType::Char(_) | DataType::Binary(_) => ty.nullable,
        DataType::VarChar(Length::Limited(_)) | DataType::VarBinary(Length::Limited(_)) => true,
        _ => false,
    }
}
