//! BACKUP and RESTORE of one database to and from a file of our own format: docs/backup.md.
//!
//! | looking for                          | start here   |
//! |--------------------------------------|--------------|
//! | options, paths, errors               | this file    |
//! | reading a database at one moment     | `write.rs`   |
//! | copying the log of a database        | `log.rs`     |
//! | which files fit, states, results     | `restore.rs` |
//! | making a database from files         | `fill.rs`    |
//! | what a file is of, msdb's tables     | `facts.rs`   |

mod facts;
mod fill;
mod log;
mod restore;
mod write;

use std::sync::Arc;

use ::durable::BackupHold;
use ::durable::backup::{BackupError, check_is_backup, folder_and_name};
use sos::sys::{Disk, OsDisk};
use tsql::ast::{self, BackupName, BackupOption, RestoreKind};
use types::value::ColumnType;
use types::{DataType, Error, Msg, Result, Value};

use crate::{Runner, Stop, interrupted, show_plans};
use ::catalog::Database;
use ::executor::{Cx, fault};
use ::explain::rows::column;
use ::plan::program::{Leaf, LeafAst};
use metadata::backup::utc_100ns;
use metadata::format::text_of;

/// Options of BACKUP that change nothing here: each backup has checksums, and ends at the first
/// error.
const BACKUP_WORDS: &[&str] =
    &["CHECKSUM", "STOP_ON_ERROR", "NOFORMAT", "NOINIT", "SKIP", "NOSKIP", "NOREWIND", "NOUNLOAD"];
/// Options of RESTORE that change nothing here: there are no files to move, and each backup has
/// checksums, which are looked at in any case.
const RESTORE_WORDS: &[&str] = &["CHECKSUM", "STOP_ON_ERROR", "MOVE", "NOUNLOAD", "NOREWIND"];

/// Names and types of the columns of a result.
type Columns = Vec<(&'static str, ColumnType)>;

/// Which file with the name of a backup is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overwrites {
    #[default]
    Nothing,
    /// INIT: another backup, or an empty file.
    Backups,
    /// FORMAT: whatever it is.
    Anything,
}

/// What the options say.
#[derive(Clone, Default)]
struct Wishes {
    overwrites: Overwrites,
    compresses: bool,
    copy_only: bool,
    differential: bool,
    replaces: bool,
    /// NORECOVERY: the database waits for more files.
    no_recovery: bool,
    /// STOPAT, in units of 100 ns since 0001-01-01.
    stop_at: Option<u64>,
    /// FILE: which backup of the file; it has one.
    file: Option<i64>,
    /// STATS: a message after each step of this many percent.
    stats: Option<i64>,
    name: Option<String>,
    description: Option<String>,
    media_name: Option<String>,
    media_description: Option<String>,
}

