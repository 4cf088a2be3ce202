//! Compresses the debug sections of a released binary: the sampler and backtraces read them as they
//! are, and they are most of its size. docs/decisions/0385.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        // Every linker of Linux has zlib (GNU ld, gold, lld, mold); the standard library's
        // backtraces read no other form.
        // -O2 compresses harder and merges more names than the default.
        println!("cargo:rustc-link-arg-bins=-Wl,-O2,--compress-debug-sections=zlib");
    }
}
