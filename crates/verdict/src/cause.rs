//! `Cause`: what can be wrong, one entry each: its name, what it means, what to do about it, and
//! the SELECT that shows it.

/// A cause that the rules can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A session holds locks and does nothing.
    IdleBlocker,
    /// Transactions wait in cycles, and one of each cycle is rolled back.
    Deadlocks,
    /// Sessions queue for a lock that the application names.
    ApplicationLock,
    /// Sessions queue for one row, or for few.
    HotRow,
    /// Sessions wait for a definition to be changed.
    SchemaLock,
    /// Sessions spin on the metadata cache.
    MetadataSpin,
    /// Sessions spin on the allocator.
    AllocatorSpin,
    /// Sessions spin on another lock.
    OtherSpin,
    /// A page is taken and freed for each row.
    PagePerRow,
    /// Memory goes back to the system and is taken again.
    Decommit,
    /// Texts that differ each time are compiled each time.
    PlanCache,
    /// Definitions change all the time, and plans with them.
    Definitions,
    /// Temporary tables are made and dropped all the time.
    TemporaryTables,
    /// A statement reads far more rows than it returns.
    MissingIndex,
    /// Statements wait for memory to run in.
    MemoryGrants,
    /// The server is at its memory limit.
    MemoryLimit,
    /// Connections are made and dropped all the time.
    Logins,
    /// Clients do not read their results.
    SlowReader,
    /// An event session collects too much.
    EventSession,
    /// The log's device is slow.
    LogDevice,
    /// An old snapshot keeps old row versions alive.
    OldSnapshot,
    /// A quota of the container stops the process.
    CpuQuota,
    /// A join compares all rows of one input with all of another.
    BadJoin,
    /// Writes keep many indexes up to date.
    IndexMaintenance,
    /// A backup of a database runs.
    Backup,
    /// A database is restored from a backup.
    Restore,
    /// Sessions ask for checkpoints all the time.
    Checkpoints,
    /// Many more requests come than before.
    WorkloadSpike,
    /// All workers wait, and tasks wait for one.
    WorkerThreads,
    /// Other processes take the machine's CPUs.
    CpuElsewhere,
    /// The server does not answer questions about itself in time.
    LateAnswers,
}

impl Cause {
    /// Every cause, in the order of its discriminants.
    pub const ALL: [Self; 31] = [
        Self::IdleBlocker,
        Self::Deadlocks,
        Self::ApplicationLock,
        Self::HotRow,
        Self::SchemaLock,
        Self::MetadataSpin,
        Self::AllocatorSpin,
        Self::OtherSpin,
        Self::PagePerRow,
        Self::Decommit,
        Self::PlanCache,
        Self::Definitions,
        Self::TemporaryTables,
        Self::MissingIndex,
        Self::MemoryGrants,
        Self::MemoryLimit,
        Self::Logins,
        Self::SlowReader,
        Self::EventSession,
        Self::LogDevice,
        Self::OldSnapshot,
        Self::CpuQuota,
        Self::BadJoin,
        Self::IndexMaintenance,
        Self::Backup,
        Self::Restore,
        Self::Checkpoints,
        Self::WorkloadSpike,
        Self::WorkerThreads,
        Self::CpuElsewhere,
        Self::LateAnswers,
    ];

