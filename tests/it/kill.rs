//! Servers with a data folder are killed with SIGKILL while clients write, also while they are
//! stopped by SIGSTOP, write a checkpoint, write backups or recover. The clients keep a journal of what they were
//! told. After each restart:
//!
//! - what was acknowledged is there, and what a reader was shown;
//! - nothing is there that no client has sent;
//! - what each client wrote has no gap;
//! - no transfer is there in part: each account has what the transfers say, and the sum is as before;
//! - the last backup that was acknowledged can be restored, and so can those of the log since.
//!
//! `CLEARWAY_KILLS=1000` runs as many cycles: `make kill`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use types::Value;

use crate::client::{Client, error_numbers};
use crate::data_folder::Data;
use crate::server::{PASSWORD, PATIENCE, ServerProcess, command, now, pause};

/// Cycles in a usual run: each way to end comes once.
const KILLS: u64 = 6;
/// Clients that write journals, clients that transfer, and accounts of the bank.
const WRITERS: usize = 3;
const MOVERS: usize = 2;
const ACCOUNTS: u64 = 8;
/// What is in each account at first.
const BALANCE: u64 = 100;
/// Answers after which the end comes, at least and at most.
const ANSWERS: (u64, u64) = (20, 140);

/// What clients were told of journals, over all cycles.
#[derive(Default)]
struct Told {
    /// The last entry of each journal that was acknowledged or shown.
    last: [AtomicI64; WRITERS],
    /// The last entry of each journal that was sent.
    sent: [AtomicI64; WRITERS],
    /// The last transfer of each client that was acknowledged.
    moves: [AtomicI64; MOVERS],
    /// All answers of this cycle.
    answers: AtomicU64,
    checkpoints: AtomicU64,
    backups: AtomicU64,
    /// Where the full backup is; those of the log since are beside it.
    backup: String,
    /// The backups of the log that were acknowledged since the full one.
    log_backups: AtomicU64,
    /// Whether the end has come: from then on connections may break.
    is_over: AtomicBool,
    /// What a client met that it should not have.
    trouble: OnceLock<String>,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Kill,
    /// Stopped for a while, goes on, and is killed while it is stopped again.
    Stopped,
    /// Killed while a client asks for checkpoints without a pause.
    Checkpoint,
    /// Killed while a client asks for backups without a pause.
    Backup,
    /// Killed, and then killed twice more while it recovers.
    Recovery,
    Orderly,
}

/// Numbers at random, a generator by G. Marsaglia (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) % limit
    }
}

#[test]
fn acknowledged_rows_survive_kills() {
    let count = std::env::var("CLEARWAY_KILLS").ok();
    let count = count.map_or(KILLS, |text| text.parse().expect("CLEARWAY_KILLS is a number"));
    let seed = u64::from(std::process::id());
    let mut random = Random(seed << 20 | 0x9E37_79B9);
    let data = Data::new("kills");
    let told = Told { backup: format!("{}.bak", data.path()), ..Told::default() };
    let mut server = data.start();
    prepare(&mut Client::log_in(server.address));
    let ends = [End::Kill, End::Checkpoint, End::Backup, End::Recovery, End::Stopped, End::Orderly];
    for (cycle, end) in (0..count).zip(ends.into_iter().cycle()) {
        work(&mut server, &told, end, &mut random);
        if end == End::Recovery {
            kill_in_recovery(&data, &mut random);
        }
        server = data.start();
        let what = format!("cycle {cycle}, seed {seed}, end {end:?}");
        check(&mut Client::log_in(server.address), &told, &what);
        if end == End::Backup {
            check_backup(&mut Client::log_in(server.address), &told, &what);
        }
    }
    let checkpoints = told.checkpoints.load(Ordering::Relaxed);
    assert!(checkpoints > 0, "no checkpoint was ever written");
}

fn run(client: &mut Client, text: &str) {
    assert_eq!(error_numbers(&client.batch(text)), [] as [i32; 0], "{text}");
}

