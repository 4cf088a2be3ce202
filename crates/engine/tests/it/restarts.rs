//! Each script's database can be opened again: a start reads every definition that a statement can
//! make, and the rows of its tables are those from before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use engine::catalog::table::is_durable;
use engine::instance::Instance;
use engine::session::Session;

use super::backup::Data;
use crate::client::{batch, is_whole, login};
use crate::script::{blocks, check, scripts};

/// Returns what is to be there after a restart: the objects, and the rows of durable tables.
fn contents(instance: &Arc<Instance>) -> BTreeSet<String> {
    let mut session = login(instance);
    let catalog = instance.catalog.load();
    let mut contents = BTreeSet::new();
    for database in catalog.databases.values().filter(|database| database.id != TEMPDB) {
        for object in database.objects.values() {
            contents.insert(format!("{}.{}.{}", database.name, object.schema(), object.name()));
        }
        for table in database.table_types() {
            let ids: Vec<i32> = table.constraint_ids().collect();
            contents.insert(format!("{}.{}: {} {ids:?}", database.name, table.name, table.id));
        }
        let durable = |id, only| is_durable(id, database.id, only);
        for table in database.tables().filter(|table| durable(table.id, table.schema_only)) {
            let parts = [&database.name, &table.schema, &table.name].map(|part| quoted(part));
            let name = parts.join(".");
            let rows = rows(&mut session, &name);
            contents.insert(format!("{name}: {rows}"));
            for index in &table.disabled {
                contents.insert(format!("{name}: {} is disabled", index.name));
            }
        }
    }
    contents
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

const TEMPDB: i16 = engine::catalog::table::TEMPDB;

/// Returns number and checksum of a table's rows. Columns without an order have no checksum, and a
/// computed column may have another value each time.
fn rows(session: &mut Session, table: &str) -> String {
    let whole = format!("SELECT COUNT(*), CHECKSUM_AGG(BINARY_CHECKSUM(*)) FROM {table}");
    let (answer, again) = (batch(session, &whole), batch(session, &whole));
    if answer.errors.is_empty() && answer.sets == again.sets {
        return format!("{:?}", answer.sets);
    }
    let answer = batch(session, &format!("SELECT COUNT(*) FROM {table}"));
    assert!(answer.errors.is_empty(), "{table}: {:?}", answer.errors);
    format!("{:?}", answer.sets)
}

/// One script of this number is tried, where the whole is not asked for.
const PART: usize = 3;

#[test]
fn what_scripts_make_is_there_after_a_restart() {
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let mut failures = String::new();
    let mut objects = 0;
    for (number, path) in scripts().into_iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_in_part = is_whole() || !only.is_empty() || number % PART == 0;
        if !name.contains(&only) || !is_in_part {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let data = Data::new(&format!("restart-{name}"));
        let instance = data.open();
        let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
        let mut current = "a".to_owned();
        for block in blocks(&text) {
            match block.head.strip_prefix("session ") {
                Some(session) => current = session.to_owned(),
                None => {
                    let session = sessions.entry(current.clone());
                    let session = session.or_insert_with(|| login(&instance));
                    // What it has to answer is another test's; some answers differ with a log.
                    let _ = check(session, &block);
                }
            }
        }
        drop(sessions);
        let before = contents(&instance);
        objects += before.len();
        let durable = instance.durable().unwrap();
        if number % 2 == 0 {
            durable.stop();
        } else {
            durable.stop_at_once();
        }
        drop(instance);
        match data.try_open() {
            Ok(instance) => {
                let after = contents(&instance);
                for lost in before.difference(&after) {
                    writeln!(failures, "{name}: lost {lost}").unwrap();
                }
                for added in after.difference(&before) {
                    writeln!(failures, "{name}: added {added}").unwrap();
                }
                instance.durable().unwrap().stop_at_once();
            }
            Err(problem) => writeln!(failures, "{name}: {problem}").unwrap(),
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(objects > 50 || !only.is_empty(), "{objects}");
}

/// The table of a table type and its constraints have the ids from before, which no new object gets.
#[test]
fn table_types_keep_their_ids_and_new_objects_get_others() {
    let data = Data::new("restart-type-ids");
    let ids = "SELECT o.name, o.object_id FROM d.sys.objects AS o ORDER BY o.object_id";
    let create = "CREATE TYPE list AS TABLE (id int PRIMARY KEY, v int DEFAULT (1) CHECK (v > 0))";
    let instance = data.open();
    let mut session = login(&instance);
    for text in ["CREATE DATABASE d", "USE d", create] {
        assert!(batch(&mut session, text).errors.is_empty(), "{text}");
    }
    let before = batch(&mut session, ids);
    assert_eq!(before.sets[0].len(), 4, "{:?}", before.sets);
    drop(session);
    instance.durable().unwrap().stop();
    drop(instance);

    let instance = data.open();
    let mut session = login(&instance);
    assert_eq!(batch(&mut session, ids).sets, before.sets);
    for text in ["USE d", "CREATE TABLE later (id int)"] {
        assert!(batch(&mut session, text).errors.is_empty(), "{text}");
    }
    let text = "SELECT COUNT(DISTINCT object_id) FROM sys.objects";
    assert_eq!(batch(&mut session, text).sets, [[["5"]]]);
    drop(session);
    instance.durable().unwrap().stop_at_once();
}
