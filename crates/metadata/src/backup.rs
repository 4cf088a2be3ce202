//! Backups as rows: the results of RESTORE HEADERONLY, FILELISTONLY and LABELONLY, from the facts of
//! a file. The tables of `msdb` show the same facts.
//!
//! | facts                                       | what they are                             |
//! |---------------------------------------------|-------------------------------------------|
//! | type                                        | D a database, I a differential, L a log   |
//! | began, ended, created                       | UTC in units of 100 ns since 0001-01-01   |
//! | uuid, media, family, guid, fork             | 32 hexadecimal digits                     |
//! | first_lsn, last_lsn, base_lsn, checkpoint_lsn | epochs of the log                       |
//! | files, file 1 name, file 1 path, ..         | files of the database                     |
//! | bytes, plain_bytes                          | of the file, and before compression       |

use catalog::BackupFacts;
use types::date::Moment;
use types::value::Decimal;
use types::{Collation, DataType, Value};

use crate::column::{
    BIGINT, BIT, Column, DATETIME, GUID, INT, SMALLINT, TINYINT, ascii, big, bit, ch, int, nv, opt,
    text, text_or_null, unknown, vb,
};

/// The type of log sequence numbers, `numeric(25,0)`.
pub const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };
/// The type of sizes in bytes, `numeric(20,0)`.
pub const SIZE: DataType = DataType::Decimal { precision: 20, scale: 0 };
/// `software_vendor_id`: that of SQL Server, by which its backup sets are known to tools.
pub const VENDOR: i32 = 4_608;
/// `database_version` of SQL Server 2022.
pub const DATABASE_VERSION: i32 = 957;
/// Version of the product: major, minor, build.
pub const SOFTWARE_VERSION: (u8, u8, i16) = (16, 0, 1_000);
/// The name of the program that writes backups.
pub const SOFTWARE: &str = "Clearway";
/// Ticks of 100 ns in a day.
const DAY: u64 = 864_000_000_000;
/// `Flags`: the backup has checksums, as each of ours.
const HAS_CHECKSUMS: i32 = 16;

