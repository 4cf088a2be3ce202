//! `Checkpoints`: the folder of checkpoints. It opens the last one, writes the next one, publishes it
//! and removes files that are not needed any more. docs/checkpoint-format.md, "Publishing".

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use sos::clock;
use sos::sys::{Disk, Open};
use sos::wait::WaitType;

use super::RangeKey;
use super::file::FileWriter;
use super::format::{FileHeader, Kind};
use super::manifest::Manifest;
use super::reader::CheckpointReader;
use crate::bytes::push_varint;
use crate::error::{FormatError, Problem};
use crate::mutant::{Mutant, is_mutant};
use crate::{DatabaseId, Epoch, LogError};

/// Dead bytes that are left alone, as a share of the usual size of a file.
const SLACK_PART: u64 = 64;

/// Where checkpoints are and how large their parts are.
#[derive(Clone, Debug)]
pub struct CheckpointOptions {
    /// The folder, on the disk; it exists.
    pub folder: String,
    /// The database that the checkpoints belong to.
    pub database: DatabaseId,
    /// A new range file begins when one has this many bytes, usually 64 MiB.
    pub file_bytes: u64,
    /// Usual bytes of a block, usually 64 KiB.
    pub block_bytes: usize,
}

/// The folder of checkpoints. One thread uses it.
#[derive(Debug)]
pub struct Checkpoints {
    disk: Arc<dyn Disk>,
    options: CheckpointOptions,
    manifest: Option<Manifest>,
    /// Numbers of the next checkpoint and the next file, also after attempts that failed.
    next_number: u64,
    next_file: u64,
    /// A publication failed in a way that leaves open whether it counts.
    is_suspect: bool,
}

/// Returns the path of a file of a checkpoint.
pub(super) fn path_of(folder: &str, kind: Kind, number: u64) -> String {
    let end = match kind {
        Kind::Ranges => "ranges",
        Kind::Definitions => "definitions",
    };
    format!("{folder}/{number:020}.{end}")
}

fn manifest_path(folder: &str) -> String {
    format!("{folder}/manifest")
}

/// Opens the files of the checkpoint that counts, for readers beside its writer: nothing is changed.
/// A checkpoint that is published at that moment may take files away; the next call finds the new
/// ones.
///
/// # Errors
/// As [`Checkpoints::open`].
pub fn look(
    disk: &dyn Disk,
    options: &CheckpointOptions,
) -> Result<Option<CheckpointReader>, LogError> {
    let manifest = read_manifest(disk, options)?;
    let open = |manifest| CheckpointReader::open(disk, options, manifest);
    manifest.as_ref().map(open).transpose()
}

impl Checkpoints {
    /// Opens the folder. If a checkpoint was published, its manifest is published again before
    /// files that it does not name are removed.
    ///
    /// # Errors
    /// [`LogError::CorruptFile`], [`LogError::FileVersion`], [`LogError::ForeignFile`],
    /// [`LogError::MissingFile`]: the folder is not changed. [`LogError::Io`], [`LogError::Full`].
    pub fn open(disk: Arc<dyn Disk>, options: CheckpointOptions) -> Result<Self, LogError> {
        let manifest = read_manifest(&*disk, &options)?;
        let (next_number, next_file) =
            manifest.as_ref().map_or((1, 1), |manifest| (manifest.number + 1, manifest.next_file));
        let store = Self { disk, options, manifest, next_number, next_file, is_suspect: false };
        if let Some(manifest) = &store.manifest {
            CheckpointReader::open(&*store.disk, &store.options, manifest)?;
            if !is_mutant(Mutant::ManifestNotPublishedAgain) {
                store.write_manifest(manifest)?;
                store.rename_manifest()?;
            }
        }
        store.remove_others(&mut || ())?;
        Ok(store)
    }

    /// Returns the checkpoint that counts; none if none was published.
    #[must_use]
    pub const fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Opens the files of the checkpoint that counts; none if none was published.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn reader(&self) -> Result<Option<CheckpointReader>, LogError> {
        let open = |manifest| CheckpointReader::open(&*self.disk, &self.options, manifest);
        self.manifest.as_ref().map(open).transpose()
    }

