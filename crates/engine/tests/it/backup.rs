//! BACKUP DATABASE and RESTORE DATABASE: a copy has what the database had, under its own name and
//! another, also after a restart, and a damaged or foreign file changes nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::durable::{Folder, Settings};
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, errors, instance, login, run, sets};

/// A folder that is removed when the test ends.
#[derive(Debug)]
pub(crate) struct Data(PathBuf);

impl Data {
    pub(crate) fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("clearway-backup-{}-{name}", std::process::id()));
        // It is left only by a run that was killed.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn open(&self) -> Arc<Instance> {
        self.try_open().unwrap()
    }

    /// Starts an instance over the folder.
    ///
    /// # Errors
    /// Why the start is refused.
    pub(crate) fn try_open(&self) -> Result<Arc<Instance>, String> {
        let instance = instance();
        let folder = Folder::open(self.0.join("data").to_str().unwrap())?;
        instance.open_database(folder, &Settings::default())?;
        Ok(instance)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // The folder of temporary files is emptied by others if this fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the numbers of the errors of a text.
const SETUP: &[&str] = &[
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE a (id int IDENTITY(10, 5) PRIMARY KEY, b bigint, c nvarchar(max), d decimal(20, 3),
     e datetime2, f uniqueidentifier, g varbinary(max), h bit, i float, j sql_variant, v rowversion)",
    "INSERT a (b, c, d, e, f, g, h, i, j) SELECT 5, REPLICATE(CAST(N'long ' AS nvarchar(max)), 4000),
     1.5, '2026-01-02 03:04:05.678', '6F9619FF-8B86-D011-B42D-00C04FC964FF', 0x0102, 1, 2.5, N'x'",
    "INSERT a (b) VALUES (NULL), (7)",
    "CREATE TABLE ref (id int PRIMARY KEY, a int REFERENCES a (id), CHECK (id > 0))",
    "INSERT ref VALUES (1, 10)",
    "CREATE TABLE cs (x int, y varchar(20), INDEX ci CLUSTERED COLUMNSTORE)",
    "INSERT cs SELECT TOP 3000 ROW_NUMBER() OVER (ORDER BY (SELECT 1)), 'y' FROM sys.all_columns p CROSS JOIN sys.all_columns q",
    "ALTER INDEX ci ON cs REBUILD",
    "DELETE cs WHERE x % 100 = 0",
    "CREATE SEQUENCE s AS int START WITH 100 INCREMENT BY 10",
    "SELECT NEXT VALUE FOR s",
    "CREATE TABLE t (k int PRIMARY KEY, v int, b datetime2 GENERATED ALWAYS AS ROW START, e datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (b, e)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.th))",
    "INSERT t (k, v) VALUES (1, 1); UPDATE t SET v = 2",
    "CREATE TABLE m (id int PRIMARY KEY NONCLUSTERED, x int) WITH (MEMORY_OPTIMIZED = ON)",
    "INSERT m VALUES (1, 2)",
    "CREATE TABLE busy (id int IDENTITY PRIMARY KEY, twice int)",
    "CREATE ROLE r",
    "GRANT SELECT ON a TO r",
];
const MODULES: &[&str] = &[
    "CREATE TRIGGER tr ON ref AFTER INSERT AS UPDATE m WITH (SNAPSHOT) SET x = x + 1",
    "CREATE VIEW vw AS SELECT id, b FROM a",
    "CREATE PROCEDURE p AS SELECT COUNT(*) FROM a",
    "CREATE FUNCTION f (@n int) RETURNS int AS BEGIN RETURN @n * 2 END",
];

const LOOKS: &[&str] = &[
    "SELECT id, b, LEN(c), d, e, f, g, h, i, CAST(j AS nvarchar(10)), v FROM a ORDER BY id",
    "SELECT * FROM ref",
    "SELECT COUNT(*), SUM(x), MAX(y) FROM cs",
    "SELECT k, v FROM t; SELECT k, v FROM th",
    "SELECT * FROM m",
    "SELECT * FROM vw ORDER BY id; EXEC p; SELECT dbo.f(4)",
    "SELECT CAST(current_value AS int) FROM sys.sequences",
    "SELECT permission_name, USER_NAME(grantee_principal_id), OBJECT_NAME(major_id) FROM sys.database_permissions WHERE major_id > 0",
    "SELECT name, type FROM sys.objects WHERE type <> 'D' AND is_ms_shipped = 0 ORDER BY name",
];

fn looks(session: &mut Session, database: &str) -> Vec<Vec<Vec<Vec<String>>>> {
    run(session, &format!("USE {database}"));
    let all = LOOKS.iter().map(|text| sets(session, text)).collect();
    run(session, "USE master");
    all
}

/// Changes a copy, so that it is seen to live.
fn use_it(session: &mut Session, database: &str) {
    run(session, &format!("USE {database}"));
    let given =
        sets(session, "INSERT a (b) VALUES (1); SELECT SCOPE_IDENTITY(); SELECT NEXT VALUE FOR s");
    assert_eq!(given, [[["25"]], [["110"]]], "{database}");
    assert_eq!(errors(session, "INSERT ref VALUES (2, 999)"), [547]);
    run(session, "INSERT ref VALUES (2, 10)");
    assert_eq!(sets(session, "SELECT x FROM m"), [[["3"]]], "the trigger");
    run(session, "USE master");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a client outside of the machine")]
fn a_copy_has_all_that_the_database_had() {
    let data = Data::new("copy");
    let file = data.file("d.bak");
    let expected;
    {
        let instance = data.open();
        let mut session = login(&instance);
        for text in SETUP.iter().chain(MODULES) {
            run(&mut session, text);
        }
        expected = looks(&mut session, "d");
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (instance, stop) = (Arc::clone(&instance), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut session = login(&instance);
                run(&mut session, "USE d");
                while !stop.load(Ordering::Relaxed) {
                    // Two rows in each transaction: the copy has both or none.
                    let text = "BEGIN TRAN; INSERT busy VALUES (1); INSERT busy VALUES (1); COMMIT";
                    run(&mut session, text);
                }
            })
        };
        for n in 0..5 {
            let text =
                format!("BACKUP DATABASE d TO DISK = '{file}' WITH INIT, COMPRESSION, STATS");
            run(&mut session, &text);
            run(&mut session, &format!("RESTORE DATABASE c{n} FROM DISK = '{file}'"));
            let odd = sets(&mut session, &format!("SELECT COUNT(*) % 2 FROM c{n}.dbo.busy"));
            assert_eq!(odd, [[["0"]]]);
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert_eq!(looks(&mut session, "c0"), expected);
        use_it(&mut session, "c0");
        assert_eq!(looks(&mut session, "d"), expected, "the original is another database");
        // Under its own name, with what was changed since undone.
        run(&mut session, "DELETE d.dbo.ref; DROP TABLE d.dbo.ref");
        let text = format!("RESTORE DATABASE d FROM DISK = '{file}'");
        assert_eq!(errors(&mut session, &text), [3159, 3013]);
        run(&mut session, &format!("{text} WITH REPLACE, RECOVERY, STATS = 10"));
        assert_eq!(looks(&mut session, "d"), expected);
        instance.durable().unwrap().stop();
    }
    let instance = data.open();
    let mut session = login(&instance);
    for name in ["d", "c4"] {
        assert_eq!(looks(&mut session, name), expected, "{name} after the restart");
        use_it(&mut session, name);
    }
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let data = Data::new("refused");
    let (file, other) = (data.file("d.bak"), data.file("other.bak"));
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE DATABASE e");
    run(&mut session, "USE d; CREATE TABLE t (a int); INSERT t VALUES (1); USE master");
    let backup = format!("BACKUP DATABASE d TO DISK = '{file}'");
    run(&mut session, &backup);
    let verify = format!("RESTORE VERIFYONLY FROM DISK = '{file}'");
    run(&mut session, &verify);
    for (text, expected) in [
        (backup.clone(), vec![40517, 3013]),
        (format!("{backup} WITH DIFFERENTIAL, INIT"), vec![40517, 3013]),
        (format!("{backup}, DISK = '{other}'"), vec![40517]),
        (format!("BACKUP LOG d TO DISK = '{file}'"), vec![40517, 3013]),
        (format!("RESTORE DATABASE d FROM DISK = '{file}' WITH NORECOVERY"), vec![3159, 3013]),
        (format!("BACKUP DATABASE nosuch TO DISK = '{file}' WITH INIT"), vec![911, 3013]),
        (format!("BACKUP DATABASE tempdb TO DISK = '{file}' WITH INIT"), vec![3147, 3013]),
        ("BACKUP DATABASE d TO DISK = '/no/such/folder/x'".to_owned(), vec![3201, 3013]),
        (format!("RESTORE DATABASE n FROM DISK = '{other}'"), vec![3201, 3013]),
        (format!("RESTORE DATABASE e FROM DISK = '{file}'"), vec![3154, 3013]),
        (format!("{backup} WITH INIT, NOINIT"), vec![3031]),
        (format!("{backup} WITH INIT, NO_COMPRESSION, COMPRESSION"), vec![3031]),
        (format!("RESTORE DATABASE n FROM DISK = '{file}' WITH RECOVERY, NORECOVERY"), vec![3031]),
        (format!("RESTORE DATABASE n FROM DISK = '{file}' WITH FILE = 2"), vec![4038, 3013]),
        (format!("BEGIN TRAN; {backup} WITH INIT"), vec![3021, 3013]),
        (
            format!(
                "IF @@TRANCOUNT > 0 ROLLBACK; USE d; RESTORE DATABASE d FROM DISK = '{file}' WITH REPLACE"
            ),
            vec![3102, 3013],
        ),
    ] {
        assert_eq!(errors(&mut session, &text), expected, "{text}");
    }
    run(&mut session, "USE master");
    // INIT overwrites backups and empty files, FORMAT whatever it is: "If the existing media header is
    // invalid, the backup operation terminates" (Overwriting Backup Sets).
    for not_a_backup in ["TAPE of another server", "a letter"] {
        std::fs::write(&other, not_a_backup).unwrap();
        let init = format!("BACKUP DATABASE d TO DISK = '{other}' WITH INIT");
        assert_eq!(errors(&mut session, &init), [3241, 3013], "{not_a_backup}");
        assert_eq!(std::fs::read(&other).unwrap(), not_a_backup.as_bytes());
    }
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{other}' WITH FORMAT, INIT"));
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{other}' WITH INIT"));
    std::fs::write(&other, b"").unwrap();
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{other}' WITH INIT"));
    std::fs::write(&other, b"TAPE of another server").unwrap();
    let restore = format!("RESTORE DATABASE n FROM DISK = '{other}'");
    assert_eq!(errors(&mut session, &restore), [3241, 3013]);
    let whole = std::fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&other, damaged).unwrap();
        let found = errors(&mut session, &restore);
        assert!(matches!(found[..], [3241 | 3183, 3013]), "{at}: {found:?}");
    }
    assert_eq!(sets(&mut session, "SELECT DB_ID('n')"), [[["NULL"]]]);
    run(&mut session, &verify);
    assert_eq!(sets(&mut session, "SELECT a FROM d.dbo.t"), [[["1"]]]);
    assert_eq!(
        errors(
            &mut session,
            "BEGIN TRY RESTORE DATABASE n FROM DISK = '/x/y' END TRY BEGIN CATCH THROW END CATCH"
        ),
        [3013]
    );
}