/// The columns of RESTORE HEADERONLY.
pub const HEADER: &[Column<BackupFacts>] = &[
    opt("BackupName", nv(128), |f| word(f, "name")),
    opt("BackupDescription", nv(255), |f| word(f, "description")),
    opt("BackupType", SMALLINT, |f| Value::SmallInt(kind(f).0)),
    unknown("ExpirationDate", DATETIME),
    opt("Compressed", BIT, |f| bit(f.is("compressed"))),
    opt("Position", SMALLINT, |_| Value::SmallInt(1)),
    opt("DeviceType", TINYINT, |_| Value::TinyInt(2)),
    opt("UserName", nv(128), |f| word(f, "login")),
    opt("ServerName", nv(128), |f| word(f, "server")),
    opt("DatabaseName", nv(128), |f| word(f, "database")),
    opt("DatabaseVersion", INT, |_| int(DATABASE_VERSION)),
    opt("DatabaseCreationDate", DATETIME, |f| time(f, "created")),
    opt("BackupSize", SIZE, |f| number(f, "plain_bytes", 20)),
    opt("FirstLSN", LSN, |f| lsn(f, "first_lsn")),
    opt("LastLSN", LSN, |f| lsn(f, "last_lsn")),
    opt("CheckpointLSN", LSN, |f| lsn(f, "checkpoint_lsn")),
    opt("DatabaseBackupLSN", LSN, |f| lsn(f, "database_backup_lsn")),
    opt("BackupStartDate", DATETIME, |f| time(f, "began")),
    opt("BackupFinishDate", DATETIME, |f| time(f, "ended")),
    opt("SortOrder", SMALLINT, |_| sort_order()),
    opt("CodePage", SMALLINT, |_| Value::SmallInt(0)),
    opt("UnicodeLocaleId", INT, |_| int(Collation::default().lcid())),
    opt("UnicodeComparisonStyle", INT, |_| int(Collation::default().comparison_style())),
    opt("CompatibilityLevel", TINYINT, level),
    opt("SoftwareVendorId", INT, |_| int(VENDOR)),
    opt("SoftwareVersionMajor", INT, |_| int(SOFTWARE_VERSION.0)),
    opt("SoftwareVersionMinor", INT, |_| int(SOFTWARE_VERSION.1)),
    opt("SoftwareVersionBuild", INT, |_| int(SOFTWARE_VERSION.2)),
    opt("MachineName", nv(128), |f| word(f, "machine")),
    opt("Flags", INT, |f| int(flags(f))),
    opt("BindingID", GUID, |f| guid(f, "guid")),
    opt("RecoveryForkID", GUID, |f| guid(f, "fork")),
    opt("Collation", nv(128), |f| word(f, "collation")),
    opt("FamilyGUID", GUID, |f| guid(f, "family")),
    opt("HasBulkLoggedData", BIT, |_| bit(false)),
    opt("IsSnapshot", BIT, |_| bit(false)),
    opt("IsReadOnly", BIT, |f| bit(f.is("read_only"))),
    opt("IsSingleUser", BIT, |f| bit(f.is("single_user"))),
    opt("HasBackupChecksums", BIT, |_| bit(true)),
    opt("IsDamaged", BIT, |_| bit(false)),
    opt("BeginsLogChain", BIT, |f| bit(f.is("begins_log_chain"))),
    opt("HasIncompleteMetaData", BIT, |_| bit(false)),
    opt("IsForceOffline", BIT, |_| bit(false)),
    opt("IsCopyOnly", BIT, |f| bit(f.is("copy_only"))),
    opt("FirstRecoveryForkID", GUID, |f| guid(f, "fork")),
    unknown("ForkPointLSN", LSN),
    opt("RecoveryModel", nv(60), |f| text_or_null(model(f))),
    opt("DifferentialBaseLSN", LSN, |f| lsn(f, "base_lsn")),
    opt("DifferentialBaseGUID", GUID, |f| guid(f, "base")),
    opt("BackupTypeDescription", nv(60), |f| text(kind(f).1)),
    opt("BackupSetGUID", GUID, |f| guid(f, "uuid")),
    opt("CompressedBackupSize", BIGINT, |f| big(f.number("bytes"))),
    opt("Containment", TINYINT, |_| Value::TinyInt(0)),
    unknown("KeyAlgorithm", nv(32)),
    unknown("EncryptorThumbprint", vb(20)),
    unknown("EncryptorType", nv(32)),
    opt("LastValidRestoreTime", DATETIME, |f| time(f, "valid_until")),
    opt("TimeZone", SMALLINT, |_| Value::SmallInt(0)),
    opt("CompressionAlgorithm", nv(32), algorithm),
];

/// The columns of RESTORE LABELONLY.
pub const LABEL: &[Column<BackupFacts>] = &[
    opt("MediaName", nv(128), |f| word(f, "media_name")),
    opt("MediaSetId", GUID, |f| guid(f, "media")),
    opt("FamilyCount", INT, |_| int(1)),
    opt("FamilySequenceNumber", INT, |_| int(1)),
    opt("MediaFamilyId", GUID, |f| guid(f, "media_family")),
    opt("MediaSequenceNumber", INT, |_| int(1)),
    opt("MediaLabelPresent", TINYINT, |_| Value::TinyInt(0)),
    opt("MediaDescription", nv(255), |f| word(f, "media_description")),
    opt("SoftwareName", nv(128), |_| text(SOFTWARE)),
    opt("SoftwareVendorId", INT, |_| int(VENDOR)),
    opt("MediaDate", DATETIME, |f| time(f, "began")),
    opt("Mirror_Count", INT, |_| int(1)),
    opt("IsCompressed", BIT, |f| bit(f.is("compressed"))),
];

/// A file of the database that a backup is of.
#[derive(Clone, Debug)]
pub struct File {
    /// The facts of the backup.
    pub backup: BackupFacts,
    /// The number of the file in its database, from 1.
    pub id: i64,
}

