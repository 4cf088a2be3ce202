//! Finds the caller of an interrupted function that has no frame pair (frame pointer and return
//! address): one at its first or last instruction, or one of the C library, which keeps none.
//!
//! Its return address is the lowest word of the stack, or the one above if the pair is half made.
//! But that word may also be a local of a function that has its pair. So it counts only if it is
//! proven to be a return address of the interrupted function: the bytes before it are a call
//! instruction, and the call's target is shortly before the interrupted instruction.
//!
//! ```text
//!   E8 rel32      call a function of this binary              target = address + rel32
//!   FF 15 rel32   call a library's, through a table           target = the word at address + rel32
//! ```
//!
//! A call through a register does not show its target: there the caller is left out.

use super::bounds::Bounds;
use super::here::Registers;

/// How far (bytes) after a call's target an instruction is taken to be in the same function.
const FUNCTION_BYTES_MAX: usize = 16 << 10;

/// Finds the return address of the interrupted function if that has no frame pair.
#[cfg(target_arch = "x86_64")]
pub(super) fn find(at: Registers, bounds: Bounds, read: impl Fn(usize) -> usize) -> Option<usize> {
    let slot = at.stack;
    if !bounds.have(slot, 2) {
        return None;
    }
    let lowest = read(slot);
    // After `push rbp`, and before it points to the pair.
    let address = if lowest == at.frame { read(slot + size_of::<usize>()) } else { lowest };
    let target = own::image().target_of_call_before(address)?;
    (target..target.saturating_add(FUNCTION_BYTES_MAX)).contains(&at.instruction).then_some(address)
}

/// On other processors the return address is in a register, which may be stale.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn find(_: Registers, _: Bounds, _: impl Fn(usize) -> usize) -> Option<usize> {
    None
}

#[cfg(target_arch = "x86_64")]
mod own {
    //! The code bytes of the running binary.

    use std::ptr;

    /// The addresses of the binary's code and tables.
    pub(super) struct Image {
        begin: usize,
        code_end: usize,
        end: usize,
    }

    unsafe extern "C" {
        /// Set by the linker to the first byte of the image.
        static __executable_start: u8;
        /// Set by the linker to the end of the code.
        static etext: u8;
        /// Set by the linker to the end of the image.
        static end: u8;
    }

    /// The image of the running program.
    pub(super) fn image() -> Image {
        Image {
            begin: (&raw const __executable_start).expose_provenance(),
            code_end: (&raw const etext).expose_provenance(),
            end: (&raw const end).expose_provenance(),
        }
    }

    impl Image {
        /// The target of the call instruction that ends at `address`; `None` if there is none, or
        /// if the instruction does not show it.
        pub(super) fn target_of_call_before(&self, address: usize) -> Option<usize> {
            const NEAR: u8 = 0xE8;
            const THROUGH_TABLE: [u8; 2] = [0xFF, 0x15];
            let code = self.begin + 6..self.code_end;
            if !code.contains(&address) {
                return None;
            }
            let bytes: [u8; 6] = load(address - 6);
            let [first, second, displacement @ ..] = bytes;
            let target = address.wrapping_add_signed(i32::from_le_bytes(displacement) as isize);
            if second == NEAR {
                return Some(target);
            }
            let table = self.begin..self.end - size_of::<usize>();
            if [first, second] == THROUGH_TABLE && table.contains(&target) {
                return Some(usize::from_ne_bytes(load(target)));
            }
            None
        }
    }

    /// Copies `N` bytes of the image.
    fn load<const N: usize>(address: usize) -> [u8; N] {
        let bytes = ptr::with_exposed_provenance::<[u8; N]>(address);
        // SAFETY: between the linker's two marks, where code, constants and tables of pointers are
        // mapped to be read; bytes need no alignment.
        unsafe { bytes.read_volatile() }
    }
}
