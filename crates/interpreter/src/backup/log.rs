//! BACKUP LOG: copies what a database has written to the log since its last log backup. Until that
//! is done, the segments of the log that have it stay.

use std::collections::BTreeSet;
use std::sync::Arc;

use ::durable::backup::{BackupWriter, CopyError, OwnTables, Span, folder_and_name};
use types::{Error, Msg, Result};

use super::write::{counters, failed};
use super::{
    Progress, Wishes, facts, hold, log_lost, not_opened, open_folder, tell_end, to_back_up,
};
use ::catalog::{BackupFacts, Database};
use ::executor::Cx;

/// Runs BACKUP LOG to a file.
pub(super) fn run(name: &str, path: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    let found = to_back_up(name, "BACKUP LOG", cx)?;
    let began = sos::clock::utc_100ns();
    check_model(&found)?;
    let instance = Arc::clone(&cx.session.instance);
    let Some(durable) = instance.durable() else {
        return Err(Msg::NotSupported("BACKUP LOG without --data").into());
    };
    let held = hold(durable, found.id, true)?;
    let known = facts::state_of(&found, cx)?;
    if known.get("log_lsn").is_empty() {
        let text = "BACKUP LOG cannot be performed because there is no current database backup.";
        return Err(Error::custom(4214, 16, 1, text));
    }
    let disk = open_folder(path, wishes, cx)?;
    let until = sos::clock::utc_100ns();
    // The next backup begins in this segment, or behind it.
    let (next_segment, _) = durable.log_start();
    let last = durable.log_end().ok_or_else(|| log_lost(name))?;
    let span = Span {
        segment: known.get("log_segment").parse().unwrap_or(0),
        first: known.get("log_lsn").parse().unwrap_or(0),
        last,
    };
    let mut facts = facts_of(&found, &known, last, wishes, cx);
    facts.set("valid_until", until);
    let writer = BackupWriter::begin(&disk, folder_and_name(path).1, wishes.compresses, &facts);
    let mut writer = writer.map_err(|error| not_opened(path, &error))?;
    let mut own = OwnTables { database: found.id, tables: tables_of(&known) };
    let copied = durable.copy_log(span, &mut own, &mut writer).map_err(|error| match error {
        CopyError::Backup(error) => failed(path, &error),
        CopyError::Log(why) => Error::custom(3203, 16, 1, format!("Read of the log failed: {why}")),
    })?;
    let mut end = counters(&found, cx);
    end.set("last_commit", copied);
    let (bytes, end) = writer.finish(end).map_err(|error| failed(path, &error))?;
    facts.extend(&end);
    facts::add_file(&mut facts, bytes, path);
    let plain = facts.number("plain_bytes");
    let fork = known.get("fork").to_owned();
    let tables = still_there(&found, &known, &own);
    let next = |_: &Database, known: &mut BackupFacts| {
        // The chain may have ended by now, and another one may have begun.
        if known.get("fork") == fork && !known.get("log_lsn").is_empty() && !wishes.copy_only {
            go_on(known, (next_segment, last));
            known.set("tables", &tables);
        }
    };
    facts::remember_backup(found.id, facts, next, cx)?;
    drop(held);
    durable.retire_log();
    Progress::new(wishes.stats).tell(1, 1, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("BACKUP LOG", plain, micros, cx)
}

/// Checks that the database has a recovery model with backups of the log.
fn check_model(database: &Database) -> Result<()> {
    if database.name.eq_ignore_ascii_case("master") {
        let text = "Cannot back up the log of the master database. Use BACKUP DATABASE instead.";
        return Err(Error::custom(4212, 16, 1, text));
    }
    if database.options.recovery == "SIMPLE" {
        let text = "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE.";
        return Err(Error::custom(4208, 16, 1, text));
    }
    Ok(())
}

fn facts_of(
    database: &Database,
    known: &BackupFacts,
    last: u64,
    wishes: &Wishes,
    cx: &Cx<'_>,
) -> BackupFacts {
    let mut facts = facts::of_backup(database, "L", wishes, cx);
    for name in ["family", "guid", "fork"] {
        facts.set(name, known.get(name));
    }
    facts.set("first_lsn", known.get("log_lsn"));
    facts.set("last_lsn", last + 1);
    facts.set("checkpoint_lsn", known.get("base_lsn"));
    facts.set("database_backup_lsn", known.get("base_lsn"));
    facts.set("begins_log_chain", known.number("begins"));
    facts
}

fn tables_of(known: &BackupFacts) -> BTreeSet<u32> {
    known.get("tables").split(' ').filter_map(|id| id.parse().ok()).collect()
}

/// Notes where the next backup of the log begins.
fn go_on(known: &mut BackupFacts, (segment, last): (u64, u64)) {
    known.set("log_segment", segment);
    known.set("log_lsn", last + 1);
    known.set("begins", 0);
    known.set("log_backup_time", sos::clock::utc_100ns());
}

/// Returns the tables that may be in the log behind this backup: all that it has found, but for those
/// that had gone before it began, and so before its end.
fn still_there(found: &Database, known: &BackupFacts, own: &OwnTables) -> String {
    let earlier = tables_of(known);
    let began_with: BTreeSet<u32> = found.tables().map(|table| table.rows.data.id().0).collect();
    let is_there = |id: &&u32| !earlier.contains(*id) || began_with.contains(*id);
    let ids: Vec<String> = own.tables.iter().filter(is_there).map(u32::to_string).collect();
    ids.join(" ")
}
