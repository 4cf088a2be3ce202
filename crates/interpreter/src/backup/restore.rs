//! RESTORE: checks files, and whether they follow each other. `fill.rs` makes the database, which
//! appears at the end: until then the database before is as it was.
//!
//! With NORECOVERY the names of the files are kept, and the database waits for more in the state
//! RESTORING. It is made when the last file is known, from all of them.

use std::sync::Arc;

use ::durable::backup::{BackupReader, folder_and_name};
use metadata::backup::{FILES, File, HEADER, LABEL};
use metadata::column::{list, shape};
use sos::sys::OsDisk;
use types::{Error, Msg, Result, Value};

use super::fill::{self, Sources};
use super::{Columns, Wishes, check_alone, facts, not_opened, say, tell_end, unreadable};
use ::catalog::name::Name;
use ::catalog::{BackupFacts, Database, Restoring, SYSTEM_DATABASE_LAST};
use ::ddl::user_access::is_in_use;
use ::executor::Cx;

/// Runs RESTORE VERIFYONLY of a file.
pub(super) fn verify_only(path: &str, cx: &mut Cx<'_>) -> Result<()> {
    check_makes(cx)?;
    open(path)?.verify().map_err(|error| unreadable(path, &error))?;
    say(Error::custom(3262, 10, 1, "The backup set on file 1 is valid."), cx)
}

/// Returns the result of RESTORE HEADERONLY.
pub(super) fn header(path: &str, cx: &Cx<'_>) -> Result<(Columns, Vec<Vec<Value>>)> {
    let facts = facts_of_file(path, cx)?;
    Ok((shape(HEADER), list(HEADER, [facts])?))
}

/// Returns the result of RESTORE FILELISTONLY.
pub(super) fn files(path: &str, cx: &Cx<'_>) -> Result<(Columns, Vec<Vec<Value>>)> {
    let facts = facts_of_file(path, cx)?;
    Ok((shape(FILES), list(FILES, File::all(&facts))?))
}

/// Returns the result of RESTORE LABELONLY.
pub(super) fn label(path: &str, cx: &Cx<'_>) -> Result<(Columns, Vec<Vec<Value>>)> {
    let facts = facts_of_file(path, cx)?;
    Ok((shape(LABEL), list(LABEL, [facts])?))
}

fn facts_of_file(path: &str, cx: &Cx<'_>) -> Result<BackupFacts> {
    check_makes(cx)?;
    Ok(all_facts(&open(path)?, path))
}

/// Returns all facts of a backup: of its beginning, its end and its file.
fn all_facts(reader: &BackupReader, path: &str) -> BackupFacts {
    let mut facts = reader.facts().clone();
    facts.extend(reader.end());
    facts::add_file(&mut facts, reader.bytes(), path);
    facts
}

pub(super) fn open(path: &str) -> Result<BackupReader> {
    let (folder, file) = folder_and_name(path);
    let disk = OsDisk::open(folder).map_err(|error| not_opened(path, &error))?;
    BackupReader::open(&disk, file).map_err(|error| unreadable(path, &error))
}

fn check_makes(cx: &Cx<'_>) -> Result<()> {
    match cx.session.identity.rights.makes_databases(&cx.session.catalog) {
        true => Ok(()),
        false => Err(Msg::DatabasePermissionDenied("CREATE DATABASE", "master").into()),
    }
}

/// Returns all facts of a backup, which is not read as a whole.
pub(super) fn outcome(path: &str) -> Result<BackupFacts> {
    Ok(all_facts(&open(path)?, path))
}

/// Reads a whole backup and checks it; returns its facts.
fn verified(path: &str) -> Result<BackupFacts> {
    let mut reader = open(path)?;
    reader.verify().map_err(|error| unreadable(path, &error))?;
    Ok(all_facts(&reader, path))
}

/// Finds the database with a name, which may be made by this session.
fn find(name: &str, cx: &mut Cx<'_>) -> Result<Option<Arc<Database>>> {
    check_alone(cx)?;
    cx.session.refresh_catalog();
    let before = cx.session.catalog.database(name).cloned();
    match &before {
        Some(found) if cx.session.identity.rights.owns(found) => {}
        _ => check_makes(cx)?,
    }
    Ok(before)
}

