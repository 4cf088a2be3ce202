//! Data folders that a server refuses: each with a sentence that names the place, and without a
//! change in the folder. And two ways to start from one: `--salvage` and `--recover-until`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use types::Value;

use crate::client::{Client, error_numbers};
use crate::data_folder::Data;
use crate::server::{PASSWORD, PATIENCE, command, now, pause};

/// Bytes of a block of the log; the first one of a segment is its header.
const BLOCK: usize = 4096;

fn run(client: &mut Client, text: &str) {
    assert_eq!(error_numbers(&client.batch(text)), [] as [i32; 0], "{text}");
}

fn number(client: &mut Client, expression: &str) -> i32 {
    match client.value_of(expression) {
        Value::Int(number) => number,
        other => panic!("{expression} is {other:?}"),
    }
}

/// Returns the command that starts a server on a folder.
fn serve(folder: &str) -> Command {
    command(&["serve", "--port", "0", "--sa-password", PASSWORD, "--data", folder])
}

/// Runs a server that does not start; returns what it says of the reason.
fn refused(mut command: Command) -> String {
    let mut child = command.spawn().expect("the binary starts");
    let end = now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            break status;
        }
        if now() > end {
            child.kill().expect("the child is ours");
            panic!("the server did not refuse {command:?}");
        }
        pause();
    };
    let mut said = String::new();
    child.stderr.take().expect("stderr is piped").read_to_string(&mut said).expect("text");
    assert!(!status.success(), "{said}");
    said
}

/// Checks that a folder is refused with a sentence that contains each of `texts`, and not changed.
fn assert_refused(data: &Data, texts: &[&str]) {
    let before = data.files();
    let said = refused(serve(data.path()));
    for text in texts {
        assert!(said.contains(text), "'{text}' is not in: {said}");
    }
    assert_same(&before, &data.files());
}

fn assert_same(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) {
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(before), names(after));
    for (name, bytes) in before {
        assert!(after[name] == *bytes, "{} has changed", name.display());
    }
}

/// Makes a database with rows 1 to 3 in a checkpoint and rows 4 to 6 in the log, and kills it.
fn make(data: &Data) {
    let mut server = data.start();
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "CREATE TABLE d.dbo.t (a int PRIMARY KEY, b varchar(100))");
    for n in 1..=6 {
        run(&mut client, &format!("INSERT d.dbo.t VALUES ({n}, 'row {n} of the table')"));
        if n == 3 {
            run(&mut client, "CHECKPOINT");
        }
    }
    server.signal("KILL");
    server.wait();
}

/// Changes a file at an offset.
fn patch(data: &Data, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = data.file(name);
    let mut bytes = std::fs::read(&path).expect("the file is there");
    change(&mut bytes);
    std::fs::write(&path, bytes).expect("the file is ours");
}

/// Returns where a text is in a file.
fn place_of(data: &Data, name: &str, text: &str) -> usize {
    let bytes = std::fs::read(data.file(name)).expect("the file is there");
    let place = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    place.unwrap_or_else(|| panic!("{name} does not have '{text}'"))
}

/// Returns the only file of a folder whose name ends so, as `folder/name`.
fn only(data: &Data, folder: &str, ending: &str) -> String {
    let names = std::fs::read_dir(data.file(folder)).expect("the folder is there");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.into_string().expect("UTF-8"));
    let found: Vec<String> = names
        .filter(|name| name.ends_with(ending) && name.starts_with('0'))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().expect("one")
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}

#[test]
fn folders_that_cannot_be_used_are_refused_and_not_touched() {
    let data = Data::new("not-ours");
    // A file.
    std::fs::write(data.path(), "text").expect("the place is ours");
    let said = refused(serve(data.path()));
    assert!(said.contains(data.path()) && said.contains("a file is in its place"), "{said}");
    assert_eq!(std::fs::read(data.path()).expect("it is still there"), b"text");
    std::fs::remove_file(data.path()).expect("it is ours");
    // Not empty, and not a database.
    std::fs::create_dir(data.path()).expect("the place is ours");
    std::fs::write(data.file("letter.txt"), "text").expect("the folder is ours");
    assert_refused(&data, &["is not empty and has no Clearway database in it"]);
    assert!(!data.file("lock").exists());
    // A database's name on something else.
    std::fs::write(data.file("database"), [7; 64]).expect("the folder is ours");
    assert_refused(&data, &["/database: ", "the file is not one of Clearway"]);
}

