//! A log of random changes, applied by one thread and by several, against a model.

use std::collections::{BTreeMap, BTreeSet};

use log::{DatabaseId, Epoch, LogOptions, Mode, ReplayFrom, Row, SegmentWriter, Transaction};
use simdisk::{Random, SimDisk};
use sos::sys::{Disk, SyncMethod};
use storage::{Store, StoreOptions, Table, TableKind, TableSpec};
use types::value::ColumnType;
use types::{DataType, Value};

use super::*;

const DATABASE: DatabaseId = DatabaseId(*b"apply.apply.appl");
const COLUMNS: u32 = 3;
const ROWS: u64 = 40;
/// The table that is there, and one that has no definition.
const TABLE: TableId = TableId(5);
const DROPPED: TableId = TableId(6);

/// The columns of each row that is there.
type Model = BTreeMap<u64, [Option<u64>; 3]>;

fn layout() -> RowLayout {
    RowLayout::new(&[ColumnType::nullable(DataType::BigInt); COLUMNS as usize])
}

/// One change; `None` for a row that goes.
type Made = (u64, bool, Option<[Option<u64>; 3]>);

/// Makes a change of a row that the model allows.
fn change(model: &mut Model, row: u64, random: &mut Random) -> Made {
    let mut value = || (random.below(5) > 0).then(|| random.below(1 << 40));
    let values = [value(), value(), value()];
    match model.get_mut(&row) {
        None => {
            model.insert(row, values);
            (row, true, Some(values))
        }
        Some(_) if random.below(5) == 0 => {
            model.remove(&row);
            (row, true, None)
        }
        Some(columns) => {
            columns[1] = values[1];
            (row, false, Some(*columns))
        }
    }
}

fn write(buffer: &mut Vec<u8>, timestamp: u64, changes: &[Made]) {
    let table = images::table_number(TABLE, 0);
    let mut transaction = Transaction::begin(buffer, timestamp, timestamp);
    // Rows of a table that was dropped: they are left out.
    let dropped = images::table_number(DROPPED, 0);
    transaction.insert(dropped, Row::Id(timestamp), std::iter::once((0, None)));
    for (row, is_whole, values) in changes {
        let Some(values) = values else {
            transaction.delete(table, Row::Id(*row));
            continue;
        };
        let images = values.map(|value| value.map(u64::to_le_bytes));
        let columns = (0..COLUMNS).zip(images.iter().map(|image| image.as_ref().map(|b| &b[..])));
        if *is_whole {
            transaction.insert(table, Row::Id(*row), columns);
        } else {
            transaction.update(table, Row::Id(*row), columns.filter(|(ordinal, _)| *ordinal == 1));
        }
    }
    transaction.end();
}

/// Writes a log whose groups have the records of two schedulers, which are not in the order of their times.
fn write_log(disk: &Arc<dyn Disk>, mut random: Random, model: &mut Model) {
    disk.make_folder("log").unwrap();
    let options = LogOptions {
        folder: "log".to_owned(),
        database: DATABASE,
        segment_bytes: 1 << 16,
        batch_bytes: 1 << 12,
        sync: SyncMethod::Fdatasync,
    };
    let mut writer = SegmentWriter::create(Arc::clone(disk), options).unwrap();
    for group in 1..=60 {
        let mut transactions: Vec<(u64, Vec<Made>)> = Vec::new();
        for number in 0..random.below(8) {
            let rows: BTreeSet<u64> = (0..=random.below(20)).map(|_| random.below(ROWS)).collect();
            let changes = rows.into_iter().map(|row| change(model, row, &mut random)).collect();
            // Times begin again with each group, as after a restart.
            transactions.push((100 + number, changes));
        }
        let mut buffers = [Vec::new(), Vec::new()];
        while !transactions.is_empty() {
            let (timestamp, changes) = transactions.swap_remove(random.index(transactions.len()));
            write(&mut buffers[random.index(2)], timestamp, &changes);
        }
        let buffers = [&buffers[0][..], &buffers[1][..]];
        writer.append_group((Epoch(group), Epoch(group)), group, &buffers).unwrap();
    }
}

fn table() -> Arc<Table> {
    let store = Store::new(StoreOptions::default());
    let durable = Some(Arc::new(layout()));
    let kind = TableKind::MemoryOptimized;
    let spec = TableSpec { id: TABLE, kind, indexes: Vec::new(), columns: None, durable };
    store.create_table(spec).unwrap()
}

/// Applies a log from a position on to rows that are there; returns the rows, and those without an insert.
fn apply(
    disk: &Arc<dyn Disk>,
    first: u64,
    there: &Model,
    threads: usize,
) -> Result<(Model, Orphans), String> {
    let (table, layout) = (table(), layout());
    let restore = table.restore();
    let mut buffer = RowBuffer::default();
    for (row, values) in there {
        let values =
            values.map(|value| value.map_or(Value::Null, |n| Value::BigInt(n.cast_signed())));
        layout.encode(&values, &mut buffer);
        let image = RowImage::from(&buffer);
        assert!(restore.put(0, RowId(*row), image, Source::Checkpoint).unwrap());
    }
    let targets = Targets::from([(TABLE, Target { id: TABLE, restore, layout: &layout })]);
    let from = ReplayFrom { epoch: Epoch(first), ..ReplayFrom::default() };
    let mut log = log::Replay::open(Arc::clone(disk), "log", DATABASE, from, Mode::Strict).unwrap();
    let mut groups = 0;
    let (_, orphans) = apply_log(&mut log, &targets, threads, None, || groups += 1)?;
    assert!(groups <= 61 - first);
    let restore = &targets[&TABLE].restore;
    let mut found = Model::new();
    for row in 0..ROWS {
        restore.show(0, RowId(row), |image| {
            let Some(image) = image else { return };
            let view = layout.view(image.bytes, image.blobs);
            let value = |ordinal| match view.get(ordinal) {
                Value::BigInt(n) => Some(n.cast_unsigned()),
                _ => None,
            };
            found.insert(row, [value(0), value(1), value(2)]);
        });
    }
    Ok((found, orphans))
}

