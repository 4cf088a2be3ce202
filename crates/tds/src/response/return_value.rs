//! RETURNVALUE: the value of an OUTPUT parameter ([MS-TDS] 2.2.7.19).

use types::{ColumnType, Value};

use super::columns::{nullable, put_type_header};
use super::{ResponseWriter, token};
use crate::sink::Sink;
use crate::wire_type::{Place, WireType};

/// The status of an OUTPUT parameter, as opposed to a function's result.
const STATUS_OUTPUT: u8 = 1;

impl ResponseWriter {
    /// Writes the value of an OUTPUT parameter. `name` is UTF-16LE with its `@` as the client sent
    /// it, empty for a positional one; `ordinal` is the parameter's 0-based place in the call; with
    /// `numeric` a `decimal` is sent as `numeric`.
    pub fn return_value(
        &mut self,
        ordinal: u16,
        name: &[u8],
        column_type: ColumnType,
        numeric: bool,
        value: &Value,
    ) {
        let version = self.settings().version;
        let wire = WireType { numeric, ..WireType::for_output(column_type, version) };
        let [o0, o1] = ordinal.to_le_bytes();
        let units = u8::try_from(name.len() / 2).expect("a parameter name has 128 units");
        self.put(&[token::RETURN_VALUE, o0, o1, units]);
        self.put(name);
        self.put(&[STATUS_OUTPUT]);
        put_type_header(self, &column_type, nullable(&wire), version);
        wire.encode(self);
        wire.encode_value(self, value, Place::Parameter);
    }
}