#[test]
fn a_folder_that_is_not_writable_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let data = Data::new("not-writable");
    std::fs::create_dir(data.path()).expect("the place is ours");
    let mode = |mode| std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(mode));
    mode(0o555).expect("the folder is ours");
    let mut usual = serve(data.path());
    // Root may write everywhere, so it gives that up.
    let is_root = std::fs::write(data.file("try"), "").is_ok();
    if is_root {
        std::fs::remove_file(data.file("try")).expect("the folder is ours");
        let mut without = Command::new("setpriv");
        without.args(["--inh-caps=-all", "--bounding-set=-all"]);
        without.arg(usual.get_program()).args(usual.get_args());
        without.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        usual = without;
    }
    let said = refused(usual);
    assert!(said.contains(data.path()) && said.contains("ermission denied"), "{said}");
    assert!(data.files().is_empty());
    mode(0o755).expect("the folder is ours");
}

#[test]
fn a_folder_in_use_is_refused_with_the_process() {
    let data = Data::new("in-use");
    let server = data.start();
    let mut client = Client::log_in(server.address);
    let said = refused(serve(data.path()));
    let expected = format!("the folder {} is in use by process {}", data.path(), server.id());
    assert!(said.contains(&expected), "{said}");
    // The first one goes on.
    run(&mut client, "CREATE DATABASE d");
}

#[test]
fn damage_and_newer_formats_are_refused_with_the_place() {
    let data = Data::new("damaged");
    make(&data);
    let good = data.files();
    let segment = only(&data, "log", ".log");
    let ranges = only(&data, "checkpoint", ".ranges");
    let definitions = only(&data, "checkpoint", ".definitions");
    let version = |bytes: &mut Vec<u8>, crc: usize| {
        bytes[8] = 2;
        let sum = crc32c(&bytes[..crc]).to_le_bytes();
        bytes[crc..crc + 4].copy_from_slice(&sum);
    };
    let newer = "version 2; this version of Clearway reads up to 1";

    patch(&data, "database", |bytes| version(bytes, 60));
    assert_refused(&data, &["/database: ", newer]);
    data.put_back(&good);
    patch(&data, "database", |bytes| bytes[20] ^= 1);
    assert_refused(&data, &["/database: ", "damaged", "offset 60"]);
    data.put_back(&good);

    patch(&data, &segment, |bytes| version(bytes, 124));
    assert_refused(&data, &["log segment 1", newer]);
    data.put_back(&good);
    patch(&data, &segment, |bytes| bytes[40] ^= 1);
    assert_refused(&data, &["log segment 1 is damaged at offset ", "checksum", "try --salvage"]);
    data.put_back(&good);
    // A row that has others behind it.
    let place = place_of(&data, &segment, "row 5 of the table");
    patch(&data, &segment, |bytes| bytes[place] ^= 1);
    let at = format!("log segment 1 is damaged at offset {}: ", place / BLOCK * BLOCK);
    assert_refused(&data, &[&at, "the checksum of the payload is wrong"]);
    data.put_back(&good);

    patch(&data, "checkpoint/manifest", |bytes| version(bytes, 124));
    assert_refused(&data, &["checkpoint/manifest", newer]);
    data.put_back(&good);
    for (name, place) in [
        ("checkpoint/manifest", 60),
        (&ranges, place_of(&data, &ranges, "row 2 of the table")),
        (&definitions, 200),
    ] {
        patch(&data, name, |bytes| bytes[place] ^= 1);
        assert_refused(&data, &[&format!("{name} is damaged at offset "), "checksum"]);
        data.put_back(&good);
        let bytes = std::fs::read(data.file(name)).expect("the file is there");
        std::fs::write(data.file(name), &bytes[..bytes.len() - 1]).expect("the file is ours");
        assert_refused(&data, &[name]);
        data.put_back(&good);
    }
    std::fs::remove_file(data.file(&ranges)).expect("the file is ours");
    assert_refused(&data, &[&format!("{ranges} is missing"), "restore a backup"]);
    data.put_back(&good);

    // All of it was refused for its damage only.
    let server = data.start();
    assert_eq!(number(&mut Client::log_in(server.address), "(SELECT SUM(a) FROM d.dbo.t)"), 21);
}

