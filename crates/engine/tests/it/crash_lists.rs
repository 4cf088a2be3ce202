//! Lists in the crash test: eight clients append to lists that they share, and are shown the whole list
//! each time. What was shown of a list is the front of what is shown later, also after a restart, and no
//! entry is there twice.

#![expect(clippy::disallowed_types, reason = "as in the crash test")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::instance::Instance;
use engine::session::Session;
use simdisk::Random;
use sos::park;
use sos::wait::WaitType;

use super::crash::{Client, rows_of};

/// Clients that append, and lists.
pub(crate) const CLIENTS: u64 = 8;
const LISTS: u64 = 24;

/// What the clients were shown, over all lives.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    shown: Mutex<BTreeMap<u64, String>>,
    /// Entries that were sent.
    sent: AtomicU64,
}

impl Lists {
    /// Returns the statements that make the lists, which are empty.
    pub(crate) fn prepare() -> String {
        format!(
            "CREATE TABLE lists (id int PRIMARY KEY, items varchar(max) NOT NULL);
             INSERT lists SELECT value, '' FROM GENERATE_SERIES(1, {LISTS})"
        )
    }

    /// Appends until the client stops.
    pub(crate) fn append(&self, mut my: Client<'_>, seed: u64) {
        let mut random = Random::new(seed);
        while my.goes_on() {
            let list = random.below(LISTS) + 1;
            let entry = self.sent.fetch_add(1, Ordering::Relaxed);
            let text = format!(
                "UPDATE lists SET items = items + '{entry} ' OUTPUT inserted.items WHERE id = {list}"
            );
            if let Some(answer) = my.ask(&text) {
                self.show(list, &answer.sets[0][0][0]);
            }
            park::sleep(Duration::from_millis(2), WaitType::SleepTask, None);
        }
    }

    fn show(&self, list: u64, items: &str) {
        let mut all = self.shown.lock().unwrap();
        let shown = all.entry(list).or_default();
        let is_front = items.starts_with(&**shown) || shown.starts_with(items);
        assert!(is_front, "list {list} was {shown} and is {items}");
        if items.len() > shown.len() {
            items.clone_into(shown);
        }
    }

    /// Compares what is there with what was shown, and notes it: it will stay.
    pub(crate) fn check(&self, session: &mut Session, instance: &Instance) {
        let rows = rows_of(session, instance, "SELECT id, items FROM lists");
        assert_eq!(rows.len() as u64, LISTS, "the lists");
        let mut all = self.shown.lock().unwrap();
        let mut seen = BTreeSet::new();
        for row in rows {
            let (list, items) = (row[0].parse().unwrap(), &row[1]);
            let shown = all.entry(list).or_default();
            assert!(items.starts_with(&**shown), "list {list} was {shown} and is {items}");
            for entry in items.split_whitespace() {
                assert!(seen.insert(entry.to_owned()), "{entry} is there twice");
            }
            items.clone_into(shown);
        }
    }
}
