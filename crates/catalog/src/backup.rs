//! `BackupHistory`: the backups and restores that an instance remembers, as `msdb` shows them, and
//! where the log backups of each database stand.
//!
//! No plan depends on any of this, so it changes by [`crate::CatalogCell::change_aside`]: sessions
//! keep their plans, and read the history from the cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Catalog, Database};

/// The most backups, and the most restores, that are remembered; the oldest goes first.
pub const HISTORY_MAX: usize = 5_000;

/// What a backup or a restore is: texts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupFacts(pub BTreeMap<String, String>);

impl BackupFacts {
    /// Notes a fact by its name.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// Returns a fact; an empty text if it is not there.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns a fact that is a number; 0 if it is none.
    pub fn number(&self, name: &str) -> i64 {
        self.get(name).parse().unwrap_or(0)
    }

    /// Returns whether a fact is the number 1.
    pub fn is(&self, name: &str) -> bool {
        self.get(name) == "1"
    }

    /// Adds facts; those of the same name are replaced.
    pub fn extend(&mut self, more: &Self) {
        self.0.extend(more.0.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

/// A database that is being restored: it cannot be used until its last file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restoring {
    /// The backups so far: a full one, perhaps a differential one, and those of the log.
    pub files: Vec<String>,
    /// STOPAT, in units of 100 ns since 0001-01-01.
    pub until_100ns: Option<u64>,
}

/// What is remembered of backups and restores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupHistory {
    /// The backups, by `backup_set_id`.
    pub backups: BTreeMap<i32, Arc<BackupFacts>>,
    /// The restores, by `restore_history_id`.
    pub restores: BTreeMap<i32, Arc<BackupFacts>>,
    /// What is known of each database for its next backup, by database id. Use
    /// [`Self::of_database`]: an id may have belonged to another database.
    pub databases: BTreeMap<i16, Arc<BackupFacts>>,
}

impl BackupHistory {
    /// Adds a backup; returns its id.
    pub fn add_backup(&mut self, facts: BackupFacts) -> i32 {
        add(&mut self.backups, facts)
    }

    /// Adds a restore; returns its id.
    pub fn add_restore(&mut self, facts: BackupFacts) -> i32 {
        add(&mut self.restores, facts)
    }

    /// Finds a backup by its unique id.
    pub fn backup_by_uuid(&self, uuid: &str) -> Option<i32> {
        let found = self.backups.iter().rev().find(|(_, facts)| facts.get("uuid") == uuid);
        found.map(|(id, _)| *id)
    }

    /// Returns what is known of a database for its next backup.
    pub fn of_database(&self, database: &Database) -> Option<&Arc<BackupFacts>> {
        let found = self.databases.get(&database.id);
        found.filter(|facts| facts.get("created") == created(database))
    }

    /// Sets what is known of a database for its next backup.
    pub fn set_database(&mut self, database: &Database, mut facts: BackupFacts) {
        facts.set("created", created(database));
        self.databases.insert(database.id, Arc::new(facts));
    }

    /// Ends the chain of log backups of a database: the next one needs a data backup.
    pub fn end_log_chain(&mut self, database: &Database) {
        if let Some(facts) = self.of_database(database).cloned() {
            let mut facts = BackupFacts::clone(&facts);
            facts.0.remove("log_lsn");
            self.databases.insert(database.id, Arc::new(facts));
        }
    }

    /// Ends the chains of all databases.
    pub fn end_log_chains(&mut self) {
        for facts in self.databases.values_mut() {
            Arc::make_mut(facts).0.remove("log_lsn");
        }
    }

    /// Removes what is known of databases that are gone.
    pub fn prune(&mut self, databases: &BTreeMap<super::name::Name, Arc<Database>>) {
        let is_there = |id: &i16, facts: &BackupFacts| {
            let mut all = databases.values();
            all.any(|it| it.id == *id && created(it) == facts.get("created"))
        };
        self.databases.retain(|id, facts| is_there(id, facts));
    }

    /// Removes the backups and restores that `is_gone` selects by their facts, and the restores of
    /// backups that go.
    pub fn forget(&mut self, is_gone: impl Fn(&BackupFacts) -> bool) {
        self.backups.retain(|_, facts| !is_gone(facts));
        let backups = &self.backups;
        let has_backup = |facts: &BackupFacts| {
            let id = i32::try_from(facts.number("backup")).unwrap_or(0);
            backups.contains_key(&id)
        };
        self.restores.retain(|_, facts| has_backup(facts));
    }
}

impl Catalog {
    /// Returns the number of the first log segment that a log backup still needs; `None` if none
    /// does.
    pub fn first_segment_to_back_up(&self) -> Option<u64> {
        let needed = self.databases.values().filter_map(|database| {
            let facts = self.backups.of_database(database)?;
            let is_kept = database.options.recovery != "SIMPLE" && !facts.get("log_lsn").is_empty();
            is_kept.then(|| facts.get("log_segment").parse().unwrap_or(0))
        });
        needed.min()
    }
}

/// Names the database that has an id: an id is used again, the time of creation is not.
fn created(database: &Database) -> String {
    format!("{:?}", database.created)
}

fn add(to: &mut BTreeMap<i32, Arc<BackupFacts>>, facts: BackupFacts) -> i32 {
    let id = to.last_key_value().map_or(1, |(last, _)| last.saturating_add(1));
    to.insert(id, Arc::new(facts));
    while to.len() > HISTORY_MAX {
        to.pop_first();
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut history = BackupHistory::default();
        for n in 0..HISTORY_MAX + 3 {
            let mut facts = BackupFacts::default();
            facts.set("uuid", n);
            history.add_backup(facts);
        }
        assert_eq!(history.backups.len(), HISTORY_MAX);
        assert_eq!(history.backup_by_uuid("2"), None);
        assert_eq!(history.backup_by_uuid("3"), Some(4));
    }

    #[test]
    fn a_restore_goes_with_its_backup() {
        let mut history = BackupHistory::default();
        for name in ["a", "b"] {
            let mut facts = BackupFacts::default();
            facts.set("database", name);
            let id = history.add_backup(facts);
            let mut restore = BackupFacts::default();
            restore.set("backup", id);
            history.add_restore(restore);
        }
        history.forget(|facts| facts.get("database") == "a");
        let left: Vec<i32> = history.restores.keys().copied().collect();
        assert_eq!((history.backups.len(), left), (1, vec![2]));
    }
}
