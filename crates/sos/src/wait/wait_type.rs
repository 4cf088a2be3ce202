//! `WaitType`: the registry of wait types, under the names that SQL Server gives them.
//!
//! A new wait type is one line here; `sys.dm_os_wait_stats` then lists it.

use crate::registry::registry;

registry! {
    /// What a thread waits for.
    pub enum WaitType {
        /// Waiting for the log to become durable.
        WriteLog => "WRITELOG",
        /// The thread that writes the log has nothing to write.
        LogManagerQueue => "LOGMGR_QUEUE",
        /// The thread that writes checkpoints waits for work.
        CheckpointQueue => "CHECKPOINT_QUEUE",
        /// Waiting for room in a log buffer.
        LogBuffer => "LOGBUFFER",
        /// Waiting for an intent shared lock.
        LockIntentShared => "LCK_M_IS",
        /// Waiting for an intent exclusive lock.
        LockIntentExclusive => "LCK_M_IX",
        /// Waiting for a shared lock.
        LockShared => "LCK_M_S",
        /// Waiting for an update lock.
        LockUpdate => "LCK_M_U",
        /// Waiting for a shared lock with intent to exclude.
        LockSharedIntentExclusive => "LCK_M_SIX",
        /// Waiting for an update lock with intent to exclude.
        LockUpdateIntentExclusive => "LCK_M_UIX",
        /// Waiting for an exclusive lock.
        LockExclusive => "LCK_M_X",
        /// Waiting for a shared lock on a range of keys and the rows in it.
        LockRangeShared => "LCK_M_RS_S",
        /// Waiting for a shared range lock with an update lock on the row.
        LockRangeUpdate => "LCK_M_RS_U",
        /// Waiting to insert into a range of keys that another transaction has locked.
        LockRangeInsert => "LCK_M_RIn_NL",
        /// Waiting for an exclusive lock on a range of keys.
        LockRangeExclusive => "LCK_M_RX_X",
        /// Waiting for a schema stability lock: to use an object.
        LockSchemaStability => "LCK_M_SCH_S",
        /// Waiting for a schema modification lock: to change an object.
        LockSchemaModify => "LCK_M_SCH_M",
        /// A WAITFOR statement lets time pass.
        WaitFor => "WAITFOR",
        /// Waiting for a client to read its results, or to send more of a request.
        AsyncNetworkIo => "ASYNC_NETWORK_IO",
        /// Gave up the scheduler at the end of a quantum.
        SchedulerYield => "SOS_SCHEDULER_YIELD",
        /// Waiting for a query memory grant.
        ResourceSemaphore => "RESOURCE_SEMAPHORE",
        /// Waiting for memory from the operating system.
        MemoryAllocation => "MEMORY_ALLOCATION_EXT",
        /// Returning memory to the operating system.
        ReservedMemoryFree => "RESERVED_MEMORY_FREE_EXT",
        /// A background task between two periods.
        SleepTask => "SLEEP_TASK",
        /// A worker has nothing to do.
        WorkDispatcher => "SOS_WORK_DISPATCHER",
        /// A request waits for a worker, and the limit of workers is reached.
        ThreadPool => "THREADPOOL",
        /// Waiting for another transaction's outcome (commit dependency).
        XtpTransactionDependency => "WAIT_XTP_TRAN_DEPENDENCY",
        /// Checkpoint files of memory-optimized tables.
        XtpCheckpoint => "WAIT_XTP_CKPT_CLOSE",
        /// Waiting for the tables to be read back at start.
        XtpRecovery => "WAIT_XTP_RECOVERY",
        /// Waiting for a latch in shared mode.
        LatchShared => "LATCH_SH",
        /// Waiting for a latch in exclusive mode.
        LatchExclusive => "LATCH_EX",
        /// Another session compiles the same statement.
        ResourceSemaphoreQueryCompile => "RESOURCE_SEMAPHORE_QUERY_COMPILE",
        /// A parallel consumer waits for its producers.
        CxConsumer => "CXCONSUMER",
        /// Parallel workers wait for each other.
        CxPacket => "CXPACKET",
        /// Reading or writing a file.
        IoCompletion => "IO_COMPLETION",
        /// Reading or writing a file of bulk data.
        AsyncIoCompletion => "ASYNC_IO_COMPLETION",
        /// A session of extended events waits for a buffer.
        XeBufferFree => "XE_BUFFERMGR_FREEBUF_EVENT",
        /// The dispatcher of extended events between two periods.
        XeDispatcher => "XE_DISPATCHER_WAIT",
        /// A thread outside any scheduler calls the operating system.
        PreemptiveOs => "PREEMPTIVE_OS_GENERICOPS",
        /// A request asks the operating system about files and folders.
        PreemptiveFileOps => "PREEMPTIVE_OS_FILEOPS",
        /// TLS handshakes and other cryptography outside a scheduler.
        PreemptiveCrypto => "PREEMPTIVE_OS_CRYPTOPS",
        /// The listener between two connections.
        Accept => "LISTENER_ACCEPT",
        /// Delaying the answer to a login, because earlier logins of the same name or client have
        /// failed.
        LoginDelay => "LOGIN_DELAY",
        /// The server is stopping and waits for its threads.
        Shutdown => "SLEEP_SYSTEMTASK",
        /// Reading a file of a bulk load, OPENROWSET(BULK ..) or an external table.
        BulkRead => "IMPPROV_IOWAIT",
        /// A thread of the browser's console between two requests.
        ConsoleIdle => "CONSOLE_IDLE",
        /// A delay that sp_inject_delay has put here.
        InjectedDelay => "INJECTED_DELAY",
    }
}

impl WaitType {
    /// Whether a thread in this wait is merely idle, so that no request is delayed.
    #[must_use]
    pub const fn is_idle(self) -> bool {
        matches!(
            self,
            Self::SleepTask
                | Self::WorkDispatcher
                | Self::XeDispatcher
                | Self::Accept
                | Self::LogManagerQueue
                | Self::CheckpointQueue
                | Self::ConsoleIdle
        )
    }

    /// Whether the thread has left its scheduler to call the operating system.
    #[must_use]
    pub const fn is_preemptive(self) -> bool {
        matches!(self, Self::PreemptiveOs | Self::PreemptiveFileOps | Self::PreemptiveCrypto)
    }
}
