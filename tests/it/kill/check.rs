//! What has to hold after a kill of the kill campaign: in the database, and in what its backups restore.

use std::sync::atomic::Ordering;

use types::Value;

use super::told::{Found, Told};
use super::{ACCOUNTS, BALANCE, MOVES_KEPT, WRITERS_KEEP, log_backup, run};
use crate::client::Client;

/// Evaluates expressions on one connection.
struct Numbers<'a>(&'a mut Client, &'a str);

impl Numbers<'_> {
    /// Evaluates an `int` expression.
    fn number(&mut self, expression: &str) -> i64 {
        match self.0.value_of(expression) {
            Value::Int(number) => i64::from(number),
            other => panic!("{}: {expression} is {other:?}", self.1),
        }
    }

    /// Reads which entries of `of`, a FROM and WHERE, are there.
    fn found(&mut self, n: &str, of: &str) -> Found {
        Found {
            count: self.number(&format!("(SELECT COUNT(*) {of})")),
            last: self.number(&format!("(SELECT ISNULL(MAX({n}), 0) {of})")),
            gone: self.number(&format!("(SELECT ISNULL(MIN({n}), 1) - 1 {of})")),
        }
    }

    /// Checks that no transfer is there in part.
    fn check_bank(&mut self, database: &str) {
        let what = self.1;
        let sum = i64::try_from(ACCOUNTS * BALANCE).expect("a small number");
        let there = self.number(&format!("(SELECT SUM(balance) FROM {database}.dbo.bank)"));
        assert_eq!(there, sum, "{what}: the sum of the bank in {database}");
        let sum_of = |column: &str, table: &str, side: &str| {
            format!(
                "ISNULL((SELECT SUM({column}) FROM {database}.dbo.{table} WHERE {side} = b.id), 0)"
            )
        };
        let wrong = format!(
            "(SELECT COUNT(*) FROM {database}.dbo.bank AS b WHERE balance <> {BALANCE} + {} + {} - {})",
            sum_of("amount", "folded", "id"),
            sum_of("amount", "moves", "target"),
            sum_of("amount", "moves", "source"),
        );
        assert_eq!(self.number(&wrong), 0, "{what}: accounts and transfers differ in {database}");
    }
}

fn journal_of(database: &str, writer: usize) -> String {
    format!("FROM {database}.dbo.journal WHERE client = {writer}")
}

/// Compares what is there with what the clients were told.
pub(super) fn check(client: &mut Client, told: &Told, what: &str) {
    let mut numbers = Numbers(client, what);
    let mut rows = 0;
    for (writer, journal) in told.journals.iter().enumerate() {
        let of = journal_of("d", writer);
        let found = numbers.found("n", &of);
        journal.check(found, &format!("{what}: the journal of client {writer}"));
        assert!(found.count <= WRITERS_KEEP[writer] * 2, "{what}: {found:?} has grown");
        let wrong = format!("(SELECT COUNT(*) {of} AND LEN(pad) <> n * 37 % 1900)");
        assert_eq!(numbers.number(&wrong), 0, "{what}: values of client {writer}");
        rows += found.count;
    }
    for (mover, journal) in told.moves.iter().enumerate() {
        let found = numbers.found("n", &format!("FROM d.dbo.moves WHERE client = {mover}"));
        journal.check(found, &format!("{what}: the transfers of client {mover}"));
        assert!(found.count <= MOVES_KEPT * 2, "{what}: {found:?} has grown");
        rows += found.count;
    }
    numbers.check_bank("d");
    check_tables(&mut numbers, told);
    told.rows.store(u64::try_from(rows).expect("a count"), Ordering::SeqCst);
}

/// Checks the tables that come and go: the last may have been cut off while it was filled.
fn check_tables(numbers: &mut Numbers<'_>, told: &Told) {
    let what = numbers.1;
    let of = "FROM d.sys.tables WHERE name LIKE 't[0-9]%'";
    let found = numbers.found("CONVERT(int, SUBSTRING(name, 2, 20))", of);
    told.tables.check(found, &format!("{what}: tables"));
    let filled = told.filled.load(Ordering::SeqCst);
    for table in found.gone + 1..=found.last {
        let count = numbers.number(&format!("(SELECT COUNT(*) FROM d.dbo.t{table})"));
        let value = numbers.number(&format!("(SELECT ISNULL(MAX(a), 0) FROM d.dbo.t{table})"));
        let is_right = match count {
            1 => value == table || (table > filled && value == 0),
            _ => table > filled && count == 0,
        };
        assert!(is_right, "{what}: {count} rows with {value} in t{table}, {filled} are filled");
    }
    // A table that was cut off gets no more rows.
    told.filled.store(found.last, Ordering::SeqCst);
    if filled < found.last {
        let text = format!("DELETE d.dbo.t{0}; INSERT d.dbo.t{0} VALUES ({0})", found.last);
        run(numbers.0, &text);
    }
}

/// Restores the backups that were acknowledged under another name.
pub(super) fn check_backup(client: &mut Client, told: &Told, what: &str) {
    let full =
        format!("RESTORE DATABASE copied FROM DISK = '{}' WITH NORECOVERY, REPLACE", told.backup);
    run(client, &full);
    let logs = told.log_backups.load(Ordering::SeqCst);
    for number in 1..=logs {
        let file = log_backup(told, number);
        run(client, &format!("RESTORE LOG copied FROM DISK = '{file}' WITH NORECOVERY"));
    }
    run(client, "RESTORE DATABASE copied WITH RECOVERY");
    let mut numbers = Numbers(client, what);
    numbers.check_bank("copied");
    for (writer, journal) in told.journals.iter().enumerate() {
        let found = numbers.found("n", &journal_of("copied", writer));
        let (last, gone) = &told.backed_up[writer];
        let known = (last.load(Ordering::SeqCst), gone.load(Ordering::SeqCst));
        journal.check_backup(known, found, &format!("{what}: the backup of client {writer}"));
    }
    run(client, "DROP DATABASE copied");
    // The last one may have been written and not acknowledged.
    let numbers = 1..=logs + 1;
    for file in numbers.map(|number| log_backup(told, number)).chain([told.backup.clone()]) {
        let _ = std::fs::remove_file(file);
    }
}