    /// Returns what is known of it.
    #[must_use]
    pub const fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// Returns its name in JSON and in the table of faults.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the cause of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

/// What is known of a cause.
#[derive(Debug)]
pub struct Entry {
    /// The name in JSON.
    pub name: &'static str,
    /// The group of findings that it belongs to.
    pub group: &'static str,
    /// What is wrong, as the beginning of a sentence.
    pub finding: &'static str,
    /// The statement that shows it.
    pub evidence: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// How to see afterwards that it has gone.
    pub check: &'static str,
}

/// Evidence: who waits for whom.
const BLOCKING: &str = "SELECT w.session_id, w.wait_type, w.wait_duration_ms, \
w.blocking_session_id, w.resource_description, b.status, b.open_transaction_count, \
b.program_name, b.host_name, b.last_request_end_time FROM sys.dm_os_waiting_tasks AS w \
LEFT JOIN sys.dm_exec_sessions AS b ON b.session_id = w.blocking_session_id \
WHERE w.wait_type LIKE 'LCK%' ORDER BY w.wait_duration_ms DESC;";

/// Evidence: counters whose growth counts. Read twice.
macro_rules! counters {
    ($names:literal) => {
        concat!(
            "SELECT object_name, counter_name, cntr_value FROM sys.dm_os_performance_counters \
             WHERE instance_name IN ('', '_Total') AND counter_name IN (",
            $names,
            "); -- read it twice: the growth counts"
        )
    };
}

/// Evidence: the ledger's leaves of some names.
macro_rules! ledger {
    ($condition:literal) => {
        concat!(
            "SELECT category, name, wall_ns / 1000000 AS ms, occurrences, share_of_non_idle \
             FROM sys.fn_time_ledger(DATEADD(second, -10, SYSDATETIME()), NULL) WHERE ",
            $condition,
            " ORDER BY wall_ns DESC;"
        )
    };
}

/// Evidence: the dearest statements.
const DEAREST: &str = "SELECT TOP (5) q.execution_count, q.total_worker_time / \
q.execution_count AS cpu_us, q.total_rows / q.execution_count AS rows_returned, \
SUBSTRING(t.text, q.statement_start_offset / 2 + 1, 200) AS statement \
FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t \
ORDER BY q.total_worker_time DESC;";

/// Evidence: what administrators do just now.
const UPKEEP: &str = "SELECT session_id, command, start_time, percent_complete, wait_type, \
cpu_time, total_elapsed_time FROM sys.dm_exec_requests \
WHERE command LIKE N'BACKUP%' OR command LIKE N'RESTORE%' OR command LIKE N'CHECKPOINT%';";

/// In the order of [`Cause`].
const ENTRIES: [Entry; Cause::ALL.len()] = [
    Entry {
        name: "idle-blocker",
        group: "Locks",
        finding: "A session that does nothing holds an open transaction, and others wait for it",
        evidence: BLOCKING,
        advice: "End that transaction (KILL the session if its client has gone). In the \
            application: commit before waiting for anything outside the database; SET XACT_ABORT \
            ON, so that an error does not leave a transaction open.",
        check: "The evidence shows no blocking session with status 'sleeping'.",
    },
    Entry {
        name: "deadlocks",
        group: "Locks",
        finding: "Transactions deadlock, and their work is rolled back and done again",
        evidence: counters!("'Number of Deadlocks/sec', 'Lock Waits/sec'"),
        advice: "Take rows in the same order in all transactions, keep transactions short, or read \
            with UPDLOCK what will be updated.",
        check: "Number of Deadlocks/sec no longer grows.",
    },
    Entry {
        name: "application-lock",
        group: "Locks",
        finding: "Sessions queue for an application lock (sp_getapplock)",
        evidence: "SELECT resource_description, request_mode, request_status, request_session_id \
            FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION' ORDER BY request_status;",
        advice: "Hold the lock for less time, use several names instead of one, or Shared mode \
            where the work only reads.",
        check: "The evidence shows no rows with request_status WAIT.",
    },
    Entry {
        name: "hot-row",
        group: "Locks",
        finding: "Sessions queue for the same rows",
        evidence: BLOCKING,
        advice: "Shorten the transaction that holds the row: update the hot row last, do not \
            wait for the client in between. Or divide the row into several and add them up when \
            reading.",
        check: "The share of waits LCK_M_% in sys.dm_os_time_ledger falls, and the rate of \
            requests rises.",
    },
    Entry {
        name: "schema-lock",
        group: "Locks",
        finding: "Sessions wait for an object whose definition is being changed",
        evidence: BLOCKING,
        advice: "Change definitions outside of the busy hours, and with a short LOCK_TIMEOUT.",
        check: "No waits LCK_M_SCH_% in the evidence.",
    },
    Entry {
        name: "metadata-spin",
        group: "Spinning",
        finding: "Every statement takes one exclusive lock on the metadata cache, and sessions \
            spin on it",
        evidence: "SELECT name, collisions, spins, backoffs, spin_ns FROM sys.dm_os_spinlock_stats \
            ORDER BY spin_ns DESC;",
        advice: "Start the server without --lock-mode exclusive: its default takes no lock.",
        check: "collisions of CMED_HASH_SET no longer grow.",
    },
    Entry {
        name: "allocator-spin",
        group: "Spinning",
        finding: "Sessions spin on the lock of the allocator",
        evidence: "SELECT name, collisions, spins, backoffs, spin_ns FROM sys.dm_os_spinlock_stats \
            ORDER BY spin_ns DESC;",
        advice: "Start the server without --experiment allocator-lock.",
        check: "collisions of SOS_LARGEPAGE_ALLOCATOR no longer grow.",
    },
    Entry {
        name: "other-spin",
        group: "Spinning",
        finding: "Sessions spin on a lock of the server",
        evidence: "SELECT name, collisions, spins, backoffs, spin_ns FROM sys.dm_os_spinlock_stats \
            ORDER BY spin_ns DESC;",
        advice: "docs/investigate.md finds the code that spins: report it.",
        check: "collisions of that lock no longer grow.",
    },
    Entry {
        name: "page-per-row",
        group: "Memory",
        finding: "Memory is taken and freed for each row",
        evidence: counters!("'Page Allocations/sec', 'Batch Requests/sec'"),
        advice: "Start the server without --experiment page-per-hash; docs/investigate.md finds \
            the code that takes pages.",
        check: "Page Allocations/sec per request falls.",
    },
    Entry {
        name: "decommit",
        group: "Memory",
        finding: "Memory is returned to the operating system and taken again",
        evidence: ledger!("name IN ('decommit', 'page_populate', 'RESERVED_MEMORY_FREE_EXT')"),
        advice: "Start the server without --experiment decommit-per-segment.",
        check: "decommit and page_populate have no share in the evidence.",
    },
    Entry {
        name: "plan-cache",
        group: "Statements",
        finding: "Statements are compiled again and again, since their texts differ each time",
        evidence: counters!(
            "'SQL Compilations/sec', 'Batch Requests/sec', 'Cache Hit Ratio', \
            'Cache Hit Ratio Base'"
        ),
        advice: "Send values as parameters (sp_executesql, a driver's parameters) instead of \
            writing them or generated names into the text.",
        check: "SQL Compilations/sec is a small part of Batch Requests/sec.",
    },
    Entry {
        name: "definitions",
        group: "Statements",
        finding: "Definitions change all the time, so plans are made again and again",
        evidence: counters!(
            "'Definition Changes/sec', 'SQL Re-Compilations/sec', \
            'Batch Requests/sec'"
        ),
        advice: "Do not create, alter or drop objects in the course of normal work: use permanent \
            tables, or TRUNCATE instead of DROP and CREATE.",
        check: "Definition Changes/sec no longer grows.",
    },
    Entry {
        name: "temporary-tables",
        group: "Statements",
        finding: "Temporary tables are created and dropped all the time",
        evidence: counters!(
            "'Temp Tables Creation Rate', 'SQL Re-Compilations/sec', \
            'Batch Requests/sec'"
        ),
        advice: "Create #temp tables inside procedures, whose plans are kept, use a table \
            variable, or a table that stays and is emptied.",
        check: "Temp Tables Creation Rate per request falls.",
    },
    Entry {
        name: "missing-index",
        group: "Statements",
        finding: "A statement reads many rows to return few",
        evidence: DEAREST,
        advice: "Create an index on the columns of its WHERE clause; \
            docs/plans.md says how to look at its plan.",
        check: "Its CPU time per execution falls, and the plan has a seek.",
    },
    Entry {
        name: "memory-grants",
        group: "Memory",
        finding: "Queries that sort and hash hold the memory, and statements wait for it or fail",
        evidence: "SELECT session_id, requested_memory_kb, granted_memory_kb, wait_time_ms \
            FROM sys.dm_exec_query_memory_grants ORDER BY grant_time;",
        advice: "Sort and hash fewer rows (an index in the order of the sort, narrower rows), or \
            raise --max-query-memory.",
        check: "No rows with granted_memory_kb NULL; RESOURCE_SEMAPHORE no longer grows.",
    },
    Entry {
        name: "memory-limit",
        group: "Memory",
        finding: "The server is at its memory limit, and statements fail or wait for memory",
        evidence: "SELECT TOP (10) type, SUM(pages_kb) AS kb FROM sys.dm_os_memory_clerks \
            GROUP BY type ORDER BY kb DESC;",
        advice: "Raise --max-memory, or keep less: the largest clerk says what it is used for.",
        check: "Total Server Memory (KB) stays below Target Server Memory (KB).",
    },
    Entry {
        name: "logins",
        group: "Connections",
        finding: "Connections are made and dropped all the time",
        evidence: counters!("'Logins/sec', 'Logouts/sec', 'Batch Requests/sec'"),
        advice: "Use the driver's connection pool, or make it larger; keep connections open.",
        check: "Logins/sec is a small part of Batch Requests/sec.",
    },
    Entry {
        name: "slow-reader",
        group: "Clients",
        finding: "Results wait for a client that does not read them",
        evidence: "SELECT r.session_id, r.wait_type, r.wait_time, s.program_name, s.host_name, \
            t.text FROM sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s \
            ON s.session_id = r.session_id OUTER APPLY sys.dm_exec_sql_text(r.sql_handle) AS t \
            WHERE r.wait_type = 'ASYNC_NETWORK_IO';",
        advice: "Read the whole result at once and work on it afterwards; ask for fewer rows and \
            columns (TOP, WHERE, OFFSET .. FETCH).",
        check: "No rows in the evidence.",
    },
    Entry {
        name: "event-session",
        group: "Observation",
        finding: "An event session collects so much that requests pay for it",
        evidence: "SELECT session_name, event_name, seen, published, dropped \
            FROM sys.dm_xe_session_counts ORDER BY published DESC;",
        advice: "Narrow its predicates, leave out the call stack, count in a histogram instead \
            of keeping each event, or stop it: ALTER EVENT SESSION .. STATE = STOP.",
        check: "The leaf user, events of sys.dm_os_time_ledger has a small share.",
    },
    Entry {
        name: "log-device",
        group: "Log",
        finding: "Commits wait for the log's device",
        evidence: ledger!("name IN ('WRITELOG', 'LOGBUFFER', 'log_write', 'log_sync')"),
        advice: "Put --data on a faster device, commit more work per transaction, or use \
            DELAYED_DURABILITY where a loss of the last moments is acceptable.",
        check: "The share of WRITELOG in the evidence falls.",
    },
    Entry {
        name: "old-snapshot",
        group: "Transactions",
        finding: "An old transaction keeps row versions alive, and readers walk over them",
        evidence: "SELECT s.session_id, s.transaction_isolation_level, t.transaction_begin_time, \
            s.program_name, s.host_name FROM sys.dm_tran_session_transactions AS x \
            JOIN sys.dm_tran_active_transactions AS t ON t.transaction_id = x.transaction_id \
            JOIN sys.dm_exec_sessions AS s ON s.session_id = x.session_id \
            ORDER BY t.transaction_begin_time;",
        advice: "End that transaction; read reports in shorter transactions.",
        check: "The evidence shows no transaction of that age.",
    },
    Entry {
        name: "cpu-quota",
        group: "Machine",
        finding: "A CPU quota of the container stops the server",
        evidence: "SELECT name, value, warning FROM sys.dm_os_environment \
            WHERE name LIKE 'cpu%';",
        advice: "Raise the container's CPU limit, or start fewer schedulers (--schedulers).",
        check: "cpu_throttled_periods no longer grows.",
    },
    Entry {
        name: "bad-join",
        group: "Statements",
        finding: "A statement joins two tables by comparing every row of one with every row of the \
            other",
        evidence: DEAREST,
        advice: "Join by equality of bare columns of one type, with an index on one of them; check \
            that every table of the statement has a condition.",
        check: "Its CPU time per execution falls, and its plan has a seek or a hash join.",
    },
    Entry {
        name: "index-maintenance",
        group: "Statements",
        finding: "Writes spend their time on keeping indexes up to date",
        evidence: "SELECT OBJECT_SCHEMA_NAME(i.object_id) AS table_schema, \
            OBJECT_NAME(i.object_id) AS table_name, COUNT(*) AS indexes FROM sys.indexes AS i \
            JOIN sys.tables AS t ON t.object_id = i.object_id WHERE i.index_id > 0 \
            GROUP BY i.object_id HAVING COUNT(*) > 1 ORDER BY indexes DESC; -- in that database",
        advice: "Drop indexes of that table that no statement needs: those whose columns begin \
            another index, and those that no plan of its readers names.",
        check: "The leaf user, index maintenance of sys.dm_os_time_ledger has a small share.",
    },
    Entry {
        name: "backup",
        group: "Upkeep",
        finding: "A backup runs, and takes the server's time",
        evidence: UPKEEP,
        advice: "Run it in quiet hours, on another device, or as differential and log backups.",
        check: "The evidence shows no rows with command BACKUP.",
    },
    Entry {
        name: "restore",
        group: "Upkeep",
        finding: "A restore runs, and takes the server's time",
        evidence: UPKEEP,
        advice: "Restore in quiet hours, or on another server.",
        check: "The evidence shows no rows with command RESTORE.",
    },
    Entry {
        name: "checkpoints",
        group: "Upkeep",
        finding: "Sessions ask for checkpoints all the time, and wait for them",
        evidence: UPKEEP,
        advice: "Leave checkpoints to the server: TARGET_RECOVERY_TIME says how often they come.",
        check: "WAIT_XTP_CKPT_CLOSE no longer grows in sys.dm_os_wait_stats.",
    },
    Entry {
        name: "workload-spike",
        group: "Clients",
        finding: "Many more requests come than before, and the CPUs are busy with them",
        evidence: "SELECT from_time, to_time, occurrences AS requests \
            FROM sys.fn_time_ledger(DATEADD(second, -600, SYSDATETIME()), \
            DATEADD(second, -30, SYSDATETIME())) WHERE category = N'kernel' AND name = N'recv' \
            UNION ALL SELECT from_time, to_time, occurrences \
            FROM sys.fn_time_ledger(DATEADD(second, -30, SYSDATETIME()), NULL) \
            WHERE category = N'kernel' AND name = N'recv';",
        advice: "Find the clients that send them (sys.dm_exec_sessions by program and host), limit \
            their number, or give the server more CPUs.",
        check: "The rate of requests in the evidence is as before.",
    },
    Entry {
        name: "worker-threads",
        group: "Connections",
        finding: "All worker threads that the server may have wait, and requests wait for one",
        evidence: "SELECT wait_type, COUNT(*) AS tasks, MAX(wait_duration_ms) AS longest_ms \
            FROM sys.dm_os_waiting_tasks WHERE session_id > 50 OR wait_type = 'THREADPOOL' \
            GROUP BY wait_type ORDER BY tasks DESC;",
        advice: "A request that waits keeps its worker: let clients wait between two requests \
            instead of in WAITFOR, and end what the others wait for. The dedicated admin connection \
            (-S admin:HOST) is answered all the time.",
        check: "The evidence shows no THREADPOOL.",
    },
    Entry {
        name: "cpu-elsewhere",
        group: "Machine",
        finding: "Other processes take the machine's CPUs: the server is ready to run, and may not",
        evidence: ledger!("category = 'runnable'"),
        advice: "Move the other processes away, or give the server CPUs of its own.",
        check: "The share of runnable in the evidence falls.",
    },
    Entry {
        name: "late-answers",
        group: "Machine",
        finding: "The server does not answer questions about itself in time",
        evidence: "SELECT session_id, status, command, wait_type, wait_time, cpu_time, \
            total_elapsed_time FROM sys.dm_exec_requests ORDER BY total_elapsed_time DESC;",
        advice: "Look for what the questions wait behind: statements that keep a scheduler for \
            long, a memory limit, or a machine that stands still. The other findings are of what \
            was answered.",
        check: "All questions are answered: this finding is not there.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_the_order_of_the_causes() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, place);
            assert_eq!(Cause::from_name(cause.name()), Some(cause));
        }
    }
}
