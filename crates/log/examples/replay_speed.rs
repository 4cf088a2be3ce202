//! Measures how fast a log is read, in GB/s of one core: batches alone, and with all their records.
//! `cargo run --release -p clearway-log --example replay_speed [FOLDER]`
#![expect(clippy::print_stdout, reason = "it is a measuring tool")]
#![expect(clippy::unwrap_used, reason = "a failing tool may panic anywhere")]

use std::hint::black_box;

use log::{
    DatabaseId, Epoch, LogOptions, Mode, Nesting, Record, Records, Replay, ReplayFrom, Row,
    SegmentWriter, Transaction,
};
use sos::clock;
use sos::sync::Arc;
use sos::sys::{Disk, OsDisk, SyncMethod};

const DATABASE: DatabaseId = DatabaseId(*b"replay speed....");

/// Bytes of a log, and its groups: small groups are slow to write.
const LOG_BYTES: u64 = 256 << 20;
const GROUPS_MAX: u64 = 10_000;

/// How often each way is measured; the fastest counts.
const ROUNDS: usize = 3;

/// Writes a log of groups of this many transactions, each with a new row of about this size.
fn write(disk: &Arc<dyn Disk>, folder: &str, transactions: u64, row_bytes: usize) {
    disk.make_folder(folder).unwrap();
    let options = LogOptions {
        folder: folder.to_owned(),
        database: DATABASE,
        segment_bytes: 64 << 20,
        batch_bytes: 1 << 20,
        sync: SyncMethod::Fdatasync,
    };
    let mut writer = SegmentWriter::create(Arc::clone(disk), options).unwrap();
    let image = vec![7; row_bytes / 4];
    let (mut buffer, mut row, mut epoch, mut bytes) = (Vec::new(), 0, 0, 0);
    while bytes < LOG_BYTES && epoch < GROUPS_MAX {
        buffer.clear();
        for _ in 0..transactions {
            row += 1;
            let mut transaction = Transaction::begin(&mut buffer, row, row);
            let columns = (0..4).map(|column| (column, Some(&image[..])));
            transaction.insert(1 << 3, Row::Id(row), columns);
            transaction.end();
        }
        epoch += 1;
        writer.append_group((Epoch(epoch), Epoch(epoch)), epoch, &[&buffer]).unwrap();
        bytes += buffer.len() as u64;
    }
}

/// Reads the log once; returns bytes of payload, records, and nanoseconds.
fn read(disk: &Arc<dyn Disk>, folder: &str, has_records: bool) -> (u64, u64, u64) {
    let from = ReplayFrom::default();
    let disk = Arc::clone(disk);
    let mut replay = Replay::open(disk, folder, DATABASE, from, Mode::Strict).unwrap();
    let (mut bytes, mut count) = (0, 0);
    let start_ns = clock::monotonic_ns();
    while let Some(mut group) = replay.next_group().unwrap() {
        let mut nesting = Nesting::default();
        while let Some(batch) = group.next_batch().unwrap() {
            bytes += batch.payload.len() as u64;
            if !has_records {
                continue;
            }
            let mut records = Records::new(batch.payload, nesting);
            for record in records.by_ref() {
                count += 1;
                if let Record::Insert { columns, .. } = record.unwrap() {
                    columns.for_each(|column| {
                        black_box(column);
                    });
                }
            }
            nesting = records.nesting();
        }
    }
    (bytes, count, clock::monotonic_ns() - start_ns)
}

fn main() {
    let parent = std::env::args().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let path = parent.join(format!("replay-speed-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::open(path.to_str().unwrap()).unwrap());
    println!(
        "{:<44} {:>8} {:>8} {:>12}",
        "groups of transactions, bytes of a row", "", "GB/s", "records/s"
    );
    for (transactions, row_bytes) in
        [(1, 100), (20, 100), (1000, 100), (1000, 1000), (100_000, 100)]
    {
        let folder = format!("{transactions}-{row_bytes}");
        write(&disk, &folder, transactions, row_bytes);
        for has_records in [false, true] {
            let best = (0..ROUNDS).map(|_| read(&disk, &folder, has_records)).min_by_key(|r| r.2);
            let (bytes, records, ns) = best.unwrap();
            let what = if has_records { "records" } else { "batches" };
            let rate = |count: u64| count as f64 / ns as f64;
            let (gigabytes, records) = (rate(bytes), rate(records) * 1e9);
            println!("{folder:<44} {what:>8} {gigabytes:>8.2} {records:>12.0}");
        }
        for name in disk.list(&folder).unwrap() {
            disk.remove(&format!("{folder}/{name}")).unwrap();
        }
    }
    std::fs::remove_dir_all(&path).unwrap();
}