    /// Returns the bytes of all files of the checkpoint that counts.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.manifest.as_ref().map_or(0, |manifest| {
            manifest.files.values().sum::<u64>() + manifest.definitions.map_or(0, |d| d.bytes)
        })
    }

    /// Begins the next checkpoint, which has the ranges of the last one until they are written again
    /// or removed. Recovery will replay the log from this segment and epoch on: see
    /// [`crate::CommitBuffers::replay_start`].
    ///
    /// # Errors
    /// [`LogError::Suspect`] after a publication whose outcome is not known.
    pub fn begin(
        &mut self,
        first_segment: u64,
        first_epoch: Epoch,
    ) -> Result<CheckpointWriter<'_>, LogError> {
        if self.is_suspect {
            return Err(LogError::Suspect);
        }
        let number = self.next_number;
        self.next_number += 1;
        let (files, ranges) = self.manifest.as_ref().map_or_else(Default::default, |manifest| {
            (manifest.files.clone(), manifest.ranges.clone())
        });
        let next = Manifest {
            database: self.options.database,
            number,
            first_segment,
            first_epoch,
            utc_100ns: 0,
            definitions: None,
            files,
            counters: BTreeMap::new(),
            ranges,
            next_file: 0,
        };
        Ok(CheckpointWriter {
            store: self,
            next,
            current: None,
            definitions: None,
            paths: Vec::new(),
            is_published: false,
        })
    }

    fn new_file(&mut self, checkpoint: u64, kind: Kind) -> Result<(FileWriter, String), LogError> {
        let number = self.next_file;
        self.next_file += 1;
        let path = path_of(&self.options.folder, kind, number);
        // One that is left from before the process started was removed, but perhaps not for good.
        let header = FileHeader { kind, database: self.options.database, checkpoint, number };
        let block_bytes = self.options.block_bytes;
        let file = FileWriter::create(&self.disk, path.clone(), header, block_bytes)?;
        Ok((file, path))
    }

    /// Writes a manifest and makes its contents durable, under the name of one that does not count.
    fn write_manifest(&self, manifest: &Manifest) -> Result<(), LogError> {
        let path = format!("{}.new", manifest_path(&self.options.folder));
        match self.disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(LogError::Io { path, error });
            }
            Ok(()) | Err(_) => {}
        }
        let written =
            self.disk.open(&path, Open::Create, WaitType::IoCompletion).and_then(|file| {
                file.write_at(0, &manifest.encode())?;
                file.sync()
            });
        written.map_err(LogError::room(&path))
    }

    /// Makes the manifest that was written count.
    fn rename_manifest(&self) -> Result<(), LogError> {
        let folder = &self.options.folder;
        let path = manifest_path(folder);
        self.disk.rename(&format!("{path}.new"), &path).map_err(LogError::io(&path))?;
        self.disk.sync_folder(folder).map_err(LogError::io(folder))
    }

    /// Removes files that the checkpoint that counts does not name. Other names are left alone.
    fn remove_others(&self, rest: &mut impl FnMut()) -> Result<(), LogError> {
        let folder = &self.options.folder;
        let names = self.disk.list(folder).map_err(LogError::io(folder))?;
        for name in names {
            let Some((number, kind)) = parse(&name) else { continue };
            let is_named = self.manifest.as_ref().is_some_and(|manifest| match kind {
                Kind::Ranges => manifest.files.contains_key(&number),
                Kind::Definitions => manifest.definitions.is_some_and(|d| d.number == number),
            });
            if !is_named {
                let path = format!("{folder}/{name}");
                self.disk.remove(&path).map_err(LogError::io(&path))?;
                rest();
            }
        }
        Ok(())
    }
}

/// Returns the number and the kind of a file of a checkpoint.
fn parse(name: &str) -> Option<(u64, Kind)> {
    let (digits, kind) = match name.split_once('.')? {
        (digits, "ranges") => (digits, Kind::Ranges),
        (digits, "definitions") => (digits, Kind::Definitions),
        _ => return None,
    };
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?.map(|number| (number, kind))
}

fn read_manifest(
    disk: &dyn Disk,
    options: &CheckpointOptions,
) -> Result<Option<Manifest>, LogError> {
    let path = manifest_path(&options.folder);
    let file = match disk.open(&path, Open::Read, WaitType::IoCompletion) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LogError::Io { path, error }),
    };
    let len = file.len().map_err(LogError::io(&path))?;
    let mut bytes = vec![0; usize::try_from(len).expect("a manifest is small")];
    let read = file.read_at(0, &mut bytes).map_err(LogError::io(&path))?;
    bytes.truncate(read);
    match Manifest::decode(&bytes) {
        Ok(manifest) if manifest.database != options.database => Err(LogError::ForeignFile(path)),
        Ok(manifest) => Ok(Some(manifest)),
        Err(FormatError { problem: Problem::Version(version), .. }) => {
            Err(LogError::FileVersion { path, version })
        }
        Err(FormatError { offset, problem }) => {
            Err(LogError::CorruptFile { path, offset: offset as u64, problem })
        }
    }
}