impl Runner<'_> {
    /// Runs BACKUP DATABASE for a program.
    pub(crate) fn backup(
        &self,
        backup: &ast::Backup,
        cx: &mut Cx<'_>,
    ) -> std::result::Result<(), Stop> {
        let what = if backup.is_log { "BACKUP LOG" } else { "BACKUP DATABASE" };
        let wishes = self.backup_wishes("BACKUP", &backup.options, cx)?;
        let path = self.backup_path(&backup.disks, cx)?;
        let name = self.backup_database_name(&backup.database, cx)?;
        cx.session.last.row_count = 0;
        let done = match backup.is_log {
            true if wishes.differential => {
                Err(Msg::NotSupported("BACKUP LOG .. WITH DIFFERENTIAL").into())
            }
            true => log::run(&name, &path, &wishes, cx),
            false => write::run(&name, &path, &wishes, cx),
        };
        done.map_err(|error| abnormal(what, error, cx))
    }

    /// RESTORE DATABASE, and the forms of RESTORE that only look at a file.
    pub(crate) fn restore(
        &self,
        restore: &ast::Restore,
        cx: &mut Cx<'_>,
    ) -> std::result::Result<(), Stop> {
        let what = match restore.kind {
            RestoreKind::Database => "RESTORE DATABASE",
            RestoreKind::VerifyOnly => "VERIFY DATABASE",
            RestoreKind::Log => "RESTORE LOG",
            RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
            RestoreKind::FileListOnly => "RESTORE FILELIST",
            RestoreKind::LabelOnly => "RESTORE LABELONLY",
        };
        let wishes = self.backup_wishes("RESTORE", &restore.options, cx)?;
        let path = match restore.disks.is_empty() {
            true => None,
            false => Some(self.backup_path(&restore.disks, cx)?),
        };
        if let (Some(file @ 2..), Some(path)) = (wishes.file, &path) {
            let text = format!("Cannot find file ID {file} on device '{path}'.");
            return Err(abnormal(what, Error::custom(4038, 16, 1, text), cx));
        }
        let name = match &restore.database {
            Some(name) => Some(self.backup_database_name(name, cx)?),
            None => None,
        };
        cx.session.last.row_count = 0;
        let shown = |rows: Result<(Columns, Vec<Vec<Value>>)>, cx: &mut Cx<'_>| {
            let (columns, rows) = rows.map_err(|error| abnormal(what, error, cx))?;
            let column = |(name, ty): (&str, ColumnType)| column(name, ty.data_type);
            cx.session.last.row_count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
            show_plans::send(columns.into_iter().map(column).collect(), &rows, cx)
        };
        let name = name.unwrap_or_default();
        let done = match (restore.kind, path) {
            (_, None) => restore::recover(&name, &wishes, cx),
            (RestoreKind::HeaderOnly, Some(path)) => return shown(restore::header(&path, cx), cx),
            (RestoreKind::FileListOnly, Some(path)) => return shown(restore::files(&path, cx), cx),
            (RestoreKind::LabelOnly, Some(path)) => return shown(restore::label(&path, cx), cx),
            (RestoreKind::VerifyOnly, Some(path)) => restore::verify_only(&path, cx),
            (RestoreKind::Database, Some(path)) => restore::database(&name, &path, &wishes, cx),
            (RestoreKind::Log, Some(path)) => restore::log(&name, &path, &wishes, cx),
        };
        done.map_err(|error| abnormal(what, error, cx))
    }

    fn backup_value(
        &self,
        expr: &ast::Expr,
        cx: &mut Cx<'_>,
    ) -> std::result::Result<Option<String>, Stop> {
        let value = self.value(&Leaf::new(LeafAst::Value(expr.clone())), cx)?;
        Ok(text_of(&value, cx.session)?)
    }

    fn backup_database_name(
        &self,
        name: &BackupName,
        cx: &mut Cx<'_>,
    ) -> std::result::Result<String, Stop> {
        match name {
            BackupName::Name(name) => Ok(name.to_string()),
            BackupName::Variable(variable) => {
                let kind = ast::ExprKind::Variable(variable.clone());
                let expr = ast::Expr { kind, span: variable.span };
                Ok(self.backup_value(&expr, cx)?.unwrap_or_default())
            }
        }
    }

    fn backup_path(
        &self,
        disks: &[ast::Expr],
        cx: &mut Cx<'_>,
    ) -> std::result::Result<String, Stop> {
        let [disk] = disks else {
            return Err(Msg::NotSupported("a backup in several files").into());
        };
        Ok(self.backup_value(disk, cx)?.unwrap_or_default())
    }

    /// Returns a moment in an option: a text, or a variable of a type of times.
    fn backup_moment(
        &self,
        option: &BackupOption,
        cx: &mut Cx<'_>,
    ) -> std::result::Result<u64, Stop> {
        let value = match &option.value {
            Some(expr) => self.value(&Leaf::new(LeafAst::Value(expr.clone())), cx)?,
            None => Value::Null,
        };
        let text = text_of(&value, cx.session)?;
        let parsed = || {
            let text = text?;
            let scale = DataType::DateTime2(7);
            let options = cx.session.convert_options();
            let (order, language) = (options.date_format, options.language);
            let moment = types::date::parse(&text, &scale, order, language).ok()?;
            utc_100ns(&moment.try_to_value(&scale)?)
        };
        let found = utc_100ns(&value).or_else(parsed);
        found.ok_or_else(|| {
            let text = format!("The value of the option {} is no moment.", option.name);
            Error::custom(3174, 16, 1, text).into()
        })
    }

    fn backup_wishes(
        &self,
        statement: &str,
        options: &[BackupOption],
        cx: &mut Cx<'_>,
    ) -> std::result::Result<Wishes, Stop> {
        check_conflicts(options)?;
        let mut wishes = Wishes::default();
        let is_backup = statement == "BACKUP";
        for option @ BackupOption { name, value, .. } in options {
            let text = match value {
                Some(value) => self.backup_value(value, cx)?,
                None => None,
            };
            let number = text.as_deref().and_then(|text| text.parse::<i64>().ok());
            match (&**name, is_backup) {
                ("INIT", true) if wishes.overwrites == Overwrites::Anything => {}
                ("INIT", true) => wishes.overwrites = Overwrites::Backups,
                ("FORMAT", true) => wishes.overwrites = Overwrites::Anything,
                ("COMPRESSION", true) => wishes.compresses = true,
                ("NO_COMPRESSION", true) => wishes.compresses = false,
                ("NAME", true) => wishes.name = text,
                ("DESCRIPTION", true) => wishes.description = text,
                ("MEDIANAME", true) => wishes.media_name = text,
                ("MEDIADESCRIPTION", true) => wishes.media_description = text,
                ("COPY_ONLY", true) => wishes.copy_only = true,
                ("DIFFERENTIAL", true) => wishes.differential = true,
                ("REPLACE", false) => wishes.replaces = true,
                ("NORECOVERY", false) => wishes.no_recovery = true,
                ("RECOVERY", false) => wishes.no_recovery = false,
                ("STOPAT", false) => wishes.stop_at = Some(self.backup_moment(option, cx)?),
                ("FILE", false) if number.is_some_and(|n| n > 0) => wishes.file = number,
                ("STATS", _) if value.is_none() => wishes.stats = Some(10),
                ("STATS", _) if number.is_some_and(|n| (1..=100).contains(&n)) => {
                    wishes.stats = number;
                }
                (word, true) if BACKUP_WORDS.contains(&word) => {}
                (word, false) if RESTORE_WORDS.contains(&word) => {}
                (word, _) => {
                    return Err(Msg::NotSupported(&format!("{statement} .. WITH {word}")).into());
                }
            }
        }
        Ok(wishes)
    }
}

