//! Servers with a data folder are killed with SIGKILL while clients write, also while they are
//! stopped by SIGSTOP, write a checkpoint, write backups or recover. The clients keep a journal of what they were
//! told. After each restart:
//!
//! - what was acknowledged is there, and what a reader was shown;
//! - what was deleted is not there, and what a reader missed;
//! - nothing is there that no client has sent, and no delete is there in part;
//! - what each client wrote has no gap;
//! - no transfer is there in part: each account has what the transfers say, and the sum is as before;
//! - tables that were created and filled are there, those that were dropped are not;
//! - the last backup that was acknowledged can be restored, and so can those of the log since. They
//!   have what was acknowledged before they began.
//!
//! Clients delete their oldest entries, so the tables do not grow with the number of cycles.
//! `CLEARWAY_KILLS=1000` runs as many cycles: `make kill`.

mod check;
mod clients;
mod told;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

use self::check::{check, check_backup};
use self::clients::{back_up, checkpoint, define, read, transfer, write_journal};
use self::told::Told;
use crate::client::{Client, error_numbers};
use crate::data_folder::Data;
use crate::server::{PASSWORD, ServerProcess, command, now, pause};

/// Cycles in a usual run: each way to end comes once.
const KILLS: u64 = 6;
/// Clients that write journals, clients that transfer, and accounts of the bank.
const WRITERS: usize = 3;
const MOVERS: usize = 2;
const ACCOUNTS: u64 = 8;
/// Entries that each journal keeps: a short one is emptied often, a long one fills more than a page.
const WRITERS_KEEP: [i64; WRITERS] = [24, 400, 4_000];
/// Transfers that each client keeps, and tables that are there at a time.
const MOVES_KEPT: i64 = 40;
const TABLES_KEPT: i64 = 3;
/// Cycles after which a long run says how far it is.
const CYCLES_PER_REPORT: u64 = 25;
/// What is in each account at first.
const BALANCE: u64 = 100;
/// Answers after which the end comes, at least and at most.
const ANSWERS: (u64, u64) = (20, 140);

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
    // A kill in the midst of a backup leaves a file.
    let backups = Data::new("kill-backups");
    std::fs::create_dir_all(backups.path()).expect("the folder is ours");
    let told = Told { backup: format!("{}/d.bak", backups.path()), ..Told::default() };
    let begun = now();
    let mut server = data.start();
    prepare(&mut Client::log_in(server.address));
    let ends = [End::Kill, End::Checkpoint, End::Backup, End::Recovery, End::Stopped, End::Orderly];
    for (cycle, end) in (0..count).zip(ends.into_iter().cycle()) {
        work(&mut server, &told, end, &mut random);
        if end == End::Recovery {
            kill_in_recovery(&data, &mut random);
        }
        server = data.start();
        if cycle % CYCLES_PER_REPORT == CYCLES_PER_REPORT - 1 {
            let rows = told.rows.load(Ordering::Relaxed);
            eprintln!("{cycle} cycles after {:?}, {rows} rows", now() - begun);
        }
        let what = format!("cycle {cycle}, seed {seed}, end {end:?}");
        check(&mut Client::log_in_patiently(server.address, told.patience()), &told, &what);
        if end == End::Backup {
            let mut client = Client::log_in_patiently(server.address, told.patience());
            check_backup(&mut client, &told, &what);
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
         CREATE TABLE d.dbo.folded (client int NOT NULL, id int NOT NULL, amount int NOT NULL,
             PRIMARY KEY (client, id));
         CREATE TABLE d.dbo.bank (id int PRIMARY KEY, balance int NOT NULL)",
    );
    for id in 0..ACCOUNTS {
        run(client, &format!("INSERT d.dbo.bank VALUES ({id}, {BALANCE})"));
        for mover in 0..MOVERS {
            run(client, &format!("INSERT d.dbo.folded VALUES ({mover}, {id}, 0)"));
        }
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
        let mine = Client::log_in(address);
        scope.spawn(move || define(mine, told));
        if end == End::Checkpoint {
            let mine = Client::log_in_patiently(address, told.patience());
            scope.spawn(move || checkpoint(mine, told));
        }
        if end == End::Backup {
            let mine = Client::log_in_patiently(address, told.patience());
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
    let end = now() + told.patience();
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

fn log_backup(told: &Told, number: u64) -> String {
    format!("{}.{number}", told.backup)
}
