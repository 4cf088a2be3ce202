//! HASHBYTES: the hash's state is on the stack and its bytes go into the batch's buffer, so nothing
//! is allocated per row.

use sha2::Digest;
use types::batch::{ByteRows, Selection, Vector};

use super::super::arithmetic::push_holes;
use super::super::side::Strings;
use super::Inputs;
use functions::sha256;

/// `HASHBYTES(algorithm, input)` with a constant algorithm; `false` for an unknown one.
pub(super) fn hash_bytes(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let collation = inputs.arguments[0].ty.collation;
    let name = inputs.vectors[0].constant_value().and_then(|value| value.as_text(collation));
    match name.unwrap_or_default().to_ascii_uppercase().as_str() {
        "SHA2_256" => each(sha256, inputs.vectors[1], rows, out),
        "SHA2_512" => {
            each(|input: &[u8]| sha2::Sha512::digest(input), inputs.vectors[1], rows, out)
        }
        "SHA" | "SHA1" => {
            each(|input: &[u8]| sha1::Sha1::digest(input), inputs.vectors[1], rows, out)
        }
        "MD5" => each(|input: &[u8]| md5::Md5::digest(input), inputs.vectors[1], rows, out),
        "MD4" => each(|input: &[u8]| md4::Md4::digest(input), inputs.vectors[1], rows, out),
        "MD2" => each(|input: &[u8]| md2::Md2::digest(input), inputs.vectors[1], rows, out),
        _ => false,
    }
}

/// Most bytes of a hash, those of SHA2_512.
const HASH_BYTES_MAX: usize = 64;

fn each<H: AsRef<[u8]>>(
    hash: impl Fn(&[u8]) -> H,
    input: &Vector,
    rows: &Selection,
    out: &mut Vector,
) -> bool {
    let Some(strings) = Strings::of(input) else { return false };
    let Some(kind) = strings.kind() else { return false };
    let _label = sos::ledger::labelled(sos::ledger::Label::Hash);
    let (total, mut pace) = (input.len(), sos::sched::BytePace::new());
    out.clear();
    for row in rows.iter() {
        push_holes(out, row);
        if input.is_null(row) {
            out.push_null();
            continue;
        }
        let has_room = |own: &&mut ByteRows| own.has_room(HASH_BYTES_MAX);
        let Some(own) = out.byte_rows_mut().filter(has_room) else { return false };
        let _page = sos::memory::experiment::HashPage::take();
        let bytes = strings.get(row, kind).unwrap_or_default();
        pace.passed(bytes.len());
        own.push(hash(bytes).as_ref());
    }
    push_holes(out, total);
    true
}
