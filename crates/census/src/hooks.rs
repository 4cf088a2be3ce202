//! The functions that the compiler calls before each access: the interface of ThreadSanitizer's
//! instrumentation (LLVM `ThreadSanitizer.cpp`, GCC `tsan.c`), implemented by the census in place
//! of the sanitizer's runtime.
//!
//! This crate alone is compiled without instrumentation, so that no hook calls itself.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence, fence,
};

use crate::stack::frame_pointer;
use crate::state::Access;
use crate::thread::look;

/// Called at start; nothing to prepare.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

/// Called at function entry; call stacks are walked instead.
#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_caller: *const c_void) {}

/// Called at function exit; call stacks are walked instead.
#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}

macro_rules! plain {
    ($($name:ident $bytes:literal $access:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(address: usize) {
            look(address, $bytes, Access::$access, frame_pointer());
        }
    )*};
}

plain! {
    __tsan_read1 1 Load;
    __tsan_read2 2 Load;
    __tsan_read4 4 Load;
    __tsan_read8 8 Load;
    __tsan_read16 16 Load;
    __tsan_write1 1 Store;
    __tsan_write2 2 Store;
    __tsan_write4 4 Store;
    __tsan_write8 8 Store;
    __tsan_write16 16 Store;
    __tsan_unaligned_read2 2 Load;
    __tsan_unaligned_read4 4 Load;
    __tsan_unaligned_read8 8 Load;
    __tsan_unaligned_read16 16 Load;
    __tsan_unaligned_write2 2 Store;
    __tsan_unaligned_write4 4 Store;
    __tsan_unaligned_write8 8 Store;
    __tsan_unaligned_write16 16 Store;
}

macro_rules! ranges {
    ($($name:ident $access:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(address: usize, bytes: usize) {
            if bytes > 0 {
                look(address, bytes, Access::$access, frame_pointer());
            }
        }
    )*};
}

ranges! {
    __tsan_read_range Load;
    __tsan_write_range Store;
}

/// `memcpy`, with both ranges counted.
///
/// # Safety
/// As `memcpy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy(
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> *mut c_void {
    if bytes > 0 {
        look(source as usize, bytes, Access::Load, frame_pointer());
        look(target as usize, bytes, Access::Store, frame_pointer());
    }
    // SAFETY: the caller's guarantees are passed on.
    unsafe { libc::memcpy(target, source, bytes) }
}

/// `memmove`, with both ranges counted.
///
/// # Safety
/// As `memmove`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove(
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> *mut c_void {
    if bytes > 0 {
        look(source as usize, bytes, Access::Load, frame_pointer());
        look(target as usize, bytes, Access::Store, frame_pointer());
    }
    // SAFETY: the caller's guarantees are passed on.
    unsafe { libc::memmove(target, source, bytes) }
}

/// `memset`, with the range counted.
///
/// # Safety
/// As `memset`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(target: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void {
    if bytes > 0 {
        look(target as usize, bytes, Access::Store, frame_pointer());
    }
    // SAFETY: the caller's guarantees are passed on.
    unsafe { libc::memset(target, byte, bytes) }
}

/// A fence accesses no line.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_order: c_int) {
    // SeqCst: no weaker than any order asked for.
    fence(Ordering::SeqCst);
}

/// A fence for the compiler accesses no line.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {
    compiler_fence(Ordering::SeqCst);
}

