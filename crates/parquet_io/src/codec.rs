//! The compression of pages.
//!
//! Each codec decompresses a page to exactly the size in its header, or fails: it allocates no more
//! than that. Zstandard is written by the C library, whose levels make half the size of what
//! `ruzstd` makes, and read by `ruzstd`: files from unknown sources reach no C code.

use std::io::{Read, Write};

use crate::{Error, Result};

/// The library's default, which most writers of Parquet use.
const ZSTD_LEVEL: i32 = 3;

/// The codec of a column chunk: `CompressionCodec` of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Uncompressed,
    Snappy,
    Gzip,
    Lz4Raw,
    Zstd,
    /// A codec that is not supported, by its number.
    Other(i32),
}

impl Codec {
    pub(crate) const fn of(code: i32) -> Self {
        match code {
            0 => Self::Uncompressed,
            1 => Self::Snappy,
            2 => Self::Gzip,
            6 => Self::Zstd,
            7 => Self::Lz4Raw,
            other => Self::Other(other),
        }
    }

    /// Returns the number of the codec in the format.
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::Uncompressed => 0,
            Self::Snappy => 1,
            Self::Gzip => 2,
            Self::Zstd => 6,
            Self::Lz4Raw => 7,
            Self::Other(code) => code,
        }
    }

    /// Appends `bytes`, compressed, to `out`.
    pub(crate) fn compress(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Uncompressed => out.extend_from_slice(bytes),
            Self::Snappy => {
                let made = snap::raw::Encoder::new().compress_vec(bytes);
                out.extend(made.map_err(|_| Error::not_supported("a page of more than 4 GB"))?);
            }
            Self::Lz4Raw => out.extend(lz4_flex::block::compress(bytes)),
            Self::Gzip => {
                let level = flate2::Compression::default();
                let mut encoder = flate2::write::GzEncoder::new(&mut *out, level);
                encoder.write_all(bytes)?;
                encoder.finish()?;
            }
            Self::Zstd => {
                out.extend(zstd::bulk::compress(bytes, ZSTD_LEVEL)?);
            }
            Self::Other(code) => return Err(Error::not_supported(name(code))),
        }
        Ok(())
    }

    /// The largest number of bytes that one byte can become. A header that claims more is rejected
    /// before memory is allocated.
    const fn ratio_max(self) -> usize {
        match self {
            Self::Uncompressed | Self::Other(_) => 1,
            // Two bytes copy up to 11, three up to 64.
            Self::Snappy => 32,
            // One more byte makes a copy 255 bytes longer.
            Self::Lz4Raw => 256,
            // Deflate: 258 bytes from two bits.
            Self::Gzip => 1_032,
            // A block of 128 KB that repeats a byte takes four.
            Self::Zstd => 1 << 16,
        }
    }

    /// Decompresses `bytes` and appends the result, which must have `size` bytes, to `out`.
    pub(crate) fn decompress(self, bytes: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        if size / self.ratio_max() > bytes.len() {
            return Err(broken());
        }
        match self {
            Self::Uncompressed => out.extend_from_slice(bytes),
            Self::Snappy => {
                // The data states its size, which is checked before it is decompressed.
                if snap::raw::decompress_len(bytes).ok() != Some(size) {
                    return Err(broken());
                }
                out.resize(start + size, 0);
                let made = snap::raw::Decoder::new().decompress(bytes, &mut out[start..]);
                made.map_err(|_| broken())?;
            }
            Self::Lz4Raw => {
                out.resize(start + size, 0);
                let made = lz4_flex::block::decompress_into(bytes, &mut out[start..]);
                if made.ok() != Some(size) {
                    return Err(broken());
                }
            }
            Self::Gzip => read_all(flate2::read::MultiGzDecoder::new(bytes), size, out)?,
            Self::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(bytes);
                read_all(decoder.map_err(|_| broken())?, size, out)?;
            }
            Self::Other(code) => return Err(Error::not_supported(name(code))),
        }
        if out.len() - start == size { Ok(()) } else { Err(broken()) }
    }
}

fn read_all(decoder: impl Read, size: usize, out: &mut Vec<u8>) -> Result<()> {
    out.reserve_exact(size);
    // Reading one byte more than allowed shows whether there are more.
    let most = u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(most).read_to_end(out).map_err(|_| broken())?;
    Ok(())
}

fn broken() -> Error {
    Error::damaged("a page does not decompress to what its head says")
}

fn name(code: i32) -> String {
    let name = match code {
        3 => "LZO",
        4 => "BROTLI",
        5 => "LZ4 as Hadoop frames it",
        _ => return format!("compression number {code}"),
    };
    format!("compression by {name}")
}
