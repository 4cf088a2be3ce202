//! The disk of the operating system: what each call does, its errors, locks and waits.
//!
//! The crate `simdisk` compares random programs of calls on this disk with its own.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::PathBuf;

use sos::ledger::Accounts;
use sos::sync::Arc;
use sos::sys::{Disk, LockError, Open, OsDisk, SyncMethod, is_disk_full, path_names};
use sos::wait::WaitType;

const WAIT: WaitType = WaitType::IoCompletion;

/// A new folder, removed at the end of its test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sos-disk-{test}-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("the temporary folder is writable");
        Self(folder)
    }

    fn disk(&self) -> OsDisk {
        let folder = self.0.to_str().expect("temporary paths are text");
        OsDisk::open(folder).expect("the folder exists")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn kind<T>(result: std::io::Result<T>) -> ErrorKind {
    result.err().expect("the call fails").kind()
}

#[test]
fn a_file_reads_as_it_was_written() {
    let folder = Temporary::new("file");
    let disk = folder.disk();
    disk.make_folder("log").unwrap();
    let file = disk.open("log/1", Open::Create, WAIT).unwrap();
    file.write_at(3, b"abc").unwrap();
    file.sync().unwrap();
    disk.sync_folder("log").unwrap();
    assert_eq!(file.len().unwrap(), 6);
    let mut bytes = [9; 8];
    assert_eq!(file.read_at(1, &mut bytes).unwrap(), 5, "up to the end of the file");
    assert_eq!(&bytes, b"\0\0abc\x09\x09\x09");
    assert_eq!(file.read_at(6, &mut bytes).unwrap(), 0);
    assert_eq!(file.read_at(600, &mut bytes).unwrap(), 0);
    file.set_len(4).unwrap();
    file.allocate(2, 6).unwrap();
    assert_eq!(disk.open("log/1", Open::Read, WAIT).unwrap().read_at(0, &mut bytes).unwrap(), 8);
    assert_eq!(&bytes, b"\0\0\0a\0\0\0\0");
    assert_eq!(kind(file.allocate(0, 0)), ErrorKind::InvalidInput);
    assert_eq!(disk.list("").unwrap(), ["log"]);
    assert_eq!(disk.list("log").unwrap(), ["1"]);
}

#[test]
fn files_of_each_sync_method_read_as_they_were_written() {
    let folder = Temporary::new("methods");
    let disk = folder.disk();
    for sync in SyncMethod::ALL {
        let file = match disk.open_with(sync.name(), Open::Create, sync, WAIT) {
            Ok(file) => file,
            Err(error) => {
                // A file system in memory may have no direct I/O.
                assert_eq!(
                    (sync, error.kind()),
                    (SyncMethod::DirectDsync, ErrorKind::InvalidInput)
                );
                continue;
            }
        };
        file.allocate(0, 3 * 4096).unwrap();
        file.write_at(4096, &[7; 4096]).unwrap();
        let mut bytes = vec![1; 4 * 4096];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 3 * 4096, "{}", sync.name());
        let sums = bytes.chunks(4096).map(|block| block.iter().map(|b| u32::from(*b)).sum());
        assert_eq!(sums.collect::<Vec<u32>>(), [0, 7 * 4096, 0, 4096]);
    }
}

#[test]
fn a_rename_replaces_and_opened_files_stay_open() {
    let folder = Temporary::new("rename");
    let disk = folder.disk();
    disk.make_folder("b").unwrap();
    let old = disk.open("b/manifest", Open::Create, WAIT).unwrap();
    old.write_at(0, b"old").unwrap();
    let new = disk.open("new", Open::Create, WAIT).unwrap();
    disk.rename("new", "b/manifest").unwrap();
    new.write_at(0, b"new").unwrap();
    let mut bytes = [0; 3];
    assert_eq!(old.read_at(0, &mut bytes).unwrap(), 3);
    assert_eq!(&bytes, b"old");
    disk.open("b/manifest", Open::Read, WAIT).unwrap().read_at(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"new");
    assert_eq!(disk.list("").unwrap(), ["b"]);
    disk.remove("b/manifest").unwrap();
    disk.remove_folder("b").unwrap();
    assert!(disk.list("").unwrap().is_empty());
}

