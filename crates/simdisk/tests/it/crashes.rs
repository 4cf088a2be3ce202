//! Random programs that a power loss ends: what is left is checked against a plain model.
//!
//! The model keeps every version of a file since its last sync, and every file that had a name since
//! the last sync of the name's folder. Each byte that is written belongs to one write alone, so a
//! byte that was never written there, or belongs to another file, is found.

use std::collections::BTreeMap;

use simdisk::{Random, SimDisk};
use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;

const PROGRAMS: u64 = 2000;
/// No two writes of a program write the same byte value, so a program has at most 255.
const STEPS: u8 = 60;
const FOLDERS: [&str; 2] = ["f", "g"];
const NAMES: [&str; 3] = ["a", "b", "c"];

type FileId = usize;

struct File {
    handle: Box<dyn DiskFile>,
    /// What it had at its last sync, and after each change since; the last is the present one.
    versions: Vec<Vec<u8>>,
    /// The power failed in a write, so that its length may be between two versions.
    is_cut: bool,
}

struct Model {
    disk: SimDisk,
    files: Vec<File>,
    /// For each name, what it meant at the last sync of its folder and after each change since.
    names: BTreeMap<String, Vec<Option<FileId>>>,
}

fn names_in(folder: &str) -> Vec<String> {
    NAMES.iter().map(|name| format!("{folder}/{name}")).collect()
}

impl Model {
    fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let mut names = BTreeMap::new();
        for folder in FOLDERS {
            disk.make_folder(folder).expect("the disk is empty");
            names.extend(names_in(folder).into_iter().map(|name| (name, vec![None])));
        }
        disk.sync_folder("").expect("there is no fault");
        Self { disk, files: Vec::new(), names }
    }

    fn present(&self, name: &str) -> Option<FileId> {
        *self.names[name].last().expect("a name has a first state")
    }

    /// Notes what a name means now, or may mean if the call was cut off.
    fn set(&mut self, name: &str, file: Option<FileId>) {
        self.names.get_mut(name).expect("names are fixed").push(file);
    }

    fn change(&mut self, id: FileId, is_done: bool, change: impl Fn(&mut Vec<u8>)) {
        let file = &mut self.files[id];
        let mut version = file.versions.last().expect("a file has a first version").clone();
        change(&mut version);
        file.versions.push(version);
        file.is_cut |= !is_done;
    }

    fn create(&mut self, name: &str) {
        if self.present(name).is_some() {
            return;
        }
        let opened = self.disk.open(name, Open::Create, WaitType::WriteLog);
        let id = self.files.len();
        self.set(name, Some(id));
        // If the call was cut off, the file may be there, empty.
        let other = || SimDisk::new(0).open("x", Open::Create, WaitType::WriteLog);
        let handle = opened.or_else(|_| other()).expect("an empty disk has a free name");
        self.files.push(File { handle, versions: vec![Vec::new()], is_cut: false });
    }

    fn step(&mut self, byte: u8, random: &mut Random) {
        let names: Vec<_> = FOLDERS.iter().flat_map(|folder| names_in(folder)).collect();
        let name = &names[random.index(names.len())];
        let id = random.index(self.files.len().max(1));
        let kind = random.below(12);
        if self.files.is_empty() || kind < 2 {
            self.create(name);
            return;
        }
        match kind {
            2 => {
                let to = &names[random.index(names.len())];
                if let (Some(file), true) = (self.present(name), name != to) {
                    drop(self.disk.rename(name, to));
                    self.set(to, Some(file));
                    self.set(name, None);
                }
            }
            3 => {
                if self.present(name).is_some() {
                    drop(self.disk.remove(name));
                    self.set(name, None);
                }
            }
            4 | 5 => {
                let folder = FOLDERS[random.index(2)];
                if self.disk.sync_folder(folder).is_ok() {
                    for name in names_in(folder) {
                        let present = self.present(&name);
                        self.names.insert(name, vec![present]);
                    }
                }
            }
            6 | 7 => {
                if self.files[id].handle.sync().is_ok() {
                    let versions = &mut self.files[id].versions;
                    versions.drain(..versions.len() - 1);
                }
            }
            8 => {
                let len = random.below(4000);
                let is_done = self.files[id].handle.set_len(len).is_ok();
                let len = usize::try_from(len).expect("small");
                self.change(id, is_done, |version| version.resize(len, 0));
            }
            _ => {
                let (offset, count) = (random.below(3000), random.index(1500));
                let bytes = vec![byte; count];
                let is_done = self.files[id].handle.write_at(offset, &bytes).is_ok();
                let offset = usize::try_from(offset).expect("small");
                self.change(id, is_done, |version| {
                    if count > 0 {
                        version.resize(version.len().max(offset + count), 0);
                        version[offset..offset + count].fill(byte);
                    }
                });
            }
        }
    }

    /// Returns why a file cannot have these bytes after a power loss.
    fn objection(&self, id: FileId, bytes: &[u8]) -> Option<String> {
        let File { versions, is_cut, .. } = &self.files[id];
        let lens: Vec<_> = versions.iter().map(Vec::len).collect();
        let (least, most) = (lens.iter().min()?, lens.iter().max()?);
        let fits = if *is_cut {
            (least..=most).contains(&&bytes.len())
        } else {
            lens.contains(&bytes.len())
        };
        if !fits {
            return Some(format!("length {} of {lens:?}", bytes.len()));
        }
        let strange = bytes.iter().enumerate().find(|(at, byte)| {
            // A byte that a version does not have is a zero there.
            versions.iter().all(|version| version.get(*at).copied().unwrap_or(0) != **byte)
        });
        strange.map(|(at, byte)| format!("byte {byte} at {at}"))
    }

    fn check(&self, seed: u64) {
        let found = self.disk.files();
        for (name, meanings) in &self.names {
            let objections: Vec<_> = match found.get(name) {
                None if meanings.contains(&None) => continue,
                None => vec!["its name is gone".to_owned()],
                Some(bytes) => {
                    let bytes = bytes.as_ref().expect("no program makes folders");
                    let ids = meanings.iter().flatten();
                    let objections: Option<Vec<_>> =
                        ids.map(|id| self.objection(*id, bytes)).collect();
                    // It may be one of the files that had the name.
                    let Some(objections) = objections else { continue };
                    objections
                }
            };
            let trace = self.disk.trace().join("\n");
            panic!("seed {seed}: '{name}' of {meanings:?}: {objections:?}\n{trace}");
        }
    }
}

#[test]
fn what_was_synced_is_there_and_what_was_never_written_is_not() {
    let mut cut = 0;
    for seed in 0..PROGRAMS {
        let mut random = Random::new(seed);
        let mut model = Model::new(seed);
        model.disk.crash_at(1 + random.below(u64::from(STEPS)));
        for byte in 1..=STEPS {
            model.step(byte, &mut random);
            if model.disk.is_down() {
                cut += 1;
                break;
            }
        }
        if !model.disk.is_down() {
            model.disk.crash();
        }
        model.disk.restart();
        model.check(seed);
    }
    assert!(cut > PROGRAMS / 2 && cut < PROGRAMS, "{cut} programs were cut off in a call");
}
