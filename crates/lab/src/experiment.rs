//! The experiments: what failed, what was published about it, how a server is started with the old
//! implementation, and the load that shows the difference.

use load::stress::{Work, Workload, batches};

/// The resource that limits throughput on more CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Serial {
    /// An exclusive lock, taken this often per unit of work.
    ExclusiveLock(f64),
    /// A one-word reader/writer lock, taken this often per unit of work.
    OneWordLock(f64),
    /// The kernel changes the process's memory map for one thread at a time.
    KernelMemory,
    /// No resource is shared.
    Nothing,
}

/// The requests of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A workload of the load generator, for a time.
    Workload(Workload),
    /// The same batch repeatedly, for a time.
    Batch(&'static str),
    /// A script for each session, run once per turn.
    Scripts {
        /// The script, with `{n}` in place of the session's number.
        text: &'static str,
        /// Units of work in one script.
        units: u32,
    },
}

/// An experiment with two implementations.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Description of the failure.
    pub failed: &'static str,
    /// The published figures and their sources.
    pub published: &'static [&'static str],
    /// Description of the old implementation, and the server's arguments that select it.
    pub old: (&'static str, &'static [&'static str]),
    /// Description of the present implementation, and its arguments.
    pub new: (&'static str, &'static [&'static str]),
    /// The unit of work, in the plural.
    pub units: &'static str,
    /// The script that creates the tables; `{n}` as above, once for each session.
    pub setup: &'static str,
    /// The requests that are sent.
    pub load: Load,
    /// Number of concurrent connections.
    pub sessions: usize,
    /// The resource that limits the old implementation on more CPUs.
    pub serial: Serial,
    /// Whether both implementations must cost the same.
    pub is_control: bool,
}

/// Every experiment, in order.
pub const EXPERIMENTS: [Experiment; 5] = [
    Experiment {
        name: "metadata-cache",
        failed: "every statement looked metadata up under one exclusive spinlock (CMED_HASH_SET)",
        published: &[
            "session state, 144 CPUs: 640,000 batches/s at 85 % CPU, 31.8 % of it spinning",
            "with a reader/writer spinlock: 720,000 batches/s at 72 % CPU",
        ],
        old: ("a lookup under an exclusive spinlock", &["--lock-mode", "exclusive"]),
        new: ("an immutable snapshot, no lock", &[]),
        units: "requests",
        setup: "",
        load: Load::Workload(Workload::SessionState),
        sessions: 32,
        serial: Serial::ExclusiveLock(4.0),
        is_control: false,
    },
    Experiment {
        name: "connection-reset",
        failed: "each reset of a pooled connection took a reader/writer lock whose word all CPUs wrote (SOS_RWLock)",
        published: &[
            "redesigned lock: 2.5 times the rate of sp_reset_connection at 1,024 connections",
        ],
        old: ("a lookup under a one-word reader/writer lock", &["--lock-mode", "rw"]),
        new: ("a reset that writes nothing shared", &[]),
        units: "resets",
        setup: "",
        load: Load::Batch("{call sp_reset_connection()}"),
        sessions: 64,
        serial: Serial::OneWordLock(1.0),
        is_control: false,
    },
    Experiment {
        name: "hashbytes",
        failed: "HASHBYTES allocated and freed a page for each row",
        published: &[
            "11,000,000 rows: 20 s alone, of which 3 s without the hash; 8 minutes with 96 sessions",
            "10^12 spins on SOS_LARGEPAGE_ALLOCATOR; 15 % to 33 % of the time explained from inside",
        ],
        old: ("a page per row", &["--experiment", "page-per-hash"]),
        new: ("the hash's state on the stack", &[]),
        units: "hashes",
        setup: "CREATE TABLE dbo.hb{n} (id bigint NOT NULL)\nGO\n\
                INSERT dbo.hb{n} SELECT value FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(100000 AS bigint))\nGO\n",
        load: Load::Scripts {
            text: "SELECT MAX(HASHBYTES('SHA2_256', CAST(id AS varbinary(8)))) FROM dbo.hb{n} OPTION (MAXDOP 1)",
            units: 100_000,
        },
        sessions: 2,
        serial: Serial::KernelMemory,
        is_control: false,
    },
    Experiment {
        name: "columnstore-load",
        failed: "compression gave its memory back to the system after each segment, and asked for it again at once",
        published: &[
            "10,485,760 rows of 10 BIGINT: 25 s alone, 4 times slower with 96 writers (368 s with conventional memory)",
            "71.3 million pages, 584 GB handed back",
        ],
        old: ("memory handed back after each segment", &["--experiment", "decommit-per-segment"]),
        new: ("a writer's memory is kept", &[]),
        units: "rows",
        setup: "CREATE TABLE dbo.stg{n} (a bigint NOT NULL, b bigint NOT NULL, c bigint NOT NULL, d bigint NOT NULL, \
                e bigint NOT NULL)\nGO\n\
                INSERT dbo.stg{n} SELECT value, value * 7, value % 1000, value, value FROM \
                GENERATE_SERIES(CAST(1 AS bigint), CAST(1048576 AS bigint))\nGO\n",
        load: Load::Scripts {
            text: "DROP TABLE IF EXISTS dbo.cci{n}\nGO\n\
                   CREATE TABLE dbo.cci{n} (a bigint NOT NULL, b bigint NOT NULL, c bigint NOT NULL, d bigint NOT NULL, \
                   e bigint NOT NULL, INDEX i CLUSTERED COLUMNSTORE)\nGO\n\
                   INSERT dbo.cci{n} WITH (TABLOCK) SELECT a, b, c, d, e FROM dbo.stg{n} OPTION (MAXDOP 1)\n",
            units: 1_048_576,
        },
        sessions: 2,
        serial: Serial::KernelMemory,
        is_control: false,
    },
    Experiment {
        name: "row-mode-aggregate",
        failed: "nothing: memory that its hash table frees stays with the engine. The control",
        published: &["90 s alone, 90 s with 96 sessions"],
        old: (
            "both memory modes of the experiments above",
            &["--experiment", "page-per-hash", "--experiment", "decommit-per-segment"],
        ),
        new: ("neither", &[]),
        units: "rows",
        setup: "CREATE TABLE dbo.ag{n} (k int NOT NULL, v bigint NOT NULL)\nGO\n\
                INSERT dbo.ag{n} SELECT value % 20000, value FROM GENERATE_SERIES(1, 200000)\nGO\n",
        load: Load::Scripts {
            text: "SELECT COUNT(*), MAX(s) FROM (SELECT k, SUM(v) AS s FROM dbo.ag{n} GROUP BY k) AS g OPTION (MAXDOP 1)",
            units: 200_000,
        },
        sessions: 2,
        serial: Serial::Nothing,
        is_control: true,
    },
];

impl Experiment {
    /// Returns the experiment with this name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }

    /// Returns the batches that create the tables.
    pub(crate) fn setup_batches(&self) -> Vec<String> {
        match self.load {
            Load::Workload(workload) => workload.setup(),
            Load::Batch(_) | Load::Scripts { .. } => {
                (0..self.sessions).flat_map(|n| batches(&numbered(self.setup, n))).collect()
            }
        }
    }

    /// Returns the requests of the load.
    pub(crate) fn work(&self) -> Result<Work, String> {
        match self.load {
            Load::Workload(workload) => workload.work(),
            Load::Batch(text) => Work::of_scripts(&[batches(text)]),
            Load::Scripts { text, .. } => {
                let scripts: Vec<_> =
                    (0..self.sessions).map(|n| batches(&numbered(text, n))).collect();
                Work::of_scripts(&scripts)
            }
        }
    }
}

fn numbered(text: &str, number: usize) -> String {
    text.replace("{n}", &number.to_string())
}
