//! Full disks: commits are refused, those that wait are kept and written once there is room, and no
//! size of the disk or of a group makes the log wait for ever or fail for good.

use std::collections::BTreeSet;

use log::{
    BLOCK_BYTES, CommitBuffers, Committer, Epoch, Keeper, LogError, LogOptions, LogReader,
    LogState, LogThread, Mode, Nesting, Record, Records, Refusal, SegmentWriter, Transaction,
};
use simdisk::{Call, Fault, SimDisk};
use sos::ledger::Accounts;
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::sys::{Disk, SyncMethod};
use sos::wait::WaitType;

use crate::segments::DATABASE;

/// Sizes are those of a server, divided by this.
const SCALE: u64 = 16;

fn options() -> LogOptions {
    let (folder, segment_bytes) = ("log".to_owned(), (64 << 20) / SCALE);
    let sync = SyncMethod::Fdatasync;
    LogOptions { folder, database: DATABASE, segment_bytes, batch_bytes: 64 << 10, sync }
}

fn disk() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.make_folder("log").unwrap();
    disk.sync_folder("").unwrap();
    disk
}

/// Commits a definition of this many bytes, under a number to know it by.
fn commit(committer: &mut Committer, number: u64, bytes: usize) {
    let _ = commit_and_wake(committer, number, bytes);
}

fn commit_and_wake(committer: &mut Committer, number: u64, bytes: usize) -> (Epoch, log::Wake) {
    let mut commit = committer.begin();
    commit.write(|records| {
        let mut transaction = Transaction::begin(records, number, 0);
        transaction.definition(1, &vec![7; bytes]);
        transaction.end();
    });
    (commit.epoch(), commit.finish())
}

/// Reads the numbers of all commits.
fn read(disk: &SimDisk) -> Vec<u64> {
    let disk = Arc::new(disk.clone());
    let mut reader = LogReader::open(disk, "log", DATABASE, None, Mode::Strict).unwrap();
    let (mut numbers, mut nesting) = (Vec::new(), Nesting::default());
    while let Some(batch) = reader.next_batch().unwrap() {
        let mut records = Records::new(batch.payload, nesting);
        for record in records.by_ref() {
            if let Record::Begin { timestamp, .. } = record.unwrap() {
                numbers.push(timestamp);
            }
        }
        nesting = records.nesting();
    }
    numbers
}

