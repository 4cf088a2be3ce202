//! What a power loss may take back and what it may not, by small cases over many seeds.

use std::collections::BTreeSet;

use simdisk::SimDisk;
use sos::sys::{Disk, DiskFile, Open, SyncMethod};
use sos::wait::WaitType;

const SEEDS: u64 = 300;

fn create(disk: &SimDisk, path: &str) -> Box<dyn DiskFile> {
    disk.open(path, Open::Create, WaitType::WriteLog).expect("the name is free")
}

/// Returns all that the disk may have after a power loss, over many seeds.
fn after_power_loss<T: Ord>(run: impl Fn(&SimDisk), look: impl Fn(&SimDisk) -> T) -> BTreeSet<T> {
    let after = |seed| {
        let disk = SimDisk::new(seed);
        run(&disk);
        disk.crash();
        disk.restart();
        look(&disk)
    };
    (0..SEEDS).map(after).collect()
}

fn names(disk: &SimDisk) -> String {
    let text = |bytes| String::from_utf8(bytes).expect("tests write text");
    let bytes = |bytes: Option<Vec<u8>>| text(bytes.unwrap_or_default());
    let files = disk.files().into_iter();
    files.map(|(path, file)| format!("{path}={}", bytes(file))).collect::<Vec<_>>().join(" ")
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(str::to_owned).into()
}

#[test]
fn a_synced_file_still_needs_its_name_synced() {
    let run = |disk: &SimDisk| {
        let file = create(disk, "a");
        file.write_at(0, b"data").unwrap();
        file.sync().unwrap();
    };
    assert_eq!(after_power_loss(run, names), set(["", "a=data"]));
    let run_synced = |disk: &SimDisk| {
        run(disk);
        disk.sync_folder("").unwrap();
    };
    assert_eq!(after_power_loss(run_synced, names), set(["a=data"]));
}

#[test]
fn a_write_through_is_durable_when_it_returns() {
    for sync in [SyncMethod::Dsync, SyncMethod::DirectDsync] {
        let run = |disk: &SimDisk| {
            let file = disk.open_with("a", Open::Create, sync, WaitType::WriteLog).unwrap();
            disk.sync_folder("").unwrap();
            file.write_at(0, b"data").unwrap();
        };
        assert_eq!(after_power_loss(run, names), set(["a=data"]));
        let run_cut = |disk: &SimDisk| {
            let file = disk.open_with("a", Open::Create, sync, WaitType::WriteLog).unwrap();
            disk.sync_folder("").unwrap();
            disk.crash_at(1);
            assert!(file.write_at(0, b"data").is_err());
        };
        assert!(after_power_loss(run_cut, names).is_superset(&set(["a=", "a=data"])));
    }
}

#[test]
fn a_synced_name_still_needs_its_data_synced() {
    let run = |disk: &SimDisk| {
        create(disk, "a").write_at(0, b"data").unwrap();
        disk.sync_folder("").unwrap();
    };
    // The length may be durable without the bytes, which are zeros then.
    assert_eq!(after_power_loss(run, names), set(["a=", "a=data", "a=\0\0\0\0"]));
}

#[test]
fn a_rename_is_kept_or_forgotten_as_a_whole() {
    let run = |disk: &SimDisk| {
        for (path, text) in [("new", "2"), ("current", "1")] {
            let file = create(disk, path);
            file.write_at(0, text.as_bytes()).unwrap();
            file.sync().unwrap();
        }
        disk.sync_folder("").unwrap();
        disk.rename("new", "current").unwrap();
    };
    assert_eq!(after_power_loss(run, names), set(["current=1 new=2", "current=2"]));
}

#[test]
fn a_rename_between_folders_needs_both_of_them_synced() {
    let run = |disk: &SimDisk| {
        disk.make_folder("f").unwrap();
        create(disk, "a").sync().unwrap();
        disk.sync_folder("").unwrap();
        disk.rename("a", "f/a").unwrap();
    };
    assert_eq!(
        after_power_loss(run, names),
        set(["a= f=", "a= f= f/a=", "f=", "f= f/a="]),
        "neither folder is synced"
    );
    let run_target = |disk: &SimDisk| {
        run(disk);
        disk.sync_folder("f").unwrap();
    };
    assert_eq!(after_power_loss(run_target, names), set(["a= f= f/a=", "f= f/a="]));
}

#[test]
fn a_removal_comes_back_until_its_folder_is_synced() {
    let run = |disk: &SimDisk| {
        disk.make_folder("f").unwrap();
        create(disk, "a");
        disk.sync_folder("").unwrap();
        disk.remove("a").unwrap();
        disk.remove_folder("f").unwrap();
    };
    assert_eq!(after_power_loss(run, names), set(["", "a=", "a= f=", "f="]));
}

