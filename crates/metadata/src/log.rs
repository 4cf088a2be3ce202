//! The figures of the log, as a database shows them.

use std::path::PathBuf;

use crate::view::Scope;
use ::session::SessionState;

/// The figures of the log.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Bytes of its files, also of those that are spare.
    pub total_bytes: u64,
    /// Bytes of segments that are in use, up to the end of the log.
    pub used_bytes: u64,
    /// Number of the segment that is being written.
    pub segment: u64,
    /// Groups that were written since the start.
    pub flushes: u64,
    /// Bytes of records in them.
    pub flushed_bytes: u64,
}

impl Figures {
    /// Returns the size of the files in MB.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "shown in MB")]
    pub fn total_mb(&self) -> f32 {
        (self.total_bytes as f64 / 1_048_576.0) as f32
    }

    /// Returns how much of the files is used, in percent.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a percentage"
    )]
    pub fn used_percent(&self) -> f32 {
        let total = self.total_bytes.max(1) as f64;
        (self.used_bytes as f64 * 100.0 / total) as f32
    }
}

/// Returns the figures of the log that a database has; `None` without one.
pub fn figures(scope: &Scope<'_>, database: i16) -> Option<Figures> {
    of_database(scope.session, database)
}

/// As [`figures`], from the session alone.
pub fn of_database(session: &SessionState, database: i16) -> Option<Figures> {
    let durable = session.instance.durable().filter(|_| database != catalog::table::TEMPDB)?;
    let stats = durable.log_stats();
    Some(Figures {
        // A disk that does not answer has no size to show.
        total_bytes: durable.reading().bytes_of("log").unwrap_or(stats.log_bytes),
        used_bytes: stats.log_bytes.saturating_sub(stats.unused_bytes),
        segment: stats.segment,
        flushes: stats.flushes,
        flushed_bytes: stats.bytes_flushed,
    })
}

/// Returns what a database knows for its next backup; `None` before its first one.
pub fn backup_state(
    session: &SessionState,
    database: &catalog::Database,
) -> Option<std::sync::Arc<catalog::BackupFacts>> {
    session.instance.catalog.load().backups.of_database(database).cloned()
}

/// Returns whether the log is kept because a database has written to it since its last log backup.
pub fn waits_for_backup(session: &SessionState, database: &catalog::Database) -> bool {
    let Some(durable) = session.instance.durable() else { return false };
    let Some(facts) = backup_state(session, database) else { return false };
    let epoch = i64::try_from(durable.log().durability().epoch.0).unwrap_or(i64::MAX);
    let is_kept = database.options.recovery != "SIMPLE" && !facts.get("log_lsn").is_empty();
    is_kept && epoch >= facts.number("log_lsn")
}

/// Where the files of a database are, and how large they are; `None` for one in memory only, whose
/// files are as declared.
pub fn place(scope: &Scope<'_>, database: i16, is_log: bool) -> Option<(String, u64)> {
    let durable = scope.session.instance.durable();
    let durable = durable.filter(|_| database != catalog::table::TEMPDB)?;
    let folder = if is_log { "log" } else { "checkpoint" };
    let at = PathBuf::from(durable.name()).join(folder);
    let at = at.canonicalize().unwrap_or(at);
    let bytes = durable.reading().bytes_of(folder).unwrap_or_default();
    Some((at.to_string_lossy().into_owned(), bytes))
}

/// Bytes of a page, the unit of file sizes.
const PAGE_BYTES: u64 = 8_192;

/// Returns a size in pages.
pub fn pages(bytes: u64) -> i32 {
    i32::try_from(bytes.div_ceil(PAGE_BYTES)).unwrap_or(i32::MAX)
}
