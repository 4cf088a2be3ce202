//! Models of commits and the log thread under loom: every interleaving and every reordering that
//! the memory model allows, and for each rule a mutant that must be caught.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p clearway-log --release --lib models`

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::model::Builder;
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::Epoch;
use crate::commit::{CommitBuffers, Committer, Sleep, Taken, Wake};
use crate::desk::{Desk, Failure};
use crate::hurry::Hurry;
use crate::mutant::{MUTANT, Mutant};

/// Schedules with more preemptions are not checked.
const PREEMPTIONS: usize = 3;

/// Runs a model without a mutant, which must pass, and with each mutant, which must fail.
fn prove(model: impl Fn() + Copy + Send + Sync + 'static, mutants: &[Mutant]) {
    let check = || {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(PREEMPTIONS);
        builder.check(model);
    };
    check();
    for mutant in mutants {
        MUTANT.set(Some(*mutant));
        let caught = catch_unwind(AssertUnwindSafe(check)).is_err();
        MUTANT.set(None);
        assert!(caught, "the model lets {mutant:?} pass");
    }
}

/// What was written to the device: per group its epoch and the records, one byte each.
type Device = Arc<Mutex<Vec<(Epoch, Vec<u8>)>>>;

/// Makes one flush, as the log thread does.
fn flush(buffers: &CommitBuffers, device: &Device) {
    let mut taken = vec![Taken::default(); buffers.schedulers()];
    let epoch = buffers.close_epoch(&mut taken, thread::yield_now);
    if crate::mutant::is_mutant(Mutant::PublishedBeforeWrite) {
        buffers.publish(epoch);
    }
    let records = taken.into_iter().flat_map(|taken| taken.records).collect();
    device.lock().unwrap().push((epoch, records));
    buffers.publish(epoch);
}

/// Makes a commit whose record is its epoch.
fn commit(committer: &mut Committer) -> (Epoch, Wake) {
    let mut commit = committer.begin();
    let epoch = commit.epoch();
    commit.write(|records| records.push(u8::try_from(epoch.0).unwrap()));
    (epoch, commit.finish())
}

/// Each group has the commits of its epoch and no others, and what is published is on the device.
#[test]
fn group_has_exactly_the_commits_of_its_epoch() {
    prove(
        || {
            let (buffers, mut committers) = CommitBuffers::new(1, Epoch(0));
            let device = Device::default();
            let mut committer = committers.pop().unwrap();
            let scheduler = {
                let (buffers, device) = (std::sync::Arc::clone(&buffers), Arc::clone(&device));
                thread::spawn(move || {
                    for _ in 0..2 {
                        let (epoch, _) = commit(&mut committer);
                        if buffers.durability().epoch >= epoch {
                            let device = device.lock().unwrap();
                            let group = device.iter().find(|(of, _)| *of == epoch);
                            assert!(group.is_some_and(|(_, records)| !records.is_empty()));
                        }
                    }
                })
            };
            flush(&buffers, &device);
            flush(&buffers, &device);
            scheduler.join().unwrap();
            flush(&buffers, &device);
            flush(&buffers, &device);
            let device = device.lock().unwrap();
            let total: usize = device.iter().map(|(_, records)| records.len()).sum();
            assert_eq!(total, 2, "no commit is lost");
            for (epoch, records) in device.iter() {
                assert!(records.iter().all(|record| u64::from(*record) == epoch.0));
            }
        },
        &[
            Mutant::EpochNotSeenAgain,
            Mutant::NoFenceBeforeScan,
            Mutant::AnnouncementsIgnored,
            Mutant::OneBuffer,
            Mutant::PublishedBeforeWrite,
        ],
    );
}

/// A commit that depends on another one has its epoch or a later one.
#[test]
fn epochs_follow_dependencies() {
    prove(
        || {
            let (buffers, committers) = CommitBuffers::new(2, Epoch(0));
            let device = Device::default();
            let row = Arc::new(Mutex::new(None));
            let threads: Vec<_> = committers
                .into_iter()
                .map(|mut committer| {
                    let row = Arc::clone(&row);
                    thread::spawn(move || {
                        let before = *row.lock().unwrap();
                        let mut commit = committer.begin();
                        let epoch = commit.epoch();
                        commit.write(|records| records.push(1));
                        *row.lock().unwrap() = Some(epoch);
                        let _ = commit.finish();
                        assert!(before.is_none_or(|before| before <= epoch));
                    })
                })
                .collect();
            flush(&buffers, &device);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            flush(&buffers, &device);
            let device = device.lock().unwrap();
            assert_eq!(device.iter().map(|(_, records)| records.len()).sum::<usize>(), 2);
        },
        &[],
    );
}