/// The pages of 3014 are those of the data: COMPRESSION does not change them, nor does RESTORE.
#[test]
fn processed_pages_do_not_depend_on_compression() {
    let data = Data::new("pages");
    let file = data.file("d.bak");
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int, b char(2000))");
    run(&mut session, "INSERT d.dbo.t SELECT value, 'x' FROM GENERATE_SERIES(1, 200)");
    let mut pages = |text: String| {
        let said = batch(&mut session, &text).messages;
        let said = said.iter().find(|message| message.number == 3014).expect("a last message");
        let count = said.message.split(" pages").next().and_then(|text| text.rsplit(' ').next());
        count.and_then(|count| count.parse::<u32>().ok()).expect("a number of pages")
    };
    let plain = pages(format!("BACKUP DATABASE d TO DISK = '{file}' WITH INIT, NO_COMPRESSION"));
    assert!(plain > 40, "200 rows of 2,000 bytes: {plain}");
    for text in [
        format!("BACKUP DATABASE d TO DISK = '{file}' WITH INIT, COMPRESSION"),
        format!("RESTORE DATABASE copy FROM DISK = '{file}'"),
    ] {
        // The facts at the beginning differ by some bytes.
        assert!(pages(text.clone()).abs_diff(plain) <= 1, "{text}");
    }
}

/// A backup does not replace a file of the database, whatever its options.
#[test]
fn backup_replaces_no_file_of_the_database() {
    let data = Data::new("own-files");
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int); INSERT d.dbo.t VALUES (1)");
    run(&mut session, "CHECKPOINT");
    let folder = PathBuf::from(data.file("data"));
    let mut files: Vec<_> = ["lock", "database", "log/../log/new", "checkpoint/new"]
        .map(|name| folder.join(name))
        .into();
    let entries = std::fs::read_dir(folder.join("log")).unwrap();
    files.extend(entries.map(|entry| entry.unwrap().path()));
    assert!(files.len() > 4, "there is a segment");
    for file in files {
        let text = format!("BACKUP DATABASE d TO DISK = '{}' WITH FORMAT", file.display());
        assert_eq!(errors(&mut session, &text), [3201, 3013], "{text}");
    }
    // Beside them it may be.
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{}'", data.file("data/d.bak")));
    instance.durable().unwrap().stop();
    drop(session);
    drop(instance);
    let instance = data.open();
    let mut session = login(&instance);
    assert_eq!(sets(&mut session, "SELECT a FROM d.dbo.t"), [[["1"]]]);
}
