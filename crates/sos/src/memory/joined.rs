//! `joined`: one shared allocation from many parts, written once.

use std::mem::MaybeUninit;
use std::sync::Arc;

/// Concatenates parts, of which there are `total` bytes. Calls `pause` behind each part, since a long result takes
/// longer than a quantum: the caller cuts long parts into pieces.
///
/// # Panics
/// If the parts have more or fewer bytes than `total`.
pub fn joined<'p>(
    total: usize,
    parts: impl Iterator<Item = &'p [u8]>,
    mut pause: impl FnMut(),
) -> Arc<[u8]> {
    let mut all = Arc::<[u8]>::new_uninit_slice(total);
    let mut rest: &mut [MaybeUninit<u8>] = Arc::get_mut(&mut all).expect("it has one owner");
    for part in parts {
        let (place, after) = rest.split_at_mut(part.len());
        place.write_copy_of_slice(part);
        rest = after;
        pause();
    }
    assert!(rest.is_empty(), "the parts have the bytes that were announced");
    // SAFETY: each byte before `rest` was written by the loop, and `rest` is empty.
    unsafe { all.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_each_is_followed_by_a_pause() {
        let mut pauses = 0;
        let parts = [&b"ab"[..], b"", b"cde"];
        let all = joined(5, parts.into_iter(), || pauses += 1);
        assert_eq!((&*all, pauses), (&b"abcde"[..], 3));
        assert!(joined(0, std::iter::empty(), || ()).is_empty());
    }

    #[test]
    #[should_panic(expected = "the bytes that were announced")]
    fn missing_bytes_are_not_returned() {
        let _ = joined(3, [&b"ab"[..]].into_iter(), || ());
    }
}
