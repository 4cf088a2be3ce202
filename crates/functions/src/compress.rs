//! COMPRESS and DECOMPRESS: GZIP (RFC 1952).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use types::value::ColumnType;
use types::{Bytes, DataType, Family, Length, Msg, Result, Value};

use crate::entry::{convert, of, pure};
use crate::{Call, Function};
use plan::expr::Expr;
use plan::function::Context;
use plan::long;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("COMPRESS", (1, 1), bind_compress, eval_compress),
    pure("DECOMPRESS", (1, 1), bind_decompress, eval_decompress),
];

/// Number of bytes that are compressed or decompressed at a time.
const PIECE_BYTES: usize = 8 << 10;
/// Maximum length of a value in bytes.
const BYTES_MAX: u64 = (1 << 31) - 1;

fn bind_compress(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = arguments[0].ty.data_type;
    let fits = ty.is_string() || ty.family() == Family::Binary || arguments[0].is_null_literal();
    if !fits || matches!(ty, DataType::Text | DataType::NText | DataType::Image) {
        return Err(Msg::InvalidArgumentType(ty.name(), 1, "Compress").into());
    }
    Ok(of(DataType::VarBinary(Length::Max)))
}

fn bind_decompress(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = arguments[0].ty.data_type;
    if ty.family() != Family::Binary && !arguments[0].is_null_literal() {
        return Err(Msg::InvalidArgumentType(ty.name(), 1, "Decompress").into());
    }
    convert(arguments, 0, DataType::VarBinary(Length::Max))?;
    Ok(of(DataType::VarBinary(Length::Max)))
}

fn eval_compress(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let input = values[0].string_bytes().unwrap_or_default();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for piece in input.chunks(PIECE_BYTES) {
        encoder.write_all(piece).map_err(|_| Msg::OutOfMemory)?;
        sos::sched::yield_if_quantum_due();
    }
    let bytes = encoder.finish().map_err(|_| Msg::OutOfMemory)?;
    Ok(Value::VarBinary(Bytes::from(bytes)))
}

/// Error 9803 for data that is not GZIP, and for output beyond the maximum length.
fn eval_decompress(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let input = values[0].string_bytes().unwrap_or_default();
    let mut bytes = Vec::new();
    let mut decoder = MultiGzDecoder::new(input).take(BYTES_MAX + 1);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => {
                long::append(&mut bytes, &piece[..count])?;
                sos::sched::yield_if_quantum_due();
            }
            Err(_) => return Err(Msg::InvalidData("varbinary").into()),
        }
    }
    if u64::try_from(bytes.len()).is_ok_and(|n| n > BYTES_MAX) {
        return Err(Msg::InvalidData("varbinary").into());
    }
    Ok(Value::VarBinary(Bytes::from(bytes)))
}
