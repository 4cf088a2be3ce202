//! The images that the loader has mapped (the binary and its libraries), and their exported
//! symbols.

use std::ffi::CStr;
use std::mem::MaybeUninit;

/// What the loader knows about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The path of the image.
    pub(crate) file: String,
    /// The start address of the image.
    pub(crate) begin: usize,
    /// The exported symbol that contains the address, and the symbol's address.
    pub(crate) symbol: Option<(String, usize)>,
}

/// Looks up an address; `None` if it is in no image.
pub(crate) fn place_of(address: usize) -> Option<Place> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    let address = std::ptr::without_provenance(address);
    // SAFETY: `info` is writable; the address is only compared.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: filled in above; zero is a valid value of each field.
    let info = unsafe { info.assume_init() };
    let file = text(info.dli_fname)?;
    let symbol = text(info.dli_sname).map(|name| (name, info.dli_saddr.addr()));
    Some(Place { file, begin: info.dli_fbase.addr(), symbol })
}

fn text(pointer: *const libc::c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the loader's names are terminated, and stay while the image is loaded; no image is
    // ever unloaded.
    let text = unsafe { CStr::from_ptr(pointer) };
    Some(text.to_string_lossy().into_owned())
}

/// The load bias: by how much the binary's addresses are above those in its file.
pub(crate) fn own_shift() -> usize {
    extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: usize,
        shift: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid one.
        let address = unsafe { (*info).dlpi_addr };
        // SAFETY: the pointer that `own_shift` has passed.
        unsafe { *shift.cast::<usize>() = usize::try_from(address).unwrap_or(0) };
        // The first image is the binary: stop here.
        1
    }
    let mut shift = 0_usize;
    // SAFETY: the callback has the right signature, and `shift` lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut shift).cast()) };
    shift
}

/// The address of a function that the C library exports.
#[cfg(test)]
pub(crate) fn a_function_of_the_c_library() -> usize {
    libc::getpid as *const () as usize
}
