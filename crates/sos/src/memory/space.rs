//! The two address ranges that all memory of the process comes from, reserved before `main`: one
//! for extents, one for the small allocations of mimalloc. They are populated by one named, timed
//! call when first needed, as the memory model says.
//!
//! If the system refuses the ranges, the process runs without them: mimalloc asks the system
//! itself, and page faults are not attributed.

use super::class::{PAGE_BYTES, UNIT_BYTES};
use super::heap::{self, HEAP_BYTES_MAX};
use super::pool;
use super::slices::Steps;
use super::tag::{self, TAGGED_BYTES};
use super::unit::{UNITS_MAX, Unit};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sys::{
    Keep, Paging, SysCause, allows_huge_pages, huge_bytes, machine_bytes, populate, prefer_pages,
    raise_locked_limit, release, reserve,
};

/// How memory is taken from the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum MemoryModel {
    /// Memory that the system may page out under pressure, in huge pages where it has free ones.
    #[default]
    Conventional,
    /// As conventional, and locked, so that it stays in memory.
    Locked,
    /// As locked, and in huge pages; if there are none, the server reports it at its start.
    Large,
}

impl MemoryModel {
    /// The model's name in views and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conventional => "conventional",
            Self::Locked => "locked",
            Self::Large => "large",
        }
    }

    /// The model with this name; `None` if there is none.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Conventional, Self::Locked, Self::Large].into_iter().find(|m| m.name() == name)
    }
}

static MODEL: AtomicU32 = AtomicU32::new(0);

/// Returns the model in use.
#[must_use]
pub fn model() -> MemoryModel {
    match MODEL.load(Ordering::Relaxed) {
        0 => MemoryModel::Conventional,
        1 => MemoryModel::Locked,
        _ => MemoryModel::Large,
    }
}

pub(super) fn keep() -> Keep {
    if model() == MemoryModel::Conventional { Keep::AsUsual } else { Keep::Locked }
}

/// Whether the kernel backs whole units by huge pages: then one touch populates a whole unit, and
/// the counters must include all of it.
static HAS_HUGE_PAGES: AtomicBool = AtomicBool::new(false);

/// How units are populated under the model in use.
pub(super) fn steps() -> Steps {
    match (HAS_HUGE_PAGES.load(Ordering::Relaxed), model()) {
        (false, _) => Steps::Slices,
        (true, MemoryModel::Large) => Steps::WholeUnits,
        (true, _) => Steps::Units,
    }
}

/// Sets the memory model at the start of the server, which may use `limit_bytes`.
///
/// # Errors
/// A sentence for the log: the machine does not grant the model, which stays conventional.
pub fn set_model(wanted: MemoryModel, limit_bytes: u64) -> Result<(), String> {
    if wanted == MemoryModel::Conventional {
        return Ok(());
    }
    if EXTENTS.bytes() == 0 || HEAP.bytes() == 0 {
        return Err("the system refused to reserve addresses".to_owned());
    }
    if let Some(limit) = raise_locked_limit()
        && limit < limit_bytes
    {
        return Err(format!(
            "the limit of locked memory is {} KB, and --max-memory is {} KB",
            limit / 1024,
            limit_bytes / 1024
        ));
    }
    if wanted == MemoryModel::Large && !grants_huge_pages() {
        return Err("the system provides no huge pages".to_owned());
    }
    // Relaxed: memory taken a moment later may still follow the old model.
    MODEL.store(wanted as u32, Ordering::Relaxed);
    pool::set_steps(steps());
    Ok(())
}

/// Whether a unit that is populated now gets a huge page.
fn grants_huge_pages() -> bool {
    let before = huge_bytes();
    // The last unit is used last, so it is still free.
    let probe = EXTENTS.start() + EXTENTS.bytes() - UNIT_BYTES;
    populate(probe, UNIT_BYTES, Keep::AsUsual);
    let granted = huge_bytes() > before;
    // SAFETY: no extent is in this unit yet, and its contents are zero before and after.
    unsafe { release(probe, UNIT_BYTES) };
    granted
}

