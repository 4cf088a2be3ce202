//! Segments on the disk of the system: what was appended is read, a torn tail is cut, damage is
//! refused with segment and offset, and salvage reports what it leaves out.

use std::path::PathBuf;

use log::{
    BLOCK_BYTES, DatabaseId, End, Epoch, LogError, LogOptions, LogReader, Mode, Nesting, Problem,
    Record, Records, Row, SegmentHeader, SegmentWriter, Skipped, Tail, Transaction, probe_sync,
};
use sos::sync::Arc;
use sos::sys::{Disk, Open, OsDisk, SyncMethod};
use sos::wait::WaitType;

pub(crate) const DATABASE: DatabaseId = DatabaseId(*b"0123456789abcdef");
const BLOCK: u64 = BLOCK_BYTES as u64;

/// A new folder with a folder `log`, removed at the end of its test.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("log-{test}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("log")).unwrap();
        Self(folder)
    }

    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(OsDisk::open(self.0.to_str().unwrap()).unwrap())
    }

    fn segments(&self) -> Vec<String> {
        self.disk().list("log").unwrap()
    }

    fn create(&self) -> SegmentWriter {
        SegmentWriter::create(self.disk(), options()).unwrap()
    }

    fn resume(&self, end: &End) -> SegmentWriter {
        SegmentWriter::resume(self.disk(), options(), end).unwrap()
    }

    fn reader(&self, mode: Mode) -> LogReader {
        LogReader::open(self.disk(), "log", DATABASE, None, mode).unwrap()
    }

    /// Overwrites a part of a segment.
    fn write(&self, segment: u64, offset: u64, bytes: &[u8]) {
        let path = format!("log/{segment:020}.log");
        let file = self.disk().open(&path, Open::Write, WaitType::IoCompletion).unwrap();
        file.write_at(offset, bytes).unwrap();
    }

    fn read(&self, segment: u64, offset: u64, bytes: usize) -> Vec<u8> {
        let path = format!("log/{segment:020}.log");
        let file = self.disk().open(&path, Open::Read, WaitType::IoCompletion).unwrap();
        let mut into = vec![0; bytes];
        assert_eq!(file.read_at(offset, &mut into).unwrap(), bytes);
        into
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Segments of eight blocks, so seven batches; batches of two blocks.
pub(crate) fn options() -> LogOptions {
    let (folder, segment_bytes) = ("log".to_owned(), 8 * BLOCK);
    let sync = SyncMethod::Fdatasync;
    LogOptions { folder, database: DATABASE, segment_bytes, batch_bytes: 8000, sync }
}

/// Makes a transaction that deletes `rows` rows; its timestamp is a number to know it by.
fn transaction(number: u64, rows: u64) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut transaction = Transaction::begin(&mut buffer, number, 0);
    (0..rows).for_each(|row| transaction.delete(1, Row::Id(row)));
    transaction.end();
    buffer
}

/// Appends groups of one transaction each, with these numbers.
fn append(writer: &mut SegmentWriter, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        append_rows(writer, number, 1);
    }
}

fn append_rows(writer: &mut SegmentWriter, number: u64, rows: u64) {
    let epochs = (Epoch(number), Epoch(number));
    writer.append_group(epochs, number, &[&transaction(number, rows)]).unwrap();
}

/// Reads to the end; returns the numbers of the complete transactions.
fn read(reader: &mut LogReader) -> Result<(Vec<u64>, End), LogError> {
    let (mut numbers, mut nesting, mut open) = (Vec::new(), Nesting::default(), None);
    while let Some(batch) = reader.next_batch()? {
        assert!(batch.header.group < batch.header.number || nesting.is_outside());
        let mut records = Records::new(batch.payload, nesting);
        for record in records.by_ref() {
            match record.unwrap() {
                Record::Begin { timestamp, .. } => open = Some(timestamp),
                Record::End => numbers.extend(open.take()),
                _ => assert!(open.is_some()),
            }
        }
        nesting = records.nesting();
        assert!(!batch.header.is_last || nesting.is_outside());
    }
    Ok((numbers, *reader.end().unwrap()))
}

fn read_strictly(folder: &Temporary) -> Result<(Vec<u64>, End), LogError> {
    read(&mut folder.reader(Mode::Strict))
}

fn all(numbers: std::ops::RangeInclusive<u64>) -> Vec<u64> {
    numbers.collect()
}

#[test]
fn groups_come_back_over_several_segments_and_starts() {
    let folder = Temporary::new("come-back");
    append(&mut folder.create(), 1..=20);
    let (numbers, end) = read_strictly(&folder).unwrap();
    assert_eq!(numbers, all(1..=20));
    assert_eq!((end.segment.number, end.offset), (3, 7 * BLOCK), "the third has six batches");
    assert_eq!((end.next_batch, end.tail), (21, Tail::Clean));
    append(&mut folder.resume(&end), 21..=40);
    assert_eq!(read_strictly(&folder).unwrap().0, all(1..=40));
    let mut reader =
        LogReader::open(folder.disk(), "log", DATABASE, Some(4), Mode::Strict).unwrap();
    assert_eq!(read(&mut reader).unwrap().0, all(22..=40));
}

