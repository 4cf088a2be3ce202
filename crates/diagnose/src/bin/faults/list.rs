//! The faults: how each is made with SQL, flags and other processes, in three severities, and what
//! a right verdict is. The tool is not told. Further ones: `classes.rs`.

use verdict::Cause;

use crate::classes;
use crate::run::Load;

/// How strong a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Low,
    Medium,
    High,
}

impl Severity {
    pub(crate) const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns the severity of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }

    /// Chooses one of three values by severity.
    pub(crate) fn of<T>(self, low: T, medium: T, high: T) -> T {
        match self {
            Self::Low => low,
            Self::Medium => medium,
            Self::High => high,
        }
    }
}

/// A process beside the load.
#[derive(Clone, Debug)]
pub(crate) enum Helper {
    /// Connections that send a batch over and over, by `clearway stress`.
    Batches { connections: u32, batch: String, more: &'static [&'static str] },
    /// One `clearway sql` that sends a script and keeps its connection; its results are read at so
    /// many bytes per second.
    Script { text: String, bytes_per_second: usize },
    /// A process of this shell script. `{folder}` is the folder of the server's data.
    Shell(String),
}

/// A fault of one severity.
pub(crate) struct Fault {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// What a right verdict says: names of causes, or those of [`crate::score::said`].
    pub(crate) right: Vec<&'static str>,
    /// Further arguments of the server.
    pub(crate) server: Vec<String>,
    /// Statements before the load.
    pub(crate) setup: String,
    /// Statements when all runs.
    pub(crate) late: String,
    /// A SELECT of a count that must grow for the fault to be there, where the machine decides that:
    /// a run in which it grows by less than [`PROOF_MIN`] is named as not made.
    pub(crate) proof: &'static str,
    /// What runs beside the load.
    pub(crate) helpers: Vec<Helper>,
    /// The CPU quota of the server's control group.
    pub(crate) quota: Option<f64>,
    /// The load beside the fault; any of the usual ones if `None`.
    pub(crate) load: Option<Load>,
    /// How long the load runs alone before the fault begins.
    pub(crate) alone_seconds: u64,
    /// How long each message of the load is on its way, each way.
    pub(crate) network_ms: u64,
}

impl Default for Fault {
    /// A run without a fault.
    fn default() -> Self {
        Self {
            name: HEALTHY,
            right: vec!["healthy", "limit outside"],
            server: Vec::new(),
            setup: String::new(),
            late: String::new(),
            proof: "",
            helpers: Vec::new(),
            quota: None,
            load: None,
            alone_seconds: 0,
            network_ms: 0,
        }
    }
}

/// How much the count of a [`Fault::proof`] grows per second where the fault is there.
pub(crate) const PROOF_MIN: f64 = 20.0;

/// The name of runs without a fault.
pub(crate) const HEALTHY: &str = "healthy";

/// The table that most faults use.
pub(crate) const TABLE: &str = "CREATE TABLE dbo.fault (id int NOT NULL PRIMARY KEY, n int NOT NULL, s \
    varchar(100)); INSERT dbo.fault SELECT value, value, REPLICATE('x', 100) \
    FROM GENERATE_SERIES(1, 20000);";

/// The names of all faults.
pub(crate) const NAMES: &[&str] = &[
    "hot-row",
    "idle-blocker",
    "deadlocks",
    "metadata-lock",
    "page-per-hash",
    "allocator-lock",
    "plan-cache",
    "missing-index",
    "memory-pressure",
    "logins-tls",
    "slow-reader",
    "event-session",
    "application-lock",
    "temp-tables",
    "definitions",
    "cpu-hogs",
    "log-device",
    "old-snapshot",
    "memory-grants",
    "decommit",
    "cpu-quota",
    "bad-join",
    "needless-index",
    "workload-spike",
    "io-saturation",
    "backup",
    "restore",
    "cpu-saturation",
    "flush",
    "network-delay",
    "one-warehouse",
];

/// A number of connections that send a batch over and over.
pub(crate) fn batches(connections: u32, batch: impl Into<String>) -> Vec<Helper> {
    vec![Helper::Batches { connections, batch: batch.into(), more: &[] }]
}

/// A script whose connection stays open.
pub(crate) fn script(text: impl Into<String>) -> Helper {
    Helper::Script { text: text.into(), bytes_per_second: usize::MAX }
}

/// A fault with the usual table.
pub(crate) fn fault(name: &'static str, cause: Cause, helpers: Vec<Helper>) -> Fault {
    Fault { name, right: vec![cause.name()], setup: TABLE.to_owned(), helpers, ..Fault::default() }
}

/// Makes a fault; `None` if there is none of this name.
pub(crate) fn make(name: &str, severity: Severity) -> Option<Fault> {
    locks(name, severity)
        .or_else(|| statements(name, severity))
        .or_else(|| memory(name, severity))
        .or_else(|| around(name, severity))
        .or_else(|| classes::make(name, severity))
}

