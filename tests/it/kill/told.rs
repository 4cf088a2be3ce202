//! `Told`: what the clients of the kill campaign have sent and what they were told.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::{MOVERS, WRITERS};
use crate::client::{Client, error_numbers};
use crate::server::PATIENCE;

/// How much longer a backup, a restore or a checkpoint may take for each row that is there.
const PATIENCE_PER_ROW: Duration = Duration::from_millis(2);

/// Entries with the numbers 1, 2, 3 .., which one client adds at the end and deletes from the start.
#[derive(Default)]
pub(super) struct Journal {
    /// The last entry whose insert was acknowledged, or that a reader was shown.
    pub(super) last: AtomicI64,
    /// The last entry that was sent.
    pub(super) sent: AtomicI64,
    /// The last entry whose delete was acknowledged, or that a reader missed; so all before it.
    pub(super) gone: AtomicI64,
    /// The last entry whose delete was sent.
    pub(super) gone_sent: AtomicI64,
}

/// What is there of a journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) count: i64,
    pub(super) last: i64,
    /// The entry before the first one.
    pub(super) gone: i64,
}

impl Journal {
    /// Checks what is there after a crash, and makes it what is known: it has to stay.
    pub(super) fn check(&self, found: Found, what: &str) {
        let Found { count, last, gone } = found;
        assert_eq!(count, last - gone, "{what}: a gap in {found:?}");
        let (due, sent) = (self.last.load(Ordering::SeqCst), self.sent.load(Ordering::SeqCst));
        assert!(due <= last && last <= sent, "{what}: told {due}, sent {sent}, there {found:?}");
        // A delete of several entries is there or it is not.
        let due = [&self.gone, &self.gone_sent].map(|number| number.load(Ordering::SeqCst));
        assert!(due.contains(&gone), "{what}: deleted up to {due:?}, there {found:?}");
        for (known, there) in
            [(&self.last, last), (&self.sent, last), (&self.gone, gone), (&self.gone_sent, gone)]
        {
            known.store(there, Ordering::SeqCst);
        }
    }

    /// Checks what is there in a backup that was begun when `told` was known.
    pub(super) fn check_backup(&self, told: (i64, i64), found: Found, what: &str) {
        let Found { count, last, gone } = found;
        assert_eq!(count, last - gone, "{what}: a gap in {found:?}");
        let sent = self.sent.load(Ordering::SeqCst);
        assert!(told.0 <= last && last <= sent, "{what}: {told:?}, sent {sent}, there {found:?}");
        let gone_sent = self.gone_sent.load(Ordering::SeqCst);
        assert!(told.1 <= gone && gone <= gone_sent, "{what}: {told:?}, {gone_sent}, {found:?}");
    }

    /// Returns the last entry and the last deleted one that are known.
    pub(super) fn known(&self) -> (i64, i64) {
        (self.last.load(Ordering::SeqCst), self.gone.load(Ordering::SeqCst))
    }
}

/// What clients were told, over all cycles.
#[derive(Default)]
pub(super) struct Told {
    pub(super) journals: [Journal; WRITERS],
    pub(super) moves: [Journal; MOVERS],
    /// Tables that were created and dropped.
    pub(super) tables: Journal,
    /// The last of them that has got its row.
    pub(super) filled: AtomicI64,
    /// All answers of this cycle.
    pub(super) answers: AtomicU64,
    pub(super) checkpoints: AtomicU64,
    pub(super) backups: AtomicU64,
    /// Where the full backup is; those of the log since are beside it.
    pub(super) backup: String,
    /// The backups of the log that were acknowledged since the full one.
    pub(super) log_backups: AtomicU64,
    /// What was known of each journal when the last backup that was acknowledged began.
    pub(super) backed_up: [(AtomicI64, AtomicI64); WRITERS],
    /// The rows that the last check found.
    pub(super) rows: AtomicU64,
    /// Whether the end has come: from then on connections may break.
    pub(super) is_over: AtomicBool,
    /// What a client met that it should not have.
    pub(super) trouble: OnceLock<String>,
}

impl Told {
    /// Returns how long a statement that reads or writes all rows may take.
    pub(super) fn patience(&self) -> Duration {
        let rows = u32::try_from(self.rows.load(Ordering::SeqCst)).expect("a bounded number");
        PATIENCE + PATIENCE_PER_ROW * rows
    }

    /// Notes trouble, unless the end has come.
    pub(super) fn note(&self, text: &str) {
        if !self.is_over.load(Ordering::SeqCst) {
            self.trouble.get_or_init(|| text.to_owned());
        }
    }

    /// Takes the answer to a batch; `Some(true)` if it was acknowledged without an error, `None` at
    /// the end.
    pub(super) fn answer(&self, client: &mut Client, text: &str) -> Option<bool> {
        let tokens = match client.try_batch(text) {
            Ok(tokens) => tokens,
            Err(error) => {
                self.note(&format!("{text}: {error}"));
                return None;
            }
        };
        self.answers.fetch_add(1, Ordering::SeqCst);
        let errors = error_numbers(&tokens);
        match errors[..] {
            [] => Some(true),
            // Two transfers were in each other's way.
            [1205] => Some(false),
            _ => {
                self.note(&format!("{text}: errors {errors:?}"));
                None
            }
        }
    }
}