/// A log on a disk with this much room; none if there is no room for a segment.
fn begin(disk: &SimDisk, room: u64) -> Option<(Arc<CommitBuffers>, Committer, LogThread, Keeper)> {
    disk.set_room(Some(room));
    let writer = match SegmentWriter::create(Arc::new(disk.clone()), options()) {
        Ok(writer) => writer,
        Err(LogError::Full { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let (shared, mut committers) = CommitBuffers::new(1, Epoch(0));
    let log_thread = LogThread::new(Arc::clone(&shared), writer, |_| ());
    let keeper = Keeper::new(Arc::clone(log_thread.folder()));
    Some((shared, committers.pop().unwrap(), log_thread, keeper))
}

/// Fills a disk with commits of this size. No commit is lost, and the log is not full before the
/// disk is.
fn fill(room: u64, bytes: usize, keeper_every: u64) {
    let disk = disk();
    let Some((shared, mut committer, mut log_thread, mut keeper)) = begin(&disk, room) else {
        assert!(room < options().segment_bytes / 64, "{room} bytes are enough");
        return;
    };
    let mut last = 0;
    let full = loop {
        last += 1;
        commit(&mut committer, last, bytes);
        if let Err(error) = log_thread.flush() {
            break error;
        }
        if last % keeper_every == 0 {
            keeper.step().unwrap();
        }
        assert!(last < 100_000);
    };
    assert!(matches!(full, LogError::Full { .. }), "{full}");
    assert_eq!(shared.state(), LogState::Full);
    assert_eq!(committer.admit(100), Err(Refusal::Full));
    let need = bytes as u64 + 3 * BLOCK_BYTES as u64;
    let least = (options().segment_bytes / 64).max(need);
    assert!(disk.room_taken() + least > room, "{} of {room} bytes", disk.room_taken());
    assert!(matches!(log_thread.flush(), Err(LogError::Full { .. })), "as long as it is full");
    commit(&mut committer, last + 1, bytes);

    disk.set_room(None);
    keeper.step().unwrap();
    log_thread.flush().unwrap();
    log_thread.flush().unwrap();
    find_room(&mut log_thread, &mut keeper);
    assert_eq!((shared.state(), committer.admit(100)), (LogState::Good, Ok(())));
    disk.crash();
    disk.restart();
    assert_eq!(read(&disk), (1..=last + 1).collect::<Vec<_>>(), "room {room}, commits {bytes}");
}

#[test]
fn disk_of_any_size_fills_up_and_loses_nothing() {
    let mib = (1 << 20) / SCALE;
    for room in (0..=200).step_by(3) {
        fill(room * mib, 60_000, 1 + room % 4 * 10);
    }
}

#[test]
fn commits_of_any_size_fill_a_disk() {
    let mib = (1 << 20) / SCALE;
    for bytes in [1, 4000, 4096, 65_536, 262_144, 1 << 20, 4 << 20, 5 << 20] {
        for room in [3, 70, 100, 135] {
            fill(room * mib, bytes.max(2000), 7);
        }
    }
}

/// Lets the threads find the room that was made.
fn find_room(log_thread: &mut LogThread, keeper: &mut Keeper) {
    while log_thread.look_at_room().is_some() {
        // The log thread does so itself every 100 ms.
        log_thread.folder().ask_for_room();
        keeper.step().unwrap();
    }
}

/// Asks for a commit until the answer is final, as a server does.
fn admit(bytes: u64, admitted: (&Committer, &mut LogThread, &mut Keeper)) -> Result<(), Refusal> {
    let (committer, log_thread, keeper) = admitted;
    for _ in 0..100 {
        match committer.admit(bytes) {
            Err(Refusal::Behind(_)) => {
                log_thread.flush().expect("there is room for what was admitted");
            }
            Err(Refusal::Preparing) => {
                keeper.step().unwrap();
                log_thread.look_at_room();
            }
            answer => return answer,
        }
    }
    panic!("a commit of {bytes} bytes waits for ever");
}

/// Fills a disk with commits that are admitted: the log thread has room for each of them, so none
/// waits. When the disk is full the next ones are refused, until there is room again.
fn fill_admitted(room: u64, bytes: usize, slots: usize) {
    let disk = disk();
    disk.set_room(Some(room));
    let writer = SegmentWriter::create(Arc::new(disk.clone()), options()).unwrap();
    let (shared, mut committers) = CommitBuffers::new(slots, Epoch(0));
    let mut log_thread = LogThread::new(Arc::clone(&shared), writer, |_| ());
    let mut keeper = Keeper::new(Arc::clone(log_thread.folder()));
    let mut last = 0;
    'full: loop {
        // All that passes the check commits at the same time.
        for committer in &committers {
            let asked = (committer, &mut log_thread, &mut keeper);
            match admit(bytes as u64, asked) {
                Ok(()) => {}
                Err(Refusal::Full) => break 'full,
                Err(other) => panic!("{other:?}"),
            }
        }
        for committer in &mut committers {
            last += 1;
            commit(committer, last, bytes);
        }
        if last % 7 == 0 {
            log_thread.flush().expect("there is room for what was admitted");
        }
        if last % 11 == 0 {
            keeper.step().unwrap();
        }
        assert!(last < 1_000_000);
    }
    log_thread.flush().expect("there is room for what was admitted");
    assert_eq!(shared.buffered_bytes(), 0, "no commit waits for room");
    assert!(last > 0 || room < options().segment_bytes, "{room} bytes are some");
    // What stays free is less than three eighths of a segment and the room for several commits.
    let unused = shared.stats().unused_bytes + room - disk.room_taken();
    let may_stay = options().segment_bytes * 3 / 8 + (2 * slots as u64 + 3) * (bytes as u64 + 8192);
    assert!(unused < may_stay, "room {room}, commits {bytes}, {slots} slots: {unused} stay");

    disk.set_room(None);
    let committer = committers.remove(0);
    find_room(&mut log_thread, &mut keeper);
    let asked = (&committer, &mut log_thread, &mut keeper);
    assert_eq!(admit(bytes as u64, asked), Ok(()), "the room is found");
    disk.crash();
    disk.restart();
    let mut numbers = read(&disk);
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "room {room}, commits {bytes}");
}

#[test]
fn what_is_admitted_has_room() {
    let mib = (1 << 20) / SCALE;
    for (number, room) in (5..=200).step_by(21).enumerate() {
        let bytes = [3000, 20_000, 5000, 60_000, 100_000][number % 5];
        fill_admitted(room * mib, bytes, [1, 12, 3][number % 3]);
    }
    fill_admitted(70 * mib, 100, 2);
}

/// When a small file is used up, the next one may not be prepared yet. Commits wait for it.
#[test]
fn no_commit_is_refused_before_the_keeper_has_looked() {
    let disk = disk();
    let usual = options().segment_bytes;
    let room = usual + usual / 4 + usual / 8;
    let (shared, mut committer, mut log_thread, mut keeper) = begin(&disk, room).unwrap();
    let mut last = 0;
    loop {
        match committer.admit(20_000) {
            Ok(()) => {
                last += 1;
                commit(&mut committer, last, 20_000);
                log_thread.flush().expect("there is room for what was admitted");
            }
            Err(Refusal::Preparing) => {
                keeper.step().unwrap();
                log_thread.look_at_room();
            }
            Err(Refusal::Full) => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!((disk.room_taken(), shared.stats().segment), (room, 3), "all of the disk is used");
    assert_eq!(read(&disk), (1..=last).collect::<Vec<_>>());
}

/// A group of many batches is kept in the middle, where the disk has no room for the next segment.
#[test]
fn group_goes_on_where_the_disk_was_full() {
    let disk = disk();
    let room = options().segment_bytes + options().segment_bytes / 64;
    let (shared, mut committer, mut log_thread, _) = begin(&disk, room).unwrap();
    for number in 1..=30 {
        commit(&mut committer, number, 200_000);
    }
    for more in 1..=3 {
        assert!(matches!(log_thread.flush(), Err(LogError::Full { .. })));
        assert_eq!(shared.durability().epoch, Epoch(0));
        disk.set_room(Some(room + more * options().segment_bytes / 8));
    }
    disk.set_room(None);
    log_thread.flush().unwrap();
    assert_eq!(read(&disk), (1..=30).collect::<Vec<_>>());
}

#[test]
fn buffers_refuse_commits_beyond_their_limit() {
    let disk = disk();
    let writer = SegmentWriter::create(Arc::new(disk.clone()), options()).unwrap();
    let limit = 100_000;
    let (shared, mut committers) = CommitBuffers::with_limit(4, Epoch(0), limit);
    let mut log_thread = LogThread::new(Arc::clone(&shared), writer, |_| ());
    let mut numbers = 0;
    for committer in &mut committers {
        while committer.admit(100).is_ok() {
            numbers += 1;
            commit(committer, numbers, 1000);
        }
    }
    let epoch = Epoch(1);
    assert!(committers.iter().all(|c| c.admit(100) == Err(Refusal::Behind(epoch))));
    let bytes = shared.buffered_bytes();
    assert!((limit..2 * limit).contains(&bytes), "{bytes}");
    assert_eq!(log_thread.flush().unwrap().epoch, epoch);
    assert!(committers.iter().all(|c| c.admit(100) == Ok(())));
    assert_eq!(shared.buffered_bytes(), 0);
    assert_eq!(read(&disk).len() as u64, numbers);
}

#[test]
fn failed_log_refuses_commits() {
    let disk = disk();
    let (shared, mut committer, mut log_thread, _) = begin(&disk, 1 << 30).unwrap();
    commit(&mut committer, 1, 100);
    disk.fail(Fault::new(Call::Sync));
    assert!(matches!(log_thread.flush(), Err(LogError::Io { .. })));
    assert_eq!((shared.state(), committer.admit(100)), (LogState::Suspect, Err(Refusal::Suspect)));
}

/// An error of the keeper is the log thread's at the next segment, and final.
#[test]
fn failure_of_the_keeper_comes_back() {
    for call in [Call::Create, Call::Allocate, Call::Write, Call::WriteBack, Call::Sync] {
        let disk = disk();
        let (shared, mut committer, mut log_thread, mut keeper) = begin(&disk, 1 << 30).unwrap();
        let mut number = 0;
        let mut flush = || {
            number += 1;
            commit(&mut committer, number, 100_000);
            log_thread.flush()
        };
        // More than half of the segment, so that the next one is asked for.
        (0..25).for_each(|_| assert!(flush().is_ok()));
        disk.fail(Fault::new(call));
        assert!(matches!(keeper.step(), Err(LogError::Suspect)));
        let failed = (0..100).find_map(|_| flush().err()).unwrap();
        assert!(matches!(failed, LogError::Io { .. }), "{call}: {failed}");
        assert_eq!(shared.state(), LogState::Suspect);
        assert!(matches!(keeper.step(), Ok(false) | Err(LogError::Suspect)));
    }
}

#[test]
fn keeper_prepares_and_keeps_two_spares() {
    let disk = disk();
    let (shared, mut committer, mut log_thread, mut keeper) = begin(&disk, 1 << 30).unwrap();
    let mut number = 0;
    while log_thread.segment_number() < 6 {
        number += 1;
        commit(&mut committer, number, 100_000);
        log_thread.flush().unwrap();
        keeper.step().unwrap();
    }
    let segment_bytes = options().segment_bytes;
    assert_eq!(shared.stats().log_bytes, 6 * segment_bytes);
    log_thread.folder().retire(6);
    assert!(keeper.step().unwrap());
    let names: BTreeSet<_> = disk.files().into_keys().collect();
    let expected = ["log", "log/00000000000000000006.log", "log/spare-1.log", "log/spare-2.log"];
    assert_eq!(names, expected.into_iter().map(str::to_owned).collect());
    assert_eq!(log_thread.folder().log_bytes(), segment_bytes);
    // A segment that is prepared is in place without a new file, by one rename.
    while log_thread.segment_number() < 7 {
        number += 1;
        commit(&mut committer, number, 100_000);
        log_thread.flush().unwrap();
        keeper.step().unwrap();
    }
    assert!(disk.files().contains_key("log/spare-2.log"));
    assert!(!disk.files().contains_key("log/spare-1.log"));
    assert_eq!(disk.room_taken(), 3 * segment_bytes);
}

/// How many times the keeper writes to a new file, which is prepared at once if `is_hurried`.
fn writes_of_zeros(is_hurried: bool) -> usize {
    let disk = disk();
    let (_, mut committer, mut log_thread, mut keeper) = begin(&disk, 1 << 30).unwrap();
    for number in 0..25 {
        commit(&mut committer, number, 100_000);
        log_thread.flush().unwrap();
    }
    if is_hurried {
        log_thread.folder().wake();
    }
    let writes = || disk.trace().iter().filter(|line| line.contains(" Write ")).count();
    let before = writes();
    assert!(keeper.step().unwrap());
    assert_eq!(disk.room_taken(), 2 * options().segment_bytes);
    writes() - before
}

#[test]
fn new_file_is_written_with_zeros_if_there_is_time() {
    assert_eq!(writes_of_zeros(false) as u64, options().segment_bytes / (256 << 10));
    assert_eq!(writes_of_zeros(true), 0);
}

#[test]
fn stats_count_groups() {
    let disk = disk();
    let (shared, mut committer, mut log_thread, _) = begin(&disk, 1 << 30).unwrap();
    for commits in [1, 3, 3, 0] {
        for number in 0..commits {
            commit(&mut committer, number, 50);
        }
        log_thread.flush().unwrap();
    }
    let stats = shared.stats();
    assert_eq!((stats.flushes, stats.commits, stats.buffered_bytes), (3, 7, 0));
    assert_eq!((stats.commits_per_flush[1], stats.commits_per_flush[2]), (1, 2));
    assert_eq!(stats.flush_us.iter().sum::<u64>(), 3);
    assert_eq!((stats.segment, stats.log_bytes), (1, options().segment_bytes));
    assert!(stats.bytes_flushed > 350);
}

/// With threads, as a server has them: all commits are durable or refused, and the threads end.
#[test]
fn threads_survive_a_full_disk() {
    let disk = disk();
    let room = 2 * options().segment_bytes + 100_000;
    let (shared, mut committer, mut log_thread, mut keeper) = begin(&disk, room).unwrap();
    let folder = Arc::clone(log_thread.folder());
    let accounts = Arc::new(Accounts::default());
    let stop = Arc::new(AtomicBool::new(false));
    let stops = (Arc::clone(&stop), Arc::clone(&stop));
    let threads = [
        sos::thread::spawn(&accounts, "log", move || {
            log_thread.run(&stops.0, WaitType::WorkDispatcher).unwrap();
        }),
        sos::thread::spawn(&accounts, "keeper", move || {
            keeper.run(&stops.1, WaitType::WorkDispatcher).unwrap();
        }),
    ];
    let (mut last, mut epoch) = (0, Epoch(0));
    while committer.admit(100) != Err(Refusal::Full) {
        last += 1;
        let (of, wake) = commit_and_wake(&mut committer, last, 50_000);
        epoch = of;
        shared.wake_if(wake);
    }
    disk.set_room(None);
    assert_eq!(shared.wait(epoch, None, None).epoch, epoch.max(shared.durability().epoch));
    stop.store(true, Ordering::Release);
    shared.wake();
    folder.wake();
    threads.into_iter().for_each(|thread| thread.unwrap().join().unwrap());
    assert_eq!(read(&disk), (1..=last).collect::<Vec<_>>());
}