/// The log thread does not sleep while there is a commit that it was not woken for.
#[test]
fn no_commit_waits_for_a_log_thread_that_sleeps() {
    prove(
        || {
            let (buffers, mut committers) = CommitBuffers::new(1, Epoch(0));
            let device = Device::default();
            let mut committer = committers.pop().unwrap();
            let scheduler = thread::spawn(move || commit(&mut committer).1);
            flush(&buffers, &device);
            let sleeps = buffers.prepare_sleep(Sleep::UntilWoken);
            let wake = scheduler.join().unwrap();
            let written: usize = device.lock().unwrap().iter().map(|(_, r)| r.len()).sum();
            assert!(written == 1 || !sleeps || wake == Wake::Needed, "the commit is forgotten");
        },
        &[Mutant::NoFenceBeforeWake, Mutant::SleepWithoutLook],
    );
}

/// A commit that was ended early is not forgotten once it is due.
#[test]
fn no_due_commit_waits_for_a_log_thread_that_sleeps() {
    prove(
        || {
            let (buffers, _) = CommitBuffers::new(1, Epoch(0));
            let device = Device::default();
            let scheduler = {
                let buffers = std::sync::Arc::clone(&buffers);
                thread::spawn(move || {
                    let epoch = buffers.announce(0);
                    buffers.write((0, epoch), true, |records| records.push(1));
                    buffers.finish_early(0, epoch);
                    buffers.make_due(0)
                })
            };
            flush(&buffers, &device);
            let sleeps = buffers.prepare_sleep(Sleep::UntilWoken);
            let wake = scheduler.join().unwrap();
            let written: usize = device.lock().unwrap().iter().map(|(_, r)| r.len()).sum();
            assert!(written == 1 || !sleeps || wake == Wake::Needed, "the commit is forgotten");
        },
        &[Mutant::NoFenceBeforeWake, Mutant::SleepWithoutLook, Mutant::NeverDue],
    );
}

/// The log thread does not sleep for long while there is a commit with delayed durability; only a
/// long sleep is ended for one.
#[test]
fn no_lazy_commit_waits_for_a_log_thread_that_sleeps_for_long() {
    for sleep in [Sleep::UntilWoken, Sleep::Nap] {
        let model = move || {
            let (buffers, mut committers) = CommitBuffers::new(1, Epoch(0));
            let device = Device::default();
            let mut committer = committers.pop().unwrap();
            let scheduler = thread::spawn(move || {
                let mut commit = committer.begin();
                commit.write(|records| records.push(1));
                commit.finish_lazy()
            });
            flush(&buffers, &device);
            let sleeps = buffers.prepare_sleep(sleep);
            let wake = scheduler.join().unwrap();
            let written: usize = device.lock().unwrap().iter().map(|(_, r)| r.len()).sum();
            let is_seen = written == 1 || !sleeps || wake == Wake::Needed;
            assert!(is_seen || sleep == Sleep::Nap, "the commit is forgotten");
            assert!(wake == Wake::NotNeeded || sleep == Sleep::UntilWoken);
        };
        let is_long = sleep == Sleep::UntilWoken;
        let mutants = [Mutant::NoFenceBeforeWake, Mutant::LazyNotSeen];
        prove(model, if is_long { &mutants } else { &[] });
    }
}

/// A flush that is asked for happens, whether the log thread sleeps or not.
#[test]
fn requested_flush_is_not_forgotten() {
    prove(
        || {
            let (buffers, mut committers) = CommitBuffers::new(1, Epoch(0));
            let device = Device::default();
            let mut committer = committers.pop().unwrap();
            let requester = {
                let buffers = std::sync::Arc::clone(&buffers);
                thread::spawn(move || {
                    let mut commit = committer.begin();
                    let epoch = commit.epoch();
                    commit.write(|records| records.push(1));
                    let _ = commit.finish_lazy();
                    let (requested, wake) = buffers.request_flush();
                    assert!(requested >= epoch);
                    (requested, wake)
                })
            };
            flush(&buffers, &device);
            let sleeps = buffers.prepare_sleep(Sleep::Nap);
            let (requested, wake) = requester.join().unwrap();
            let is_done = buffers.durability().epoch >= requested;
            assert!(is_done || !sleeps || wake == Wake::Needed, "the request is forgotten");
        },
        &[Mutant::NoFenceBeforeWake, Mutant::SleepWithoutLook],
    );
}