/// Runs RESTORE DATABASE from a file.
pub(super) fn database(name: &str, path: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    let before = find(name, cx)?;
    let began = sos::clock::utc_100ns();
    let facts = verified(path)?;
    match facts.get("type") {
        "I" => return roll((name, path), before, &facts, wishes, cx),
        "L" => {
            return Err(Msg::NotSupported("RESTORE DATABASE from a backup of the log").into());
        }
        _ => {}
    }
    if let Some(found) = &before {
        check_replaces(found, &facts, wishes, cx)?;
    }
    let files = vec![path.to_owned()];
    end(name, before, Restoring { files, until_100ns: wishes.stop_at }, wishes, cx)?;
    facts::remember_restore(name, &facts, wishes, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("RESTORE DATABASE", facts.number("plain_bytes"), micros, cx)
}

/// Runs RESTORE LOG from a file.
pub(super) fn log(name: &str, path: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    let before = find(name, cx)?;
    let began = sos::clock::utc_100ns();
    let facts = verified(path)?;
    if facts.get("type") != "L" {
        let text = "The file is not a backup of the log. Use RESTORE DATABASE.";
        return Err(Error::custom(3135, 16, 1, text));
    }
    roll((name, path), before, &facts, wishes, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("RESTORE LOG", facts.number("plain_bytes"), micros, cx)
}

/// Runs RESTORE DATABASE WITH RECOVERY without a file.
pub(super) fn recover(name: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    let Some(before) = find(name, cx)? else { return Err(Msg::DatabaseNotFound(name).into()) };
    let Some(restoring) = before.options.restoring.clone() else {
        return Err(Error::custom(3153, 16, 2, "The database is already fully recovered."));
    };
    let began = sos::clock::utc_100ns();
    end(name, Some(before), restoring, wishes, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("RESTORE DATABASE", 0, micros, cx)
}

/// Adds a differential backup or one of the log to a database that is being restored.
fn roll(
    (name, path): (&str, &str),
    before: Option<Arc<Database>>,
    facts: &BackupFacts,
    wishes: &Wishes,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(before) = before else {
        let text = format!(
            "The database \"{name}\" does not exist. RESTORE can only create a database when restoring either a full backup or a file backup of the primary file."
        );
        return Err(Error::custom(3118, 16, 1, text));
    };
    let Some(mut restoring) = before.options.restoring.clone() else {
        let text = "The log or differential backup cannot be restored because no files are ready to rollforward.";
        return Err(Error::custom(3117, 16, 1, text));
    };
    check_fits(&restoring, facts)?;
    restoring.files.push(path.to_owned());
    restoring.until_100ns = wishes.stop_at.or(restoring.until_100ns);
    let known_until = facts.get("valid_until").parse().unwrap_or(u64::MAX);
    let is_early = wishes.stop_at.is_some_and(|stop| stop > known_until);
    let left = Wishes { no_recovery: true, ..wishes.clone() };
    let wishes = if is_early && !wishes.no_recovery {
        let text = "This backup set contains records that were logged before the designated point in time. The database is being left in the restoring state so that more roll forward can be performed.";
        say(Error::custom(4322, 10, 1, text), cx)?;
        &left
    } else {
        wishes
    };
    end(name, Some(before), restoring, wishes, cx)?;
    facts::remember_restore(name, facts, wishes, cx)
}

/// Checks that a backup follows those that were restored so far.
fn check_fits(restoring: &Restoring, facts: &BackupFacts) -> Result<()> {
    let Some(last) = restoring.files.last() else { return Err(Msg::InternalError.into()) };
    let last = outcome(last)?;
    if facts.get("type") == "I" {
        let is_base = last.get("type") == "D" && last.get("uuid") == facts.get("base");
        let text = "This differential backup cannot be restored because the database has not been restored to the correct earlier state.";
        return if is_base { Ok(()) } else { Err(Error::custom(3136, 16, 1, text)) };
    }
    if facts.get("fork") != last.get("fork") {
        let text = "This backup set cannot be applied because it is on a recovery path that is inconsistent with the database. The recovery path is the sequence of data and log backups that have brought the database to a particular recovery point. Find a compatible backup to restore, or restore the rest of the database to match a recovery point within this backup set, which will restore the database to a different point in time. For more information about recovery paths, see SQL Server Books Online.";
        return Err(Error::custom(4330, 16, 1, text));
    }
    let is_log = last.get("type") == "L";
    let next = last.number(if is_log { "last_lsn" } else { "first_lsn" });
    let (first, end) = (facts.number("first_lsn"), facts.number("last_lsn"));
    if first > next {
        return Err(Error::custom(
            4305,
            16,
            1,
            format!(
                "The log in this backup set begins at LSN {first}, which is too recent to apply to the database. An earlier log backup that includes LSN {next} can be restored."
            ),
        ));
    }
    if end <= next {
        return Err(Error::custom(
            4326,
            16,
            1,
            format!(
                "The log in this backup set terminates at LSN {end}, which is too early to apply to the database. A more recent log backup that includes LSN {next} can be restored."
            ),
        ));
    }
    Ok(())
}

/// Ends a step: the database appears, or waits for the next file with NORECOVERY.
fn end(
    name: &str,
    before: Option<Arc<Database>>,
    restoring: Restoring,
    wishes: &Wishes,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(full) = restoring.files.first() else { return Err(Msg::InternalError.into()) };
    let full = outcome(full)?;
    let data = match restoring.files.get(1).map(|path| outcome(path)).transpose()? {
        Some(more) if more.get("type") == "I" => more,
        _ => full.clone(),
    };
    let moment: u64 = data.get("valid_until").parse().unwrap_or(0);
    if restoring.until_100ns.is_some_and(|until| until < moment) {
        let text = "The specified STOPAT time is too early. All or part of the database is already rolled forward beyond that point.";
        return Err(Error::custom(4335, 16, 1, text));
    }
    let mark = cx.session.mark_definitions();
    let made = if wishes.no_recovery {
        fill::wait_for_more(name, &full, restoring, before.as_ref(), cx)
    } else {
        let sources = Sources::of(&restoring, data.get("type") == "I");
        fill::make(name, &sources, before.as_ref(), wishes, cx)
    };
    cx.session.end_definition(&mark, made.is_err());
    made?;
    cx.session.refresh_catalog();
    facts::begin_history(name, &full, cx)
}

/// Checks that a database may be replaced.
fn check_replaces(
    found: &Database,
    facts: &BackupFacts,
    wishes: &Wishes,
    cx: &Cx<'_>,
) -> Result<()> {
    let name = &found.name;
    if found.id <= SYSTEM_DATABASE_LAST {
        return Err(Msg::NotSupported("RESTORE DATABASE of a system database").into());
    }
    if Name::same(&cx.session.identity.database, name) {
        return Err(Error::custom(
            3102,
            16,
            1,
            format!(
                "RESTORE cannot process database '{name}' because it is in use by this session. It is recommended that the master database be used when performing this operation."
            ),
        ));
    }
    if is_in_use(cx.session, found) {
        let text = "Exclusive access could not be obtained because the database is in use.";
        return Err(Error::custom(3101, 16, 1, text));
    }
    // A restore that has begun may begin once more.
    if wishes.replaces || found.options.restoring.is_some() {
        return Ok(());
    }
    let is_same = facts.get("database") == found.name
        && facts.get("identity") == format!("{:?}", found.created);
    if !is_same {
        return Err(Error::custom(
            3154,
            16,
            4,
            format!(
                "The backup set holds a backup of a database other than the existing '{name}' database."
            ),
        ));
    }
    if found.options.recovery.eq_ignore_ascii_case("SIMPLE") {
        return Ok(());
    }
    Err(Error::custom(
        3159,
        16,
        1,
        format!(
            "The tail of the log for the database \"{name}\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log."
        ),
    ))
}