#[test]
fn salvage_starts_and_says_what_is_lost() {
    let data = Data::new("salvage");
    make(&data);
    let segment = only(&data, "log", ".log");
    let place = place_of(&data, &segment, "row 5 of the table");
    patch(&data, &segment, |bytes| bytes[place] ^= 1);
    {
        let mut server = data.start_with(&["--salvage"]);
        let at = format!("segment 1 from offset {}", place / BLOCK * BLOCK);
        assert!(server.banner.contains("LOST: batches "), "{}", server.banner);
        assert!(server.banner.contains(&at), "{}", server.banner);
        server.wait_for_log("LOST: ");
        let mut client = Client::log_in(server.address);
        assert_eq!(number(&mut client, "(SELECT SUM(a) FROM d.dbo.t)"), 21 - 5);
        run(&mut client, "INSERT d.dbo.t VALUES (7, 'after the damage')");
        server.signal("KILL");
        server.wait();
    }
    // What was lost has been said once; from then on the folder is a good one.
    let mut server = data.start();
    assert!(!server.banner.contains("LOST"), "{}", server.banner);
    let mut client = Client::log_in(server.address);
    assert_eq!(number(&mut client, "(SELECT SUM(a) FROM d.dbo.t)"), 21 - 5 + 7);
    run(&mut client, "CHECKPOINT");
    server.signal("KILL");
    server.wait();

    let ranges = only(&data, "checkpoint", ".ranges");
    let place = place_of(&data, &ranges, "row 2 of the table");
    patch(&data, &ranges, |bytes| bytes[place] ^= 1);
    assert_refused(&data, &[&format!("{ranges} is damaged at offset ")]);
    let mut server = data.start_with(&["--salvage"]);
    assert!(server.banner.contains("LOST: rows from 0 on of part 0"), "{}", server.banner);
    assert!(server.banner.contains(&ranges), "{}", server.banner);
    server.signal("KILL");
    server.wait();
    let server = data.start();
    assert!(!server.banner.contains("LOST"), "{}", server.banner);
    assert_eq!(number(&mut Client::log_in(server.address), "(SELECT COUNT(*) FROM d.dbo.t)"), 0);
}

#[test]
fn a_recovery_until_a_time_leaves_later_transactions_out() {
    let data = Data::new("until");
    let mut server = data.start();
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "CREATE TABLE d.dbo.t (a int PRIMARY KEY, at_utc datetime2(7))");
    // Each row has the time before its commit, and each commit is well after the one before.
    for n in 1..=4 {
        run(&mut client, "WAITFOR DELAY '0:0:0.05'");
        run(&mut client, &format!("INSERT d.dbo.t VALUES ({n}, SYSUTCDATETIME())"));
        run(&mut client, "WAITFOR DELAY '0:0:0.05'");
    }
    let query = "DECLARE @until varchar(40) =
        (SELECT CONVERT(varchar(40), DATEADD(ms, -20, at_utc), 126) FROM d.dbo.t WHERE a = 3);
        PRINT 'until ' + @until";
    let text = format!("{:?}", client.batch(query));
    let start = text.find("until ").expect("the text") + "until ".len();
    let until: String =
        text[start..].chars().take_while(|c| c.is_ascii_digit() || "-T:.".contains(*c)).collect();
    assert!(until.contains('T'), "{text}");
    server.signal("KILL");
    server.wait();
    {
        let mut server = data.start_with(&["--recover-until", &until]);
        assert!(server.banner.contains("LEFT OUT"), "{}", server.banner);
        let mut client = Client::log_in(server.address);
        assert_eq!(number(&mut client, "(SELECT SUM(a) FROM d.dbo.t)"), 1 + 2, "{until}");
        run(&mut client, "INSERT d.dbo.t VALUES (9, NULL)");
        server.signal("KILL");
        server.wait();
    }
    // What was left out does not come back.
    let server = data.start();
    let mut client = Client::log_in(server.address);
    assert_eq!(number(&mut client, "(SELECT SUM(a) FROM d.dbo.t)"), 1 + 2 + 9);
    drop(server);
    // The start has written a checkpoint, and what is in it cannot be taken back.
    for (time, reason) in
        [(until.as_str(), "checkpoint is later"), ("yesterday", "expected a UTC time")]
    {
        let mut command = serve(data.path());
        command.args(["--recover-until", time]);
        let before = data.files();
        let said = refused(command);
        assert!(said.contains(reason), "{said}");
        assert_same(&before, &data.files());
    }
}
