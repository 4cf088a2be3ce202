//! Memory of the operating system: reserving address ranges, populating and releasing them.
//!
//! A page fault enters the kernel without a call, so its time cannot be attributed. So memory is
//! populated by one named and timed call before it is used; the faults of these calls are counted
//! apart from all others.
//!
//! The allocator calls this, so nothing here allocates or opens a thread's account.

use std::ptr;

use super::SysCause;
use crate::ledger;
use crate::sync::{AtomicU64, Ordering};

/// The number of page faults in [`populate`].
static POPULATE_FAULTS: AtomicU64 = AtomicU64::new(0);

/// Whether pages are locked in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Not locked: the system may page them out when memory is short.
    AsUsual,
    /// Locked in memory with mlock(2).
    Locked,
}

/// Reserves addresses that start at a multiple of `align`, without memory; `None` if the system
/// refuses.
pub(crate) fn reserve(bytes: usize, align: usize) -> Option<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let whole = bytes.checked_add(align)?;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start = ledger::call_if_open(SysCause::PagePopulate, || unsafe {
        libc::mmap(ptr::null_mut(), whole, protection, flags, -1, 0)
    });
    (start != libc::MAP_FAILED).then(|| start.addr().next_multiple_of(align))
}

/// Populates reserved addresses with memory. Pages that are already populated keep their contents.
pub(crate) fn populate(start: usize, bytes: usize, keep: Keep) {
    ledger::call_if_open(SysCause::PagePopulate, || {
        let before = own_faults();
        let range = ptr::with_exposed_provenance_mut::<libc::c_void>(start);
        // SAFETY: a range that `reserve` made; locking changes no contents.
        let locked = keep == Keep::Locked && unsafe { libc::mlock(range, bytes) } == 0;
        if !locked {
            // If the kernel refuses (Linux before 5.14), the first touch of each page takes the
            // fault, which is counted as such: see `faults`. SAFETY: as above; populating changes
            // no contents.
            let _ = unsafe { libc::madvise(range, bytes, libc::MADV_POPULATE_WRITE) };
        }
        // Relaxed: statistics.
        POPULATE_FAULTS.fetch_add(own_faults().saturating_sub(before), Ordering::Relaxed);
    });
}

/// Returns the memory behind addresses to the system; they stay reserved.
///
/// # Safety
/// The memory is not in use.
pub(crate) unsafe fn release(start: usize, bytes: usize) {
    ledger::call_if_open(SysCause::MemoryDecommit, || {
        let range = ptr::with_exposed_provenance_mut::<libc::c_void>(start);
        // Unlocking pages that are not locked does no harm.
        // SAFETY: a range that `reserve` made.
        let _ = unsafe { libc::munlock(range, bytes) };
        // If the kernel refuses, the memory stays, which costs only memory.
        // SAFETY: the caller's promise.
        let _ = unsafe { libc::madvise(range, bytes, libc::MADV_DONTNEED) };
    });
}

/// Returns the whole pages behind addresses that were not reserved here, such as a stack, to the
/// system. They read as 0 afterwards.
///
/// # Safety
/// The memory is not in use; `start` is the start of a page.
pub(crate) unsafe fn discard(cause: SysCause, start: usize, bytes: usize) {
    let range = ptr::with_exposed_provenance_mut::<libc::c_void>(start);
    let bytes = bytes - bytes % rustix::param::page_size();
    // If the kernel refuses, the memory stays, which costs only memory.
    // SAFETY: the caller's promise.
    let _ =
        ledger::call_if_open(cause, || unsafe { libc::madvise(range, bytes, libc::MADV_DONTNEED) });
}

/// The number of bytes from `start` on, at most `bytes`, that are not resident.
pub(crate) fn untouched_from(start: usize, bytes: usize) -> usize {
    const STEP: usize = 64 << 10;
    let end = start + bytes;
    let is_untouched = |&from: &usize| resident_within(from, STEP.min(end - from)) == 0;
    let first = (start..end).step_by(STEP).find(|from| !is_untouched(from));
    first.unwrap_or(end) - start
}

/// The resident bytes of a stack, which is touched from its high end down.
pub(crate) fn resident_stack(low: usize, high: usize) -> u64 {
    const STEP: usize = 2 << 20;
    let mut count = 0;
    let mut end = high;
    while end > low {
        let start = end.saturating_sub(STEP).max(low);
        let resident = resident_within(start, end - start);
        if resident == 0 {
            break;
        }
        count += resident;
        end = start;
    }
    count
}

/// The resident bytes of an address range of private memory.
pub(crate) fn resident_within(start: usize, bytes: usize) -> u64 {
    /// The number of pages per system call.
    const PAGES: usize = 512;
    let page = rustix::param::page_size();
    let (mut from, end) = (start - start % page, (start + bytes).next_multiple_of(page));
    let mut count = 0;
    while from < end {
        let pages = ((end - from) / page).min(PAGES);
        let mut is_there = [0_u8; PAGES];
        let range = ptr::with_exposed_provenance_mut::<libc::c_void>(from);
        // The kernel refuses if nothing is mapped there any more.
        // SAFETY: changes nothing; there is room for a byte of each page.
        let _ = ledger::call_if_open(SysCause::Books, || unsafe {
            libc::mincore(range, pages * page, is_there.as_mut_ptr())
        });
        count += is_there[..pages].iter().filter(|&&flags| flags & 1 == 1).count();
        from += pages * page;
    }
    (count * page) as u64
}