fn prepare(client: &mut Client) {
    run(client, "CREATE DATABASE d");
    run(
        client,
        "CREATE TABLE d.dbo.journal (client int NOT NULL, n int NOT NULL, pad varchar(2000),
             PRIMARY KEY (client, n));
         CREATE TABLE d.dbo.moves (client int NOT NULL, n int NOT NULL, source int NOT NULL,
             target int NOT NULL, amount int NOT NULL, PRIMARY KEY (client, n));
         CREATE TABLE d.dbo.bank (id int PRIMARY KEY, balance int NOT NULL)",
    );
    for id in 0..ACCOUNTS {
        run(client, &format!("INSERT d.dbo.bank VALUES ({id}, {BALANCE})"));
    }
}

/// Lets clients write until the server ends.
fn work(server: &mut ServerProcess, told: &Told, end: End, random: &mut Random) {
    told.is_over.store(false, Ordering::SeqCst);
    told.answers.store(0, Ordering::SeqCst);
    let address = server.address;
    let due = ANSWERS.0 + random.below(ANSWERS.1 - ANSWERS.0);
    let seeds: Vec<u64> = (0..MOVERS).map(|_| random.below(u64::MAX) << 8 | 1).collect();
    std::thread::scope(|scope| {
        for client in 0..WRITERS {
            let mine = Client::log_in(address);
            scope.spawn(move || write_journal(mine, told, client));
        }
        for (client, seed) in seeds.into_iter().enumerate() {
            let mine = Client::log_in(address);
            scope.spawn(move || transfer(mine, told, client, seed));
        }
        let mine = Client::log_in(address);
        scope.spawn(move || read(mine, told));
        if end == End::Checkpoint {
            let mine = Client::log_in(address);
            scope.spawn(move || checkpoint(mine, told));
        }
        if end == End::Backup {
            let mine = Client::log_in(address);
            scope.spawn(move || back_up(mine, told));
        }
        wait_for_answers(told, due);
        match end {
            End::Kill | End::Recovery => {}
            End::Checkpoint => {
                let begun = told.checkpoints.load(Ordering::SeqCst);
                wait_until(told, "a checkpoint", || {
                    told.checkpoints.load(Ordering::SeqCst) > begun
                });
                sleep_below(random, 20);
            }
            End::Backup => {
                let begun = told.backups.load(Ordering::SeqCst);
                wait_until(told, "backups", || told.backups.load(Ordering::SeqCst) > begun + 1);
                sleep_below(random, 20);
            }
            End::Stopped => {
                server.signal("STOP");
                sleep_below(random, 60);
                let so_far = told.answers.load(Ordering::SeqCst);
                server.signal("CONT");
                wait_for_answers(told, so_far + 20);
                server.signal("STOP");
                sleep_below(random, 60);
            }
            End::Orderly => {
                told.is_over.store(true, Ordering::SeqCst);
                server.signal("TERM");
                assert!(server.wait().success());
                return;
            }
        }
        told.is_over.store(true, Ordering::SeqCst);
        server.signal("KILL");
        server.wait();
    });
    assert_eq!(told.trouble.get(), None, "end {end:?}");
}

fn wait_for_answers(told: &Told, due: u64) {
    wait_until(told, "answers", || told.answers.load(Ordering::SeqCst) >= due);
}

