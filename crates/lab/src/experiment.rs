//! The experiments: what failed, what was published, how a server is told to do it the old way, and the load that
//! shows it.

use load::stress::{Work, Workload, batches};

/// What predicts more CPUs than there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Serial {
    /// Each unit of work takes one exclusive lock so often.
    ExclusiveLock(f64),
    /// Each unit of work takes one reader/writer lock of one word so often.
    OneWordLock(f64),
    /// What the kernel does to the process's memory is done for one thread at a time.
    KernelMemory,
    /// Nothing is shared.
    Nothing,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A workload of the load generator, for a time.
    Workload(Workload),
    /// A batch over and over, for a time.
    Batch(&'static str),
    /// A script for each session, each once a turn; it does so much work.
    Scripts {
        /// A script with `{n}` where the session's number belongs.
        text: &'static str,
        /// Units of work in it.
        units: u32,
    },
}

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What failed.
    pub failed: &'static str,
    /// What was published about it.
    pub published: &'static [&'static str],
    /// What a server does the old way, and the arguments that make it.
    pub old: (&'static str, &'static [&'static str]),
    /// What it does now.
    pub new: (&'static str, &'static [&'static str]),
    /// A unit of work, in the plural.
    pub units: &'static str,
    /// The script that makes its tables; `{n}` as above, once for each session.
    pub setup: &'static str,
    /// What is sent.
    pub load: Load,
    /// Connections at once.
    pub sessions: usize,
    /// What predicts more CPUs, of the old way.
    pub serial: Serial,
    /// Whether both ways must cost the same.
    pub is_control: bool,
}

/// All of them.
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
    /// The one of a name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }

    /// The batches that make its tables.
    pub(crate) fn setup_batches(&self) -> Vec<String> {
        match self.load {
            Load::Workload(workload) => workload.setup(),
            Load::Batch(_) | Load::Scripts { .. } => {
                (0..self.sessions).flat_map(|n| batches(&numbered(self.setup, n))).collect()
            }
        }
    }

    /// What is sent.
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