/// Checks that no option contradicts an earlier one.
///
/// # Errors
/// 3031 names both.
fn check_conflicts(options: &[BackupOption]) -> Result<()> {
    const CONFLICTS: [[&str; 2]; 6] = [
        ["INIT", "NOINIT"],
        ["FORMAT", "NOFORMAT"],
        ["SKIP", "NOSKIP"],
        ["COMPRESSION", "NO_COMPRESSION"],
        ["RECOVERY", "NORECOVERY"],
        ["FORMAT", "NOINIT"],
    ];
    for (at, later) in options.iter().enumerate() {
        for earlier in &options[..at] {
            let pair = [&*earlier.name, &*later.name];
            if CONFLICTS.iter().any(|[a, b]| pair == [*a, *b] || pair == [*b, *a]) {
                let text = format!(
                    "Option '{}' conflicts with option(s) '{}'. Remove the conflicting option and reissue the statement.",
                    pair[1], pair[0],
                );
                return Err(Error::custom(3031, 16, 2, text));
            }
        }
    }
    Ok(())
}

/// Ends a statement: its error, and then 3013, which alone is seen by a CATCH block.
fn abnormal(what: &str, error: Error, cx: &mut Cx<'_>) -> Stop {
    if cx.interrupted.is_some() {
        return interrupted(error, cx);
    }
    cx.fault = None;
    if cx.session.request.try_depth == 0 {
        let line = cx.session.request.line;
        if let Err(error) = fault::sent_message(cx, &error.at_line(line)) {
            return interrupted(error, cx);
        }
    }
    Error::custom(3013, 16, 1, format!("{what} is terminating abnormally.")).into()
}

/// Returns the error of a file that cannot be read as a backup.
fn unreadable(path: &str, error: &BackupError) -> Error {
    match error {
        BackupError::Open(error) => not_opened(path, error),
        BackupError::Io(error) => {
            Error::custom(3203, 16, 1, format!("Read on \"{path}\" failed: {error}"))
        }
        BackupError::SqlServer => Error::custom(
            3241,
            16,
            0,
            format!(
                "The file '{path}' is a backup of SQL Server, and Clearway restores only its own backups."
            ),
        ),
        BackupError::NotABackup => Error::custom(
            3241,
            16,
            0,
            format!(
                "The media family on device '{path}' is incorrectly formed. SQL Server cannot process this media family."
            ),
        ),
        BackupError::Version(_) => {
            Error::custom(3241, 16, 0, format!("The backup '{path}' cannot be read: {error}."))
        }
        BackupError::Damaged(offset, why) => Error::custom(
            3183,
            16,
            1,
            format!("The backup '{path}' is damaged at offset {offset}: {why}."),
        ),
    }
}

/// Returns the error of an instance whose log has failed.
fn log_lost(name: &str) -> Error {
    Msg::LogNotAvailable(name).into()
}

/// Begins a backup of a database, of which only one runs at a time.
fn hold<'d>(database: &'d ::durable::Database, id: i16, is_log: bool) -> Result<BackupHold<'d>> {
    database.begin_backup(id, is_log).ok_or_else(|| {
        let text = "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes on a database must be serialized. Reissue the statement after the current backup or file manipulation operation is completed.";
        Error::custom(3023, 16, 2, text)
    })
}

