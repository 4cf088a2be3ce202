//! Values on the wire: decodes bytes to [`types::Value`] and encodes them ([MS-TDS] 2.2.5.5).

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod partial;
pub(crate) mod render;
pub(crate) mod variant;

/// 100 ns ticks in a day.
pub(crate) const TICKS_PER_DAY: u64 = 864_000_000_000;
/// The first day after 9999-12-31, counted from 0001-01-01.
pub(crate) const DAYS_END: u32 = 3_652_059;

/// Returns the 100 ns ticks in one unit of a time with this scale.
pub(crate) const fn ticks_per_unit(scale: u8) -> u64 {
    10_u64.pow(7 - scale as u32)
}

/// Returns the length in bytes of a time with this scale (2.2.5.5.1.8).
pub(crate) const fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        5..=u8::MAX => 5,
    }
}