/// A disk with room for some files, one of which is made at a time.
#[derive(Debug, Default)]
struct Files {
    made: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum DeskError {
    Full,
    Io,
    Final,
}

impl Failure for DeskError {
    fn is_full(&self) -> bool {
        *self == Self::Full
    }

    fn is_final_already() -> Self {
        Self::Final
    }
}

/// The keeper and the log thread share a folder in which `room` files can be made; a further one
/// fails with `error`, for the log thread only if the folder is full. Each file is used once, the log thread never waits for a file that is not
/// coming, and a failure of the keeper comes back to it.
fn share_a_desk(room: usize, error: fn() -> DeskError) {
    let make = move |files: &mut Files| {
        if files.made == room {
            return Err(error());
        }
        files.made += 1;
        Ok(files.made)
    };
    let desk = std::sync::Arc::new(Desk::new(Files::default()));
    let keeper = {
        let desk = std::sync::Arc::clone(&desk);
        let prepare = move |ready: &mut Option<usize>, files: &mut Files| {
            if ready.is_none() {
                *ready = Some(make(files)?);
            }
            Ok(())
        };
        thread::spawn(move || {
            let first = desk.prepare(thread::yield_now, prepare);
            first.and_then(|()| desk.prepare(thread::yield_now, prepare))
        })
    };
    let mut used = Vec::new();
    let mut take = || {
        let taken = desk.take(thread::yield_now, |ready, files| match ready {
            Some(ready) => Ok(ready),
            None if error() == DeskError::Full => make(files),
            None => {
                files.made += 1;
                Ok(files.made)
            }
        });
        taken.map(|file| used.push(file))
    };
    let taken = take().and_then(|()| take());
    let kept = keeper.join().unwrap();
    let last = take();
    assert!(kept.is_ok() || last.is_err(), "the failure is forgotten");
    assert!(last != Err(DeskError::Full) || taken.is_err() || used.len() == room);
    assert!(used.iter().zip(1..).all(|(file, number)| *file == number), "{used:?}");
}

#[test]
fn log_thread_does_not_wait_for_a_keeper_without_room() {
    for room in 0..3 {
        prove(move || share_a_desk(room, || DeskError::Full), &[]);
    }
}

#[test]
fn failure_of_the_keeper_reaches_the_log_thread() {
    prove(|| share_a_desk(1, || DeskError::Io), &[Mutant::KeeperFailureDropped]);
}

/// The log thread takes a file, perhaps while the keeper is asked to stop: after that the keeper hurries
/// because of the stop alone. While the log thread waits, the keeper ends its work.
#[test]
fn request_to_stop_is_not_taken_back_by_the_log_thread() {
    prove(
        || {
            let hurry = Arc::new(Hurry::default());
            let desk = std::sync::Arc::new(Desk::<(), DeskError, usize>::new(0));
            let keeper = {
                let (hurry, desk) = (Arc::clone(&hurry), std::sync::Arc::clone(&desk));
                thread::spawn(move || {
                    let zeros = |_: &mut Option<()>, pieces: &mut usize| {
                        while *pieces < 2 && !hurry.is_on() {
                            *pieces += 1;
                        }
                        Ok(())
                    };
                    desk.prepare(thread::yield_now, zeros)
                })
            };
            let stopper = {
                let hurry = Arc::clone(&hurry);
                thread::spawn(move || hurry.stop())
            };
            hurry.begin_wait();
            let pieces = desk.take(thread::yield_now, |_, pieces| {
                hurry.end_wait();
                Ok(*pieces)
            });
            stopper.join().unwrap();
            assert!(hurry.is_on(), "the request to stop is forgotten");
            assert!(pieces.is_ok_and(|pieces| pieces <= 2));
            assert_eq!(keeper.join().unwrap(), Ok(()));
        },
        &[Mutant::StopForgotten],
    );
}
