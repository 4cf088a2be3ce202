//! Chooses which allocations are sampled: sample points are spread over the bytes that a thread
//! allocates, at random distances of 512 KiB on average (a Poisson process), and an allocation with
//! a point in it is sampled.
//!
//! So a stack's chance is in proportion to its bytes, in large allocations or in small ones. An
//! allocation of `s` bytes has a point with the probability `1 - exp(-s / mean)`; its bytes divided
//! by that estimate the bytes of all such allocations.

use std::cell::Cell;

use crate::ledger;
use crate::memory::MemoryClerk;

/// The mean distance of two points in bytes: the default of jemalloc's profiler.
pub const MEAN_BYTES: u32 = 512 << 10;

thread_local! {
    // No destructors: the allocator is called while a thread's other locals are being destroyed.
    static BYTES_LEFT: Cell<i64> = const { Cell::new(0) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// Counts bytes that the calling thread has allocated. The usual path is a subtraction.
#[inline]
pub(crate) fn count_allocated(clerk: MemoryClerk, bytes: i64) {
    let left = BYTES_LEFT.get() - bytes;
    BYTES_LEFT.set(left);
    if left < 0 {
        draw(clerk, bytes);
    }
}

/// Records the allocation, which has a point in it, and draws the distance to the next point.
#[cold]
fn draw(clerk: MemoryClerk, bytes: i64) {
    let is_first = RANDOM.get() == 0;
    let uniform = uniform();
    let mean = f64::from(MEAN_BYTES);
    BYTES_LEFT.set(rounded(-uniform.ln() * mean));
    if is_first {
        return;
    }
    let weight = rounded(bytes as f64 / -(-(bytes as f64) / mean).exp_m1());
    ledger::if_open(|account| {
        if let Some(recorder) = account.recorder() {
            recorder.allocation(account, clerk, weight.unsigned_abs());
        }
    });
}

fn rounded(value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest that fits")]
    let rounded = value.round() as i64;
    rounded
}

/// A random number above 0 and at most 1.
fn uniform() -> f64 {
    let mut random = RANDOM.get();
    if random == 0 {
        // Threads differ in the addresses of their locals.
        random = RANDOM.with(|cell| (&raw const *cell).addr() as u64) ^ crate::clock::now_ticks();
    }
    // Vigna's xorshift64*.
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    RANDOM.set(random.max(1));
    let bits = random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
    (bits as f64 + 1.0) / f64::from(u32::MAX)
}