fn locks(name: &str, severity: Severity) -> Option<Fault> {
    let hold = "WAITFOR DELAY '00:00:00.005'";
    Some(match name {
        "hot-row" => fault(
            "hot-row",
            Cause::HotRow,
            batches(
                severity.of(3, 6, 16),
                format!("BEGIN TRAN UPDATE dbo.fault SET n += 1 WHERE id = 7 {hold} COMMIT"),
            ),
        ),
        "idle-blocker" => {
            let mut helpers =
                vec![script("BEGIN TRAN\nUPDATE dbo.fault SET n += 1 WHERE id = 7\nGO\n")];
            helpers
                .extend(batches(severity.of(1, 4, 12), "UPDATE dbo.fault SET n += 1 WHERE id = 7"));
            fault("idle-blocker", Cause::IdleBlocker, helpers)
        }
        "deadlocks" => {
            let pair = |first: u32, second: u32| {
                format!(
                    "BEGIN TRAN UPDATE dbo.fault SET n += 1 WHERE id = {first} {hold} \
                     UPDATE dbo.fault SET n += 1 WHERE id = {second} COMMIT"
                )
            };
            let count = severity.of(1, 3, 8);
            let mut helpers = batches(count, pair(7, 8));
            helpers.extend(batches(count, pair(8, 7)));
            fault("deadlocks", Cause::Deadlocks, helpers)
        }
        "application-lock" => fault(
            "application-lock",
            Cause::ApplicationLock,
            batches(
                severity.of(3, 6, 16),
                format!("BEGIN TRAN EXEC sp_getapplock 'x', 'Exclusive' {hold} COMMIT"),
            ),
        ),
        "metadata-lock" => {
            let helpers = batches(severity.of(16, 32, 128), "SELECT n FROM dbo.fault WHERE id = 7");
            let server = ["--lock-mode", "exclusive", "--schedulers", severity.of("4", "6", "8")];
            Fault {
                server: server.map(str::to_owned).to_vec(),
                // On few CPUs the lock is next to free: its holder is as slow as one whose cache lines
                // many CPUs want.
                late: format!(
                    "EXEC sys.sp_inject_delay 'spin', 'CMED_HASH_SET', {}, 60",
                    severity.of(60, 120, 200)
                ),
                // A machine that runs one thread at a time has no contention at all.
                proof: "SELECT SUM(collisions) FROM sys.dm_os_spinlock_stats \
                        WHERE name = 'CMED_HASH_SET'",
                ..fault("metadata-lock", Cause::MetadataSpin, helpers)
            }
        }
        _ => return None,
    })
}

fn statements(name: &str, severity: Severity) -> Option<Fault> {
    let count = severity.of(1, 3, 8);
    Some(match name {
        "plan-cache" => fault(
            "plan-cache",
            Cause::PlanCache,
            batches(
                count,
                "DECLARE @s nvarchar(400) = N'SELECT n AS [' + CAST(NEWID() AS nvarchar(40)) + N'] \
             FROM dbo.fault WHERE id = 7' EXEC (@s)",
            ),
        ),
        "missing-index" => fault(
            "missing-index",
            Cause::MissingIndex,
            batches(count, "SELECT s FROM dbo.fault WHERE n = 777"),
        ),
        "temp-tables" => fault(
            "temp-tables",
            Cause::TemporaryTables,
            batches(
                count,
                "CREATE TABLE #t (a int, b varchar(20)) INSERT #t VALUES (1, 'x') SELECT * FROM #t \
             DROP TABLE #t",
            ),
        ),
        "definitions" => fault(
            "definitions",
            Cause::Definitions,
            batches(
                severity.of(1, 2, 4),
                "DECLARE @t nvarchar(20) = N'd' + CAST(@@SPID AS nvarchar(9)) \
             EXEC (N'CREATE TABLE dbo.' + @t + N' (a int)') EXEC (N'DROP TABLE dbo.' + @t)",
            ),
        ),
        _ => return None,
    })
}

