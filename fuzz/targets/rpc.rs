//! Fuzz target: the payloads of requests and responses. See the function of this name in the tests
//! of `tds`.
#![no_main]

#[path = "../../crates/tds/tests/it/drive.rs"]
#[expect(dead_code, reason = "each target uses one function")]
mod drive;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drive::rpc(data));
