//! The images that the process has loaded: the binary and its libraries.

use std::ffi::CStr;
use std::mem::MaybeUninit;

/// What the loader knows of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The image's file.
    pub(crate) file: String,
    /// Where the image begins.
    pub(crate) begin: usize,
    /// The exported symbol that it belongs to, and where that begins.
    pub(crate) symbol: Option<(String, usize)>,
}

/// Looks an address up; none if it is in no image.
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
    // SAFETY: the loader's names are terminated, and stay while the image is loaded; we unload
    // none.
    let text = unsafe { CStr::from_ptr(pointer) };
    Some(text.to_string_lossy().into_owned())
}

/// By how much the binary's addresses are above those in its file.
pub(crate) fn own_shift() -> usize {
    extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: usize,
        shift: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid one.
        let address = unsafe { (*info).dlpi_addr };
        // SAFETY: what `own_shift` has passed.
        unsafe { *shift.cast::<usize>() = usize::try_from(address).unwrap_or(0) };
        // The first one is the binary: no more are needed.
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
