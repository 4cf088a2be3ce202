//! ENCRYPTBYPASSPHRASE and DECRYPTBYPASSPHRASE in the format of SQL Server 2017 and later.
//!
//! ```text
//! 02 00 00 00 | initialization vector (16) | AES-256 in CBC mode, padded by PKCS #7, of
//!               0d f0 ad ba | length of hash (2) | length of text (2) | hash (0 or 20) | text
//! ```
//! The key is the SHA-256 of the passphrase in UTF-16LE; the hash is the SHA-1 of text and
//! authenticator, if there is one. Data that does not decrypt to that form gives NULL. The format
//! of earlier versions, Triple DES, is not supported: error 40517.

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use sha2::Digest;
use types::value::ColumnType;
use types::{Bytes, DataType, Family, Length, Msg, Result, Value};

use crate::entry::{convert, of, whole};
use crate::{Call, Collating, Evaluate, Function};
use plan::expr::Expr;

pub(crate) static FUNCTIONS: &[Function] = &[
    by_passphrase("ENCRYPTBYPASSPHRASE", |_, call, values| encrypt(call, values)),
    by_passphrase("DECRYPTBYPASSPHRASE", |_, call, values| decrypt(call, values)),
];

const fn by_passphrase(name: &'static str, eval: crate::entry::Eval) -> Function {
    Function {
        name,
        arity: (2, 4),
        bind,
        eval: Evaluate::Full(eval),
        deterministic: false,
        collation: Collating::Apart,
    }
}

/// First bytes of the plaintext; they show that the key is right.
const MAGIC: [u8; 4] = 0xbaad_f00d_u32.to_le_bytes();
/// Version 2 is AES; version 1 was Triple DES.
const VERSION: [u8; 4] = [2, 0, 0, 0];
const VERSION_OF_DES: [u8; 4] = [1, 0, 0, 0];
/// Block size of AES in bytes.
const BLOCK: usize = 16;
/// Maximum length of a result in bytes.
const BYTES_MAX: usize = 8_000;

fn bind(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let input = arguments[1].ty.data_type;
    let is_bytes = input.is_string() || input.family() == Family::Binary;
    if !is_bytes && !arguments[1].is_null_literal() {
        let type_name = input.name();
        return Err(Msg::InvalidArgumentType(type_name, 2, "encrypt/decrypt by passphrase").into());
    }
    convert(arguments, 0, DataType::NVarChar(Length::Limited(PASSPHRASE_UNITS_MAX)))?;
    convert(arguments, 2, DataType::Int)?;
    Ok(of(DataType::VarBinary(Length::Limited(8_000))))
}

/// The length of the type that a passphrase is converted to.
const PASSPHRASE_UNITS_MAX: u16 = 4_000;
/// The most characters that a value of that type has.
const PASSPHRASE_CHARS_MAX: usize = PASSPHRASE_UNITS_MAX as usize;

/// A key, and an authenticator.
type Secrets<'v> = ([u8; 32], Option<&'v [u8]>);

/// Returns the key, and the authenticator if one is requested; `None` if one of them is NULL.
fn secrets<'v>(call: &Call<'_>, values: &'v [Value]) -> Option<Secrets<'v>> {
    // What is longer is cut, as any value is that becomes an nvarchar(4000).
    let collation = call.arguments[0].ty.collation;
    let passphrase = values[0].as_text_up_to(PASSPHRASE_CHARS_MAX, collation);
    let passphrase = passphrase?;
    let units = plan::long::nvarchar(&passphrase);
    let key = crate::sha256(units.string_bytes().unwrap_or_default());
    let adds = values.get(2).is_some() && whole(values, 2).unwrap_or(0) != 0;
    if !adds {
        return Some((key, None));
    }
    let authenticator = values.get(3).and_then(Value::string_bytes);
    authenticator.map(|authenticator| (key, Some(authenticator)))
}

fn hash(clear: &[u8], authenticator: Option<&[u8]>) -> Vec<u8> {
    match authenticator {
        None => Vec::new(),
        Some(authenticator) => sha1::Sha1::digest([clear, authenticator].concat()).to_vec(),
    }
}

