//! The key of a row in an index: extracted into a reused buffer, and compared.

use std::cell::RefCell;

use types::row::Likeness;

use crate::index::Index;
use crate::spec::RowImage;

thread_local! {
    static SCRATCH: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body` with an empty buffer that is reused by later calls, so no key allocates.
pub(crate) fn with_buffer<R>(body: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = SCRATCH.with(|pool| pool.borrow_mut().pop()).unwrap_or_default();
    buffer.clear();
    let result = body(&mut buffer);
    SCRATCH.with(|pool| pool.borrow_mut().push(buffer));
    result
}

/// Returns whether `image` has `key` in `index`.
pub(crate) fn has_key(index: &Index, image: RowImage<'_>, key: &[u8]) -> bool {
    with_buffer(|buffer| {
        index.extractor.key(image, buffer);
        buffer.as_slice() == key
    })
}

pub(crate) fn key_differs(index: &Index, image: RowImage<'_>, before: RowImage<'_>) -> bool {
    match index.extractor.likeness(image, before) {
        Likeness::Same => false,
        Likeness::Differs => true,
        Likeness::Unknown => with_buffer(|key| {
            index.extractor.key(image, key);
            !has_key(index, before, key)
        }),
    }
}
