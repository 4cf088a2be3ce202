//! A small file system that fills up: writers get 9002, readers go on, and the server finds
//! space that the operator has made without a restart. Only root may mount one: for other users the
//! test says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use types::Value;

use crate::client::{Client, error_numbers};
use crate::server::{PATIENCE, ServerProcess, now, pause};

/// Two usual segments of the log, 64 MiB each, and less than half of one.
const DISK_MIB: u64 = 160;
/// What the operator takes away when the disk is full. No segment of half the usual size fits.
const BALLAST_MIB: u64 = 12;
const SEGMENT_BYTES: u64 = 64 << 20;

/// A file system in memory, mounted for one test.
struct Mount(PathBuf);

impl Mount {
    /// `None` for a user who may not mount.
    fn new() -> Option<Self> {
        let path = std::env::temp_dir().join(format!("clearway-{}-small", std::process::id()));
        std::fs::create_dir_all(&path).expect("the place is ours");
        let size = format!("size={DISK_MIB}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "clearway"]).arg(&path);
        let is_mounted = mount.output().is_ok_and(|out| out.status.success());
        let mount = Self(path);
        is_mounted.then_some(mount)
    }

    fn start(&self) -> ServerProcess {
        let data = self.0.join("data");
        ServerProcess::start(&["--data", data.to_str().expect("the path is UTF-8")])
    }

    /// Returns the sizes of the log's segments, in the order of their numbers.
    fn segments(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(self.0.join("data/log")).expect("the folder is there");
        let mut found: Vec<(String, u64)> = entries
            .map(|entry| {
                let entry = entry.expect("an entry");
                let name = entry.file_name().into_string().expect("UTF-8");
                (name, entry.metadata().map_or(0, |data| data.len()))
            })
            .filter(|(name, _)| name.starts_with('0') && name.ends_with(".log"))
            .collect();
        found.sort();
        found.into_iter().map(|(_, bytes)| bytes).collect()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // It may not be mounted. Lazily: a server that ends at this moment has files open.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A client that writes rows of 100 kB until it is refused.
struct Writer {
    /// The rows that were acknowledged, and at last the numbers of the errors.
    answers: Receiver<Result<i32, Vec<i32>>>,
}

impl Writer {
    #[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
    fn start(server: &ServerProcess, id: i32) -> Self {
        let mut client = Client::log_in(server.address);
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for row in id.. {
                let text = format!(
                    "INSERT d.dbo.big VALUES ({row}, REPLICATE(CONVERT(varchar(max), 'x'), 100000))"
                );
                let Ok(tokens) = client.try_batch(&text) else { return };
                let errors = error_numbers(&tokens);
                let is_last = !errors.is_empty();
                if sender.send(if is_last { Err(errors) } else { Ok(row) }).is_err() || is_last {
                    return;
                }
            }
        });
        Self { answers }
    }

    /// Takes the rows that are acknowledged until the disk is full.
    fn until_refused(&self, rows: &mut Vec<i32>) {
        loop {
            match self.answers.recv_timeout(PATIENCE).expect("no commit waits for room") {
                Ok(row) => rows.push(row),
                Err(errors) => return assert_eq!(errors, [9002]),
            }
        }
    }
}

fn run(client: &mut Client, text: &str) {
    assert_eq!(error_numbers(&client.batch(text)), [] as [i32; 0], "{text}");
}

/// Checks that a client can read by a key and by scans, also the table that is written to, and that a
/// new one can log in. `rows` are there, and at most `more`.
fn assert_readable(server: &ServerProcess, reader: &mut Client, (rows, more): (usize, usize)) {
    let least = i32::try_from(rows).expect("a small number");
    let most = i32::try_from(rows + more).expect("a small number");
    for client in [reader, &mut Client::log_in(server.address)] {
        assert_eq!(client.value_of("(SELECT a FROM d.dbo.small WHERE a = 3)"), Value::Int(3));
        assert_eq!(client.value_of("(SELECT MAX(a) FROM d.dbo.small)"), Value::Int(3));
        let count = client.value_of("(SELECT COUNT(*) FROM d.dbo.big WHERE b LIKE 'x%')");
        let Value::Int(count) = count else { panic!("{count:?}") };
        assert!((least..=most).contains(&count), "{count} rows, {least} were acknowledged");
    }
}

fn write_ballast(path: &Path) {
    let bytes = vec![1; usize::try_from(BALLAST_MIB << 20).expect("a small number")];
    std::fs::write(path, bytes).expect("the disk has room");
}

#[test]
fn a_full_disk_refuses_writers_only_and_space_is_found_without_a_restart() {
    let Some(mount) = Mount::new() else {
        eprintln!("skipped: only root may mount a small file system");
        return;
    };
    let ballast = mount.0.join("ballast");
    write_ballast(&ballast);
    let mut server = mount.start();
    let mut reader = Client::log_in(server.address);
    run(&mut reader, "CREATE DATABASE d");
    run(&mut reader, "CREATE TABLE d.dbo.small (a int PRIMARY KEY)");
    run(&mut reader, "CREATE TABLE d.dbo.big (a int PRIMARY KEY, b varchar(max))");
    run(&mut reader, "INSERT d.dbo.small VALUES (1), (2), (3)");

    // Several write at the same time. What is admitted has room, so each of them is refused in the end
    // and none waits.
    let mut rows = Vec::new();
    let writers = [1, 2, 3].map(|id| Writer::start(&server, id * 100_000));
    for writer in &writers {
        writer.until_refused(&mut rows);
    }
    // None was refused while there was room for a file, if only for a smaller one.
    let sizes = mount.segments();
    assert!(sizes.len() > 2 && sizes.last().is_some_and(|last| *last < SEGMENT_BYTES), "{sizes:?}");
    let bytes: u64 = sizes.iter().sum();
    assert!(bytes + ((BALLAST_MIB + 8) << 20) > (DISK_MIB << 20), "there was room: {sizes:?}");
    assert_readable(&server, &mut reader, (rows.len(), 0));
    let definition = reader.batch("CREATE TABLE d.dbo.later (a int)");
    assert_eq!(error_numbers(&definition), [9002]);
    assert_eq!(error_numbers(&reader.batch("INSERT d.dbo.small VALUES (0)")), [9002]);
    assert_readable(&server, &mut reader, (rows.len(), 0));

    // The operator makes room.
    std::fs::remove_file(&ballast).expect("it is ours");
    let end = now() + PATIENCE;
    while !error_numbers(&reader.batch("INSERT d.dbo.small VALUES (0)")).is_empty() {
        assert!(now() < end, "the room was not found");
        pause();
    }
    // They fill the disk again.
    let before = rows.len();
    Writer::start(&server, 900_000).until_refused(&mut rows);
    assert!(rows.len() > before, "the room was not used");
    server.signal("KILL");
    server.wait();

    // All that was acknowledged is there, and the disk may be full as it starts.
    let server = mount.start();
    let mut reader = Client::log_in(server.address);
    assert_readable(&server, &mut reader, (rows.len(), 0));
    rows.sort_unstable();
    for some in rows.chunks(200) {
        let list = some.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
        let there =
            format!("(SELECT COUNT(*) FROM d.dbo.big WHERE LEN(b) = 100000 AND a IN ({list}))");
        let count = i32::try_from(some.len()).expect("a small number");
        assert_eq!(reader.value_of(&there), Value::Int(count));
    }
}
