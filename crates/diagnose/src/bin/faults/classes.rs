//! Further faults: those of memory and of the machine, and the ten classes of DBSherlock's data
//! sets (Yoon, Niu and Mozafari, SIGMOD 2016, table 1), as far as a server without pages has them.
//!
//! | class                  | here                                                             |
//! |------------------------|------------------------------------------------------------------|
//! | poorly written query   | bad-join: a join whose condition no index and no hash table helps  |
//! | poor physical design   | needless-index: rows are inserted into a table of many indexes    |
//! | workload spike         | workload-spike: many more clients than before                     |
//! | I/O saturation         | io-saturation: processes write and sync on the log's device       |
//! | database backup        | backup                                                           |
//! | table restore          | restore                                                          |
//! | CPU saturation         | cpu-saturation: processes start processes                         |
//! | flush log/table        | flush: checkpoints one after the other                            |
//! | network congestion     | network-delay: a proxy delays each message of the load            |
//! | lock contention        | one-warehouse: new orders of one district                         |

use verdict::Cause;

use crate::list::{Fault, Helper, Severity, TABLE, batches, cpus, fault};
use crate::run::Load;

/// Makes one of these faults; `None` if there is none of this name.
pub(crate) fn make(name: &str, severity: Severity) -> Option<Fault> {
    machine(name, severity)
        .or_else(|| statements(name, severity))
        .or_else(|| upkeep(name, severity))
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn machine(name: &str, severity: Severity) -> Option<Fault> {
    let read = "SELECT n FROM dbo.fault WHERE id = 7";
    Some(match name {
        "cpu-quota" => Fault {
            quota: Some(severity.of(0.5, 0.25, 0.1)),
            ..fault("cpu-quota", Cause::CpuQuota, batches(4, read))
        },
        "cpu-saturation" => {
            let hog = Helper::Shell("while :; do /bin/true; done".to_owned());
            let count = severity.of(2, 4, 10) * cpus();
            fault("cpu-saturation", Cause::CpuElsewhere, vec![hog; count])
        }
        "io-saturation" => {
            let script = "n=$$; while :; do dd if=/dev/zero of={folder}/../busy$n bs=256k count=16 \
                          conv=fsync 2> /dev/null; done";
            let mut helpers = batches(severity.of(2, 4, 8), DURABLE_UPDATE);
            helpers.extend(vec![Helper::Shell(script.to_owned()); severity.of(2, 4, 8)]);
            Fault {
                server: strings(&["--data", "{folder}"]),
                setup: DURABLE.to_owned(),
                ..fault("io-saturation", Cause::LogDevice, helpers)
            }
        }
        "network-delay" => Fault {
            name: "network-delay",
            right: vec!["limit outside"],
            network_ms: severity.of(10, 50, 300),
            ..Fault::default()
        },
        "decommit" => {
            let load = "INSERT dbo.loaded SELECT value, value % 1000, value * 7 \
                        FROM GENERATE_SERIES(CAST(1 AS bigint), 200000) \
                        TRUNCATE TABLE dbo.loaded";
            Fault {
                server: strings(&["--experiment", "decommit-per-segment"]),
                setup: "CREATE TABLE dbo.loaded (a bigint, b bigint, c bigint, \
                        INDEX cci CLUSTERED COLUMNSTORE)"
                    .to_owned(),
                ..fault("decommit", Cause::Decommit, batches(severity.of(1, 2, 4), load))
            }
        }
        "memory-grants" => {
            // Sorts that hold most of the memory for queries, and others that need a little of it.
            let large = "SELECT COUNT(*) FROM (SELECT TOP (100000000) s FROM (SELECT value, \
                         REPLICATE('x', 400) + CAST(value AS varchar(20)) AS s \
                         FROM GENERATE_SERIES(1, 150000)) AS a ORDER BY s) AS b";
            let small = "SELECT COUNT(*) FROM (SELECT DISTINCT n % 1000 AS n FROM dbo.fault) AS a";
            let mut helpers = batches(severity.of(12, 20, 32), large);
            helpers.extend(batches(4, small));
            Fault {
                server: strings(&["--max-memory", "1024MB"]),
                ..fault("memory-grants", Cause::MemoryGrants, helpers)
            }
        }
        _ => return None,
    })
}

/// A table whose changes are written to the log.
const DURABLE: &str = "CREATE TABLE dbo.durable (id int NOT NULL PRIMARY KEY, n int NOT NULL, \
    s varchar(100)); INSERT dbo.durable SELECT value, value, REPLICATE('x', 100) \
    FROM GENERATE_SERIES(1, 20000)";
/// Changes any row of it.
const DURABLE_UPDATE: &str = "DECLARE @i int = 1 + ABS(CHECKSUM(NEWID())) % 20000 \
    UPDATE dbo.durable SET n += 1 WHERE id = @i";

fn statements(name: &str, severity: Severity) -> Option<Fault> {
    Some(match name {
        "bad-join" => {
            let join = "SELECT COUNT(*) FROM dbo.fault AS a JOIN dbo.fault AS b ON a.n + 1 < b.n - 1 \
                        WHERE a.id <= 50";
            fault("bad-join", Cause::BadJoin, batches(severity.of(1, 3, 8), join))
        }
        "needless-index" => {
            let count = severity.of(4, 8, 16);
            let indexes: String = (0..count)
                .map(|place| format!(", INDEX i{place} (s{}, n, t)", place % 4))
                .collect();
            let setup = format!(
                "CREATE TABLE dbo.many (id int IDENTITY PRIMARY KEY, n int NOT NULL, t bigint NOT NULL, \
                 s0 varchar(50), s1 varchar(50), s2 varchar(50), s3 varchar(50){indexes})"
            );
            let insert = "INSERT dbo.many SELECT CHECKSUM(NEWID()), value, \
                          CAST(NEWID() AS varchar(50)), CAST(NEWID() AS varchar(50)), \
                          CAST(NEWID() AS varchar(50)), CAST(NEWID() AS varchar(50)) \
                          FROM GENERATE_SERIES(1, 20)";
            let helpers = batches(severity.of(1, 2, 4), insert);
            Fault { setup, ..fault("needless-index", Cause::IndexMaintenance, helpers) }
        }
        "workload-spike" => {
            let read = "SELECT n, s FROM dbo.fault WHERE id = 1 + ABS(CHECKSUM(NEWID())) % 20000";
            let helpers = batches(severity.of(16, 48, 128), read);
            let load = Load { workload: "cache", connections: 4, think: Some("10ms") };
            Fault {
                load: Some(load),
                alone_seconds: 26,
                ..fault("workload-spike", Cause::WorkloadSpike, helpers)
            }
        }
        "one-warehouse" => {
            let order = "DECLARE @o int BEGIN TRAN \
                 UPDATE dbo.district SET @o = next_order = next_order + 1 WHERE w = 1 AND d = 1 \
                 INSERT dbo.orders VALUES (1, 1, @o, SYSDATETIME()) \
                 DECLARE @l int = 0 WHILE @l < 10 BEGIN SET @l += 1 \
                 UPDATE dbo.stock SET quantity -= 1 WHERE w = 1 AND i = 1 + (@o * 7 + @l) % 1000 \
                 INSERT dbo.order_line VALUES (1, 1, @o, @l, 1 + (@o * 7 + @l) % 1000) END \
                 COMMIT";
            Fault {
                setup: WAREHOUSE.to_owned(),
                ..fault("one-warehouse", Cause::HotRow, batches(severity.of(6, 16, 48), order))
            }
        }
        _ => return None,
    })
}

/// The tables of an order.
const WAREHOUSE: &str = "CREATE TABLE dbo.district (w int, d int, next_order int NOT NULL, \
    PRIMARY KEY (w, d)); INSERT dbo.district SELECT 1, value, 1 FROM GENERATE_SERIES(1, 10); \
    CREATE TABLE dbo.orders (w int, d int, o int, at datetime2, PRIMARY KEY (w, d, o)); \
    CREATE TABLE dbo.order_line (w int, d int, o int, l int, i int, PRIMARY KEY (w, d, o, l)); \
    CREATE TABLE dbo.stock (w int, i int, quantity int NOT NULL, PRIMARY KEY (w, i)); \
    INSERT dbo.stock SELECT 1, value, 100 FROM GENERATE_SERIES(1, 1000)";

/// What administrators do to a database with files.
fn upkeep(name: &str, severity: Severity) -> Option<Fault> {
    let rows = severity.of(50_000, 200_000, 600_000);
    let setup = format!(
        "{TABLE} CREATE TABLE dbo.large (id int NOT NULL PRIMARY KEY, s varchar(200)); \
         INSERT dbo.large SELECT value, REPLICATE('y', 200) FROM GENERATE_SERIES(1, {rows})"
    );
    let with_data = |fault: Fault| Fault { server: strings(&["--data", "{folder}"]), ..fault };
    Some(match name {
        "backup" => {
            let backup = "BACKUP DATABASE faults TO DISK = '{folder}/../copy.bak' WITH INIT";
            with_data(Fault { setup, ..fault("backup", Cause::Backup, batches(1, backup)) })
        }
        "restore" => {
            let setup = format!(
                "{setup}; BACKUP DATABASE faults TO DISK = '{{folder}}/../copy.bak' WITH INIT"
            );
            let restore = "RESTORE DATABASE copy FROM DISK = '{folder}/../copy.bak' WITH REPLACE";
            with_data(Fault { setup, ..fault("restore", Cause::Restore, batches(1, restore)) })
        }
        "flush" => {
            let mut helpers = batches(severity.of(1, 2, 4), "CHECKPOINT");
            helpers.extend(batches(2, DURABLE_UPDATE));
            with_data(Fault {
                setup: format!("{DURABLE}; {setup}"),
                ..fault("flush", Cause::Checkpoints, helpers)
            })
        }
        _ => return None,
    })
}
