//! Headers of a backup and of its blocks as bytes, and the facts that say what it is of.

use catalog::BackupFacts;

/// The version of the format that this program writes; it reads all versions up to it.
pub const BACKUP_VERSION: u32 = 1;

pub(super) const MAGIC: &[u8; 8] = b"CWBACKUP";
const BLOCK_MAGIC: &[u8; 4] = b"CWBB";
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const BLOCK_HEADER_BYTES: usize = 40;
/// The usual size of a block before it is compressed.
pub(super) const BLOCK_BYTES: usize = 256 << 10;
/// The largest size of a block: a row with its long values is in one.
pub(super) const BLOCK_BYTES_MAX: u32 = u32::MAX >> 1;

/// What a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Facts = 1,
    Definitions = 2,
    Rows = 3,
    End = 4,
    Log = 5,
    Ranges = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        [Self::Facts, Self::Definitions, Self::Rows, Self::End, Self::Log, Self::Ranges]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) kind: Kind,
    pub(super) is_compressed: bool,
    /// The part of the table that has its rows.
    pub(super) part: u8,
    /// Its number in the file, from 0.
    pub(super) number: u32,
    /// The table of its rows.
    pub(super) table: u32,
    /// The number of rows; of the log 1 if the block ends a group.
    pub(super) rows: u32,
    /// Bytes of the payload before it was compressed, and as it is in the file.
    pub(super) bytes: u32,
    pub(super) stored: u32,
    /// CRC of the payload as it is in the file.
    pub(super) crc: u32,
}

impl BlockHeader {
    pub(super) fn encode(&self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut out = [0; BLOCK_HEADER_BYTES];
        out[..4].copy_from_slice(BLOCK_MAGIC);
        out[4] = self.kind as u8;
        out[5] = u8::from(self.is_compressed);
        out[6] = self.part;
        let fields = [self.number, self.table, self.rows, self.bytes, self.stored, self.crc];
        for (at, field) in (8..).step_by(4).zip(fields) {
            out[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        seal(&mut out);
        out
    }

    pub(super) fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> Result<Self, &'static str> {
        if !bytes.starts_with(BLOCK_MAGIC) {
            return Err("no block begins here");
        }
        if !is_sealed(bytes) {
            return Err("the checksum of a block's header is wrong");
        }
        let field = |at: usize| u32_at(bytes, at);
        Ok(Self {
            kind: Kind::of(bytes[4]).ok_or("the kind of a block is unknown")?,
            is_compressed: bytes[5] != 0,
            part: bytes[6],
            number: field(8),
            table: field(12),
            rows: field(16),
            bytes: field(20),
            stored: field(24),
            crc: field(28),
        })
    }
}

/// Returns the header of a file whose last block is at `end`.
pub(super) fn file_header(end: u64) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&BACKUP_VERSION.to_le_bytes());
    out[16..24].copy_from_slice(&end.to_le_bytes());
    seal(&mut out);
    out
}

/// Writes the CRC of what is before it to the last four bytes.
fn seal(bytes: &mut [u8]) {
    let (rest, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&crc32c::crc32c(rest).to_le_bytes());
}

pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let (rest, crc) = bytes.split_at(bytes.len() - 4);
    crc32c::crc32c(rest).to_le_bytes() == crc
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Appends bytes with their length.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("shorter than 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes bytes with their length.
pub(super) fn take<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = from.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (taken, rest) = rest.split_at_checked(length)?;
    *from = rest;
    Some(taken)
}

/// Encodes what a backup is of.
pub(super) fn encode_facts(facts: &BackupFacts) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in &facts.0 {
        push(&mut out, name.as_bytes());
        push(&mut out, value.as_bytes());
    }
    out
}

/// Decodes what [`encode_facts`] has made; `None` for other bytes.
pub(super) fn decode_facts(mut bytes: &[u8]) -> Option<BackupFacts> {
    let mut facts = BackupFacts::default();
    while !bytes.is_empty() {
        let name = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
        let value = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
        facts.0.insert(name, value);
    }
    Some(facts)
}