fn wait_until(told: &Told, what: &str, holds: impl Fn() -> bool) {
    let end = now() + PATIENCE;
    while !holds() && now() < end && told.trouble.get().is_none() {
        pause();
    }
    if !holds() {
        told.note(&format!("{what} did not come"));
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no scheduler to wait on")]
fn sleep_below(random: &mut Random, millis: u64) {
    std::thread::sleep(Duration::from_millis(random.below(millis)));
}

/// Kills two servers after their recovery has begun.
fn kill_in_recovery(data: &Data, random: &mut Random) {
    for _ in 0..2 {
        let all = ["serve", "--port", "0", "--sa-password", PASSWORD, "--data", data.path()];
        let mut child = command(&all).stdout(Stdio::null()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let begun = lines.find_map(|line| {
            let line = line.expect("the server logs text");
            line.contains("Recovery of").then_some(line)
        });
        assert!(begun.expect("a line of the recovery").contains("starts"));
        sleep_below(random, 30);
        child.kill().expect("the child is ours");
        let _ = child.wait();
    }
}

impl Told {
    /// Notes trouble, unless the end has come.
    fn note(&self, text: &str) {
        if !self.is_over.load(Ordering::SeqCst) {
            self.trouble.get_or_init(|| text.to_owned());
        }
    }

    /// Takes the answer to a batch; `Some(true)` if it was acknowledged without an error, `None` at
    /// the end.
    fn answer(&self, client: &mut Client, text: &str) -> Option<bool> {
        let tokens = match client.try_batch(text) {
            Ok(tokens) => tokens,
            Err(error) => {
                self.note(&format!("{text}: {error}"));
                return None;
            }
        };
        self.answers.fetch_add(1, Ordering::SeqCst);
        let errors = error_numbers(&tokens);
        match errors[..] {
            [] => Some(true),
            // Two transfers were in each other's way.
            [1205] => Some(false),
            _ => {
                self.note(&format!("{text}: errors {errors:?}"));
                None
            }
        }
    }
}

fn write_journal(mut mine: Client, told: &Told, client: usize) {
    // The check has made what is there the last that is known.
    let mut n = told.last[client].load(Ordering::SeqCst);
    loop {
        n += 1;
        told.sent[client].fetch_max(n, Ordering::SeqCst);
        let pad = n * 37 % 1_900;
        let text = format!("INSERT d.dbo.journal VALUES ({client}, {n}, REPLICATE('x', {pad}))");
        match told.answer(&mut mine, &text) {
            Some(true) => told.last[client].fetch_max(n, Ordering::SeqCst),
            _ => return,
        };
    }
}

fn transfer(mut mine: Client, told: &Told, client: usize, seed: u64) {
    let mut random = Random(seed);
    let mut n = told.moves[client].load(Ordering::SeqCst);
    loop {
        n += 1;
        let (source, target) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        let amount = random.below(30);
        let text = format!(
            "BEGIN TRANSACTION;
             UPDATE d.dbo.bank SET balance = balance - {amount} WHERE id = {source};
             INSERT d.dbo.moves VALUES ({client}, {n}, {source}, {target}, {amount});
             UPDATE d.dbo.bank SET balance = balance + {amount} WHERE id = {target};
             COMMIT"
        );
        match told.answer(&mut mine, &text) {
            Some(true) => {
                told.moves[client].fetch_max(n, Ordering::SeqCst);
            }
            Some(false) => n -= 1,
            None => return,
        }
    }
}

fn last_of(client: usize) -> String {
    format!("(SELECT ISNULL(MAX(n), 0) FROM d.dbo.journal WHERE client = {client})")
}

/// Reads the journals: what was shown has to stay, too.
fn read(mut mine: Client, told: &Told) {
    loop {
        for client in 0..WRITERS {
            match mine.try_value_of(&last_of(client)) {
                Ok(Value::Int(shown)) => {
                    told.last[client].fetch_max(shown.into(), Ordering::SeqCst);
                }
                Ok(other) => return told.note(&format!("the last entry is {other:?}")),
                Err(error) => return told.note(&format!("a reader: {error}")),
            }
        }
    }
}

fn checkpoint(mut mine: Client, told: &Told) {
    while let Some(true) = told.answer(&mut mine, "CHECKPOINT") {
        told.checkpoints.fetch_add(1, Ordering::SeqCst);
    }
}

/// Writes a full backup and then backups of the log.
fn back_up(mut mine: Client, told: &Told) {
    told.log_backups.store(0, Ordering::SeqCst);
    // A file that a crash of an earlier cycle has left is replaced.
    let full = format!("BACKUP DATABASE d TO DISK = '{}' WITH INIT", told.backup);
    if told.answer(&mut mine, &full) != Some(true) {
        return;
    }
    for number in 1_u64.. {
        told.backups.fetch_add(1, Ordering::SeqCst);
        told.log_backups.store(number - 1, Ordering::SeqCst);
        let text = format!("BACKUP LOG d TO DISK = '{}' WITH INIT", log_backup(told, number));
        if told.answer(&mut mine, &text) != Some(true) {
            return;
        }
    }
}

fn log_backup(told: &Told, number: u64) -> String {
    format!("{}.{number}", told.backup)
}

/// Restores the backups that were acknowledged under another name.
fn check_backup(client: &mut Client, told: &Told, what: &str) {
    let full =
        format!("RESTORE DATABASE copied FROM DISK = '{}' WITH NORECOVERY, REPLACE", told.backup);
    run(client, &full);
    let logs = told.log_backups.load(Ordering::SeqCst);
    for number in 1..=logs {
        let file = log_backup(told, number);
        run(client, &format!("RESTORE LOG copied FROM DISK = '{file}' WITH NORECOVERY"));
    }
    run(client, "RESTORE DATABASE copied WITH RECOVERY");
    let sum = client.value_of("(SELECT SUM(balance) FROM copied.dbo.bank)");
    let due = i32::try_from(ACCOUNTS * BALANCE).expect("a small number");
    assert_eq!(sum, Value::Int(due), "{what}: the sum in the backup");
    for writer in 0..WRITERS {
        let of = format!("FROM copied.dbo.journal WHERE client = {writer}");
        let gap = client.value_of(&format!("(SELECT COUNT(*) - ISNULL(MAX(n), 0) {of})"));
        assert_eq!(gap, Value::Int(0), "{what}: a gap in the backup of client {writer}");
    }
    run(client, "DROP DATABASE copied");
    // The last one may have been written and not acknowledged.
    let numbers = 1..=logs + 1;
    for file in numbers.map(|number| log_backup(told, number)).chain([told.backup.clone()]) {
        let _ = std::fs::remove_file(file);
    }
}

/// Compares what is there with what the clients were told.
fn check(client: &mut Client, told: &Told, what: &str) {
    let mut number = |expression: &str| match client.value_of(expression) {
        Value::Int(number) => i64::from(number),
        other => panic!("{what}: {expression} is {other:?}"),
    };
    for writer in 0..WRITERS {
        let last = number(&last_of(writer));
        let of = format!("FROM d.dbo.journal WHERE client = {writer}");
        let count = number(&format!("(SELECT COUNT(*) {of})"));
        assert_eq!(count, last, "{what}: the journal of client {writer} has a gap");
        let due = told.last[writer].load(Ordering::SeqCst);
        assert!(last >= due, "{what}: client {writer} was told {due}, and {last} is there");
        let sent = told.sent[writer].load(Ordering::SeqCst);
        assert!(last <= sent, "{what}: client {writer} has sent {sent}, and {last} is there");
        let wrong = format!("(SELECT COUNT(*) {of} AND LEN(pad) <> n * 37 % 1900)");
        assert_eq!(number(&wrong), 0, "{what}: values of client {writer}");
        // What is there now stays.
        told.last[writer].store(last, Ordering::SeqCst);
    }
    for (mover, due) in told.moves.iter().enumerate() {
        let of = format!("FROM d.dbo.moves WHERE client = {mover}");
        let last = number(&format!("(SELECT ISNULL(MAX(n), 0) {of})"));
        assert_eq!(number(&format!("(SELECT COUNT(*) {of})")), last, "{what}: a gap in moves");
        let told_last = due.swap(last, Ordering::SeqCst);
        assert!(last >= told_last, "{what}: transfer {told_last} was acknowledged, not {last}");
    }
    let sum = i64::try_from(ACCOUNTS * BALANCE).expect("a small number");
    assert_eq!(number("(SELECT SUM(balance) FROM d.dbo.bank)"), sum, "{what}: the bank's sum");
    let wrong = format!(
        "(SELECT COUNT(*) FROM d.dbo.bank AS b WHERE balance <> {BALANCE}
            + ISNULL((SELECT SUM(amount) FROM d.dbo.moves WHERE target = b.id), 0)
            - ISNULL((SELECT SUM(amount) FROM d.dbo.moves WHERE source = b.id), 0))"
    );
    assert_eq!(number(&wrong), 0, "{what}: accounts and transfers differ");
}