/// Checks that a backup may be written to a file, and opens its folder.
fn open_folder(path: &str, wishes: &Wishes, cx: &Cx<'_>) -> Result<OsDisk> {
    let (folder, file) = folder_and_name(path);
    let disk = OsDisk::open(folder).map_err(|error| not_opened(path, &error))?;
    if cx.session.instance.durable().is_some_and(|durable| durable.owns(folder, file)) {
        // What Windows says of a file of a database that is online.
        let text = format!(
            "Cannot open backup device '{path}'. Operating system error 32(The process cannot access the file because it is being used by another process.)."
        );
        return Err(Error::custom(3201, 16, 1, text));
    }
    let names = disk.list("").map_err(|error| not_opened(path, &error))?;
    if !names.iter().any(|name| name == file) {
        return Ok(disk);
    }
    match wishes.overwrites {
        Overwrites::Nothing => {
            Err(Msg::NotSupported("BACKUP to a file that exists, without INIT").into())
        }
        Overwrites::Backups => {
            check_is_backup(&disk, file).map_err(|error| unreadable(path, &error))?;
            Ok(disk)
        }
        Overwrites::Anything => Ok(disk),
    }
}

/// Finds the database that is to be backed up.
fn to_back_up(name: &str, permission: &str, cx: &mut Cx<'_>) -> Result<Arc<Database>> {
    check_alone(cx)?;
    cx.session.refresh_catalog();
    let Some(found) = cx.session.catalog.database(name).cloned() else {
        return Err(Msg::DatabaseNotFound(name).into());
    };
    if found.id == ::catalog::table::TEMPDB {
        let text = "Backup and restore operations are not allowed on database tempdb.";
        return Err(Error::custom(3147, 16, 3, text));
    }
    if found.options.restoring.is_some() {
        return Err(Msg::DatabaseRestoring(&found.name).into());
    }
    cx.session.identity.rights.check_database(&found, permission)?;
    Ok(found)
}

fn not_opened(path: &str, error: &std::io::Error) -> Error {
    let shown = error.to_string();
    let (code, reason) = session::event::error::of_system(&shown);
    Error::custom(
        3201,
        16,
        1,
        format!("Cannot open backup device '{path}'. Operating system error {code}({reason})."),
    )
}

/// Refuses a backup or restore in a transaction.
fn check_alone(cx: &Cx<'_>) -> Result<()> {
    if cx.session.transaction.count == 0 {
        return Ok(());
    }
    let text = "Cannot perform a backup or restore operation within a transaction.";
    Err(Error::custom(3021, 16, 0, text))
}

/// Sends how far the statement is, in steps of STATS percent.
struct Progress {
    every: Option<i64>,
    told: i64,
}

impl Progress {
    fn new(every: Option<i64>) -> Self {
        Self { every, told: 0 }
    }

    /// Sends that `done` of `all` are done, if that is a further step.
    fn tell(&mut self, done: u64, all: u64, cx: &mut Cx<'_>) -> Result<()> {
        let Some(every) = self.every else { return Ok(()) };
        let percent = done.min(all).saturating_mul(100).checked_div(all).unwrap_or(100);
        let percent = i64::try_from(percent).unwrap_or(100);
        let step = percent - percent % every;
        if step <= self.told {
            return Ok(());
        }
        self.told = step;
        say(Error::custom(3211, 10, 1, format!("{step} percent processed.")), cx)
    }
}

fn say(message: Error, cx: &mut Cx<'_>) -> Result<()> {
    let line = cx.session.request.line;
    fault::sent_message(cx, &message.at_line(line))
}

/// Sends how much the statement has read or written: bytes before compression.
fn tell_end(what: &str, bytes: i64, micros: u64, cx: &mut Cx<'_>) -> Result<()> {
    let bytes = u64::try_from(bytes).unwrap_or(0);
    let pages = bytes.div_ceil(8_192);
    let millis = micros / 1_000;
    let rate = bytes.saturating_mul(1_000_000).checked_div(micros.max(1)).unwrap_or(0);
    let (whole, part) = (rate >> 20, ((rate & 0xF_FFFF) * 1_000) >> 20);
    let text = format!(
        "{what} successfully processed {pages} pages in {}.{:03} seconds ({whole}.{part:03} MB/sec).",
        millis / 1_000,
        millis % 1_000,
    );
    say(Error::custom(3014, 10, 1, text), cx)
}
