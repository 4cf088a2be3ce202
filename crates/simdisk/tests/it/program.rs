//! Random programs of calls on a disk, as the seed gives them.

use std::io;

use simdisk::Random;
use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;

/// Few names, so that calls meet.
const PATHS: &[&str] = &["a", "b", "f", "f/a", "f/b", "g", "g/a", "f/a/x", "none/a", "", "a/../b"];

/// Files that are open at most.
const OPEN_MAX: usize = 6;

/// A call; files are by their number among those that are open.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    MakeFolder(&'static str),
    List(&'static str),
    Open(&'static str, Open),
    Close(usize),
    Rename(&'static str, &'static str),
    Remove(&'static str),
    RemoveFolder(&'static str),
    SyncFolder(&'static str),
    Len(usize),
    Read(usize, u64, usize),
    Write(usize, u64, Vec<u8>),
    Sync(usize),
    SetLen(usize, u64),
    Allocate(usize, u64, u64),
}

/// What a call returned, in a form that is the same for each disk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Names(Vec<String>),
    Len(u64),
    Bytes(Vec<u8>),
    Failed(io::ErrorKind),
}

/// Draws offsets so that some are at the edges of sectors.
fn offset(random: &mut Random) -> u64 {
    if random.coin() { random.below(5) * 512 } else { random.below(6000) }
}

/// Draws a path: three times in four one of the first, which more calls can use.
fn path(random: &mut Random) -> &'static str {
    let paths = if random.below(4) > 0 { 5 } else { PATHS.len() };
    PATHS[random.index(paths)]
}

pub(crate) fn step(random: &mut Random) -> Step {
    let path = path(random);
    let file = random.index(OPEN_MAX);
    match random.below(20) {
        0 => Step::MakeFolder(path),
        1 => Step::List(path),
        2 | 3 => Step::Open(path, Open::Create),
        4 => Step::Open(path, if random.coin() { Open::Read } else { Open::Write }),
        5 => Step::Close(file),
        6 => Step::Rename(path, self::path(random)),
        7 if random.coin() => Step::Remove(path),
        7 => Step::RemoveFolder(path),
        8 | 9 => Step::SyncFolder(path),
        10 => Step::Len(file),
        11 | 12 => Step::Read(file, offset(random), random.index(3000)),
        13..=15 => {
            let byte = 1 + random.below(255);
            let bytes = vec![u8::try_from(byte).expect("a byte"); random.index(2000)];
            Step::Write(file, offset(random), bytes)
        }
        16 | 17 => Step::Sync(file),
        18 => Step::SetLen(file, offset(random)),
        _ => Step::Allocate(file, offset(random), random.below(3000)),
    }
}

/// A disk with its open files.
pub(crate) struct Machine<'d> {
    disk: &'d dyn Disk,
    files: Vec<(&'static str, Box<dyn DiskFile>)>,
}

impl<'d> Machine<'d> {
    pub(crate) fn new(disk: &'d dyn Disk) -> Self {
        Self { disk, files: Vec::new() }
    }

    fn file(&self, number: usize) -> Option<&dyn DiskFile> {
        self.files.get(number).map(|(_, file)| &**file)
    }

    /// Makes the call; none if the file is not open.
    pub(crate) fn run(&mut self, step: &Step) -> Option<Outcome> {
        let done = |result: io::Result<()>| result.map(|()| Outcome::Done);
        let result = match step {
            Step::MakeFolder(path) => done(self.disk.make_folder(path)),
            Step::List(path) => self.disk.list(path).map(Outcome::Names),
            Step::Open(path, how) => {
                let opened = self.disk.open(path, *how, WaitType::WriteLog);
                opened.map(|file| {
                    self.files.truncate(OPEN_MAX - 1);
                    self.files.insert(0, (path, file));
                    Outcome::Done
                })
            }
            Step::Close(file) => {
                self.file(*file)?;
                self.files.remove(*file);
                Ok(Outcome::Done)
            }
            Step::Rename(from, to) => done(self.disk.rename(from, to)),
            Step::Remove(path) => done(self.disk.remove(path)),
            Step::RemoveFolder(path) => done(self.disk.remove_folder(path)),
            Step::SyncFolder(path) => done(self.disk.sync_folder(path)),
            Step::Len(file) => self.file(*file)?.len().map(Outcome::Len),
            Step::Read(file, offset, count) => {
                let mut bytes = vec![0; *count];
                self.file(*file)?.read_at(*offset, &mut bytes).map(|count| {
                    bytes.truncate(count);
                    Outcome::Bytes(bytes)
                })
            }
            Step::Write(file, offset, bytes) => done(self.file(*file)?.write_at(*offset, bytes)),
            Step::Sync(file) => done(self.file(*file)?.sync()),
            Step::SetLen(file, len) => done(self.file(*file)?.set_len(*len)),
            Step::Allocate(file, offset, len) => done(self.file(*file)?.allocate(*offset, *len)),
        };
        Some(result.unwrap_or_else(|error| Outcome::Failed(error.kind())))
    }
}