#[test]
fn large_transaction_is_one_group_of_several_batches() {
    let folder = Temporary::new("large");
    let mut writer = folder.create();
    append(&mut writer, [1]);
    // Some 50,000 bytes: more than a segment.
    append_rows(&mut writer, 2, 10_000);
    append(&mut writer, [3]);
    let (numbers, end) = read_strictly(&folder).unwrap();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(end.next_batch > 8 && end.segment.number > 1);
    // Without its last batch the group is torn, and what was before it stays.
    let first_of_last = end.segment.number;
    let disk = folder.disk();
    for number in 2..=first_of_last {
        disk.remove(&format!("log/{number:020}.log")).unwrap();
    }
    let (numbers, end) = read_strictly(&folder).unwrap();
    assert_eq!((numbers, end.next_batch, end.tail), (vec![1], 2, Tail::Torn));
    append(&mut folder.resume(&end), 4..=5);
    assert_eq!(read_strictly(&folder).unwrap().0, [1, 4, 5]);
}

#[test]
fn segment_behind_a_torn_group_is_removed_before_writing() {
    let folder = Temporary::new("torn-segment");
    let mut writer = folder.create();
    append(&mut writer, [1]);
    append_rows(&mut writer, 2, 10_000);
    let (_, end) = read_strictly(&folder).unwrap();
    // The last batch of the group in the last segment.
    folder.write(end.segment.number, end.offset - 2 * BLOCK, &[0; 2 * BLOCK_BYTES]);
    let (numbers, end) = read_strictly(&folder).unwrap();
    assert_eq!((numbers, end.segment.number, end.tail), (vec![1], 1, Tail::Torn));
    let mut writer = folder.resume(&end);
    assert_eq!(folder.segments().len(), 1);
    append(&mut writer, 2..=30);
    assert_eq!(read_strictly(&folder).unwrap().0, all(1..=30));
}

#[test]
fn long_record_gets_a_segment_of_its_size() {
    let folder = Temporary::new("long-record");
    let mut writer = folder.create();
    let mut buffer = Vec::new();
    let mut transaction = Transaction::begin(&mut buffer, 1, 0);
    transaction.definition(1, &[7; 100_000]);
    transaction.end();
    writer.append_group((Epoch(1), Epoch(1)), 0, &[&buffer]).unwrap();
    append(&mut writer, 2..=9);
    assert_eq!(read_strictly(&folder).unwrap().0, all(1..=9));
}

#[test]
fn torn_tail_is_cut() {
    for torn_at in [0, 90, 100] {
        let folder = Temporary::new(&format!("torn-{torn_at}"));
        append(&mut folder.create(), 1..=10);
        // Batch 10 is the third of segment 2.
        let byte = folder.read(2, 3 * BLOCK + torn_at, 1)[0];
        folder.write(2, 3 * BLOCK + torn_at, &[!byte]);
        let (numbers, end) = read_strictly(&folder).unwrap();
        assert_eq!((numbers, end.next_batch, end.offset), (all(1..=9), 10, 3 * BLOCK));
        let tail = if torn_at == 0 { Tail::Clean } else { Tail::Torn };
        assert_eq!(end.tail, tail);
        append(&mut folder.resume(&end), 10..=15);
        assert_eq!(read_strictly(&folder).unwrap().0, all(1..=15));
    }
}

#[test]
fn damage_before_a_good_batch_is_refused() {
    // Within a segment, and in the last batch of a segment that is not the last.
    for (segment, offset, first_lost, next) in [(1, 3 * BLOCK, 3, 4), (1, 7 * BLOCK, 7, 8)] {
        let folder = Temporary::new(&format!("damage-{first_lost}"));
        append(&mut folder.create(), 1..=10);
        folder.write(segment, offset + 100, &[0xff; 3]);
        let error = read_strictly(&folder).unwrap_err();
        assert!(
            matches!(error, LogError::Corrupt { segment: s, offset: o, .. }
            if s == segment && o == offset),
            "{error}"
        );
        let text = format!(
            "log segment 1 is damaged at offset {offset}: the checksum of the payload is wrong"
        );
        assert_eq!(error.to_string(), text);

        let mut reader = folder.reader(Mode::Salvage);
        let (numbers, _) = read(&mut reader).unwrap();
        assert_eq!(numbers, (1..=10).filter(|n| *n != first_lost).collect::<Vec<_>>());
        let to = if next == 8 { (2, BLOCK) } else { (1, offset + BLOCK) };
        let problem = Problem::PayloadChecksum;
        let (from, batches) = ((segment, offset), (first_lost, next));
        assert_eq!(reader.skipped(), [Skipped { from, to, batches, problem }]);
    }
}

