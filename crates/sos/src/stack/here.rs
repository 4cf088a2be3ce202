//! Captures the calling thread's stack, from its own registers or from those that a signal
//! interrupted.

use super::StackId;
use super::bounds::own_bounds;
use super::walk::{Walk, walk};
use super::{caller, table};

/// The registers that determine a thread's stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The address of the next instruction.
    pub(crate) instruction: usize,
    /// The stack pointer: the lowest word of the stack in use.
    pub(crate) stack: usize,
    /// The frame pointer: the pair of the innermost function that has made one.
    pub(crate) frame: usize,
}

/// The calling thread's stack from the caller of this function on, without its first `skip`
/// functions. Takes about 0.2 us for 30 functions; safe in a signal handler.
#[inline(never)]
#[must_use]
pub fn here(skip: usize) -> StackId {
    let Some(bounds) = own_bounds() else { return StackId::NONE };
    let mut found = Walk::new(skip);
    walk(frame_pointer(), bounds, read, &mut found);
    table::keep(found.frames())
}

/// The calling thread's stack at the point where a signal interrupted it.
#[must_use]
pub(crate) fn interrupted(registers: Registers) -> StackId {
    let mut found = Walk::new(0);
    found.push(registers.instruction.wrapping_add(1));
    let Some(bounds) = own_bounds().and_then(|bounds| bounds.above(registers.stack)) else {
        return table::keep(found.frames());
    };
    // A function without a pair has its caller only in a register or at the stack pointer.
    if let Some(caller) = caller::find(registers, bounds, read) {
        found.push(caller);
    }
    walk(registers.frame, bounds, read, &mut found);
    table::keep(found.frames())
}

/// The stack from the caller of the function with this frame ([`own_frame`]). That function is
/// still running, on the calling thread.
#[must_use]
pub(crate) fn above(frame: usize) -> StackId {
    let Some(bounds) = own_bounds() else { return StackId::NONE };
    let mut found = Walk::new(0);
    walk(frame, bounds, read, &mut found);
    table::keep(found.frames())
}

/// The frame pointer of the function that calls this; that function must not be inlined.
#[inline(always)]
#[must_use]
pub(crate) fn own_frame() -> usize {
    frame_pointer()
}

/// Reads a word of the calling thread's stack.
fn read(address: usize) -> usize {
    let word = std::ptr::with_exposed_provenance::<usize>(address);
    // SAFETY: the walk asks only for aligned words between the stack pointer and the end of the
    // calling thread's stack, which are mapped as long as it runs; any bits are a valid word.
    unsafe { word.read_volatile() }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn frame_pointer() -> usize {
    let frame: usize;
    // SAFETY: only copies a register.
    unsafe {
        std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
    }
    frame
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn frame_pointer() -> usize {
    let frame: usize;
    // SAFETY: only copies a register.
    unsafe {
        std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
    }
    frame
}

/// On other processors no stack is walked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn frame_pointer() -> usize {
    0
}
