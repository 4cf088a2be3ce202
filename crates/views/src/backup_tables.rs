//! The tables of `msdb` that remember backups and restores: backupset, backupmediaset,
//! backupmediafamily, backupfile, restorehistory, restorefile, restorefilegroup.
//!
//! BACKUP and RESTORE fill them. Each file has one backup, so that a media set has the number of its
//! backup set.

use std::sync::Arc;

use catalog::{BackupFacts, BackupHistory};
use types::Value;

use super::SystemView;
use super::msdb::SCHEMA;
use metadata::backup::{
    DATABASE_VERSION, File, LSN, SIZE, SOFTWARE, SOFTWARE_VERSION, VENDOR, algorithm, decimal,
    flags, guid, level, lsn, model, number, sort_order, time, word,
};
use metadata::column::{
    BIT, Column, DATETIME, GUID, INT, SMALLINT, TINYINT, ascii, bit, ch, col, int, list, nv, opt,
    rows, shape, text, text_or_null, unknown, vb,
};
use metadata::{Rows, Scope};

/// A backup or a restore, and its id.
type Entry = (i32, Arc<BackupFacts>);

const fn table(
    name: &'static str,
    columns: fn() -> Vec<(&'static str, types::value::ColumnType)>,
    rows: fn(&Scope<'_>) -> Rows,
) -> SystemView {
    SystemView { schema: SCHEMA, name, columns, rows, arity: 0 }
}

pub(crate) static BACKUP_SET: SystemView = table(
    "backupset",
    || shape(SET).into_iter().chain(shape(SET_MORE)).collect(),
    |scope| {
        let sets = list(SET, backups(scope))?.into_iter().zip(list(SET_MORE, backups(scope))?);
        Ok(sets.map(|(first, more)| first.into_iter().chain(more).collect()).collect())
    },
);

pub(crate) static MEDIA_SET: SystemView =
    table("backupmediaset", || shape(MEDIA), |scope| rows(MEDIA, backups(scope)));

pub(crate) static MEDIA_FAMILY: SystemView =
    table("backupmediafamily", || shape(FAMILY), |scope| rows(FAMILY, backups(scope)));

pub(crate) static BACKUP_FILE: SystemView = table(
    "backupfile",
    || shape(FILE),
    |scope| rows(FILE, backups(scope).into_iter().flat_map(|entry| files(&entry))),
);

pub(crate) static RESTORE_HISTORY: SystemView =
    table("restorehistory", || shape(RESTORE), |scope| rows(RESTORE, restores(scope)));

pub(crate) static RESTORE_FILE: SystemView = table(
    "restorefile",
    || shape(RESTORED_FILE),
    |scope| rows(RESTORED_FILE, restores(scope).into_iter().flat_map(|entry| files(&entry))),
);

pub(crate) static RESTORE_FILEGROUP: SystemView = table(
    "restorefilegroup",
    || shape(RESTORED_GROUP),
    |scope| {
        let files = restores(scope).into_iter().flat_map(|entry| files(&entry));
        let mut groups: Vec<(i32, String)> = Vec::new();
        for (id, file) in files.filter(|(_, file)| file.is_data()) {
            let group = (id, file.get("group").to_owned());
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        rows(RESTORED_GROUP, groups)
    },
);

/// Returns the history as it is now: a session's snapshot of the catalog may have an older one.
fn history(scope: &Scope<'_>) -> Arc<BackupHistory> {
    Arc::clone(&scope.session.instance.catalog.load().backups)
}

fn backups(scope: &Scope<'_>) -> Vec<Entry> {
    history(scope).backups.iter().map(|(id, facts)| (*id, Arc::clone(facts))).collect()
}

fn restores(scope: &Scope<'_>) -> Vec<Entry> {
    history(scope).restores.iter().map(|(id, facts)| (*id, Arc::clone(facts))).collect()
}

fn files((id, facts): &Entry) -> Vec<(i32, File)> {
    File::all(facts).map(|file| (*id, file)).collect()
}

fn kind(facts: &BackupFacts) -> Value {
    ascii(facts.get("type"))
}

const SET: &[Column<Entry>] = &[
    col("backup_set_id", INT, |r| int(r.0)),
    col("backup_set_uuid", GUID, |r| guid(&r.1, "uuid")),
    col("media_set_id", INT, |r| int(r.0)),
    opt("first_family_number", TINYINT, |_| Value::TinyInt(1)),
    opt("first_media_number", SMALLINT, |_| Value::SmallInt(1)),
    opt("last_family_number", TINYINT, |_| Value::TinyInt(1)),
    opt("last_media_number", SMALLINT, |_| Value::SmallInt(1)),
    opt("catalog_family_number", TINYINT, |_| Value::TinyInt(1)),
    opt("catalog_media_number", SMALLINT, |_| Value::SmallInt(1)),
    opt("position", INT, |_| int(1)),
    unknown("expiration_date", DATETIME),
    opt("software_vendor_id", INT, |_| int(VENDOR)),
    opt("name", nv(128), |r| word(&r.1, "name")),
    opt("description", nv(255), |r| word(&r.1, "description")),
    opt("user_name", nv(128), |r| word(&r.1, "login")),
    opt("software_major_version", TINYINT, |_| Value::TinyInt(SOFTWARE_VERSION.0)),
    opt("software_minor_version", TINYINT, |_| Value::TinyInt(SOFTWARE_VERSION.1)),
    opt("software_build_version", SMALLINT, |_| Value::SmallInt(SOFTWARE_VERSION.2)),
    opt("time_zone", SMALLINT, |_| Value::SmallInt(0)),
    unknown("mtf_minor_version", TINYINT),
    opt("first_lsn", LSN, |r| lsn(&r.1, "first_lsn")),
    opt("last_lsn", LSN, |r| lsn(&r.1, "last_lsn")),
    opt("checkpoint_lsn", LSN, |r| lsn(&r.1, "checkpoint_lsn")),
    opt("database_backup_lsn", LSN, |r| lsn(&r.1, "database_backup_lsn")),
    opt("database_creation_date", DATETIME, |r| time(&r.1, "created")),
    opt("backup_start_date", DATETIME, |r| time(&r.1, "began")),
    opt("backup_finish_date", DATETIME, |r| time(&r.1, "ended")),
    opt("type", ch(1), |r| kind(&r.1)),
    opt("sort_order", SMALLINT, |_| sort_order()),
    opt("code_page", SMALLINT, |_| Value::SmallInt(0)),
    opt("compatibility_level", TINYINT, |r| level(&r.1)),
    opt("database_version", INT, |_| int(DATABASE_VERSION)),
    opt("backup_size", SIZE, |r| number(&r.1, "plain_bytes", 20)),
    opt("database_name", nv(128), |r| word(&r.1, "database")),
    opt("server_name", nv(128), |r| word(&r.1, "server")),
    opt("machine_name", nv(128), |r| word(&r.1, "machine")),
];

const SET_MORE: &[Column<Entry>] = &[
    opt("flags", INT, |r| int(flags(&r.1))),
    opt("unicode_locale", INT, |_| int(types::Collation::default().lcid())),
    opt("unicode_compare_style", INT, |_| int(types::Collation::default().comparison_style())),
    opt("collation_name", nv(128), |r| word(&r.1, "collation")),
    opt("is_password_protected", BIT, |_| bit(false)),
    opt("recovery_model", nv(60), |r| text_or_null(model(&r.1))),
    opt("has_bulk_logged_data", BIT, |_| bit(false)),
    opt("is_snapshot", BIT, |_| bit(false)),
    opt("is_readonly", BIT, |r| bit(r.1.is("read_only"))),
    opt("is_single_user", BIT, |r| bit(r.1.is("single_user"))),
    opt("has_backup_checksums", BIT, |_| bit(true)),
    opt("is_damaged", BIT, |_| bit(false)),
    opt("begins_log_chain", BIT, |r| bit(r.1.is("begins_log_chain"))),
    opt("has_incomplete_metadata", BIT, |_| bit(false)),
    opt("is_force_offline", BIT, |_| bit(false)),
    opt("is_copy_only", BIT, |r| bit(r.1.is("copy_only"))),
    opt("first_recovery_fork_guid", GUID, |r| guid(&r.1, "fork")),
    opt("last_recovery_fork_guid", GUID, |r| guid(&r.1, "fork")),
    unknown("fork_point_lsn", LSN),
    opt("database_guid", GUID, |r| guid(&r.1, "guid")),
    opt("family_guid", GUID, |r| guid(&r.1, "family")),
    opt("differential_base_lsn", LSN, |r| lsn(&r.1, "base_lsn")),
    opt("differential_base_guid", GUID, |r| guid(&r.1, "base")),
    opt("compressed_backup_size", SIZE, |r| number(&r.1, "bytes", 20)),
    unknown("key_algorithm", nv(32)),
    unknown("encryptor_thumbprint", vb(20)),
    unknown("encryptor_type", nv(32)),
    opt("last_valid_restore_time", DATETIME, |r| time(&r.1, "valid_until")),
    opt("compression_algorithm", nv(32), |r| algorithm(&r.1)),
];

const FAMILY: &[Column<Entry>] = &[
    col("media_set_id", INT, |r| int(r.0)),
    col("family_sequence_number", TINYINT, |_| Value::TinyInt(1)),
    opt("media_family_id", GUID, |r| guid(&r.1, "media_family")),
    opt("media_count", INT, |_| int(1)),
    unknown("logical_device_name", nv(128)),
    opt("physical_device_name", nv(260), |r| word(&r.1, "path")),
    opt("device_type", TINYINT, |_| Value::TinyInt(2)),
    opt("physical_block_size", INT, |_| int(4_096)),
    col("mirror", TINYINT, |_| Value::TinyInt(0)),
];

const MEDIA: &[Column<Entry>] = &[
    col("media_set_id", INT, |r| int(r.0)),
    opt("media_uuid", GUID, |r| guid(&r.1, "media")),
    opt("media_family_count", TINYINT, |_| Value::TinyInt(1)),
    opt("name", nv(128), |r| word(&r.1, "media_name")),
    opt("description", nv(255), |r| word(&r.1, "media_description")),
    opt("software_name", nv(128), |_| text(SOFTWARE)),
    opt("software_vendor_id", INT, |_| int(VENDOR)),
    unknown("MTF_major_version", TINYINT),
    opt("mirror_count", TINYINT, |_| Value::TinyInt(1)),
    opt("is_password_protected", BIT, |_| bit(false)),
    opt("is_compressed", BIT, |r| bit(r.1.is("compressed"))),
    opt("is_encrypted", BIT, |_| bit(false)),
];

const FILE: &[Column<(i32, File)>] = &[
    col("backup_set_id", INT, |r| int(r.0)),
    opt("first_family_number", TINYINT, |_| Value::TinyInt(1)),
    opt("first_media_number", SMALLINT, |_| Value::SmallInt(1)),
    opt("filegroup_name", nv(128), |r| text_or_null(r.1.get("group"))),
    opt("page_size", INT, |_| int(8_192)),
    col("file_number", SIZE, |r| decimal(r.1.id, 20)),
    opt("backed_up_page_count", SIZE, |r| decimal(r.1.backup_bytes().max(0) / 8_192, 20)),
    opt("file_type", ch(1), |r| ascii(r.1.get("type"))),
    opt("source_file_block_size", SIZE, |_| decimal(4_096, 20)),
    opt("file_size", SIZE, |r| decimal(r.1.number("size"), 20)),
    opt("logical_name", nv(128), |r| text(r.1.get("name"))),
    unknown("physical_drive", nv(260)),
    opt("physical_name", nv(260), |r| text(r.1.get("path"))),
    opt("state", TINYINT, |_| Value::TinyInt(0)),
    opt("state_desc", nv(64), |_| text("ONLINE")),
    unknown("create_lsn", LSN),
    unknown("drop_lsn", LSN),
    unknown("file_guid", GUID),
    unknown("read_only_lsn", LSN),
    unknown("read_write_lsn", LSN),
    opt("differential_base_lsn", LSN, |r| lsn(&r.1.backup, "base_lsn")),
    opt("differential_base_guid", GUID, |r| guid(&r.1.backup, "base")),
    opt("backup_size", SIZE, |r| decimal(r.1.backup_bytes(), 20)),
    unknown("filegroup_guid", GUID),
    opt("is_readonly", BIT, |_| bit(false)),
    opt("is_present", BIT, |_| bit(true)),
];

const RESTORE: &[Column<Entry>] = &[
    col("restore_history_id", INT, |r| int(r.0)),
    opt("restore_date", DATETIME, |r| time(&r.1, "restored")),
    opt("destination_database_name", nv(128), |r| word(&r.1, "database")),
    opt("user_name", nv(128), |r| word(&r.1, "login")),
    col("backup_set_id", INT, |r| int(r.1.number("backup"))),
    opt("restore_type", ch(1), |r| kind(&r.1)),
    opt("replace", BIT, |r| bit(r.1.is("replace"))),
    opt("recovery", BIT, |r| bit(r.1.is("recovery"))),
    opt("restart", BIT, |_| bit(false)),
    opt("stop_at", DATETIME, |r| time(&r.1, "stop_at")),
    opt("device_count", TINYINT, |_| Value::TinyInt(1)),
    unknown("stop_at_mark_name", nv(128)),
    opt("stop_before", BIT, |_| bit(false)),
];

const RESTORED_FILE: &[Column<(i32, File)>] = &[
    col("restore_history_id", INT, |r| int(r.0)),
    col("file_number", SIZE, |r| decimal(r.1.id, 20)),
    unknown("destination_phys_drive", nv(260)),
    opt("destination_phys_name", nv(260), |r| text(r.1.get("path"))),
];

const RESTORED_GROUP: &[Column<(i32, String)>] = &[
    col("restore_history_id", INT, |r| int(r.0)),
    opt("filegroup_name", nv(128), |r| text_or_null(&r.1)),
];
