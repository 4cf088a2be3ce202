//! Hooks around a simulated disk: a log whose syncs take time, so that commits and scans go on while a group
//! is being written, as on a real device; and gates that hold calls until the test opens them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use durable::{DiskCall, DiskHook, HookedCall, HookedDisk};
use simdisk::SimDisk;
use sos::park;
use sos::sync::{AtomicBool, AtomicU64, Ordering};
use sos::sys::Disk;
use sos::wait::WaitType;

/// The part of the disk that is slow: the log.
const SLOW: &str = "log/";

/// How often a held call looks whether it may go on.
const LOOK: Duration = Duration::from_millis(1);

/// Wraps a disk; each sync of a file of the log takes this long.
pub(crate) fn slow_disk(disk: &SimDisk, sync: Duration) -> Arc<dyn Disk> {
    Arc::new(HookedDisk::new(Arc::new(disk.clone()), Arc::new(SlowSync(sync))))
}

/// How long a sync takes.
#[derive(Debug)]
struct SlowSync(Duration);

impl DiskHook for SlowSync {
    fn around(
        &self,
        call: HookedCall<'_>,
        run: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_sync = match call.call {
            DiskCall::Sync => true,
            DiskCall::Write => call.sync.is_write_through(),
            _ => false,
        };
        if is_sync && call.path.starts_with(SLOW) {
            park::sleep(self.0, WaitType::WriteLog, None);
        }
        run()
    }
}

/// A gate that calls of one kind pass while it is open, on paths that have a text in them.
#[derive(Debug)]
pub(crate) struct Gate {
    call: DiskCall,
    path: &'static str,
    is_closed: AtomicBool,
    /// Calls that have come to the gate since it was made.
    arrived: AtomicU64,
}

impl Gate {
    /// Makes an open gate.
    pub(crate) fn new(call: DiskCall, path: &'static str) -> Arc<Self> {
        let (is_closed, arrived) = (AtomicBool::new(false), AtomicU64::new(0));
        Arc::new(Self { call, path, is_closed, arrived })
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }

    /// Returns how many calls have come to the gate.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::SeqCst)
    }
}

/// Some gates of a disk.
#[derive(Debug)]
pub(crate) struct Gates(pub(crate) Vec<Arc<Gate>>);

impl Gates {
    /// Wraps a disk in these gates.
    pub(crate) fn around(self, disk: &SimDisk) -> Arc<dyn Disk> {
        Arc::new(HookedDisk::new(Arc::new(disk.clone()), Arc::new(self)))
    }
}

impl DiskHook for Gates {
    fn around(
        &self,
        call: HookedCall<'_>,
        run: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_at = |gate: &&Arc<Gate>| gate.call == call.call && call.path.contains(gate.path);
        for gate in self.0.iter().filter(is_at) {
            gate.arrived.fetch_add(1, Ordering::SeqCst);
            while gate.is_closed.load(Ordering::SeqCst) {
                park::sleep(LOOK, WaitType::SleepTask, None);
            }
        }
        run()
    }
}
