//! TDS versions, and the differences between them on the wire ([MS-TDS] 2.2.6.4, 2.2.7.14).

use crate::error::{ProtocolError, Result};

/// A version of TDS. Ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TdsVersion {
    /// 7.1: SQL Server 2000, and jTDS. No request headers, no `(max)` types, no `date` or
    /// `datetime2`.
    V7_1,
    /// 7.2: SQL Server 2005. Request headers, `(max)` types, `xml`.
    V7_2,
    /// 7.3.A: SQL Server 2008. `date`, `time`, `datetime2`, `datetimeoffset`, table-valued parameters.
    V7_3A,
    /// 7.3.B: SQL Server 2008 R2. Null-bitmap rows.
    V7_3B,
    /// 7.4: SQL Server 2012 and later. Feature extensions.
    #[default]
    V7_4,
    /// 8.0: as 7.4, with everything inside TLS.
    V8_0,
}

impl TdsVersion {
    /// Returns the version to use with a client that asks for `code` in LOGIN7: the same, or the
    /// newest known one if the client's is newer.
    pub const fn negotiate(code: u32) -> Result<Self> {
        match code {
            0x0800_0000 => Ok(Self::V8_0),
            0x7100_0000..=0x71FF_FFFF => Ok(Self::V7_1),
            0x7200_0000..=0x72FF_FFFF => Ok(Self::V7_2),
            0x7300_0000..=0x730A_FFFF => Ok(Self::V7_3A),
            0x730B_0000..=0x73FF_FFFF => Ok(Self::V7_3B),
            0x7400_0000..=0x7FFF_FFFF => Ok(Self::V7_4),
            other => Err(ProtocolError::Version(other)),
        }
    }

    /// Returns the version's code in LOGINACK and LOGIN7.
    pub const fn code(self) -> u32 {
        match self {
            Self::V7_1 => 0x7100_0001,
            Self::V7_2 => 0x7209_0002,
            Self::V7_3A => 0x730A_0003,
            Self::V7_3B => 0x730B_0003,
            Self::V7_4 => 0x7400_0004,
            Self::V8_0 => 0x0800_0000,
        }
    }

    /// Returns whether the version has ALL_HEADERS before requests, wide user types and row counts,
    /// and `(max)` types.
    pub const fn has_wide_fields(self) -> bool {
        !matches!(self, Self::V7_1)
    }

    /// Returns whether `date`, `time`, `datetime2` and `datetimeoffset` exist; older clients get
    /// text.
    pub const fn has_dates(self) -> bool {
        !matches!(self, Self::V7_1 | Self::V7_2)
    }

    /// Returns whether rows may leave out their NULLs (NBCROW, 2.2.7.15).
    pub const fn has_null_bitmap_rows(self) -> bool {
        matches!(self, Self::V7_3B | Self::V7_4 | Self::V8_0)
    }
}
