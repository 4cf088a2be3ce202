//! The size classes of extents: 8 KB times 1 to 8, then four steps to each doubling, up to 2 MB. A
//! size between two steps gets the larger one, at most a quarter more than it asked for. Above 2 MB
//! an extent is a run of whole units, of which only the pages asked for are populated.

/// Bytes of the smallest extent; all others are multiples of it.
pub(super) const PAGE_BYTES: usize = 8 << 10;
/// Bytes of a unit, which is split into extents of one class, and returned to the system as a
/// whole.
pub(super) const UNIT_BYTES: usize = 2 << 20;
/// The number of smallest extents (pages) in a unit.
pub(super) const UNIT_PAGES: usize = UNIT_BYTES / PAGE_BYTES;
/// The number of size classes.
pub(super) const CLASSES: usize = class_of(UNIT_PAGES) + 1;

/// Up to this number of pages, each number has a separate class.
const EXACT_PAGES: usize = 8;

/// The number of pages that hold `bytes`.
#[inline]
pub(super) const fn pages_of_bytes(bytes: usize) -> usize {
    bytes.div_ceil(PAGE_BYTES)
}

/// The class of an extent of `pages` pages: 1 to [`UNIT_PAGES`].
#[inline]
pub(super) const fn class_of(pages: usize) -> usize {
    if pages <= EXACT_PAGES {
        return pages - 1;
    }
    let last = pages - 1;
    let octave = last.ilog2() as usize;
    EXACT_PAGES + (octave - 3) * 4 + (last >> (octave - 2)) - 4
}

/// The number of pages of an extent of a class.
#[inline]
pub(super) const fn pages_of(class: usize) -> usize {
    if class < EXACT_PAGES {
        return class + 1;
    }
    let (octave, step) = (3 + (class - EXACT_PAGES) / 4, (class - EXACT_PAGES) % 4);
    (step + 5) << (octave - 2)
}

/// The size in bytes of the extent that holds `bytes`.
#[inline]
pub(super) const fn rounded(bytes: usize) -> usize {
    let pages = pages_of_bytes(bytes);
    if pages > UNIT_PAGES { pages * PAGE_BYTES } else { pages_of(class_of(pages)) * PAGE_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        for pages in 1..=UNIT_PAGES {
            let class = class_of(pages);
            assert!(pages_of(class) >= pages && pages_of(class) * 4 <= pages * 5 + 3, "{pages}");
            assert!(class == 0 || pages_of(class - 1) < pages, "{pages}");
        }
        for bytes in [8 << 10, 64 << 10, 2 << 20] {
            assert_eq!(rounded(bytes), bytes);
        }
        assert_eq!(pages_of(CLASSES - 1), UNIT_PAGES);
    }
}
