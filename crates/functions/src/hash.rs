//! Hash functions: HASHBYTES, CHECKSUM and BINARY_CHECKSUM.

use sha2::Digest;
use types::{DataType, Length, Msg, Result, Value};

use crate::entry::{convert, int, of, pure, text};
use crate::{Call, Collating, Evaluate, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("HASHBYTES", (2, 2), bind_hash, eval_hash),
    checksum("CHECKSUM", Strings::Collated),
    checksum("BINARY_CHECKSUM", Strings::Bytes),
];

/// How strings enter a checksum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strings {
    /// Strings that compare equal have the same checksum.
    Collated,
    /// As bytes, without a collation.
    Bytes,
}

const fn checksum(name: &'static str, strings: Strings) -> Function {
    let eval: crate::entry::Eval = match strings {
        Strings::Collated => |_, c, v| sum(c, v, Strings::Collated),
        Strings::Bytes => |_, c, v| sum(c, v, Strings::Bytes),
    };
    Function {
        name,
        arity: (1, 254),
        bind: int,
        eval: Evaluate::Full(eval),
        deterministic: true,
        collation: Collating::Apart,
    }
}

fn bind_hash(arguments: &mut Vec<Expr>) -> Result<types::ColumnType> {
    let input = arguments[1].ty.data_type;
    if !input.is_string() && !matches!(input.family(), types::Family::Binary) {
        if !arguments[1].is_null_literal() {
            return Err(Msg::InvalidOperandType(input.name(), "hashbytes").into());
        }
        convert(arguments, 1, DataType::VarBinary(Length::Limited(8_000)))?;
    }
    Ok(of(DataType::VarBinary(Length::Limited(8_000))))
}

/// Hashes the bytes as stored: `varchar` in its code page, `nvarchar` in UTF-16LE. An algorithm
/// that does not exist gives NULL, as documented.
fn eval_hash(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    // A longer name, which may be long to decode, is that of no algorithm.
    if values[0].string_bytes().is_some_and(|name| name.len() > ALGORITHM_BYTES_MAX) {
        return Ok(Value::Null);
    }
    let algorithm = text(call, values, 0)?.unwrap_or_default();
    let input = values[1].string_bytes().unwrap_or_default();
    // The label costs two stores; the fastest hash takes a hundred nanoseconds.
    let _label = sos::ledger::labelled(sos::ledger::Label::Hash);
    let _page = sos::memory::experiment::HashPage::take();
    let hash = match algorithm.to_ascii_uppercase().as_str() {
        "SHA2_256" => types::Bytes::copy_from(&sha256(input)),
        "SHA2_512" => digest::<sha2::Sha512>(input),
        "SHA" | "SHA1" => digest::<sha1::Sha1>(input),
        "MD5" => digest::<md5::Md5>(input),
        "MD4" => digest::<md4::Md4>(input),
        "MD2" => digest::<md2::Md2>(input),
        _ => return Ok(Value::Null),
    };
    Ok(Value::VarBinary(hash))
}

/// Bytes of the longest name of an algorithm, in UTF-16.
const ALGORITHM_BYTES_MAX: usize = 2 * "SHA2_256".len();

/// SHA-256 by FIPS 180-4. An input that fits one block with its padding is padded in place and
/// compressed at once: most inputs hashed per row are that short, and an incremental hasher would
/// copy into a buffer.
pub fn sha256(input: &[u8]) -> [u8; 32] {
    if input.len() > ONE_BLOCK_MAX {
        return hashed::<sha2::Sha256>(input).into();
    }
    let mut block = [0; 64];
    block[..input.len()].copy_from_slice(input);
    block[input.len()] = 0x80;
    block[ONE_BLOCK_MAX + 1..].copy_from_slice(&(input.len() as u64 * 8).to_be_bytes());
    let mut state = SHA256_START;
    sha2::block_api::compress256(&mut state, &[block]);
    let mut hash = [0; 32];
    for (to, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *to = word.to_be_bytes();
    }
    hash
}

/// Longest input that leaves room in one block for the end bit and the length.
const ONE_BLOCK_MAX: usize = 55;

/// Initial state: FIPS 180-4, 5.3.3.
const SHA256_START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Hashes with the state on the stack. Only a result longer than a value's inline bytes allocates
/// memory.
fn digest<D: Digest>(input: &[u8]) -> types::Bytes {
    types::Bytes::copy_from(&hashed::<D>(input))
}

/// Hashes a piece at a time, and lets other requests run between two pieces.
fn hashed<D: Digest>(input: &[u8]) -> sha2::digest::Output<D> {
    const PIECE_BYTES: usize = 256 << 10;
    if input.len() <= PIECE_BYTES {
        return D::digest(input);
    }
    let mut hasher = D::new();
    for piece in input.chunks(PIECE_BYTES) {
        hasher.update(piece);
        sos::sched::check_quantum_soon();
        sos::sched::yield_if_quantum_due();
    }
    hasher.finalize()
}

/// Returns a checksum of all arguments in order: FNV-1a over their bytes.
///
/// # Errors
/// 701 if the memory limit leaves no room for the sort key of a long string.
fn sum(call: &Call<'_>, values: &[Value], strings: Strings) -> Result<Value> {
    let mut hash = 0x811C_9DC5_u32;
    let mut bytes = Vec::new();
    let mut pace = sos::sched::Pace::new();
    for (value, argument) in values.iter().zip(call.arguments) {
        bytes.clear();
        if plan::long::is_long(value) {
            plan::long::ask_for_key(value.string_bytes().map_or(0, <[u8]>::len))?;
        }
        push(value, argument.ty.collation, strings, &mut bytes);
        for byte in &bytes {
            pace.tick();
            hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
    Ok(Value::Int(hash.cast_signed()))
}

/// Appends the bytes that represent a value: equal values have equal bytes.
fn push(value: &Value, collation: types::Collation, strings: Strings, bytes: &mut Vec<u8>) {
    match (value, strings) {
        (Value::VarChar(b) | Value::NVarChar(b), Strings::Bytes) => bytes.extend_from_slice(b),
        _ => {
            let collation = if value.string_bytes().is_some() && strings == Strings::Collated {
                collation
            } else {
                types::Collation::default()
            };
            let part =
                types::key::KeyPart { collation, direction: types::key::Direction::Ascending };
            plan::long::encode_value_asked(value, part, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_is_hashed_as_by_a_hasher() {
        let input: Vec<u8> = (0..200).collect();
        for length in 0..input.len() {
            let wanted: [u8; 32] = sha2::Sha256::digest(&input[..length]).into();
            assert_eq!(sha256(&input[..length]), wanted, "{length} bytes");
        }
    }
}
