//! What a backup is of, as facts: in the file, in msdb's tables, and in results.

use ::catalog::{BackupFacts, Database, UserAccess};
use metadata::Scope;
use metadata::backup::{File, new_guid, utc_100ns};
use types::Result;

use super::Wishes;
use ::executor::Cx;

/// Bytes of a page, the unit of sizes in the catalog.
const PAGE_BYTES: i64 = 8_192;

/// Returns what a backup of a database that begins now is of. `kind` is that of `msdb`.
pub(super) fn of_backup(
    database: &Database,
    kind: &str,
    wishes: &Wishes,
    cx: &Cx<'_>,
) -> BackupFacts {
    let mut facts = BackupFacts::default();
    let server = &cx.session.instance.config.server_name;
    let flag = |value: bool| i32::from(value).to_string();
    let options = &database.options;
    let is_read_only = options.others.get("READ_ONLY").is_some_and(|value| value != "OFF");
    let known = [
        ("type", kind.to_owned()),
        ("database", database.name.clone()),
        ("identity", format!("{:?}", database.created)),
        ("created", utc_100ns(&database.created).unwrap_or_default().to_string()),
        ("login", cx.session.identity.login.clone()),
        ("server", server.clone()),
        ("machine", server.split('\\').next().unwrap_or_default().to_owned()),
        ("began", sos::clock::utc_100ns().to_string()),
        ("recovery", options.recovery.clone()),
        ("level", options.compatibility_level.to_string()),
        ("collation", database.collation.name()),
        ("single_user", flag(options.user_access == UserAccess::Single)),
        ("read_only", flag(is_read_only)),
        ("copy_only", flag(wishes.copy_only)),
        ("compressed", flag(wishes.compresses)),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("name", wishes.name.clone().unwrap_or_default()),
        ("description", wishes.description.clone().unwrap_or_default()),
        ("media_name", wishes.media_name.clone().unwrap_or_default()),
        ("media_description", wishes.media_description.clone().unwrap_or_default()),
        ("uuid", new_guid()),
        ("media", new_guid()),
        ("media_family", new_guid()),
    ];
    known.iter().for_each(|(name, value)| facts.set(name, value));
    add_files(&mut facts, database, cx);
    facts
}

/// Adds the files of the database, with the places where they are.
fn add_files(facts: &mut BackupFacts, database: &Database, cx: &Cx<'_>) {
    facts.set("files", database.files.len());
    let scope = Scope { session: cx.session, database, arguments: &[], needed: &[] };
    for (number, file) in (1..).zip(&database.files) {
        let placed = metadata::log::place(&scope, database.id, file.log);
        let size = i64::from(file.size.size).saturating_mul(PAGE_BYTES);
        let (path, bytes) = match placed {
            Some((path, bytes)) => (path, i64::try_from(bytes).unwrap_or(i64::MAX)),
            None => (file.path.clone(), size),
        };
        let max = i64::from(file.size.max);
        // As SQL Server shows a file without a limit: 2 TB.
        let max = if max < 0 { 268_435_456 } else { max };
        let kind = if file.log { "L" } else { file_kind(file.memory_optimized) };
        for (name, value) in [
            ("name", file.name.clone()),
            ("path", path),
            ("type", kind.to_owned()),
            ("group", file.filegroup.clone()),
            ("size", bytes.to_string()),
            ("max_size", max.saturating_mul(PAGE_BYTES).to_string()),
        ] {
            facts.set(&format!("file {number} {name}"), value);
        }
    }
}

fn file_kind(memory_optimized: bool) -> &'static str {
    if memory_optimized { "S" } else { "D" }
}

/// Adds the file of a backup. Before compression it is not smaller.
pub(super) fn add_file(facts: &mut BackupFacts, bytes: u64, path: &str) {
    facts.set("bytes", bytes);
    let plain = facts.number("plain_bytes").max(facts.number("bytes"));
    facts.set("plain_bytes", plain);
    facts.set("path", path);
}

/// Sets what a database that was restored knows for its next backup: whose family it is.
pub(super) fn begin_history(name: &str, full: &BackupFacts, cx: &Cx<'_>) -> Result<()> {
    cx.session.instance.catalog.change_aside(|catalog| {
        let Some(database) = catalog.database(name).cloned() else { return Ok(()) };
        let mut facts = BackupFacts::default();
        facts.set("family", full.get("family"));
        facts.set("guid", new_guid());
        let history = std::sync::Arc::make_mut(&mut catalog.backups);
        history.prune(&catalog.databases);
        history.set_database(&database, facts);
        Ok(())
    })
}

/// Remembers a backup in msdb's tables.
///
/// `change` sets what the database knows for its next backup; its chain may have ended by now.
pub(super) fn remember_backup(
    database: i16,
    facts: BackupFacts,
    change: impl FnOnce(&Database, &mut BackupFacts),
    cx: &Cx<'_>,
) -> Result<()> {
    cx.session.instance.catalog.change_aside(|catalog| {
        let found = catalog.database_by_id(database).cloned();
        let history = std::sync::Arc::make_mut(&mut catalog.backups);
        history.prune(&catalog.databases);
        history.add_backup(facts);
        if let Some(database) = found {
            let known = history.of_database(&database).cloned().unwrap_or_default();
            let mut known = BackupFacts::clone(&known);
            change(&database, &mut known);
            history.set_database(&database, known);
        }
        Ok(())
    })
}

/// Returns what a database knows for its next backup. Its first one gives it its unique ids.
pub(super) fn state_of(database: &Database, cx: &Cx<'_>) -> Result<BackupFacts> {
    cx.session.instance.catalog.change_aside(|catalog| {
        let history = std::sync::Arc::make_mut(&mut catalog.backups);
        let known = history.of_database(database).cloned().unwrap_or_default();
        let mut known = BackupFacts::clone(&known);
        if known.get("guid").is_empty() {
            known.set("guid", new_guid());
        }
        if known.get("family").is_empty() {
            known.set("family", known.get("guid").to_owned());
        }
        history.set_database(database, known.clone());
        Ok(known)
    })
}

/// Remembers a restore in msdb's tables, and the backup that it is of, if it is from elsewhere.
pub(super) fn remember_restore(
    name: &str,
    backup: &BackupFacts,
    wishes: &Wishes,
    cx: &Cx<'_>,
) -> Result<()> {
    let mut restore = BackupFacts::default();
    restore.set("database", name);
    restore.set("login", &cx.session.identity.login);
    restore.set("restored", sos::clock::utc_100ns());
    restore.set("type", backup.get("type"));
    restore.set("replace", i32::from(wishes.replaces));
    restore.set("recovery", i32::from(!wishes.no_recovery));
    if let Some(stop_at) = wishes.stop_at {
        restore.set("stop_at", stop_at);
    }
    restore.set("files", backup.number("files"));
    for file in File::all(backup) {
        for fact in ["path", "type", "group"] {
            restore.set(&format!("file {} {fact}", file.id), file.get(fact));
        }
    }
    cx.session.instance.catalog.change_aside(|catalog| {
        let history = std::sync::Arc::make_mut(&mut catalog.backups);
        let known = history.backup_by_uuid(backup.get("uuid"));
        let id = known.unwrap_or_else(|| history.add_backup(backup.clone()));
        restore.set("backup", id);
        history.add_restore(restore);
        Ok(())
    })
}
