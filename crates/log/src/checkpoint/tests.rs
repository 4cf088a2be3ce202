//! Checkpoints on a simulated disk: what was published comes back, also after a power loss in any
//! step and after failing calls; damage is refused with file and offset; old files go.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use simdisk::{Call, Fault, Random, SimDisk};
use sos::sync::Arc;
use sos::sys::Disk;

use super::{CheckpointOptions, Checkpoints, RangeKey};
use crate::mutant::{MUTANT, Mutant};
use crate::{DatabaseId, Epoch, LogError};

const DATABASE: DatabaseId = DatabaseId(*b"checkpoint tests");
const FILE_BYTES: u64 = 8000;
const SEEDS: u64 = 500;
const MUTANT_SEEDS: u64 = 200;

/// What a checkpoint has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contents {
    ranges: BTreeMap<RangeKey, BTreeMap<u64, Vec<u8>>>,
    definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    counters: BTreeMap<u32, u64>,
    start: (u64, u64),
}

fn options() -> CheckpointOptions {
    let folder = "checkpoint".to_owned();
    CheckpointOptions { folder, database: DATABASE, file_bytes: FILE_BYTES, block_bytes: 500 }
}

fn disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.make_folder("checkpoint").unwrap();
    disk.sync_folder("").unwrap();
    disk
}

fn open(disk: &SimDisk) -> Result<Checkpoints, LogError> {
    Checkpoints::open(Arc::new(disk.clone()), options())
}

/// Reads all that a checkpoint has; the numbers of rows must be those of the manifest.
fn read(store: &Checkpoints) -> Result<Contents, LogError> {
    let Some(reader) = store.reader()? else { return Ok(Contents::default()) };
    let (mut buffer, mut contents) = (Vec::new(), Contents::default());
    for (key, place) in reader.ranges() {
        let rows = reader.range(*key, &mut buffer)?;
        let rows: BTreeMap<_, _> = rows.map(|(id, image)| (id, image.to_vec())).collect();
        assert_eq!(rows.len() as u64, place.rows);
        contents.ranges.insert(*key, rows);
    }
    let pairs = reader.definitions(&mut buffer)?;
    contents.definitions = pairs.map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    let manifest = store.manifest().expect("there is a reader");
    contents.counters.clone_from(&manifest.counters);
    contents.start = (manifest.first_segment, manifest.first_epoch.0);
    Ok(contents)
}

fn image(random: &mut Random) -> Vec<u8> {
    let bytes = match random.below(20) {
        0 => random.index(3000),
        _ => random.index(60),
    };
    (0..bytes).map(|_| u8::try_from(random.below(256)).unwrap()).collect()
}

/// Changes some ranges, and definitions; returns the ranges that have changed.
fn change(contents: &mut Contents, random: &mut Random) -> BTreeSet<RangeKey> {
    let mut dirty = BTreeSet::new();
    for _ in 0..random.below(8) {
        let table = u32::try_from(random.below(3)).unwrap();
        let part = u8::try_from(random.below(2)).unwrap();
        let key = RangeKey { table, part, range: random.below(6) };
        let rows = contents.ranges.entry(key).or_default();
        match random.below(4) {
            0 => rows.clear(),
            _ => {
                for _ in 0..random.below(30) {
                    rows.insert(random.below(1 << 40), image(random));
                }
            }
        }
        dirty.insert(key);
    }
    if random.below(6) == 0 {
        let dropped = u32::try_from(random.below(3)).unwrap();
        contents.ranges.retain(|key, _| key.table != dropped);
        dirty.retain(|key| key.table != dropped);
    }
    contents.definitions.insert(image(random), image(random));
    if random.below(3) == 0 {
        contents.definitions.pop_first();
    }
    contents.counters.insert(7, random.next());
    contents.start = (random.next(), random.next());
    dirty
}

/// Writes what has changed and publishes it.
fn publish(
    store: &mut Checkpoints,
    contents: &Contents,
    dirty: &BTreeSet<RangeKey>,
) -> Result<(), LogError> {
    let mut writer = store.begin(contents.start.0, Epoch(contents.start.1))?;
    writer.retain_ranges(|key| contents.ranges.contains_key(&key));
    for key in dirty {
        let mut range = writer.range(*key)?;
        for (id, image) in &contents.ranges[key] {
            range.row(*id, image)?;
        }
        range.end()?;
    }
    for (key, value) in &contents.definitions {
        writer.definition(key, value)?;
    }
    contents.counters.iter().for_each(|(key, value)| writer.counter(*key, *value));
    writer.publish(|| ())
}

