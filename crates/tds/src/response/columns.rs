//! COLMETADATA: the columns of a result ([MS-TDS] 2.2.7.4).

use types::ColumnType;
use types::data_type::DataType;

use super::{ResponseWriter, token};
use crate::sink::Sink;
use crate::utf16;
use crate::version::TdsVersion;
use crate::wire_type::{Form, Sender, WireType, fixed_token};

/// The user type of `rowversion`; every other type is sent as 0.
const USER_TYPE_ROW_VERSION: u32 = 80;
/// The column count that means no metadata.
const NO_METADATA: u16 = 0xFFFF;
/// The longest column name, in UTF-16 units.
const NAME_UNITS_MAX: usize = 128;

/// A column of a result.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The column's name, may be empty.
    pub name: &'a str,
    /// The column's type and nullability.
    pub column_type: ColumnType,
    /// Further flags; whether the column is nullable comes from the type.
    pub flags: ColumnFlags,
    /// The table that the column comes from, for `text`, `ntext` and `image`; empty if computed.
    pub table: &'a str,
    /// Whether a `decimal` is sent as `numeric`, which clients treat as a separate type.
    pub numeric: bool,
}

/// Flags of a column in COLMETADATA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    /// The column accepts NULL.
    pub const NULLABLE: Self = Self(0x0001);
    /// Its strings compare case-sensitively.
    pub const CASE_SENSITIVE: Self = Self(0x0002);
    /// The column can be updated.
    pub const UPDATABLE: Self = Self(0x0004);
    /// It is not known whether the column can be updated.
    pub const UPDATABLE_UNKNOWN: Self = Self(0x0008);
    /// The column is an IDENTITY column.
    pub const IDENTITY: Self = Self(0x0010);
    /// The column is computed or an expression.
    pub const COMPUTED: Self = Self(0x0020);
    /// The column is part of the key in browse mode.
    pub const KEY: Self = Self(0x4000);

    /// Returns the union of the flags.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The columns of a result, encoded for one version; a plan keeps them between executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    bytes: Box<[u8]>,
    wire: Box<[WireType]>,
    version: TdsVersion,
}

impl Columns {
    /// Encodes the metadata of `columns`, at most 4,096.
    pub fn new(columns: &[Column<'_>], version: TdsVersion) -> Self {
        Self::sent_by(Sender::Server, columns, version)
    }

    /// Encodes the metadata of a bulk load's columns, as a client sends it.
    pub fn of_load(columns: &[Column<'_>], version: TdsVersion) -> Self {
        Self::sent_by(Sender::Client, columns, version)
    }

    fn sent_by(sender: Sender, columns: &[Column<'_>], version: TdsVersion) -> Self {
        let wire: Box<[WireType]> = columns
            .iter()
            .map(|column| WireType::for_column(column.column_type, column.numeric, version))
            .collect();
        let mut bytes = Vec::with_capacity(3 + columns.len() * 40);
        bytes.push(token::COLUMN_METADATA);
        let count = u16::try_from(columns.len()).expect("a result has at most 4,096 columns");
        bytes.extend_from_slice(&count.to_le_bytes());
        for (column, wire) in columns.iter().zip(&wire) {
            put_column(&mut bytes, column, wire, (version, sender));
        }
        Self { bytes: bytes.into_boxed_slice(), wire, version }
    }

    /// Returns the encoded metadata.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the form of each column's values.
    pub(crate) fn wire(&self) -> &[WireType] {
        &self.wire
    }

    /// Returns the version that the metadata is encoded for.
    pub const fn version(&self) -> TdsVersion {
        self.version
    }
}

fn put_column(
    target: &mut impl Sink,
    column: &Column<'_>,
    wire: &WireType,
    (version, sender): (TdsVersion, Sender),
) {
    put_type_header(target, &column.column_type, column.flags.with(nullable(wire)), version);
    wire.encode(target);
    if wire.form == Form::Long {
        if version.has_wide_fields() && sender == Sender::Server {
            target.put(&[1]);
        }
        put_us_varchar(target, column.table);
    }
    put_b_varchar(target, column.name, NAME_UNITS_MAX);
}

/// Returns the flag of columns that may be NULL. If a type has a fixed form the flag follows the
/// form: some clients (SqlClient's older readers) decide by it whether a value has a length before
/// it.
pub(super) fn nullable(wire: &WireType) -> ColumnFlags {
    let nullable = match wire.form {
        Form::Fixed => false,
        _ => wire.column_type.nullable || fixed_token(wire.column_type.data_type).is_some(),
    };
    if nullable { ColumnFlags::NULLABLE } else { ColumnFlags::default() }
}

/// Writes the fields before a type in COLMETADATA and RETURNVALUE: user type and flags.
pub(super) fn put_type_header(
    target: &mut impl Sink,
    column_type: &ColumnType,
    flags: ColumnFlags,
    version: TdsVersion,
) {
    let is_row_version = column_type.data_type == DataType::RowVersion;
    let user_type = if is_row_version { USER_TYPE_ROW_VERSION } else { 0 };
    let [u0, u1, u2, u3] = user_type.to_le_bytes();
    let [f0, f1] = flags.0.to_le_bytes();
    if version.has_wide_fields() {
        target.put(&[u0, u1, u2, u3, f0, f1]);
    } else {
        target.put(&[u0, u1, f0, f1]);
    }
}

/// Writes a string after a count of units in one byte; text beyond `units_max` is cut off.
pub(crate) fn put_b_varchar(target: &mut impl Sink, text: &str, units_max: usize) {
    let text = utf16::from_str(text);
    let text = &text[..text.len().min(units_max.min(255) * 2)];
    target.put(&[u8::try_from(text.len() / 2).expect("it has just been cut")]);
    target.put(text);
}

/// Writes a string after a count of units in two bytes.
pub(crate) fn put_us_varchar(target: &mut impl Sink, text: &str) {
    let text = utf16::from_str(text);
    let units = u16::try_from(text.len() / 2).expect("a name or message is short");
    target.put(&units.to_le_bytes());
    target.put(&text);
}

impl ResponseWriter {
    /// Writes COLMETADATA, which begins a result.
    pub fn columns(&mut self, columns: &Columns) {
        assert_eq!(columns.version, self.settings().version, "metadata is encoded for a version");
        self.put(&columns.bytes);
    }

    /// Writes COLMETADATA without metadata.
    pub fn no_columns(&mut self) {
        self.put(&[token::COLUMN_METADATA]);
        self.put(&NO_METADATA.to_le_bytes());
    }

    /// Writes ORDER: the result is ordered by these columns, 1-based ([MS-TDS] 2.2.7.17).
    pub fn order(&mut self, columns: &[u16]) {
        self.put(&[token::ORDER]);
        let bytes = u16::try_from(columns.len() * 2).expect("a result has at most 4,096 columns");
        self.put(&bytes.to_le_bytes());
        columns.iter().for_each(|column| self.put(&column.to_le_bytes()));
    }
}
