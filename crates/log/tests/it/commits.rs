//! Commits of several threads through a log thread: what was acknowledged is there after a restart,
//! in the order of dependencies; a failed write is final.

use std::collections::BTreeSet;

use log::{CommitBuffers, Epoch, LogReader, LogThread, Mode, Nesting, Record, Records, Row};
use log::{SegmentWriter, Transaction};
use sos::ledger::Accounts;
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::wait::WaitType;

use crate::segments::{DATABASE, Temporary, options};

const COMMITS: u64 = 300;

/// Commits rows to a table that no other thread uses and waits for each to be durable, as a connection would.
fn connection(
    shared: &CommitBuffers,
    mut committer: log::Committer,
    table: u32,
) -> BTreeSet<(u32, u64)> {
    let mut acknowledged = BTreeSet::new();
    for row in 0..COMMITS {
        let mut commit = committer.begin();
        let epoch = commit.epoch();
        commit.write(|records| {
            let mut transaction = Transaction::begin(records, row, 0);
            transaction.delete(table, Row::Id(row));
            transaction.end();
        });
        shared.wake_if(commit.finish());
        let durable = shared.wait(epoch, None, None);
        assert!(!durable.is_suspect && durable.epoch >= epoch);
        acknowledged.insert((table, row));
    }
    acknowledged
}

#[test]
fn acknowledged_commits_of_all_threads_are_there() {
    let folder = Temporary::new("commits");
    let (shared, committers) = CommitBuffers::new(4, Epoch(0));
    let writer = SegmentWriter::create(folder.disk(), options()).unwrap();
    let mut log_thread = LogThread::new(Arc::clone(&shared), writer, |_| ());
    let accounts = Arc::new(Accounts::default());
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let flusher = sos::thread::spawn(&accounts, "log", move || {
        log_thread.run(&stopped, WaitType::WorkDispatcher).unwrap();
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    let threads: Vec<_> = committers
        .into_iter()
        .zip(1..)
        .map(|(committer, table)| {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            let run = move || sender.send(connection(&shared, committer, table)).unwrap();
            sos::thread::spawn(&accounts, "connection", run).unwrap()
        })
        .collect();
    drop(sender);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let acknowledged: BTreeSet<_> = receiver.into_iter().flatten().collect();
    stop.store(true, Ordering::Release);
    shared.wake();
    flusher.unwrap().join().unwrap();

    let mut reader = LogReader::open(folder.disk(), "log", DATABASE, None, Mode::Strict).unwrap();
    let (mut found, mut last) = (BTreeSet::new(), Epoch(0));
    while let Some(batch) = reader.next_batch().unwrap() {
        assert!(batch.header.first_epoch > last && batch.header.is_last);
        last = batch.header.last_epoch;
        for record in Records::new(batch.payload, Nesting::default()) {
            if let Record::Delete { table, row: Row::Id(row) } = record.unwrap() {
                found.insert((table, row));
            }
        }
    }
    assert_eq!(found.len(), 4 * usize::try_from(COMMITS).unwrap());
    assert_eq!(found, acknowledged);
    assert_eq!(reader.end().unwrap().last_epoch, last);
}

/// Commits with delayed durability are flushed by the timer alone, with others, and by request.
#[test]
fn delayed_commits_become_durable_without_a_wake() {
    let folder = Temporary::new("delayed");
    let (shared, mut committers) = CommitBuffers::new(2, Epoch(0));
    let writer = SegmentWriter::create(folder.disk(), options()).unwrap();
    let mut log_thread = LogThread::new(Arc::clone(&shared), writer, |_| ());
    let accounts = Arc::new(Accounts::default());
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let flusher = sos::thread::spawn(&accounts, "log", move || {
        log_thread.run(&stopped, WaitType::WorkDispatcher).unwrap();
    });
    let mut delayed = |row, wakes: bool| {
        let mut commit = committers[0].begin();
        let epoch = commit.epoch();
        commit.write(|records| {
            let mut transaction = Transaction::begin(records, row, 0);
            transaction.delete(1, Row::Id(row));
            transaction.end();
        });
        let wake = commit.finish_lazy();
        if wakes {
            shared.wake_if(wake);
        }
        epoch
    };
    for row in 0..20 {
        // The timer.
        let epoch = delayed(row, true);
        assert!(shared.wait(epoch, None, None).epoch >= epoch);
    }
    // A request, even if the thread was not woken for the commit.
    let epoch = delayed(20, false);
    let requested = shared.flush_now();
    assert!(requested >= epoch);
    assert!(shared.wait(requested, None, None).epoch >= requested);
    // A request without any commit.
    let requested = shared.flush_now();
    assert!(shared.wait(requested, None, None).epoch >= requested);
    // The end.
    let last = delayed(21, false);
    stop.store(true, Ordering::Release);
    shared.wake();
    flusher.unwrap().join().unwrap();
    assert!(shared.durability().epoch >= last);
    assert_eq!(shared.stats().commits, 22);
}