/// The resident bytes of the variables of the binary and its libraries, including initialized ones.
pub(crate) fn resident_variables() -> u64 {
    let mut bytes = 0_u64;
    // The loader's list itself needs no system call; those for each object are timed there.
    // SAFETY: calls `add_object` for each object, with this pointer.
    unsafe { libc::dl_iterate_phdr(Some(add_object), (&raw mut bytes).cast()) };
    bytes
}

/// Adds the resident bytes of an object's writable segments.
unsafe extern "C" fn add_object(
    object: *mut libc::dl_phdr_info,
    _: usize,
    bytes: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes it, and it is valid during the call.
    let object = unsafe { &*object };
    // SAFETY: the object has `dlpi_phnum` headers (dl_iterate_phdr(3)).
    let headers =
        unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    let is_data = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0
    };
    let resident = |header: &libc::Elf64_Phdr| {
        let start = usize::try_from(object.dlpi_addr.wrapping_add(header.p_vaddr)).unwrap_or(0);
        resident_within(start, usize::try_from(header.p_memsz).unwrap_or(0))
    };
    // SAFETY: `resident_variables` passed this pointer.
    unsafe { *bytes.cast::<u64>() += headers.iter().filter(is_data).map(resident).sum::<u64>() };
    0
}

/// The size of pages to prefer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    /// Pages of 4 KB.
    Small,
    /// Pages of 2 MB, if the kernel has them.
    Huge,
}

/// Advises the kernel which pages to use for addresses from now on; false if the kernel does not
/// support it. `cause` says whether this is part of taking or of returning memory.
pub(crate) fn prefer_pages(cause: SysCause, start: usize, bytes: usize, paging: Paging) -> bool {
    let range = ptr::with_exposed_provenance_mut::<libc::c_void>(start);
    let advice = match paging {
        Paging::Small => libc::MADV_NOHUGEPAGE,
        Paging::Huge => libc::MADV_HUGEPAGE,
    };
    // SAFETY: a range that `reserve` made; contents stay.
    ledger::call_if_open(cause, || unsafe { libc::madvise(range, bytes, advice) == 0 })
}

/// The bytes of memory of the machine; 0 if the kernel does not report it.
pub(crate) fn machine_bytes() -> usize {
    // SAFETY: plain data; zero is a valid value of it.
    let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is writable and of the right type.
    if unsafe { libc::sysinfo(&raw mut info) } != 0 {
        return 0;
    }
    let unit = usize::try_from(info.mem_unit.max(1)).unwrap_or(1);
    usize::try_from(info.totalram).unwrap_or(usize::MAX).saturating_mul(unit)
}

/// Whether the kernel gives huge pages on request (madvise), and this process may request them.
pub(crate) fn allows_huge_pages() -> bool {
    const PATH: &std::ffi::CStr = c"/sys/kernel/mm/transparent_hugepage/enabled";
    // SAFETY: reads a flag of the process; the other arguments must be zero.
    if unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } != 0 {
        return false;
    }
    // SAFETY: the path ends in a zero.
    let file = unsafe { libc::open(PATH.as_ptr(), libc::O_RDONLY) };
    let mut text = [0_u8; 64];
    // SAFETY: `text` is writable and that long. A file that is not open gives an error.
    let read = unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: only this function has the descriptor; an error means that it was not open.
    unsafe { libc::close(file) };
    let text = &text[..usize::try_from(read).unwrap_or(0)];
    // The mode in use is in brackets.
    !text.is_empty() && !text.windows(7).any(|word| word == b"[never]")
}

/// The bytes of this process in huge pages, as the kernel reports them.
pub(crate) fn huge_bytes() -> u64 {
    let text = super::call(SysCause::Books, || std::fs::read_to_string("/proc/self/smaps_rollup"));
    let text = text.unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Raises the limit of locked memory as far as the system allows; returns the resulting limit, or
/// `None` if there is no limit or this process may exceed it.
pub(crate) fn raise_locked_limit() -> Option<u64> {
    /// The capability CAP_IPC_LOCK: see capabilities(7).
    const MAY_LOCK: u32 = 14;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    super::call(SysCause::Process, || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let rights = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        if rights >> MAY_LOCK & 1 == 1 {
            return None;
        }
        let limit = getrlimit(Resource::Memlock);
        let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
        // If the system refuses, the old limit stays, and is returned.
        let _ = setrlimit(Resource::Memlock, most);
        getrlimit(Resource::Memlock).current
    })
}

/// The page faults of this process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Faults in the call that populates memory.
    pub populate: u64,
    /// Faults of threads that touched a page that was not resident: of the binary, stacks, tables
    /// of the kernel or the allocator.
    pub elsewhere: u64,
}

/// Counts the page faults so far.
#[must_use]
pub fn faults() -> Faults {
    let populate = POPULATE_FAULTS.load(Ordering::Relaxed);
    let times = super::cpu_times();
    let all = times.minor_faults + times.major_faults;
    Faults { populate, elsewhere: all.saturating_sub(populate) }
}

/// The calling thread's page faults.
fn own_faults() -> u64 {
    // SAFETY: `rusage` is plain data; zero is a valid value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable and of the right type.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    debug_assert_eq!(result, 0, "getrusage of ourselves cannot fail");
    u64::try_from(usage.ru_minflt + usage.ru_majflt).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::AtomicUsize;

    #[test]
    fn variables_are_counted_when_they_are_written() {
        static WRITTEN: [AtomicUsize; 1 << 17] = [const { AtomicUsize::new(0) }; 1 << 17];
        let before = resident_variables();
        std::hint::black_box(&WRITTEN).iter().for_each(|word| word.store(1, Ordering::Relaxed));
        let after = resident_variables();
        assert!(after >= before + (1 << 20) - 4_096, "{before}, {after}");
    }
}
