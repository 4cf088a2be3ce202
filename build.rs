//! How a released binary is linked: debug sections compressed, since the sampler and backtraces read them as they are and
//! they are most of its size; relocations packed where the C library reads that. docs/decisions/0385 and 0443.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if !is("PROFILE", "release") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    // Always zlib: the standard library's backtraces read no other form.
    if has_own_linker() {
        // -O2 merges names that are ends of others. `.debug_gdb_scripts` is loaded with the program: it may not be
        // compressed.
        println!("cargo:rustc-link-arg-bins=-Wl,-O2,--compress-sections=.debug_[!g]*=zlib:9");
    } else {
        // What each linker of Linux has (GNU ld, gold, lld, mold).
        println!("cargo:rustc-link-arg-bins=-Wl,-O2,--compress-debug-sections=zlib");
    }
    if is("CARGO_CFG_TARGET_ENV", "gnu") && has_packed_relocations() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether rustc uses the lld of its own toolchain: the default on this target, if no other linker is set.
fn has_own_linker() -> bool {
    let is_default =
        std::env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let has_own_flags = flags.contains("link-arg") || flags.contains("linker");
    is_default && !has_own_flags && std::env::var_os("RUSTC_LINKER").is_none()
}

/// Whether the C library of this machine, for which the server is built, reads packed relocations (DT_RELR): glibc from
/// 2.36 on. As always with glibc, the binary runs where that is as new as here, or newer.
fn has_packed_relocations() -> bool {
    if std::env::var_os("HOST") != std::env::var_os("TARGET") {
        return false;
    }
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // "glibc 2.36"
    let numbers = said.unwrap_or_default();
    let mut numbers = numbers.trim().trim_start_matches("glibc ").split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (2, 36),
        _ => false,
    }
}
