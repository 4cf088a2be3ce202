//! CRYPT_GEN_RANDOM: bytes from the system's generator.

use types::value::ColumnType;
use types::{Bytes, DataType, Length, Result, Value};

use crate::entry::{convert, lookup, of, whole};
use crate::{Call, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] =
    &[lookup("CRYPT_GEN_RANDOM", (1, 2), bind_random, random)];

/// Maximum number of bytes per call.
const BYTES_MAX: i64 = 8_000;
/// Number of bytes read from the system at a time.
const CHUNK: usize = 64;

fn bind_random(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, DataType::Int)?;
    Ok(of(DataType::VarBinary(Length::Limited(8_000))))
}

/// A seed is ignored, since the system's generator needs none; a length out of range gives NULL.
fn random(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let length = whole(values, 0).filter(|n| (1..=BYTES_MAX).contains(n));
    let Some(length) = length.and_then(|n| usize::try_from(n).ok()) else {
        return Ok(Value::Null);
    };
    let mut bytes = Vec::with_capacity(length + CHUNK);
    while bytes.len() < length {
        bytes.extend_from_slice(&sos::sys::random_bytes::<CHUNK>());
    }
    bytes.truncate(length);
    Ok(Value::VarBinary(Bytes::from(bytes)))
}