/// A checkpoint that is being written. Dropped before [`Self::publish`], it leaves the one before.
#[derive(Debug)]
pub struct CheckpointWriter<'c> {
    store: &'c mut Checkpoints,
    next: Manifest,
    current: Option<FileWriter>,
    definitions: Option<FileWriter>,
    /// The files that this checkpoint has made.
    paths: Vec<String>,
    /// Whether its manifest may count.
    is_published: bool,
}

/// A range that is being written. Dropped before [`Self::end`], it leaves the range as it was.
#[derive(Debug)]
pub struct RangeWriter<'w> {
    key: RangeKey,
    file: &'w mut FileWriter,
    next: &'w mut Manifest,
}

impl RangeWriter<'_> {
    /// Writes a row: its id and its image.
    ///
    /// # Errors
    /// [`LogError::Full`], [`LogError::Io`]: the checkpoint is to be dropped, and may be made again.
    pub fn row(&mut self, id: u64, image: &[u8]) -> Result<(), LogError> {
        self.file.row(|block| {
            push_varint(block, id);
            push_varint(block, image.len() as u64);
            block.extend_from_slice(image);
        })
    }

    /// Gives what was written to the disk. To be called often, where nothing is held that others wait
    /// for: it may wait for the disk.
    ///
    /// # Errors
    /// As [`Self::row`].
    pub fn settle(&mut self) -> Result<(), LogError> {
        self.file.settle()
    }

    /// Ends the range, which now has these rows alone.
    ///
    /// # Errors
    /// As [`Self::row`].
    pub fn end(self) -> Result<(), LogError> {
        match self.file.end()? {
            Some(entry) => {
                self.next.ranges.insert(self.key, entry.place(self.file.number()));
            }
            None => {
                self.next.ranges.remove(&self.key);
            }
        }
        Ok(())
    }
}