/// NULL for NULLs, and for a text whose ciphertext would exceed 8,000 bytes.
fn encrypt(call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some((key, authenticator)) = secrets(call, values) else { return Ok(Value::Null) };
    let Some(clear) = values[1].string_bytes() else { return Ok(Value::Null) };
    let hash = hash(clear, authenticator);
    let (Ok(hashed), Ok(length)) = (u16::try_from(hash.len()), u16::try_from(clear.len())) else {
        return Ok(Value::Null);
    };
    let message: [&[u8]; 5] = [&MAGIC, &hashed.to_le_bytes(), &length.to_le_bytes(), &hash, clear];
    let vector = sos::sys::random_bytes::<BLOCK>();
    let cipher = encrypt_blocks(&key, vector, message.concat());
    let whole = [&VERSION[..], &vector, &cipher].concat();
    Ok(if whole.len() > BYTES_MAX { Value::Null } else { Value::VarBinary(Bytes::from(whole)) })
}

fn decrypt(call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some((key, authenticator)) = secrets(call, values) else { return Ok(Value::Null) };
    let Some(cipher) = values[1].string_bytes() else { return Ok(Value::Null) };
    if cipher.starts_with(&VERSION_OF_DES) {
        let what = "DECRYPTBYPASSPHRASE of a value of SQL Server 2016 or earlier (Triple DES)";
        return Err(Msg::NotSupported(what).into());
    }
    let clear = cipher
        .strip_prefix(&VERSION)
        .and_then(|rest| rest.split_first_chunk::<BLOCK>())
        .and_then(|(vector, blocks)| decrypt_blocks(&key, *vector, blocks))
        .and_then(|message| open(&message, authenticator).map(Bytes::copy_from));
    Ok(clear.map_or(Value::Null, Value::VarBinary))
}

/// Returns the text of a message that is complete and has this authenticator.
fn open<'m>(message: &'m [u8], authenticator: Option<&[u8]>) -> Option<&'m [u8]> {
    let rest = message.strip_prefix(&MAGIC)?;
    let (hashed, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (found, clear) = rest.split_at_checked(usize::from(u16::from_le_bytes(*hashed)))?;
    let is_whole = clear.len() == usize::from(u16::from_le_bytes(*length));
    (is_whole && found == hash(clear, authenticator)).then_some(clear)
}

fn encrypt_blocks(key: &[u8; 32], vector: [u8; BLOCK], mut message: Vec<u8>) -> Vec<u8> {
    let missing = BLOCK - message.len() % BLOCK;
    let padding = u8::try_from(missing).expect("a block has 16 bytes");
    message.resize(message.len() + missing, padding);
    let cipher = Aes256::new(&(*key).into());
    let mut before = vector;
    for block in message.as_chunks_mut::<BLOCK>().0 {
        block.iter_mut().zip(before).for_each(|(byte, other)| *byte ^= other);
        let mut wide = aes::Block::from(*block);
        cipher.encrypt_block(&mut wide);
        *block = wide.into();
        before = *block;
    }
    message
}

/// Returns `None` unless the ciphertext is whole blocks that end with valid padding.
fn decrypt_blocks(key: &[u8; 32], vector: [u8; BLOCK], cipher: &[u8]) -> Option<Vec<u8>> {
    let (blocks, []) = cipher.as_chunks::<BLOCK>() else { return None };
    let aes = Aes256::new(&(*key).into());
    let mut before = vector;
    let mut message = Vec::with_capacity(cipher.len());
    for block in blocks {
        let mut wide = aes::Block::from(*block);
        aes.decrypt_block(&mut wide);
        message.extend(wide.iter().zip(before).map(|(byte, other)| byte ^ other));
        before = *block;
    }
    let padding = *message.last()?;
    let rest = message.len().checked_sub(usize::from(padding))?;
    let is_padded = padding > 0 && message[rest..].iter().all(|byte| *byte == padding);
    message.truncate(rest);
    is_padded.then_some(message)
}
