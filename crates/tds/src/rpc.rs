//! RPC requests: procedure calls with typed parameters ([MS-TDS] 2.2.6.6).
//!
//! ```text
//!   RpcReader ─ next_call ─► RpcCall ─ next_parameter ─► RpcParameter, .. None ─ next_call ─► .. None
//! ```

use std::borrow::Cow;

use types::{ColumnType, Value};

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::tvp::TableValue;
use crate::version::TdsVersion;
use crate::wire_type::{Place, WireType};

/// The most UTF-16 units of a parameter's name, with its `@`.
pub const PARAMETER_NAME_UNITS_MAX: u8 = 128;
/// The most parameters of a call: SQL Server's limit.
pub const PARAMETERS_MAX: u16 = 2_100;

/// The token of a table-valued parameter's type (2.2.5.4.3).
pub(crate) const TVP_TYPE: u8 = 0xF3;

/// Reads the calls of an RPC message in order, and the parameters of each.
#[derive(Clone, Debug)]
pub struct RpcReader<'a> {
    body: Cursor<'a>,
    version: TdsVersion,
    /// The transaction that the client assumes it is in; 0 for none.
    pub transaction: u64,
    parameters_read: u16,
    at: At,
}

/// The position of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before a call's head.
    Call,
    /// Before a parameter, a separator or the end.
    Parameter,
    /// Behind the last call.
    End,
}

/// The head of a call: procedure and options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcCall<'a> {
    /// The procedure that is called.
    pub procedure: Procedure<'a>,
    /// Option flags of the call.
    pub options: RpcOptions,
}

/// How an RPC names its procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure<'a> {
    /// A procedure by its name, UTF-16LE, possibly of several parts and bracketed.
    Name(Cow<'a, [u8]>),
    /// A well-known procedure by its number.
    Id(ProcedureId),
}