fn memory(name: &str, severity: Severity) -> Option<Fault> {
    Some(match name {
        "page-per-hash" => Fault {
            server: vec!["--experiment".to_owned(), "page-per-hash".to_owned()],
            ..fault(
                "page-per-hash",
                Cause::PagePerRow,
                batches(
                    severity.of(1, 2, 4),
                    "SELECT MAX(HASHBYTES('SHA2_256', s)) FROM dbo.fault",
                ),
            )
        },
        "allocator-lock" => Fault {
            server: ["--experiment", "allocator-lock", "--experiment", "page-per-hash"]
                .map(str::to_owned)
                .to_vec(),
            // Both modes are faults, and on few CPUs the lock costs less than the pages.
            right: vec![Cause::AllocatorSpin.name(), Cause::PagePerRow.name()],
            ..fault(
                "allocator-lock",
                Cause::AllocatorSpin,
                batches(
                    severity.of(4, 8, 16),
                    "SELECT MAX(HASHBYTES('SHA2_256', s)) FROM dbo.fault WHERE id <= 2000",
                ),
            )
        },
        "memory-pressure" => Fault {
            server: vec!["--max-memory".to_owned(), "256MB".to_owned()],
            ..fault(
                "memory-pressure",
                Cause::MemoryLimit,
                batches(
                    severity.of(1, 2, 6),
                    "DECLARE @t TABLE (id int, s varchar(200)) INSERT @t SELECT a.value, \
                 REPLICATE('y', 200) FROM GENERATE_SERIES(1, 2000000) AS a",
                ),
            )
        },
        "old-snapshot" => {
            let mut helpers = vec![script(
                "SET TRANSACTION ISOLATION LEVEL SNAPSHOT\nBEGIN TRAN\nSELECT COUNT(*) FROM dbo.fault\nGO\nWHILE 1 \
                 = 1 SELECT SUM(n) FROM dbo.fault WHERE id BETWEEN 1 AND 20\nGO\n",
            )];
            helpers.extend(batches(
                severity.of(1, 3, 8),
                "DECLARE @i int = 1 + ABS(CHECKSUM(NEWID())) % 20 UPDATE dbo.fault SET n += 1 \
                 WHERE id = @i",
            ));
            Fault {
                setup: format!("{TABLE} ALTER DATABASE faults SET ALLOW_SNAPSHOT_ISOLATION ON"),
                ..fault("old-snapshot", Cause::OldSnapshot, helpers)
            }
        }
        _ => return None,
    })
}

fn around(name: &str, severity: Severity) -> Option<Fault> {
    let read = "SELECT n FROM dbo.fault WHERE id = 7";
    Some(match name {
        "logins-tls" => fault(
            "logins-tls",
            Cause::Logins,
            vec![Helper::Batches {
                connections: severity.of(1, 4, 12),
                batch: read.to_owned(),
                more: &["--encrypt", "on", "--pool", "reconnect"],
            }],
        ),
        "slow-reader" => {
            let text = "SELECT a.* FROM dbo.fault AS a, GENERATE_SERIES(1, 500)\nGO\n".to_owned();
            let reader = Helper::Script { text, bytes_per_second: 20_000 };
            fault("slow-reader", Cause::SlowReader, vec![reader; severity.of(1, 3, 8)])
        }
        "event-session" => {
            let events = [
                "sqlserver.sql_batch_completed",
                "sqlserver.sql_statement_completed",
                "sqlserver.rpc_completed",
                "sqlos.wait_info",
            ];
            let actions = "(ACTION (package0.callstack, sqlserver.sql_text))";
            let events: Vec<String> = events[..severity.of(2, 3, 4)]
                .iter()
                .map(|event| format!("ADD EVENT {event} {actions}"))
                .collect();
            let setup = format!(
                "{TABLE} CREATE EVENT SESSION chatty ON SERVER {} ADD TARGET package0.ring_buffer; \
                 ALTER EVENT SESSION chatty ON SERVER STATE = START",
                events.join(", ")
            );
            // Many statements in a batch: each is an event.
            let work = "DECLARE @i int = 0 WHILE @i < 100 SET @i += 1";
            let helpers = batches(severity.of(1, 3, 8), work);
            Fault { setup, ..fault("event-session", Cause::EventSession, helpers) }
        }
        "cpu-hogs" => {
            let hog = Helper::Shell("while :; do :; done".to_owned());
            // A load with pauses is served from the CPUs' shares that are left to it: hogs cost it
            // nothing.
            let load = Load { workload: "cache", connections: 16, think: None };
            let hogs = vec![hog; severity.of(1, 3, 8) * cpus()];
            Fault { load: Some(load), ..fault("cpu-hogs", Cause::CpuElsewhere, hogs) }
        }
        "log-device" => {
            let helpers = batches(
                severity.of(2, 4, 8),
                "DECLARE @i int = 1 + ABS(CHECKSUM(NEWID())) % 20000 UPDATE dbo.durable SET n += 1 \
                 WHERE id = @i",
            );
            Fault {
                server: vec!["--data".to_owned(), "{folder}".to_owned()],
                setup: "CREATE TABLE dbo.durable (id int NOT NULL PRIMARY KEY, n int NOT NULL); INSERT \
                        dbo.durable SELECT value, value FROM GENERATE_SERIES(1, 20000)"
                    .to_owned(),
                late: format!(
                    "EXEC sys.sp_inject_delay 'log', '', {}, 60",
                    severity.of(3_000, 15_000, 60_000)
                ),
                ..fault("log-device", Cause::LogDevice, helpers)
            }
        }
        _ => return None,
    })
}

/// The number of CPUs that this process may use.
pub(crate) fn cpus() -> usize {
    sos::sys::allowed_cpus().len().max(1)
}
