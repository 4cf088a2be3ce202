//! The clients of the kill campaign: each writes, asks or reads until its connection breaks.

use std::sync::atomic::Ordering;

use types::Value;

use super::told::{Journal, Told};
use super::{ACCOUNTS, MOVES_KEPT, Random, TABLES_KEPT, WRITERS_KEEP, log_backup};
use crate::client::Client;

/// Adds entries to a journal and deletes its oldest ones, so that a table that has been through
/// many cycles is no larger than after a few.
pub(super) fn write_journal(mut mine: Client, told: &Told, client: usize) {
    let (journal, keep) = (&told.journals[client], WRITERS_KEEP[client]);
    // The check has made what is there the last that is known.
    let (mut n, mut gone) = journal.known();
    loop {
        n += 1;
        journal.sent.fetch_max(n, Ordering::SeqCst);
        let pad = n * 37 % 1_900;
        let text = format!("INSERT d.dbo.journal VALUES ({client}, {n}, REPLICATE('x', {pad}))");
        if told.answer(&mut mine, &text) != Some(true) {
            return;
        }
        journal.last.fetch_max(n, Ordering::SeqCst);
        if n - gone < keep + keep / 4 {
            continue;
        }
        gone = n - keep;
        let text = format!("DELETE d.dbo.journal WHERE client = {client} AND n <= {gone}");
        if !delete(&mut mine, told, journal, gone, &text) {
            return;
        }
    }
}

/// Sends a delete of all entries up to `gone`; whether it was acknowledged.
fn delete(mine: &mut Client, told: &Told, journal: &Journal, gone: i64, text: &str) -> bool {
    journal.gone_sent.fetch_max(gone, Ordering::SeqCst);
    let is_acknowledged = told.answer(mine, text) == Some(true);
    if is_acknowledged {
        journal.gone.fetch_max(gone, Ordering::SeqCst);
    }
    is_acknowledged
}

/// Moves amounts between accounts. What old transfers have moved is added up in `folded` by the
/// transaction that deletes them.
pub(super) fn transfer(mut mine: Client, told: &Told, client: usize, seed: u64) {
    let mut random = Random(seed);
    let journal = &told.moves[client];
    let (mut n, mut gone) = journal.known();
    loop {
        n += 1;
        journal.sent.fetch_max(n, Ordering::SeqCst);
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
                journal.last.fetch_max(n, Ordering::SeqCst);
            }
            Some(false) => n -= 1,
            None => return,
        }
        if n - gone < MOVES_KEPT + MOVES_KEPT / 4 {
            continue;
        }
        gone = n - MOVES_KEPT;
        if !delete(&mut mine, told, journal, gone, &fold(client, gone)) {
            return;
        }
    }
}

/// Returns the transaction that deletes the transfers of a client up to the `gone`th.
fn fold(client: usize, gone: i64) -> String {
    let sum_of = |side: &str| {
        format!(
            "ISNULL((SELECT SUM(m.amount) FROM d.dbo.moves AS m
                WHERE m.client = {client} AND m.n <= {gone} AND m.{side} = f.id), 0)"
        )
    };
    let (received, sent) = (sum_of("target"), sum_of("source"));
    format!(
        "BEGIN TRANSACTION;
         UPDATE f SET amount = amount + {received} - {sent} FROM d.dbo.folded AS f
             WHERE f.client = {client};
         DELETE d.dbo.moves WHERE client = {client} AND n <= {gone};
         COMMIT"
    )
}

/// Creates tables, fills, empties and fills each of them, and drops the oldest.
pub(super) fn define(mut mine: Client, told: &Told) {
    let (mut n, mut gone) = told.tables.known();
    loop {
        n += 1;
        told.tables.sent.fetch_max(n, Ordering::SeqCst);
        let name = format!("d.dbo.t{n}");
        if told.answer(&mut mine, &format!("CREATE TABLE {name} (a int PRIMARY KEY)")) != Some(true)
        {
            return;
        }
        told.tables.last.fetch_max(n, Ordering::SeqCst);
        for text in [
            format!("INSERT {name} VALUES (0)"),
            format!("TRUNCATE TABLE {name}"),
            format!("INSERT {name} VALUES ({n})"),
        ] {
            if told.answer(&mut mine, &text) != Some(true) {
                return;
            }
        }
        told.filled.store(n, Ordering::SeqCst);
        while n - gone > TABLES_KEPT {
            gone += 1;
            let text = format!("DROP TABLE d.dbo.t{gone}");
            if !delete(&mut mine, told, &told.tables, gone, &text) {
                return;
            }
        }
    }
}

/// Reads the journals: what was shown has to stay, and what was missing has to stay away.
pub(super) fn read(mut mine: Client, told: &Told) {
    let mut number = |expression: &str| match mine.try_value_of(expression) {
        Ok(Value::Int(shown)) => Some(i64::from(shown)),
        Ok(other) => {
            told.note(&format!("{expression} is {other:?}"));
            None
        }
        Err(error) => {
            told.note(&format!("a reader: {error}"));
            None
        }
    };
    loop {
        for (client, journal) in told.journals.iter().enumerate() {
            let of = format!("FROM d.dbo.journal WHERE client = {client}");
            let Some(last) = number(&format!("(SELECT ISNULL(MAX(n), 0) {of})")) else { return };
            journal.last.fetch_max(last, Ordering::SeqCst);
            let Some(gone) = number(&format!("(SELECT ISNULL(MIN(n), 1) - 1 {of})")) else {
                return;
            };
            journal.gone.fetch_max(gone, Ordering::SeqCst);
        }
    }
}

pub(super) fn checkpoint(mut mine: Client, told: &Told) {
    while let Some(true) = told.answer(&mut mine, "CHECKPOINT") {
        told.checkpoints.fetch_add(1, Ordering::SeqCst);
    }
}

/// Writes a full backup and then backups of the log.
pub(super) fn back_up(mut mine: Client, told: &Told) {
    told.log_backups.store(0, Ordering::SeqCst);
    let known = known_of(told);
    // A file that a crash of an earlier cycle has left is replaced.
    let full = format!("BACKUP DATABASE d TO DISK = '{}' WITH INIT", told.backup);
    if told.answer(&mut mine, &full) != Some(true) {
        return;
    }
    keep_known(told, &known);
    for number in 1_u64.. {
        told.backups.fetch_add(1, Ordering::SeqCst);
        told.log_backups.store(number - 1, Ordering::SeqCst);
        let known = known_of(told);
        let text = format!("BACKUP LOG d TO DISK = '{}' WITH INIT", log_backup(told, number));
        if told.answer(&mut mine, &text) != Some(true) {
            return;
        }
        told.log_backups.store(number, Ordering::SeqCst);
        keep_known(told, &known);
    }
}

fn known_of(told: &Told) -> Vec<(i64, i64)> {
    told.journals.iter().map(Journal::known).collect()
}

fn keep_known(told: &Told, known: &[(i64, i64)]) {
    for ((last, gone), (known_last, known_gone)) in told.backed_up.iter().zip(known) {
        last.store(*known_last, Ordering::SeqCst);
        gone.store(*known_gone, Ordering::SeqCst);
    }
}
