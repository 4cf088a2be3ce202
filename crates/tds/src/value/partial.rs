//! Partially length-prefixed values (PLP), the form of the `(max)` types ([MS-TDS] 2.2.5.2.3).
//!
//! ```text
//!   total: u64 │ length: u32 │ bytes │ length: u32 │ bytes │ .. │ 0: u32
//! ```
//!
//! The total may be unknown or wrong; the chunks decide. They are walked twice, once for their sum
//! and once for the copy, so that a value is copied directly into its final allocation and no
//! length field can make the server allocate more than it has received.

use types::Bytes;

use crate::cursor::{Cursor, assemble};
use crate::error::{ProtocolError, Result};
use crate::sink::Sink;

const NULL: u64 = u64::MAX;
const UNKNOWN: u64 = u64::MAX - 1;

/// Reads a PLP value; `None` is NULL.
pub(crate) fn decode(body: &mut Cursor<'_>) -> Result<Option<Bytes>> {
    let announced = body.u64()?;
    if announced == NULL {
        return Ok(None);
    }
    let total = walk(&mut body.clone())?;
    let is_right = announced == UNKNOWN || u64::try_from(total).is_ok_and(|t| t == announced);
    if !is_right {
        return Err(ProtocolError::InvalidLength { what: "(max)", length: announced });
    }
    let bytes = assemble(total, |target| {
        let mut rest = target;
        loop {
            let length = chunk_length(body)?;
            if length == 0 {
                return Ok(());
            }
            let (now, later) = rest.split_at_mut(length);
            body.copy_to(now)?;
            rest = later;
        }
    })?;
    Ok(Some(bytes))
}

/// Returns the sum of the chunks' lengths, leaving the cursor behind them.
fn walk(body: &mut Cursor<'_>) -> Result<usize> {
    let mut total = 0;
    loop {
        let length = chunk_length(body)?;
        if length == 0 {
            return Ok(total);
        }
        body.skip(length)?;
        total += length;
    }
}

fn chunk_length(body: &mut Cursor<'_>) -> Result<usize> {
    usize::try_from(body.u32()?).map_err(|_| ProtocolError::Truncated)
}

/// Writes a PLP value: its total, one chunk (none if empty), and the end.
pub(crate) fn encode(target: &mut impl Sink, bytes: &Bytes) {
    let length = u32::try_from(bytes.len()).expect("a value has less than 2 GB");
    target.put(&u64::from(length).to_le_bytes());
    if length > 0 {
        target.put(&length.to_le_bytes());
        target.put_shared(bytes);
    }
    target.put(&0_u32.to_le_bytes());
}

/// Writes NULL as its PLP total.
pub(crate) fn encode_null(target: &mut impl Sink) {
    target.put(&NULL.to_le_bytes());
}
