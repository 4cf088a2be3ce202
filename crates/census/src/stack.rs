//! Walks call stacks by frame pointers, which every crate here is compiled with.

use std::mem::MaybeUninit;

/// Innermost frames of a call stack that are kept.
pub(crate) const FRAMES_MAX: usize = 24;

/// Returns the end of the calling thread's stack; 0 if unknown.
pub(crate) fn end_of_own() -> usize {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: asks for the calling thread.
    let own = unsafe { libc::pthread_self() };
    // SAFETY: fills the attributes of a thread that is alive.
    let filled = unsafe { libc::pthread_getattr_np(own, attributes.as_mut_ptr()) };
    if filled != 0 {
        return 0;
    }
    let mut start = std::ptr::null_mut();
    let mut bytes = 0;
    let (to_start, to_bytes) = (&raw mut start, &raw mut bytes);
    // SAFETY: the attributes were filled above.
    let found = unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), to_start, to_bytes) };
    // SAFETY: destroyed once, after they were filled.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if found == 0 { start as usize + bytes } else { 0 }
}

/// Writes the return addresses from a frame outwards.
pub(crate) fn walk(frame: usize, stack_end: usize, frames: &mut [usize; FRAMES_MAX]) {
    let mut frame = frame;
    for place in frames {
        // Two words are read from the frame; code without frame pointers may leave any value there.
        if frame == 0 || !frame.is_multiple_of(size_of::<usize>()) || frame + 16 > stack_end {
            return;
        }
        let words = frame as *const usize;
        // SAFETY: aligned, and between a live frame and the end of this thread's stack.
        let outer = unsafe { words.read() };
        // SAFETY: as above.
        let caller = unsafe { words.add(1) };
        // SAFETY: as above.
        *place = unsafe { caller.read() };
        if outer <= frame {
            return;
        }
        frame = outer;
    }
}

/// Returns the frame pointer of the function that this is inlined into.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let frame;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack)) };
    frame
}

/// Returns the frame pointer of the function that this is inlined into.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let frame;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack)) };
    frame
}