impl CheckpointWriter<'_> {
    /// Begins to write a range with the rows that it has now.
    ///
    /// # Errors
    /// [`LogError::Full`], [`LogError::Io`]: the checkpoint is to be dropped, and may be made again.
    pub fn range(&mut self, key: RangeKey) -> Result<RangeWriter<'_>, LogError> {
        self.roll_over()?;
        let Self { current, next, .. } = self;
        let file = current.as_mut().expect("it was made just before");
        file.begin(key);
        Ok(RangeWriter { key, file, next })
    }

    /// Keeps only the ranges of the checkpoint before for which `keep` is true: those of tables that
    /// are there.
    pub fn retain_ranges(&mut self, mut keep: impl FnMut(RangeKey) -> bool) {
        self.next.ranges.retain(|key, _| keep(*key));
    }

    /// Writes a definition. A checkpoint has the definitions that were written to it, and none of
    /// those before.
    ///
    /// # Errors
    /// As [`Self::range`].
    pub fn definition(&mut self, key: &[u8], value: &[u8]) -> Result<(), LogError> {
        if self.definitions.is_none() {
            let (mut file, path) = self.store.new_file(self.next.number, Kind::Definitions)?;
            self.paths.push(path);
            file.begin(RangeKey::default());
            self.definitions = Some(file);
        }
        let file = self.definitions.as_mut().expect("it was made just before");
        file.row(|block| {
            for bytes in [key, value] {
                push_varint(block, bytes.len() as u64);
                block.extend_from_slice(bytes);
            }
        })
    }

    /// Sets a counter. A checkpoint has the counters that were set in it.
    pub fn counter(&mut self, key: u32, value: u64) {
        self.next.counters.insert(key, value);
    }

    /// Makes the checkpoint count, and removes files that it does not need. The log is durable up to
    /// the epoch in which the scan has ended: the caller has waited for that. `rest` is called between
    /// small pieces of work.
    ///
    /// # Errors
    /// [`LogError::Full`], and [`LogError::Io`] before the manifest is renamed: the checkpoint before
    /// counts, and this one may be made again. After a later [`LogError::Io`] the folder is suspect:
    /// [`Checkpoints::begin`] fails from then on.
    pub fn publish(mut self, mut rest: impl FnMut()) -> Result<(), LogError> {
        self.rewrite(&mut rest)?;
        if let Some(file) = self.current.take() {
            self.end_file(file)?;
        }
        if let Some(mut file) = self.definitions.take() {
            file.end()?;
            self.next.definitions = Some(file.finish()?);
        }
        let used: BTreeMap<u64, u64> = live_bytes(&self.next);
        self.next.files.retain(|number, _| used.contains_key(number));
        self.next.next_file = self.store.next_file;
        self.next.utc_100ns = clock::utc_100ns();
        let folder = self.store.options.folder.clone();
        if !is_mutant(Mutant::CheckpointFolderNotSynced) {
            self.store.disk.sync_folder(&folder).map_err(LogError::room(&folder))?;
        }
        self.store.write_manifest(&self.next)?;
        self.is_published = true;
        if is_mutant(Mutant::RemovedBeforePublished) {
            self.store.manifest = Some(self.next.clone());
            self.store.remove_others(&mut rest)?;
        }
        if let Err(error) = self.store.rename_manifest() {
            self.store.is_suspect = true;
            return Err(error);
        }
        self.store.manifest = Some(self.next.clone());
        let removed = self.store.remove_others(&mut rest);
        self.store.is_suspect = removed.is_err();
        removed
    }

    /// Makes sure that there is a file with room for a range.
    fn roll_over(&mut self) -> Result<(), LogError> {
        let file_bytes = self.store.options.file_bytes;
        if let Some(file) = self.current.take_if(|file| file.len() >= file_bytes) {
            self.end_file(file)?;
        }
        if self.current.is_none() {
            let (file, path) = self.store.new_file(self.next.number, Kind::Ranges)?;
            self.paths.push(path);
            self.current = Some(file);
        }
        Ok(())
    }

    fn end_file(&mut self, file: FileWriter) -> Result<(), LogError> {
        let entry = file.finish()?;
        self.next.files.insert(entry.number, entry.bytes);
        Ok(())
    }

    /// Copies what is live in files with few live bytes, until all files take at most twice the live
    /// bytes.
    fn rewrite(&mut self, rest: &mut impl FnMut()) -> Result<(), LogError> {
        let slack = self.store.options.file_bytes / SLACK_PART;
        let mut reader = None;
        while let Some(file) = self.next_to_rewrite(slack) {
            if reader.is_none() {
                reader = self.store.reader()?;
            }
            let reader = reader.as_ref().expect("an older file has a manifest");
            self.copy_file(reader, file, rest)?;
        }
        Ok(())
    }

    /// Returns the older file with the least share of live bytes, if the files take too much.
    fn next_to_rewrite(&self, slack: u64) -> Option<u64> {
        let live = live_bytes(&self.next);
        let current = self.current.as_ref().map_or(0, FileWriter::len);
        let total: u64 = current + live.keys().filter_map(|n| self.next.files.get(n)).sum::<u64>();
        if total <= 2 * live.values().sum::<u64>() + slack {
            return None;
        }
        let older = self.store.manifest.as_ref()?;
        let older = live.iter().filter_map(|(n, live)| Some((*n, *live, *older.files.get(n)?)));
        let share = |(_, live, bytes): &(u64, u64, u64)| live.saturating_mul(1 << 20) / bytes;
        older.min_by_key(share).map(|(number, _, _)| number)
    }

    fn copy_file(
        &mut self,
        reader: &CheckpointReader,
        number: u64,
        rest: &mut impl FnMut(),
    ) -> Result<(), LogError> {
        let ranges = self.next.ranges.iter().filter(|(_, place)| place.file == number);
        let ranges: Vec<_> = ranges.map(|(key, place)| (*key, *place)).collect();
        let mut buffer = Vec::new();
        for (key, place) in ranges {
            reader.read_blocks(key, &place, &mut buffer)?;
            self.roll_over()?;
            let file = self.current.as_mut().expect("it was made just before");
            let entry = file.copy(key, place.rows, &buffer)?;
            self.next.ranges.insert(key, entry.place(file.number()));
            rest();
        }
        Ok(())
    }
}

impl Drop for CheckpointWriter<'_> {
    fn drop(&mut self) {
        if self.is_published {
            return;
        }
        // They take room. A file that stays is removed by the next checkpoint.
        (self.current, self.definitions) = (None, None);
        for path in &self.paths {
            drop(self.store.disk.remove(path));
        }
    }
}

/// Returns the live bytes of each file that has any.
fn live_bytes(manifest: &Manifest) -> BTreeMap<u64, u64> {
    let mut live = BTreeMap::new();
    for place in manifest.ranges.values() {
        *live.entry(place.file).or_default() += place.bytes;
    }
    live
}