/// Declares [`ProcedureId`]: number, variant and name of each well-known procedure.
macro_rules! procedures {
    ($($code:literal $variant:ident $name:literal;)+) => {
        /// A well-known procedure ([MS-TDS] 2.2.6.6, ProcID).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ProcedureId {
            $(#[doc = concat!("`", $name, "`, ", stringify!($code))]
            $variant,)+
        }

        impl ProcedureId {
            /// Returns the procedure with this number.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns the number on the wire.
            pub const fn code(self) -> u16 {
                match self {
                    $(Self::$variant => $code,)+
                }
            }

            /// Returns the procedure's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

procedures! {
    1 Cursor "sp_cursor";
    2 CursorOpen "sp_cursoropen";
    3 CursorPrepare "sp_cursorprepare";
    4 CursorExecute "sp_cursorexecute";
    5 CursorPrepExec "sp_cursorprepexec";
    6 CursorUnprepare "sp_cursorunprepare";
    7 CursorFetch "sp_cursorfetch";
    8 CursorOption "sp_cursoroption";
    9 CursorClose "sp_cursorclose";
    10 ExecuteSql "sp_executesql";
    11 Prepare "sp_prepare";
    12 Execute "sp_execute";
    13 PrepExec "sp_prepexec";
    14 PrepExecRpc "sp_prepexecrpc";
    15 Unprepare "sp_unprepare";
}

/// OptionFlags of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RpcOptions(pub u16);

impl RpcOptions {
    /// Recompile the procedure (fWithRecomp).
    pub const WITH_RECOMPILE: Self = Self(1);
    /// The client asks for no metadata (fNoMetaData). SqlClient sets it but needs COLMETADATA.
    pub const NO_METADATA: Self = Self(2);
    /// The metadata has not changed since the last call (fReuseMetaData).
    pub const REUSE_METADATA: Self = Self(4);

    /// Returns whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A parameter of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcParameter<'a> {
    /// The name with its `@`, UTF-16LE; empty if positional. Some drivers leave out the `@`.
    pub name: Cow<'a, [u8]>,
    /// Whether it is an OUTPUT parameter, passed by reference (fByRefValue).
    pub is_output: bool,
    /// The type of the value; for a table-valued parameter NULLTYPE (see `value`).
    pub column_type: ColumnType,
    /// Whether a `decimal` was sent as `numeric`.
    pub numeric: bool,
    /// The parameter's value, with its kind.
    pub value: ParameterValue,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// A value, NULL included.
    Value(Value),
    /// The procedure's own default (fDefaultValue).
    Default,
    /// Rows: a table-valued parameter.
    Table(Box<TableValue>),
}

/// The longest head that is remembered, in bytes.
const HEAD_BYTES_MAX: usize = 320;
/// A length of this many units or more is a byte that ends the call in older versions.
const NAME_UNITS_END: u8 = 0x80;

/// The bytes before a parameter's value, as sent: name, flags and type. Calls of one procedure send
/// the same heads each time, so comparing the bytes saves decoding them.
#[derive(Clone, Debug)]
pub struct ParameterHead {
    bytes: Box<[u8]>,
    is_output: bool,
    wire: WireType,
}

impl ParameterHead {
    /// Reads the head that starts at `body`. `None` for one that is not remembered: in several
    /// pieces, too long, of a table, or with a default in place of the value.
    fn read(mut body: Cursor<'_>) -> Option<Self> {
        // Moves to the piece that has the next byte.
        let name_units = body.peek()?;
        let begin = body.clone();
        body.b_varchar().ok()?;
        let status = body.u8().ok()?;
        if name_units >= NAME_UNITS_END || status & !0x01 != 0 || body.peek() == Some(TVP_TYPE) {
            return None;
        }
        let wire = WireType::decode(&mut body).ok()?;
        let bytes = begin.up_to(&body).filter(|bytes| bytes.len() <= HEAD_BYTES_MAX)?;
        Some(Self { bytes: bytes.into(), is_output: status & 0x01 != 0, wire })
    }

    /// The parameter's name, as [`RpcParameter::name`].
    pub fn name(&self) -> &[u8] {
        &self.bytes[1..][..usize::from(self.bytes[0]) * 2]
    }

    /// As [`RpcParameter::is_output`], of the remembered head.
    pub const fn is_output(&self) -> bool {
        self.is_output
    }

    /// As [`RpcParameter::column_type`], of the remembered head.
    pub const fn column_type(&self) -> ColumnType {
        self.wire.parameter_type()
    }

    /// As [`RpcParameter::numeric`], of the remembered head.
    pub const fn numeric(&self) -> bool {
        self.wire.numeric
    }
}

impl<'a> RpcReader<'a> {
    /// Returns a reader over an RPC message behind its headers.
    pub(crate) const fn new(body: Cursor<'a>, version: TdsVersion, transaction: u64) -> Self {
        Self { body, version, transaction, parameters_read: 0, at: At::Call }
    }

    /// Reads the head of the next call, after skipping unread parameters of the call before; `None`
    /// behind the last call.
    pub fn next_call(&mut self) -> Result<Option<RpcCall<'a>>> {
        while self.next_parameter()?.is_some() {}
        if self.at == At::End {
            return Ok(None);
        }
        let length = self.body.u16()?;
        let procedure = if length == u16::MAX {
            let code = self.body.u16()?;
            let id = ProcedureId::from_code(code);
            Procedure::Id(id.ok_or(ProtocolError::Rpc("The procedure number is unknown"))?)
        } else {
            Procedure::Name(self.body.bytes(usize::from(length) * 2)?)
        };
        let options = RpcOptions(self.body.u16()?);
        self.at = At::Parameter;
        self.parameters_read = 0;
        Ok(Some(RpcCall { procedure, options }))
    }

    /// Returns the bytes that were read since `earlier`, a clone of this reader: the bytes of a
    /// call, if its parameters have been read in between. Joins bytes of several packets.
    ///
    /// # Errors
    /// If `earlier` is not an earlier position of this reader.
    pub fn bytes_since(&self, earlier: &Self) -> Result<Cow<'a, [u8]>> {
        let count = earlier.body.remaining().checked_sub(self.body.remaining());
        earlier.body.clone().bytes(count.ok_or(ProtocolError::Truncated)?)
    }

    /// Returns whether another call follows in this message, once the parameters have been read.
    /// The last DONEPROC of every call but the last has DONE_RPCINBATCH.
    pub const fn has_more_calls(&self) -> bool {
        matches!(self.at, At::Call)
    }

    /// Reads the next parameter of the call; `None` behind the last parameter.
    pub fn next_parameter(&mut self) -> Result<Option<RpcParameter<'a>>> {
        if self.at != At::Parameter {
            return Ok(None);
        }
        let Some(byte) = self.body.peek() else {
            self.at = At::End;
            return Ok(None);
        };
        if self.is_separator(byte) {
            self.body.skip(1)?;
            // A separator behind the last call is ignored.
            self.at = if self.body.is_empty() { At::End } else { At::Call };
            return Ok(None);
        }
        self.parameters_read += 1;
        if self.parameters_read > PARAMETERS_MAX {
            return Err(ProtocolError::TooManyParameters(PARAMETERS_MAX));
        }
        self.read_parameter(byte).map(Some)
    }

    /// Returns the head of the next parameter, for [`Self::next_value`] to compare with later
    /// calls.
    pub fn next_head(&self) -> Option<ParameterHead> {
        (self.at == At::Parameter).then(|| ParameterHead::read(self.body.clone())).flatten()
    }

    /// Reads the value of the next parameter if it has this head. Else reads nothing; call
    /// [`Self::next_parameter`] then.
    #[inline]
    pub fn next_value(&mut self, head: &ParameterHead) -> Result<Option<Value>> {
        if self.at != At::Parameter
            || self.parameters_read == PARAMETERS_MAX
            || !self.body.skip_same(&head.bytes)
        {
            return Ok(None);
        }
        self.parameters_read += 1;
        head.wire.decode_value(&mut self.body, Place::Parameter).map(Some)
    }

    /// Returns whether the call has no further parameter, and reads its end if so.
    ///
    /// # Errors
    /// If the message is cut off.
    pub fn ends_call(&mut self) -> Result<bool> {
        match self.body.peek() {
            Some(byte) if self.at == At::Parameter && !self.is_separator(byte) => Ok(false),
            _ => self.next_parameter().map(|parameter| parameter.is_none()),
        }
    }

    /// Returns whether a byte in place of a name's length ends the call: BatchFlag, which 7.2
    /// changed from 0x80 to 0xFF since a name may have 128 units, or NoExecFlag.
    const fn is_separator(&self, byte: u8) -> bool {
        if self.version.has_wide_fields() { byte >= 0xFE } else { byte == 0x80 }
    }

    #[inline]
    fn read_parameter(&mut self, name_units: u8) -> Result<RpcParameter<'a>> {
        if name_units > PARAMETER_NAME_UNITS_MAX {
            return Err(ProtocolError::Rpc("A parameter name is too long"));
        }
        let name = self.body.b_varchar()?;
        let status = self.body.u8()?;
        if status & 0x08 != 0 {
            return Err(ProtocolError::Unsupported("encrypted parameters"));
        }
        let (is_output, is_default) = (status & 0x01 != 0, status & 0x02 != 0);
        if self.body.peek() == Some(TVP_TYPE) {
            let table = TableValue::decode(&mut self.body)?;
            // A default is sent as a table without columns.
            let value = if is_default {
                ParameterValue::Default
            } else {
                ParameterValue::Table(Box::new(table))
            };
            let column_type = WireType::null().column_type;
            return Ok(RpcParameter { name, is_output, column_type, numeric: false, value });
        }
        let wire = WireType::decode(&mut self.body)?;
        let value = wire.decode_value(&mut self.body, Place::Parameter)?;
        let value = if is_default { ParameterValue::Default } else { ParameterValue::Value(value) };
        let (column_type, numeric) = (wire.parameter_type(), wire.numeric);
        Ok(RpcParameter { name, is_output, column_type, numeric, value })
    }
}
