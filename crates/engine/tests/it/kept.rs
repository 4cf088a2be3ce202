//! SCHEMA_ONLY tables with `--keep-schema-only`: an orderly stop keeps their rows for the next start,
//! which uses them once; after any other end they are empty.

use std::sync::Arc;

use ::durable::{Folder, Kept, Settings};
use engine::instance::Instance;

use super::backup::Data;
use crate::client::{instance, login, run, sets};

fn open(data: &Data, keeps: bool) -> Result<(Arc<Instance>, Option<Kept>), String> {
    let instance = instance();
    let folder = Folder::open(&data.file("data"))?;
    let settings = Settings { keep_schema_only: keeps, ..Settings::default() };
    let recovered = instance.open_database(folder, &settings)?;
    Ok((instance, recovered.kept))
}

const SETUP: &str = "
    CREATE TABLE s (id int IDENTITY PRIMARY KEY NONCLUSTERED, k varchar(40) NOT NULL, v varbinary(max),
        INDEX by_k HASH (k) WITH (BUCKET_COUNT = 64)) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY);
    CREATE TABLE e (id int PRIMARY KEY NONCLUSTERED) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY);
    CREATE TABLE t (id int PRIMARY KEY);
    INSERT s (k, v) SELECT CONCAT('key ', value), CAST(REPLICATE(CAST('x' AS varchar(max)), 9000) AS varbinary(max))
    FROM GENERATE_SERIES(1, 500); DELETE s WHERE id % 5 = 0; INSERT t VALUES (1)";
const LOOK: &str =
    "SELECT COUNT(*), SUM(id), SUM(DATALENGTH(v)) FROM s; SELECT id FROM s WHERE k = 'key 77';
    SELECT COUNT(*) FROM s WHERE k = 'key 75'; SELECT COUNT(*) FROM e; SELECT COUNT(*) FROM t";

#[test]
fn rows_of_schema_only_tables_survive_an_orderly_stop_alone() {
    let data = Data::new("kept");
    let file = data.file("data/schema_only");
    let is_there = || std::fs::exists(&file).unwrap();
    let expected;
    {
        let (instance, kept) = open(&data, true).unwrap();
        assert_eq!(kept, Some(Kept::default()));
        let mut session = login(&instance);
        run(&mut session, SETUP);
        expected = sets(&mut session, LOOK);
        assert_eq!(expected[0][0][0], "400");
        instance.durable().unwrap().stop();
        assert!(is_there());
    }
    {
        let (instance, kept) = open(&data, true).unwrap();
        assert_eq!(kept, Some(Kept { is_found: true, tables: 2, rows: 400 }));
        assert!(!is_there(), "it is used once");
        let mut session = login(&instance);
        assert_eq!(sets(&mut session, LOOK), expected);
        let next = sets(&mut session, "INSERT s (k) OUTPUT inserted.id VALUES ('more')");
        assert_eq!(next, [[["501"]]]);
        // As a kill: nothing is kept.
        instance.durable().unwrap().stop_at_once();
    }
    let empty = [vec![["0", "NULL", "NULL"].map(str::to_owned).to_vec()]];
    {
        let (instance, kept) = open(&data, true).unwrap();
        assert_eq!(kept, Some(Kept::default()));
        let mut session = login(&instance);
        assert_eq!(sets(&mut session, LOOK)[..1], empty);
        run(&mut session, "INSERT s (k) VALUES ('a')");
        instance.durable().unwrap().stop();
        assert!(is_there());
    }
    // A start that does not ask for the rows drops them for good.
    for keeps in [false, true] {
        let (instance, kept) = open(&data, keeps).unwrap();
        assert_eq!(kept, keeps.then(Kept::default));
        let mut session = login(&instance);
        assert_eq!(sets(&mut session, LOOK)[..1], empty);
        assert!(!is_there());
        instance.durable().unwrap().stop();
        drop(session);
    }
    // A damaged file is refused by its name, and a start without the option leaves it out.
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let error = open(&data, true).err().expect("the file is damaged");
    assert!(error.contains("schema_only: it is damaged at offset"), "{error}");
    let (instance, _) = open(&data, false).unwrap();
    instance.durable().unwrap().stop();
}