#[test]
fn several_threads_apply_what_one_does() {
    for seed in 1..=4 {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(seed));
        let mut model = Model::new();
        write_log(&disk, Random::new(seed), &mut model);
        for threads in [1, 2, 3, 9] {
            let (found, orphans) = apply(&disk, 1, &Model::new(), threads).unwrap();
            assert_eq!(found, model, "seed {seed}, {threads} threads");
            assert_eq!(orphans, []);
        }
    }
}

/// A checkpoint has seen all: what the log says from any place on changes nothing.
#[test]
fn a_log_on_top_of_its_own_outcome_changes_nothing() {
    for seed in 1..=4 {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(seed));
        let mut model = Model::new();
        write_log(&disk, Random::new(seed), &mut model);
        for first in [1, 7, 30, 59] {
            let (found, orphans) = apply(&disk, first, &model, 2).unwrap();
            assert_eq!((found, orphans), (model.clone(), Vec::new()), "seed {seed} from {first}");
        }
    }
}

#[test]
fn rows_that_were_never_inserted_are_named() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let mut model = Model::new();
    write_log(&disk, Random::new(1), &mut model);
    // From the last groups on, without the rows that a checkpoint would have.
    let (found, orphans) = apply(&disk, 58, &Model::new(), 3).unwrap();
    assert!(!orphans.is_empty());
    let missing: BTreeSet<u64> = orphans.iter().map(|(_, row)| *row).collect();
    assert!(missing.iter().all(|row| model.contains_key(row) && !found.contains_key(row)));
    let named = describe_orphan(&(images::table_number(TABLE, 0), 3));
    assert_eq!(named, "table 5, row 3 of part 0: it has changed and was never inserted");
}

/// Rows of the measurement, each with eight numbers and a long value.
const MEASURED_ROWS: u64 = 240_000;

/// Writes inserts of rows, 20,000 in a transaction.
fn write_inserts(disk: &Arc<dyn Disk>) {
    disk.make_folder("log").unwrap();
    let options = LogOptions {
        folder: "log".to_owned(),
        database: DATABASE,
        segment_bytes: 64 << 20,
        batch_bytes: 1 << 20,
        sync: SyncMethod::Fdatasync,
    };
    let mut writer = SegmentWriter::create(Arc::clone(disk), options).unwrap();
    let number = images::table_number(TABLE, 0);
    for group in 0..MEASURED_ROWS / 20_000 {
        let mut buffer = Vec::new();
        let mut transaction = Transaction::begin(&mut buffer, group, group);
        for row in group * 20_000..(group + 1) * 20_000 {
            let images = [row.to_le_bytes(); 8];
            let long = [7; 500];
            let columns = (0..9).zip(images.iter().map(|i| Some(&i[..])).chain([Some(&long[..])]));
            transaction.insert(number, Row::Id(row), columns);
        }
        transaction.end();
        let epochs = (Epoch(group + 1), Epoch(group + 1));
        writer.append_group(epochs, group, &[&buffer]).unwrap();
    }
}

/// Measures the CPU time per row of reading a log twice, beside that of collecting rows and applying them.
#[test]
#[ignore = "a measurement, with a new folder in CLEARWAY_MEASURE"]
fn how_fast_a_log_is_applied() {
    let folder = std::env::var("CLEARWAY_MEASURE").unwrap();
    let disk: Arc<dyn Disk> = Arc::new(sos::sys::OsDisk::make(&folder).unwrap());
    write_inserts(&disk);
    let mut columns = vec![ColumnType::nullable(DataType::BigInt); 8];
    columns.push(ColumnType::nullable(DataType::VarBinary(types::Length::Max)));
    let layout = RowLayout::new(&columns);
    let reader =
        || log::LogReader::open(Arc::clone(&disk), "log", DATABASE, None, Mode::Strict).unwrap();
    let report = |what: &str, began_ns: u64| {
        let ns = sos::sys::own_cpu_ns() - began_ns;
        println!("{what}: {} ns of CPU per row", ns / MEASURED_ROWS);
    };
    for threads in [0, 1, 2, 0, 1, 2] {
        let table = table();
        let target = Target { id: TABLE, restore: table.restore(), layout: &layout };
        let began_ns = sos::sys::own_cpu_ns();
        let mut reader = reader();
        if threads == 0 {
            let mut replay = crate::replay::Replay::new(definitions::Entries::new(), None);
            while let Some(batch) = reader.next_batch().unwrap() {
                replay.payload(batch.payload, batch.header.is_last).unwrap();
            }
            for (_, rows) in replay.finish().1 {
                apply_collected(&target.restore, (0, Some(&layout)), &rows).unwrap();
            }
            report("collected", began_ns);
            continue;
        }
        let mut transactions = Transactions::until(None);
        while let Some(batch) = reader.next_batch().unwrap() {
            transactions.read(batch.payload, |_, _| Ok(())).unwrap();
        }
        report("first reading", began_ns);
        let targets = Targets::from([(TABLE, target)]);
        let from = ReplayFrom::default();
        let log = log::Replay::open(Arc::clone(&disk), "log", DATABASE, from, Mode::Strict);
        apply_log(&mut log.unwrap(), &targets, threads, None, || ()).unwrap();
        report(&format!("both readings, {threads} threads"), began_ns);
    }
}
