//! Two faults of the disk, one after the other: a start removes segments behind the end of the log, and the
//! sync of the folder fails in its midst; the next start succeeds, and later the power fails. The name whose
//! removal was not made durable may be there again, behind a gap. Void segments are for this:
//! docs/log-format.md, "Opening a log".
//!
//! The planted mistake is a disk that forgets what makes a segment void.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use durable::{DiskCall, DiskHook, Folder, HookedCall, HookedDisk, Settings};
use engine::instance::Instance;
use simdisk::{Call, Fault, SimDisk};
use sos::sync::{AtomicBool, Ordering};
use sos::sys::{Disk, Open};
use sos::wait::WaitType;

use super::crash::{ask, end, must, rows_of};
use crate::client::{instance_on, login};

/// Seeds that must pass, and those within which the mistake must be found.
const SEEDS: u64 = 3;
const SEEDS_OF_MISTAKE: u64 = 20;

/// A group of 180 long rows needs three segments.
const SEGMENT_BYTES: u64 = 1 << 18;
/// The second block of a void segment says so.
const BLOCK: usize = 4096;
const LONG: &str = "INSERT t SELECT value, REPLICATE('x', 4000) FROM GENERATE_SERIES(100, 279)";

/// While it is on, undoes what makes the segments behind the first one void, before it is durable.
#[derive(Debug)]
struct VoidsForgotten {
    disk: SimDisk,
    is_on: AtomicBool,
}

impl DiskHook for VoidsForgotten {
    fn around(
        &self,
        call: HookedCall<'_>,
        run: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_behind = ["log/00000000000000000002.log", "log/00000000000000000003.log"];
        let is_write = call.call == DiskCall::Write && is_behind.contains(&call.path);
        if !is_write || !self.is_on.load(Ordering::SeqCst) {
            return run();
        }
        let disk: &dyn Disk = &self.disk;
        let file = disk.open(call.path, Open::Write, WaitType::WriteLog)?;
        let mut block = [0; BLOCK];
        file.read_at(BLOCK as u64, &mut block)?;
        let written = run()?;
        file.write_at(BLOCK as u64, &block)?;
        Ok(written)
    }
}

#[test]
fn a_removal_that_is_lost_leaves_no_gap_in_the_log() {
    for seed in 1..=SEEDS {
        lose_a_removal(seed, false).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    let found = (1..=SEEDS_OF_MISTAKE).find_map(|seed| lose_a_removal(seed, true).err());
    let found = found.expect("the mistake is found");
    assert!(found.contains("log segment 2 is missing"), "{found}");
}

/// Runs the two faults. Fails if the last start does.
fn lose_a_removal(seed: u64, is_mistaken: bool) -> Result<(), String> {
    let disk = SimDisk::new(seed);
    let hook = VoidsForgotten { disk: disk.clone(), is_on: AtomicBool::new(false) };
    let hook = Arc::new(hook);
    let hooked: Arc<dyn Disk> =
        Arc::new(HookedDisk::new(Arc::new(disk.clone()), Arc::<VoidsForgotten>::clone(&hook)));

    let instance = started(&hooked)?;
    let mut session = login(&instance);
    must(&mut session, &instance, "CREATE TABLE t (n int PRIMARY KEY, pad varchar(4000))");
    must(&mut session, &instance, "INSERT t VALUES (1, 'one')");
    // The name of the group's third segment is not made durable, so the group is torn.
    disk.fail(Fault::new(Call::SyncFolder).below("log").after(1));
    assert!(ask(&mut session, &instance, LONG).is_none(), "it is not acknowledged");
    drop(session);
    stop(&disk, &instance);
    assert!(names(&disk).iter().any(|name| name == "00000000000000000003.log"));

    hook.is_on.store(is_mistaken, Ordering::SeqCst);
    disk.fail(Fault::new(Call::SyncFolder).below("log"));
    let failed = started(&hooked).map(drop).expect_err("the removal of the third segment fails");
    assert_eq!(failed, "the database simulated: log: Input/output error (os error 5)");
    disk.kill();
    disk.restart();

    let instance = started(&hooked)?;
    hook.is_on.store(false, Ordering::SeqCst);
    must(&mut login(&instance), &instance, "INSERT t VALUES (2, 'two')");
    disk.crash();
    end(&instance);
    disk.restart();

    let instance = started(&hooked)?;
    let mut session = login(&instance);
    assert_eq!(rows_of(&mut session, &instance, "SELECT n FROM t ORDER BY n"), [["1"], ["2"]]);
    // The log goes on past the place where the segment was.
    must(&mut session, &instance, LONG);
    drop(session);
    disk.crash();
    end(&instance);
    disk.restart();
    let instance = started(&hooked)?;
    let count = rows_of(&mut login(&instance), &instance, "SELECT COUNT(*) FROM t");
    end(&instance);
    assert_eq!(count, [["182"]]);
    Ok(())
}

/// Starts an instance on a disk.
fn started(disk: &Arc<dyn Disk>) -> Result<Arc<Instance>, String> {
    let instance = instance_on(1, |_| {});
    let folder = Folder::on(Arc::clone(disk), "simulated")?;
    let settings = Settings { segment_bytes: SEGMENT_BYTES, ..Settings::default() };
    let opened = instance.open_database(folder, &settings);
    if opened.is_err() {
        instance.machine.stop(Duration::from_secs(20));
    }
    opened.map(|_| instance)
}

/// Ends the process, which loses nothing that it wrote.
fn stop(disk: &SimDisk, instance: &Instance) {
    disk.kill();
    end(instance);
    disk.restart();
}

fn names(disk: &SimDisk) -> Vec<String> {
    let disk: &dyn Disk = disk;
    disk.list("log").expect("the disk works")
}
