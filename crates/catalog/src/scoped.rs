//! Database scoped configurations: the rows of `sys.database_scoped_configurations`, with SQL
//! Server 2022's ids and defaults, and how Clearway treats another value.

/// How a value other than the default is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherValue {
    /// Stored and shown: it affects only how SQL Server plans statements or what it collects about
    /// them.
    Kept,
    /// Refused: statements would have to give other results.
    Refused,
}

/// A configuration and its default.
pub struct ScopedConfiguration {
    /// `configuration_id`, as in SQL Server 2022.
    pub id: i32,
    /// Name in upper case.
    pub name: &'static str,
    /// Default value; 0 or 1 for a switch.
    pub default: i64,
    /// Whether its values are ON and OFF rather than numbers.
    pub is_switch: bool,
    /// How another value is treated.
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

/// All configurations, in order of id.
pub const SCOPED: &[ScopedConfiguration] = &[
    // Limit of schedulers per statement; 0 uses the server's setting.
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
