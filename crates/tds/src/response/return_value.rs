//! RETURNVALUE: the value of an OUTPUT parameter ([MS-TDS] 2.2.7.19).

use types::{ColumnType, Value};

use super::columns::{nullable, put_type_header};
use super::{ResponseWriter, token};
use crate::sink::Sink;
use crate::version::TdsVersion;
use crate::wire_type::{Place, WireType};

/// The status of an OUTPUT parameter, as opposed to a function's result.
const STATUS_OUTPUT: u8 = 1;

/// The bytes of a RETURNVALUE before the value: place, name and type. Each call of a procedure returns
/// the same ones.
#[derive(Clone, Debug)]
pub struct ReturnHead {
    bytes: Box<[u8]>,
    wire: WireType,
    version: TdsVersion,
}

/// Place and type of an OUTPUT parameter, as it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Returned<'a> {
    /// The parameter's 0-based place in the call.
    pub ordinal: u16,
    /// The name with its `@` as the client sent it, UTF-16LE; empty for a positional one.
    pub name: &'a [u8],
    /// Type of the value.
    pub column_type: ColumnType,
    /// Whether a `decimal` is sent as `numeric`.
    pub numeric: bool,
}

impl Returned<'_> {
    /// Writes everything before the value; returns how the value is sent.
    fn put(&self, target: &mut impl Sink, version: TdsVersion) -> WireType {
        let Self { ordinal, name, column_type, numeric } = *self;
        let wire = WireType { numeric, ..WireType::for_output(column_type, version) };
        let [o0, o1] = ordinal.to_le_bytes();
        let units = u8::try_from(name.len() / 2).expect("a parameter name has 128 units");
        target.put(&[token::RETURN_VALUE, o0, o1, units]);
        target.put(name);
        target.put(&[STATUS_OUTPUT]);
        put_type_header(target, &column_type, nullable(&wire), version);
        wire.encode(target);
        wire
    }
}

impl ReturnHead {
    /// Encodes the head for clients of a version.
    pub fn new(returned: &Returned<'_>, version: TdsVersion) -> Self {
        let mut bytes = Vec::new();
        let wire = returned.put(&mut bytes, version);
        Self { bytes: bytes.into(), wire, version }
    }
}

impl ResponseWriter {
    /// Writes the value of an OUTPUT parameter.
    pub fn return_value(&mut self, returned: &Returned<'_>, value: &Value) {
        let version = self.settings().version;
        let wire = returned.put(self, version);
        wire.encode_value(self, value, Place::Parameter);
    }

    /// Writes the value of an OUTPUT parameter whose head has been encoded.
    pub fn return_value_of(&mut self, head: &ReturnHead, value: &Value) {
        assert_eq!(head.version, self.settings().version, "a head is encoded for a version");
        self.put(&head.bytes);
        head.wire.encode_value(self, value, Place::Parameter);
    }
}
