//! Database scoped configurations: what `sys.database_scoped_configurations` lists, with SQL Server 2022's
//! ids and defaults, and what another value than the default would do here.

/// What becomes of another value than the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherValue {
    /// It is kept and shown: it guides only how plans are made and what is gathered of them.
    Kept,
    /// It is refused: statements would have to do something else.
    Refused,
}

/// A configuration.
pub struct ScopedConfiguration {
    /// `configuration_id`
    pub id: i32,
    /// Its name, in upper case.
    pub name: &'static str,
    /// Its value where nobody has set one; of a switch 0 or 1.
    pub default: i64,
    /// Whether it is ON or OFF, and not a number.
    pub is_switch: bool,
    /// What another value does.
    pub other: OtherValue,
}

const fn switch(
    id: i32,
    name: &'static str,
    default: i64,
    other: OtherValue,
) -> ScopedConfiguration {
    ScopedConfiguration { id, name, default, is_switch: true, other }
}

use OtherValue::{Kept, Refused};

/// All of them, by id.
pub const SCOPED: &[ScopedConfiguration] = &[
    // Schedulers that a statement may run on; 0 leaves it to the server's setting.
    ScopedConfiguration { id: 1, name: "MAXDOP", default: 0, is_switch: false, other: Kept },
    switch(2, "LEGACY_CARDINALITY_ESTIMATION", 0, Kept),
    switch(3, "PARAMETER_SNIFFING", 1, Kept),
    switch(4, "QUERY_OPTIMIZER_HOTFIXES", 0, Kept),
    switch(6, "IDENTITY_CACHE", 1, Kept),
    switch(7, "INTERLEAVED_EXECUTION_TVF", 1, Kept),
    switch(8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", 1, Kept),
    switch(9, "BATCH_MODE_ADAPTIVE_JOINS", 1, Kept),
    switch(10, "TSQL_SCALAR_UDF_INLINING", 1, Kept),
    switch(13, "OPTIMIZE_FOR_AD_HOC_WORKLOADS", 0, Kept),
    switch(14, "XTP_PROCEDURE_EXECUTION_STATISTICS", 0, Kept),
    switch(15, "XTP_QUERY_EXECUTION_STATISTICS", 0, Kept),
    switch(16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", 1, Kept),
    switch(17, "ISOLATE_SECURITY_POLICY_CARDINALITY", 0, Kept),
    switch(18, "BATCH_MODE_ON_ROWSTORE", 1, Kept),
    switch(19, "DEFERRED_COMPILATION_TV", 1, Kept),
    switch(20, "ACCELERATED_PLAN_FORCING", 1, Kept),
    switch(21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", 1, Refused),
    switch(22, "LIGHTWEIGHT_QUERY_PROFILING", 1, Kept),
    switch(23, "VERBOSE_TRUNCATION_WARNINGS", 1, Refused),
    switch(24, "LAST_QUERY_PLAN_STATS", 0, Refused),
    switch(27, "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS", 1, Kept),
    switch(28, "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION", 1, Kept),
    switch(29, "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY", 0, Kept),
    switch(31, "CE_FEEDBACK", 1, Kept),
    switch(33, "MEMORY_GRANT_FEEDBACK_PERSISTENCE", 1, Kept),
    switch(34, "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT", 1, Kept),
    switch(35, "OPTIMIZED_PLAN_FORCING", 1, Kept),
    switch(37, "DOP_FEEDBACK", 0, Kept),
];