/// Sectors of one write, and writes one after the other.
#[test]
fn writes_are_torn_at_sectors_and_reordered() {
    let run = |disk: &SimDisk| {
        let file = create(disk, "a");
        file.write_at(0, &[b'0'; 1536]).unwrap();
        file.sync().unwrap();
        disk.sync_folder("").unwrap();
        file.write_at(0, &[b'1'; 1024]).unwrap();
        file.write_at(1024, &[b'2'; 512]).unwrap();
    };
    let sectors = |disk: &SimDisk| {
        let file = disk.files()["a"].clone().unwrap();
        let sector = |sector: &[u8]| {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is never torn");
            char::from(sector[0])
        };
        file.chunks(512).map(sector).collect::<String>()
    };
    let found = after_power_loss(run, sectors);
    // Lost, kept, kept in order, torn, and the second write without the first.
    assert_eq!(found, set(["000", "002", "010", "012", "100", "102", "110", "112"]));
}

/// A sector that was written twice is at one of its states, never at a mix.
#[test]
fn an_append_within_a_sector_comes_with_what_is_before_it() {
    let run = |disk: &SimDisk| {
        let file = create(disk, "a");
        disk.sync_folder("").unwrap();
        file.write_at(0, b"one").unwrap();
        file.write_at(3, b"two").unwrap();
    };
    let found = after_power_loss(run, names);
    assert!(found.contains("a=onetwo") && found.contains("a=one"), "{found:?}");
    assert!(found.contains("a=one\0\0\0"), "the length without the last write: {found:?}");
    assert!(!found.contains("a=\0\0\0two"), "{found:?}");
}

#[test]
fn lengths_need_a_sync() {
    let cut = |disk: &SimDisk| {
        let file = create(disk, "a");
        file.write_at(0, b"data").unwrap();
        file.sync().unwrap();
        disk.sync_folder("").unwrap();
        file.set_len(2).unwrap();
    };
    let found = after_power_loss(cut, names);
    assert!(found.contains("a=data") && found.contains("a=da"), "{found:?}");
    let extended = |disk: &SimDisk| {
        let file = create(disk, "a");
        disk.sync_folder("").unwrap();
        file.allocate(0, 2).unwrap();
    };
    assert_eq!(after_power_loss(extended, names), set(["a=", "a=\0\0"]));
}

#[test]
fn the_same_seed_repeats_the_same_loss() {
    let loss = |seed| {
        let disk = SimDisk::new(seed);
        for path in ["a", "b", "c", "d"] {
            create(&disk, path).write_at(0, &[1; 5000]).unwrap();
        }
        disk.crash();
        disk.restart();
        (disk.files(), disk.trace())
    };
    assert_eq!(loss(11), loss(11));
    assert!((0..20).any(|seed| loss(seed).0 != loss(11).0), "another seed, another loss");
}

#[test]
fn a_killed_process_loses_its_handles_and_locks_and_no_change() {
    let disk = SimDisk::new(1);
    let file = create(&disk, "a");
    file.write_at(0, b"data").unwrap();
    let lock = disk.lock("lock").unwrap();
    assert!(disk.lock("lock").is_err(), "it is locked");
    disk.kill();
    assert!(disk.is_down() && disk.list("").is_err());
    disk.restart();
    assert_eq!(disk.files()["a"].as_deref(), Some(&b"data"[..]));
    assert!(file.len().is_err(), "it was opened by the process that ended");
    let again = disk.lock("lock").unwrap();
    drop(lock);
    assert!(disk.lock("lock").is_err(), "an old lock does not end a new one");
    drop(again);
    disk.lock("lock").unwrap();
}

#[test]
fn a_crash_in_an_operation_has_done_it_or_not() {
    let mut found = BTreeSet::new();
    for seed in 0..SEEDS {
        let disk = SimDisk::new(seed);
        let file = create(&disk, "a");
        disk.sync_folder("").unwrap();
        file.write_at(0, b"data").unwrap();
        let before = disk.operations();
        disk.crash_at(2);
        file.write_at(4, b"more").unwrap();
        file.len().unwrap();
        assert!(file.sync().is_err() && disk.is_down());
        assert!(file.len().is_err() && disk.list("").is_err() && disk.lock("x").is_err());
        assert_eq!(disk.operations(), before + 2, "reads are no operations, nor is what fails");
        disk.restart();
        found.insert(names(&disk));
    }
    assert!(found.contains("a=") && found.contains("a=datamore"), "{found:?}");
}