/// Every atomic operation is SeqCst, which is no weaker than any order asked for.
macro_rules! atomics {
    ($($type:ty, $atomic:ident, $load:ident, $store:ident, $exchange:ident,
       $compare:ident, $strong:ident, $weak:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $load(address: *mut $type, _order: c_int) -> $type {
            look(address as usize, size_of::<$type>(), Access::Load, frame_pointer());
            // SAFETY: the instrumented code has an atomic here.
            unsafe { $atomic::from_ptr(address) }.load(Ordering::SeqCst)
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $store(address: *mut $type, value: $type, _order: c_int) {
            look(address as usize, size_of::<$type>(), Access::Store, frame_pointer());
            // SAFETY: the instrumented code has an atomic here.
            unsafe { $atomic::from_ptr(address) }.store(value, Ordering::SeqCst);
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $exchange(address: *mut $type, value: $type, _order: c_int) -> $type {
            look(address as usize, size_of::<$type>(), Access::ReadModifyWrite, frame_pointer());
            // SAFETY: the instrumented code has an atomic here.
            unsafe { $atomic::from_ptr(address) }.swap(value, Ordering::SeqCst)
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $compare(
            address: *mut $type,
            expected: $type,
            value: $type,
            _success: c_int,
            _failure: c_int,
        ) -> $type {
            look(address as usize, size_of::<$type>(), Access::ReadModifyWrite, frame_pointer());
            // SAFETY: the instrumented code has an atomic here.
            let atomic = unsafe { $atomic::from_ptr(address) };
            let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
            match atomic.compare_exchange(expected, value, success, failure) {
                Ok(found) | Err(found) => found,
            }
        }
        atomics!(@gcc $type, $atomic, $strong);
        atomics!(@gcc $type, $atomic, $weak);
    )*};
    (@gcc $type:ty, $atomic:ident, $name:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            address: *mut $type,
            expected: *mut $type,
            value: $type,
            _success: c_int,
            _failure: c_int,
        ) -> c_int {
            look(address as usize, size_of::<$type>(), Access::ReadModifyWrite, frame_pointer());
            // SAFETY: the instrumented code has an atomic here.
            let atomic = unsafe { $atomic::from_ptr(address) };
            // SAFETY: the instrumented code passes the address of a local variable.
            let wanted = unsafe { expected.read() };
            match atomic.compare_exchange(wanted, value, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => 1,
                Err(found) => {
                    // SAFETY: as above.
                    unsafe { expected.write(found) };
                    0
                }
            }
        }
    };
}

atomics! {
    u8, AtomicU8, __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_exchange,
        __tsan_atomic8_compare_exchange_val, __tsan_atomic8_compare_exchange_strong,
        __tsan_atomic8_compare_exchange_weak;
    u16, AtomicU16, __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_exchange,
        __tsan_atomic16_compare_exchange_val, __tsan_atomic16_compare_exchange_strong,
        __tsan_atomic16_compare_exchange_weak;
    u32, AtomicU32, __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_exchange,
        __tsan_atomic32_compare_exchange_val, __tsan_atomic32_compare_exchange_strong,
        __tsan_atomic32_compare_exchange_weak;
    u64, AtomicU64, __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_exchange,
        __tsan_atomic64_compare_exchange_val, __tsan_atomic64_compare_exchange_strong,
        __tsan_atomic64_compare_exchange_weak;
}

macro_rules! fetches {
    ($($type:ty, $atomic:ident, $name:ident $method:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *mut $type, value: $type, _order: c_int) -> $type {
            look(address as usize, size_of::<$type>(), Access::ReadModifyWrite, frame_pointer());
            // SAFETY: the instrumented code has an atomic here.
            unsafe { $atomic::from_ptr(address) }.$method(value, Ordering::SeqCst)
        }
    )*};
}

fetches! {
    u8, AtomicU8, __tsan_atomic8_fetch_add fetch_add;
    u8, AtomicU8, __tsan_atomic8_fetch_sub fetch_sub;
    u8, AtomicU8, __tsan_atomic8_fetch_and fetch_and;
    u8, AtomicU8, __tsan_atomic8_fetch_or fetch_or;
    u8, AtomicU8, __tsan_atomic8_fetch_xor fetch_xor;
    u8, AtomicU8, __tsan_atomic8_fetch_nand fetch_nand;
    u16, AtomicU16, __tsan_atomic16_fetch_add fetch_add;
    u16, AtomicU16, __tsan_atomic16_fetch_sub fetch_sub;
    u16, AtomicU16, __tsan_atomic16_fetch_and fetch_and;
    u16, AtomicU16, __tsan_atomic16_fetch_or fetch_or;
    u16, AtomicU16, __tsan_atomic16_fetch_xor fetch_xor;
    u16, AtomicU16, __tsan_atomic16_fetch_nand fetch_nand;
    u32, AtomicU32, __tsan_atomic32_fetch_add fetch_add;
    u32, AtomicU32, __tsan_atomic32_fetch_sub fetch_sub;
    u32, AtomicU32, __tsan_atomic32_fetch_and fetch_and;
    u32, AtomicU32, __tsan_atomic32_fetch_or fetch_or;
    u32, AtomicU32, __tsan_atomic32_fetch_xor fetch_xor;
    u32, AtomicU32, __tsan_atomic32_fetch_nand fetch_nand;
    u64, AtomicU64, __tsan_atomic64_fetch_add fetch_add;
    u64, AtomicU64, __tsan_atomic64_fetch_sub fetch_sub;
    u64, AtomicU64, __tsan_atomic64_fetch_and fetch_and;
    u64, AtomicU64, __tsan_atomic64_fetch_or fetch_or;
    u64, AtomicU64, __tsan_atomic64_fetch_xor fetch_xor;
    u64, AtomicU64, __tsan_atomic64_fetch_nand fetch_nand;
}