/// A checkpoint lists no range without rows.
fn without_empty(contents: &Contents) -> Contents {
    let mut contents = contents.clone();
    contents.ranges.retain(|_, rows| !rows.is_empty());
    contents
}

#[test]
fn checkpoints_come_back_and_take_at_most_twice_their_bytes() {
    let disk = disk(1);
    let mut random = Random::new(1);
    let mut contents = Contents::default();
    let mut store = open(&disk).unwrap();
    assert!(store.manifest().is_none() && store.reader().unwrap().is_none());
    for round in 0..200 {
        let dirty = change(&mut contents, &mut random);
        publish(&mut store, &contents, &dirty).unwrap();
        if random.coin() {
            store = open(&disk).unwrap();
        }
        assert_eq!(read(&store).unwrap(), without_empty(&contents), "round {round}");
        let manifest = store.manifest().unwrap();
        assert_eq!(manifest.number, round + 1);
        let files: u64 = manifest.files.values().sum();
        // Header, trailer and index of the files that were written last are not counted before.
        let ends = 40 * manifest.ranges.len() as u64 + 256 * (files / FILE_BYTES + 2);
        let bound = 2 * manifest.live_bytes() + FILE_BYTES / 64 + ends;
        assert!(files <= bound, "{files} of {bound}");
        let on_disk: usize = disk.files().values().flatten().map(Vec::len).sum();
        assert_eq!(on_disk as u64, store.disk_bytes() + manifest.encode().len() as u64);
    }
}

#[test]
fn ranges_that_have_not_changed_are_not_written_again() {
    let disk = disk(1);
    let mut store = open(&disk).unwrap();
    let mut contents = Contents::default();
    for range in 0..50 {
        let key = RangeKey { table: 1, part: 0, range };
        contents.ranges.insert(key, BTreeMap::from([(range, vec![1; 1000])]));
    }
    publish(&mut store, &contents, &contents.ranges.keys().copied().collect()).unwrap();
    let before = store.manifest().unwrap().clone();
    assert!(before.files.len() > 5, "several files: {:?}", before.files);
    let dirty = RangeKey { table: 1, part: 0, range: 7 };
    contents.ranges.insert(dirty, BTreeMap::from([(3, vec![2; 10])]));
    publish(&mut store, &contents, &BTreeSet::from([dirty])).unwrap();
    let manifest = store.manifest().unwrap();
    let moved = manifest.ranges.iter().filter(|(key, place)| before.ranges[key] != **place);
    assert_eq!(moved.map(|(key, _)| *key).collect::<Vec<_>>(), [dirty]);
    assert_eq!(read(&store).unwrap(), contents);
}

#[test]
fn range_that_is_dropped_before_its_end_stays_as_it_was() {
    let disk = disk(1);
    let mut store = open(&disk).unwrap();
    let key = RangeKey { table: 1, part: 2, range: 3 };
    let contents = Contents {
        ranges: BTreeMap::from([(key, BTreeMap::from([(1, vec![1; 600])]))]),
        ..Contents::default()
    };
    publish(&mut store, &contents, &BTreeSet::from([key])).unwrap();
    let mut writer = store.begin(0, Epoch(0)).unwrap();
    let mut range = writer.range(key).unwrap();
    (0..5).for_each(|id| range.row(id, &[9; 400]).unwrap());
    let _ = range;
    let mut other = writer.range(RangeKey { table: 2, ..key }).unwrap();
    other.row(1, b"x").unwrap();
    other.end().unwrap();
    writer.publish(|| ()).unwrap();
    let found = read(&store).unwrap().ranges;
    assert_eq!(found[&key], contents.ranges[&key]);
    assert_eq!(found.len(), 2);
    drop(store.begin(0, Epoch(0)).unwrap());
    assert_eq!(read(&open(&disk).unwrap()).unwrap().ranges, found);
}