/// A reserved range of addresses.
pub(super) struct Space {
    start: AtomicUsize,
    bytes: AtomicUsize,
    /// Bytes of it that are populated.
    populated: AtomicU64,
}

/// The addresses of extents.
pub(super) static EXTENTS: Space = Space::none();
/// The addresses of mimalloc's heap.
pub(super) static HEAP: Space = Space::none();

impl Space {
    const fn none() -> Self {
        Self {
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            populated: AtomicU64::new(0),
        }
    }

    /// The first address. Relaxed, here and below: set before there is a second thread.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.start.load(Ordering::Relaxed)
    }

    /// The size in bytes; 0 if the system refused the range.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether an address is in the range.
    #[inline]
    pub(super) fn has(&self, address: usize) -> bool {
        address.wrapping_sub(self.start()) < self.bytes()
    }

    /// The bytes that are populated.
    pub(super) fn populated(&self) -> u64 {
        self.populated.load(Ordering::Relaxed)
    }

    pub(super) fn note_populated(&self, bytes: usize) {
        self.populated.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn note_released(&self, bytes: usize) {
        self.populated.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Reserves the addresses: `wanted` bytes, halved each time that the system refuses, down to
    /// 256 MB.
    fn open(&self, wanted: usize) -> bool {
        let mut bytes = wanted.next_multiple_of(UNIT_BYTES);
        while bytes >= 256 << 20 {
            if let Some(start) = reserve(bytes, UNIT_BYTES) {
                self.start.store(start, Ordering::Relaxed);
                self.bytes.store(bytes, Ordering::Relaxed);
                return true;
            }
            bytes = (bytes / 2).next_multiple_of(UNIT_BYTES);
        }
        false
    }
}

/// The populated bytes of extents, and those of mimalloc's heap.
#[must_use]
pub fn populated_bytes() -> (u64, u64) {
    (EXTENTS.populated(), HEAP.populated())
}

unsafe extern "C" {
    fn mi_process_init();
}

/// The loader runs this before `main`, when there is one thread and nothing has been allocated.
// SAFETY: a function of the type that the section requires; it needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static OPEN: extern "C" fn() = open;

extern "C" fn open() {
    let machine = machine_bytes();
    let machine = machine.clamp(1 << 30, HEAP_BYTES_MAX);
    // Makes mimalloc read its options now: one of them forbids the process huge pages.
    // SAFETY: may be called again and again.
    unsafe { mi_process_init() };
    open_extents(machine.saturating_add(machine / 4).min(UNITS_MAX * UNIT_BYTES));
    open_heap(machine);
}

fn open_extents(wanted: usize) {
    if !EXTENTS.open(wanted) {
        return;
    }
    let units = EXTENTS.bytes() / UNIT_BYTES;
    let table = reserve(units * size_of::<Unit>(), PAGE_BYTES);
    let clerks = reserve(EXTENTS.bytes() / PAGE_BYTES, PAGE_BYTES);
    let (Some(table), Some(clerks)) = (table, clerks) else {
        EXTENTS.bytes.store(0, Ordering::Relaxed);
        return;
    };
    // SAFETY: fresh zeros of that size, which only the pool uses.
    unsafe { pool::open(table, units, clerks) };
}

fn open_heap(wanted: usize) {
    if !HEAP.open(wanted) {
        return heap::refused();
    }
    let Some(table) = reserve(HEAP.bytes() / TAGGED_BYTES, PAGE_BYTES) else {
        HEAP.bytes.store(0, Ordering::Relaxed);
        return heap::refused();
    };
    // SAFETY: fresh zeros of that size, which only the tags use.
    unsafe { tag::open(table, HEAP.start()) };
    let has_huge = allows_huge_pages()
        && [&EXTENTS, &HEAP].iter().all(|space| {
            prefer_pages(SysCause::PagePopulate, space.start(), space.bytes(), Paging::Huge)
        });
    HAS_HUGE_PAGES.store(has_huge, Ordering::Relaxed);
    pool::set_steps(steps());
    heap::open();
}
