//! Replay: groups come in order from a position on, whole, with their records where they were read;
//! a stop time cuts the log off, and it goes on behind the cut.

use log::{
    DatabaseId, Epoch, LogReader, Mode, Nesting, Record, Records, Replay, ReplayFrom, Row,
    SegmentWriter, Tail, Transaction,
};

use crate::segments::{DATABASE, Temporary, options};

/// Appends a group of one transaction, whose timestamp, epoch and time are a number.
fn append(writer: &mut SegmentWriter, number: u64, rows: u64) {
    let mut buffer = Vec::new();
    let mut transaction = Transaction::begin(&mut buffer, number, number);
    (0..rows).for_each(|row| transaction.delete(1, Row::Id(row)));
    transaction.end();
    writer.append_group((Epoch(number), Epoch(number)), number, &[&buffer]).unwrap();
}

fn open(folder: &Temporary, from: ReplayFrom) -> Replay {
    Replay::open(folder.disk(), "log", DATABASE, from, Mode::Strict).unwrap()
}

/// Counts the deletes in a payload.
fn rows(payload: &[u8], nesting: &mut Nesting) -> u64 {
    let mut records = Records::new(payload, *nesting);
    let is_row = |record| matches!(record, Ok(Record::Delete { .. }));
    let count = records.by_ref().filter(|record| is_row(record.clone())).count();
    *nesting = records.nesting();
    count as u64
}

/// Reads all groups: epoch and rows.
fn read(replay: &mut Replay, mut takes: bool) -> Vec<(u64, u64)> {
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    while let Some(mut group) = replay.next_group().unwrap() {
        let (first, last) = group.epochs();
        assert_eq!((first, group.utc_100ns()), (last, last.0));
        let (mut count, mut nesting) = (0, Nesting::default());
        loop {
            // In the middle of a group, too.
            takes = !takes;
            if takes {
                let Some(batch) = group.take_batch(std::mem::take(&mut buffer)).unwrap() else {
                    break;
                };
                count += rows(batch.payload(), &mut nesting);
                assert_eq!(batch.header().last_epoch, last);
                buffer = batch.into_buffer();
            } else {
                let Some(batch) = group.next_batch().unwrap() else { break };
                count += rows(batch.payload, &mut nesting);
            }
        }
        assert!(nesting.is_outside());
        found.push((last.0, count));
    }
    found
}

/// Groups of one batch and of many, over several segments.
fn write(folder: &Temporary) -> (SegmentWriter, Vec<(u64, u64)>) {
    let mut writer = SegmentWriter::create(folder.disk(), options()).unwrap();
    let groups: Vec<_> = (1..=20).map(|n| (n, if n % 5 == 0 { 9000 } else { n })).collect();
    groups.iter().for_each(|(number, rows)| append(&mut writer, *number, *rows));
    (writer, groups)
}

#[test]
fn groups_come_whole_and_in_order() {
    let folder = Temporary::new("replay");
    let (_, groups) = write(&folder);
    for takes in [false, true] {
        let mut replay = open(&folder, ReplayFrom::default());
        assert_eq!(read(&mut replay, takes), groups);
        let end = replay.end().unwrap();
        assert_eq!((end.last_epoch, end.tail), (Epoch(20), Tail::Clean));
        assert!(replay.skipped().is_empty());
    }
}

#[test]
fn groups_before_an_epoch_and_what_is_not_read_are_passed_over() {
    let folder = Temporary::new("replay-from");
    let (_, groups) = write(&folder);
    let mut reader = LogReader::open(folder.disk(), "log", DATABASE, None, Mode::Strict).unwrap();
    while reader.next_batch().unwrap().is_some_and(|batch| batch.header.last_epoch < Epoch(12)) {}
    for epoch in [1, 5, 12, 20, 21] {
        let from = ReplayFrom { epoch: Epoch(epoch), ..ReplayFrom::default() };
        let due: Vec<_> = groups.iter().copied().filter(|(n, _)| *n >= epoch).collect();
        assert_eq!(read(&mut open(&folder, from), true), due);
    }
    // Only the first batch of each group is read.
    let mut replay = open(&folder, ReplayFrom::default());
    let mut epochs = Vec::new();
    while let Some(mut group) = replay.next_group().unwrap() {
        epochs.push(group.epochs().0.0);
        assert!(group.next_batch().unwrap().is_some());
    }
    assert_eq!(epochs, (1..=20).collect::<Vec<_>>());
}

#[test]
fn log_ends_at_a_stop_time_and_goes_on_behind_it() {
    for until in [0, 4, 5, 7, 20, 30] {
        let folder = Temporary::new(&format!("until-{until}"));
        let (writer, groups) = write(&folder);
        let last_segment = writer.segment_number();
        drop(writer);
        let from = ReplayFrom { until_utc_100ns: Some(until), ..ReplayFrom::default() };
        let mut replay = open(&folder, from);
        let due: Vec<_> = groups.iter().copied().filter(|(n, _)| *n <= until).collect();
        assert_eq!(read(&mut replay, false), due);
        let end = *replay.end().unwrap();
        assert_eq!(end.last_epoch.0, until.min(20));
        assert_eq!(end.tail, if until < 20 { Tail::Cut } else { Tail::Clean });

        let number = last_segment + 1;
        let (disk, options) = (folder.disk(), options());
        let mut writer = SegmentWriter::create_at(disk, options, number, end.last_epoch).unwrap();
        append(&mut writer, 100, 3);
        let from = ReplayFrom { segment: Some(number), ..ReplayFrom::default() };
        assert_eq!(read(&mut open(&folder, from), true), [(100, 3)]);
        writer.recycle(number).unwrap();
        assert_eq!(read(&mut open(&folder, ReplayFrom::default()), true), [(100, 3)]);
    }
}

#[test]
fn replay_of_another_database_is_refused() {
    let folder = Temporary::new("replay-foreign");
    drop(write(&folder));
    let from = ReplayFrom::default();
    let opened = Replay::open(folder.disk(), "log", DatabaseId([1; 16]), from, Mode::Strict);
    assert_eq!(opened.unwrap_err().to_string(), "log segment 1 belongs to another database");
}