/// The power fails in each step of a checkpoint: the one before counts, or this one as a whole.
#[test]
fn power_loss_in_any_step_keeps_a_whole_checkpoint() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..10 {
        for step in 1.. {
            let (disk, mut random) = (disk(seed * 1000 + step), Random::new(seed));
            let mut store = open(&disk).unwrap();
            let mut contents = Contents::default();
            for _ in 0..3 {
                let dirty = change(&mut contents, &mut random);
                publish(&mut store, &contents, &dirty).unwrap();
            }
            let before = without_empty(&contents);
            let dirty = change(&mut contents, &mut random);
            let after = without_empty(&contents);
            disk.crash_at(step);
            let published = publish(&mut store, &contents, &dirty);
            let is_over = !disk.is_down();
            disk.crash();
            disk.restart();
            let found = read(&open(&disk).unwrap()).unwrap();
            assert!(found == after || (published.is_err() && found == before), "{seed} {step}");
            outcomes.insert((published.is_ok(), found == after));
            if is_over {
                break;
            }
        }
    }
    let all = [(false, false), (false, true), (true, true)];
    assert_eq!(outcomes, BTreeSet::from(all), "each outcome was seen");
}

/// Runs one seed: some lives, each ended by a power loss, a kill or a failing call.
fn run(seed: u64) {
    let (disk, mut random) = (disk(seed), Random::new(seed));
    let mut contents = Contents::default();
    // What may be found: the last that was published, and those that may have been.
    let mut possible = vec![Contents::default()];
    for _ in 0..5 {
        match random.below(8) {
            0 => disk.fail(Fault::new(Call::Sync).after(random.below(20))),
            1 | 2 => disk.fail(Fault::new(Call::SyncFolder).after(random.below(8))),
            3 => disk.fail(Fault::new(Call::Write).after(random.below(40))),
            4 => disk.fail(Fault::new(Call::Rename).after(random.below(8))),
            5 => disk.fail(Fault::new(Call::Remove).after(random.below(12))),
            _ => disk.crash_at(random.below(80) + 1),
        }
        live(&disk, &mut random, &mut contents, &mut possible);
        if !disk.is_down() {
            if random.coin() { disk.kill() } else { disk.crash() }
        }
        disk.restart();
        // A kill may be followed by a power loss after the next start.
        if random.coin() {
            drop(open(&disk).unwrap());
            disk.crash();
            disk.restart();
        }
        let found = read(&open(&disk).unwrap()).unwrap();
        assert!(possible.contains(&found), "seed {seed}: {found:?} of {possible:?}");
        contents = found.clone();
        possible = vec![found];
    }
}

fn live(
    disk: &SimDisk,
    random: &mut Random,
    contents: &mut Contents,
    possible: &mut Vec<Contents>,
) {
    let Ok(mut store) = open(disk) else { return };
    // What an attempt that failed has not made durable is written by the next one.
    let mut dirty = BTreeSet::new();
    for _ in 0..random.below(8) {
        dirty.extend(change(contents, random));
        dirty.retain(|key| contents.ranges.contains_key(key));
        match publish(&mut store, contents, &dirty) {
            Ok(()) => {
                *possible = vec![without_empty(contents)];
                dirty.clear();
            }
            Err(LogError::Suspect) => return,
            Err(_) => possible.push(without_empty(contents)),
        }
    }
}

#[test]
fn crash_keeps_the_last_checkpoint_that_was_published() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    for seed in 0..number("CRASH_SEEDS").unwrap_or(SEEDS) {
        let result = catch_unwind(AssertUnwindSafe(|| run(seed)));
        assert!(result.is_ok(), "seed {seed}: see above");
    }
}

#[test]
fn crash_test_of_checkpoints_catches_planted_bugs() {
    let planted = [
        Mutant::CheckpointFilesNotSynced,
        Mutant::CheckpointFolderNotSynced,
        Mutant::RemovedBeforePublished,
        Mutant::ManifestNotPublishedAgain,
    ];
    for mutant in planted {
        MUTANT.set(Some(mutant));
        let caught = (0..MUTANT_SEEDS).find(|seed| catch_unwind(|| run(*seed)).is_err());
        MUTANT.set(None);
        assert!(caught.is_some(), "{MUTANT_SEEDS} seeds let {mutant:?} pass");
        println!("{mutant:?}: caught by seed {caught:?}");
    }
}