impl File {
    /// Returns the files of a backup.
    pub fn all(backup: &BackupFacts) -> impl Iterator<Item = Self> {
        (1..=backup.number("files")).map(|id| Self { backup: backup.clone(), id })
    }

    /// Returns a fact of the file.
    pub fn get(&self, name: &str) -> &str {
        self.backup.get(&format!("file {} {name}", self.id))
    }

    /// Returns a fact of the file that is a number.
    pub fn number(&self, name: &str) -> i64 {
        self.get(name).parse().unwrap_or(0)
    }

    /// Returns whether it is a file of data: the log's file has no filegroup.
    pub fn is_data(&self) -> bool {
        self.get("type") != "L"
    }

    /// Returns the bytes that the backup has for it: all are of the first file.
    pub fn backup_bytes(&self) -> i64 {
        if self.id == 1 { self.backup.number("plain_bytes") } else { 0 }
    }
}

/// The columns of RESTORE FILELISTONLY.
pub const FILES: &[Column<File>] = &[
    opt("LogicalName", nv(128), |f| text(f.get("name"))),
    opt("PhysicalName", nv(260), |f| text(f.get("path"))),
    opt("Type", ch(1), |f| ascii(f.get("type"))),
    opt("FileGroupName", nv(128), |f| text_or_null(f.get("group"))),
    opt("Size", SIZE, |f| decimal(f.number("size"), 20)),
    opt("MaxSize", SIZE, |f| decimal(f.number("max_size"), 20)),
    opt("FileId", BIGINT, |f| big(f.id)),
    opt("CreateLSN", LSN, |_| decimal(0, 25)),
    opt("DropLSN", LSN, |_| decimal(0, 25)),
    unknown("UniqueId", GUID),
    opt("ReadOnlyLSN", LSN, |_| decimal(0, 25)),
    opt("ReadWriteLSN", LSN, |_| decimal(0, 25)),
    opt("BackupSizeInBytes", BIGINT, |f| big(f.backup_bytes())),
    opt("SourceBlockSize", INT, |_| int(4_096)),
    opt("FileGroupId", INT, |f| int(i32::from(f.is_data()))),
    unknown("LogGroupGUID", GUID),
    opt("DifferentialBaseLSN", LSN, |f| lsn(&f.backup, "base_lsn")),
    opt("DifferentialBaseGUID", GUID, |f| guid(&f.backup, "base")),
    opt("IsReadOnly", BIT, |_| bit(false)),
    opt("IsPresent", BIT, |_| bit(true)),
    unknown("TDEThumbprint", vb(32)),
    unknown("SnapshotUrl", nv(360)),
];

/// Returns a fact as text; NULL if it is empty.
pub fn word(facts: &BackupFacts, name: &str) -> Value {
    text_or_null(facts.get(name))
}

/// Returns a moment as `datetime`; NULL if it is not known.
pub fn time(facts: &BackupFacts, name: &str) -> Value {
    let Ok(utc_100ns) = facts.get(name).parse::<u64>() else { return Value::Null };
    datetime(utc_100ns)
}

/// Returns a moment in UTC, in units of 100 ns since 0001-01-01, as `datetime`.
pub fn datetime(utc_100ns: u64) -> Value {
    let days = i32::try_from(utc_100ns / DAY).unwrap_or(i32::MAX);
    let ticks = i64::try_from(utc_100ns % DAY).unwrap_or(0);
    let moment = Moment { days, ticks, offset: 0 };
    moment.try_to_value(&DataType::DateTime).unwrap_or(Value::Null)
}

/// The fact of a database that says when CHECKDB has found no error.
pub const CHECKED: &str = "checked";

/// Returns a moment in units of 100 ns since 0001-01-01; `None` for another value.
pub fn utc_100ns(value: &Value) -> Option<u64> {
    moment_100ns(Moment::from_value(value)?)
}

