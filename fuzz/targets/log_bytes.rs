//! Fuzz target: bytes as the payload of a batch, as a batch and as a segment header of the log. See
//! the function of this name in the tests of `log`.
#![no_main]

#[path = "../../crates/log/tests/it/drive.rs"]
#[expect(dead_code, reason = "the target uses one function")]
mod drive;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drive::bytes(data));