/// A disk with one small checkpoint of all parts.
fn small() -> SimDisk {
    let disk = disk(3);
    let mut store = open(&disk).unwrap();
    let mut contents = Contents { start: (5, 6), ..Contents::default() };
    for range in 0..3 {
        let key = RangeKey { table: 1, part: 1, range };
        contents.ranges.insert(key, (0..4).map(|id| (id, vec![3; 200])).collect());
    }
    contents.definitions.insert(b"key".to_vec(), b"value".to_vec());
    contents.counters.insert(1, 2);
    publish(&mut store, &contents, &contents.ranges.keys().copied().collect()).unwrap();
    disk
}

#[test]
fn every_changed_byte_is_refused_with_its_file() {
    let disk = small();
    let good = disk.files();
    for (path, bytes) in good.iter().filter_map(|(path, bytes)| Some((path, bytes.as_ref()?))) {
        for at in 0..bytes.len() {
            disk.flip_bit(path, at, 3).unwrap();
            let error = open(&disk).and_then(|store| read(&store)).unwrap_err();
            match error {
                LogError::CorruptFile { path: of, offset, .. } => {
                    // The CRC that does not fit may be at the end of its header.
                    assert!(
                        of == *path && offset <= at as u64 + 124,
                        "{at} of {path}: {of} {offset}"
                    );
                }
                LogError::FileVersion { path: of, .. } => {
                    assert!(of == *path && (8..12).contains(&at))
                }
                error => panic!("{at} of {path}: {error}"),
            }
            disk.flip_bit(path, at, 3).unwrap();
        }
    }
    assert_eq!(disk.files(), good, "nothing was changed by reading");
    assert!(open(&disk).and_then(|store| read(&store)).is_ok());
}

#[test]
fn cut_missing_and_foreign_files_are_refused_by_name() {
    let paths: Vec<_> = small().files().into_keys().filter(|path| path.contains('/')).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    for path in &paths {
        let disk = small();
        let file = disk.open(path, sos::sys::Open::Write, sos::wait::WaitType::IoCompletion);
        file.unwrap().set_len(100).unwrap();
        let error = open(&disk).unwrap_err();
        let text = format!("{path} is damaged at offset 100: the bytes end too early");
        assert_eq!(error.to_string(), text);
        if !path.ends_with("manifest") {
            disk.remove(path).unwrap();
            let error = open(&disk).unwrap_err();
            assert_eq!(error.to_string(), format!("{path} is missing"));
        }
    }
    let disk = Arc::new(small());
    let error =
        Checkpoints::open(disk, CheckpointOptions { database: DatabaseId([9; 16]), ..options() });
    let text = "checkpoint/manifest belongs to another database";
    assert_eq!(error.unwrap_err().to_string(), text);
}

#[test]
fn newer_version_is_refused_by_name_and_nothing_is_changed() {
    let disk = small();
    let file =
        disk.open("checkpoint/manifest", sos::sys::Open::Write, sos::wait::WaitType::IoCompletion);
    file.unwrap().write_at(8, &2_u32.to_le_bytes()).unwrap();
    let before = disk.files();
    let text = "checkpoint/manifest: it has checkpoint format version 2; \
                this version of Clearway reads up to 1";
    assert_eq!(open(&disk).unwrap_err().to_string(), text);
    assert_eq!(disk.files(), before);
}

#[test]
fn checkpoint_without_room_leaves_the_one_before() {
    let disk = small();
    let mut store = open(&disk).unwrap();
    let before = read(&store).unwrap();
    let mut contents = before.clone();
    let key = RangeKey { table: 9, part: 0, range: 0 };
    contents.ranges.insert(key, (0..100).map(|id| (id, vec![1; 1000])).collect());
    let dirty = BTreeSet::from([key]);
    for blocks in 0..30 {
        let taken = disk.room_taken();
        disk.set_room(Some(taken + blocks * 4096));
        match publish(&mut store, &contents, &dirty) {
            Ok(()) => {
                assert_eq!(read(&store).unwrap(), contents);
                return;
            }
            Err(LogError::Full { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(disk.room_taken() <= taken + 4096, "what was written is gone");
        assert_eq!(read(&store).unwrap(), before);
    }
    panic!("thirty blocks are enough");
}