#[test]
fn salvage_leaves_out_groups_that_are_not_complete() {
    let folder = Temporary::new("salvage-group");
    let mut writer = folder.create();
    append(&mut writer, [1]);
    append_rows(&mut writer, 2, 10_000);
    append(&mut writer, 3..=4);
    // The second batch of the group of transaction 2.
    folder.write(1, 4 * BLOCK + 100, &[0xff; 3]);
    assert!(read_strictly(&folder).is_err());
    let mut reader = folder.reader(Mode::Salvage);
    let (numbers, end) = read(&mut reader).unwrap();
    assert_eq!(numbers, [1, 3, 4]);
    let [skipped] = reader.skipped() else { panic!("{:?}", reader.skipped()) };
    assert_eq!(skipped.batches, (2, end.next_batch - 2));
    assert_eq!(skipped.from, (1, 2 * BLOCK));
}

#[test]
fn recycled_segments_are_used_again() {
    let folder = Temporary::new("recycle");
    let mut writer = folder.create();
    append(&mut writer, 1..=20);
    writer.recycle(3).unwrap();
    assert_eq!(read_strictly(&folder).unwrap().0, all(15..=20));
    append(&mut writer, 21..=36);
    assert_eq!(read_strictly(&folder).unwrap().0, all(15..=36));
    assert_eq!(folder.segments().len(), 4, "no new file for segments 4 and 5");
    let block = folder.read(4, 0, BLOCK_BYTES);
    let header = SegmentHeader::decode(block.first_chunk().unwrap()).unwrap();
    assert_eq!((header.number, header.generation), (4, 2));
    // The rest of the last segment has batches of its earlier use.
    let (_, end) = read_strictly(&folder).unwrap();
    append(&mut folder.resume(&end), 37..=60);
    assert_eq!(read_strictly(&folder).unwrap().0, all(15..=60));
}

#[test]
fn folders_that_are_not_this_log_are_refused() {
    let folder = Temporary::new("refused");
    let open = |database| LogReader::open(folder.disk(), "log", database, None, Mode::Strict);
    assert!(matches!(open(DATABASE), Err(LogError::NoSegment)));
    append(&mut folder.create(), 1..=20);
    assert!(matches!(open(DatabaseId([0; 16])), Err(LogError::Foreign(1))));

    let good = folder.read(1, 0, BLOCK_BYTES);
    folder.write(1, 8, &9_u32.to_le_bytes());
    let error = open(DATABASE).unwrap_err();
    let text = "log segment 1: it has log format version 9; this version of Clearway reads up to 1";
    assert_eq!(error.to_string(), text);
    folder.write(1, 0, &good);

    let file = folder.disk().open("log/00000000000000000003.log", Open::Write, WaitType::WriteLog);
    file.unwrap().set_len(5 * BLOCK).unwrap();
    let error = read_strictly(&folder).unwrap_err();
    assert!(matches!(error, LogError::Corrupt { segment: 3, .. }), "{error}");

    folder.disk().remove("log/00000000000000000002.log").unwrap();
    assert!(matches!(open(DATABASE), Err(LogError::MissingSegment(2))));
}

#[test]
fn log_comes_back_with_each_sync_method_that_the_disk_has() {
    let probe = probe_sync(&*Temporary::new("probe").disk(), "log").unwrap();
    assert!(probe.median_ns[0].is_some() && probe.median_ns[1].is_some(), "{probe:?}");
    for (sync, _) in SyncMethod::ALL.into_iter().zip(probe.median_ns).filter(|p| p.1.is_some()) {
        let folder = Temporary::new(sync.name());
        let options = LogOptions { sync, ..options() };
        append(&mut SegmentWriter::create(folder.disk(), options.clone()).unwrap(), 1..=20);
        let (numbers, end) = read_strictly(&folder).unwrap();
        assert_eq!(numbers, all(1..=20), "{}", sync.name());
        let mut writer = SegmentWriter::resume(folder.disk(), options, &end).unwrap();
        writer.recycle(3).unwrap();
        append(&mut writer, 21..=40);
        assert_eq!(read_strictly(&folder).unwrap().0, all(15..=40));
    }
}

#[test]
fn probe_leaves_nothing_and_does_not_mind_a_full_disk() {
    let disk = simdisk::SimDisk::new(1);
    let shared: &dyn Disk = &disk;
    shared.make_folder("log").unwrap();
    assert!(probe_sync(shared, "log").unwrap().median_ns.iter().all(Option::is_some));
    disk.set_room(Some(0));
    let full = probe_sync(shared, "log").unwrap();
    assert_eq!((full.chosen, full.median_ns), (SyncMethod::Fdatasync, [None; 3]));
    assert_eq!(shared.list("log").unwrap(), [""; 0]);
}