/// Returns a moment in units of 100 ns since 0001-01-01.
pub fn moment_100ns(moment: Moment) -> Option<u64> {
    let (days, ticks) = moment.to_utc();
    Some(u64::try_from(days).ok()? * DAY + u64::try_from(ticks).ok()?)
}

/// Returns a fact that is a number, of this many digits at most.
pub fn number(facts: &BackupFacts, name: &str, digits: u8) -> Value {
    decimal(facts.number(name), digits)
}

/// Returns a log sequence number; NULL if there is none.
pub fn lsn(facts: &BackupFacts, name: &str) -> Value {
    if facts.get(name).is_empty() { Value::Null } else { number(facts, name, 25) }
}

/// Returns a whole number of this many digits at most.
pub fn decimal(number: i64, digits: u8) -> Value {
    Decimal::checked(i128::from(number), digits, 0).map_or(Value::Null, Value::Decimal)
}

/// Returns a fact that is a unique identifier; NULL if it is none.
pub fn guid(facts: &BackupFacts, name: &str) -> Value {
    let digits = facts.get(name);
    let byte = |at: usize| digits.get(2 * at..2 * at + 2).map(|two| u8::from_str_radix(two, 16));
    let mut bytes = [0; 16];
    for (at, to) in bytes.iter_mut().enumerate() {
        let Some(Ok(byte)) = byte(at) else { return Value::Null };
        *to = byte;
    }
    Value::UniqueIdentifier(bytes)
}

/// Returns a new unique identifier as a fact.
pub fn new_guid() -> String {
    let mut bytes: [u8; 16] = sos::sys::random_bytes();
    // Version 4, in the order of bytes that `uniqueidentifier` has.
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the number and the name of the kind of backup.
fn kind(facts: &BackupFacts) -> (i16, &'static str) {
    match facts.get("type") {
        "L" => (2, "Transaction Log"),
        "I" => (5, "Database Differential"),
        _ => (1, "Database"),
    }
}

/// Returns the recovery model in the spelling of backups.
pub fn model(facts: &BackupFacts) -> &str {
    match facts.get("recovery") {
        "BULK_LOGGED" => "BULK-LOGGED",
        other => other,
    }
}

/// Returns the compatibility level of the database.
pub fn level(facts: &BackupFacts) -> Value {
    facts.get("level").parse().map_or(Value::Null, Value::TinyInt)
}

/// Returns the name of the compression; NULL without one.
pub fn algorithm(facts: &BackupFacts) -> Value {
    if facts.is("compressed") { text("LZ4") } else { Value::Null }
}

/// Returns the sort order of the server.
pub fn sort_order() -> Value {
    Value::SmallInt(i16::from(Collation::default().sort_id()))
}

/// Returns the bits of `Flags`.
pub fn flags(facts: &BackupFacts) -> i32 {
    let bit = |name: &str, bit: i32| if facts.is(name) { bit } else { 0 };
    HAS_CHECKSUMS | bit("read_only", 4) | bit("single_user", 8) | bit("copy_only", 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_become_values_and_missing_ones_null() {
        let mut facts = BackupFacts::default();
        facts.set("uuid", "000102030405060708090a0b0c0d0e0f");
        facts.set("began", 737_000 * DAY);
        facts.set("first_lsn", 17);
        let bytes = std::array::from_fn(|at| u8::try_from(at).unwrap());
        assert_eq!(guid(&facts, "uuid"), Value::UniqueIdentifier(bytes));
        assert_eq!(guid(&facts, "media"), Value::Null);
        assert_eq!(utc_100ns(&time(&facts, "began")), Some(737_000 * DAY));
        assert_eq!((time(&facts, "ended"), lsn(&facts, "last_lsn")), (Value::Null, Value::Null));
        assert_eq!(lsn(&facts, "first_lsn"), decimal(17, 25));
        facts.set("media", new_guid());
        assert!(matches!(guid(&facts, "media"), Value::UniqueIdentifier(_)));
    }
}