#[test]
fn errors_have_the_kinds_that_the_trait_names() {
    let folder = Temporary::new("errors");
    let disk = folder.disk();
    disk.make_folder("a").unwrap();
    disk.open("a/file", Open::Create, WAIT).unwrap();
    let open = |path: &str, how| kind(disk.open(path, how, WAIT));
    assert_eq!(open("a/none", Open::Read), ErrorKind::NotFound);
    assert_eq!(open("none/file", Open::Create), ErrorKind::NotFound);
    assert_eq!(open("a/file", Open::Create), ErrorKind::AlreadyExists);
    assert_eq!(open("a", Open::Create), ErrorKind::AlreadyExists);
    assert_eq!(open("a", Open::Read), ErrorKind::IsADirectory);
    assert_eq!(open("a", Open::Write), ErrorKind::IsADirectory);
    assert_eq!(open("a/file/below", Open::Read), ErrorKind::NotADirectory);
    assert_eq!(kind(disk.make_folder("a")), ErrorKind::AlreadyExists);
    assert_eq!(kind(disk.make_folder("a/b/c")), ErrorKind::NotFound);
    assert_eq!(kind(disk.remove("a")), ErrorKind::IsADirectory);
    assert_eq!(kind(disk.remove_folder("a")), ErrorKind::DirectoryNotEmpty);
    assert_eq!(kind(disk.remove_folder("a/file")), ErrorKind::NotADirectory);
    assert_eq!(kind(disk.rename("a", "b")), ErrorKind::IsADirectory);
    assert_eq!(kind(disk.rename("a/file", "a")), ErrorKind::IsADirectory);
    assert_eq!(kind(disk.rename("a/file", "")), ErrorKind::IsADirectory);
    assert_eq!(kind(disk.list("a/file")), ErrorKind::NotADirectory);
    assert_eq!(kind(disk.sync_folder("none")), ErrorKind::NotFound);
    for path in ["/etc", "a/../..", "a//file", "./a", "a/", "a\0b"] {
        assert_eq!(kind(disk.list(path)), ErrorKind::InvalidInput, "{path:?}");
    }
    let reader = disk.open("a/file", Open::Read, WAIT).unwrap();
    assert_eq!(kind(reader.write_at(0, b"x")), ErrorKind::PermissionDenied);
    assert_eq!(kind(reader.set_len(0)), ErrorKind::PermissionDenied);
    assert_eq!(kind(reader.allocate(0, 1)), ErrorKind::PermissionDenied);
    assert_eq!(path_names("a/b").unwrap(), ["a", "b"]);
    assert!(path_names("").unwrap().is_empty());
}

/// `/dev/full` refuses each write with ENOSPC, see full(4).
#[test]
fn a_full_disk_is_told_apart_from_other_errors() {
    use std::io::Write;
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap().write(b"x");
    assert!(is_disk_full(&full.unwrap_err()));
    assert!(!is_disk_full(&ErrorKind::NotFound.into()));
}

#[test]
fn a_lock_names_its_process_until_it_is_dropped() {
    let folder = Temporary::new("lock");
    let disk = folder.disk();
    let lock = disk.lock("lock").unwrap();
    match folder.disk().lock("lock").err() {
        Some(LockError::Held(Some(id))) => assert_eq!(id, std::process::id()),
        other => panic!("the file is locked: {other:?}"),
    }
    drop(lock);
    // A shorter text takes the place of a longer one as a whole.
    std::fs::write(folder.0.join("lock"), "1234567890123\n").unwrap();
    let _lock = disk.lock("lock").unwrap();
    let text = std::fs::read_to_string(folder.0.join("lock")).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
}

/// Names the folder to [`child_locks_and_waits_to_be_killed`], which runs as a process.
const LOCK_FOLDER: &str = "SOS_DISK_TEST_LOCK_FOLDER";

#[test]
fn a_lock_ends_when_its_process_is_killed() {
    let folder = Temporary::new("killed");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "disk::child_locks_and_waits_to_be_killed", "--nocapture"])
        .env(LOCK_FOLDER, &folder.0)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let locked = lines.map_while(Result::ok).any(|line| line.ends_with("it is locked"));
    let held = folder.disk().lock("lock");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(locked, "the child has locked the file");
    assert!(matches!(held, Err(LockError::Held(Some(id))) if id == child.id()), "{held:?}");
    folder.disk().lock("lock").unwrap();
}

/// Does nothing but in the child of [`a_lock_ends_when_its_process_is_killed`].
#[test]
fn child_locks_and_waits_to_be_killed() {
    let Ok(folder) = std::env::var(LOCK_FOLDER) else { return };
    let _lock = OsDisk::open(&folder).unwrap().lock("lock").unwrap();
    println!("it is locked");
    // Ends at the latest when the parent does, which has the other end.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn calls_are_waits_of_the_type_that_the_file_was_opened_with() {
    let folder = Temporary::new("waits");
    let path = folder.0.to_str().unwrap().to_owned();
    let accounts = Arc::new(Accounts::default());
    let thread = sos::thread::spawn(&accounts, "disk", move || {
        let disk = OsDisk::open(&path).unwrap();
        let log = disk.open("log", Open::Create, WaitType::WriteLog).unwrap();
        log.write_at(0, b"batch").unwrap();
        log.sync().unwrap();
        disk.sync_folder("").unwrap();
    });
    thread.unwrap().join().unwrap();
    let waits = |wait_type| {
        let rows = accounts.waits();
        rows.iter().find(|row| row.wait_type == wait_type).map_or(0, |row| row.count)
    };
    assert_eq!(waits(WaitType::WriteLog), 3, "the open, the write and the sync");
    assert_eq!(waits(WaitType::IoCompletion), 2, "the two of the folder");
}
