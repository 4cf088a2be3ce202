//! Which column options the other options and the type of a column permit.

use types::value::ColumnType;
use types::{DataType, Length};

use ::catalog::ColumnDef;

/// Returns true if the column has no type or option that excludes SPARSE.
pub(super) fn may_be_sparse(column: &ColumnDef) -> bool {
    let no_type = matches!(
        column.ty.data_type,
        DataType::Text | DataType::NText | DataType::Image | DataType::RowVersion
    );
    let is_plain = column.computed.is_none() && column.default.is_none() && !column.row_guid;
    is_plain && !no_type && column.user_type.is_none()
}

/// Returns true if ANSI_PADDING OFF trims trailing blanks or zeros of values stored in a column of
/// this type. A fixed-length column that is NOT NULL is padded even then.
pub(super) fn may_be_trimmed(ty: &ColumnType) -> bool {
    match ty.data_type {
        DataType::Char(_) | DataType::Binary(_) => ty.nullable,
        DataType::VarChar(Length::Limited(_)) | DataType::VarBinary(Length::Limited(_)) => true,
        _ => false,
    }
}
