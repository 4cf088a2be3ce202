//! Cases of the permission tests about the Query Store.

use super::cases::{Case, case};

/// The procedures of the Query Store. It is off in the database of a case: what is left after the
/// grant is that, or that the query or plan is not there.
pub(super) static QUERY_STORE: &[Case] = &[
    of("sp_query_store_clear_hints", "EXEC sp_query_store_clear_hints 1", OFF),
    of("sp_query_store_clear_message_queues", "EXEC sp_query_store_clear_message_queues", NOTHING),
    of("sp_query_store_consistency_check", "EXEC sp_query_store_consistency_check", NOTHING),
    of("sp_query_store_flush_db", "EXEC sp_query_store_flush_db", NOTHING),
    of("sp_query_store_force_plan", "EXEC sp_query_store_force_plan 1, 1", OFF),
    of("sp_query_store_remove_plan", "EXEC sp_query_store_remove_plan 1", NO_PLAN),
    of("sp_query_store_remove_query", "EXEC sp_query_store_remove_query 1", NO_QUERY),
    of("sp_query_store_reset_exec_stats", "EXEC sp_query_store_reset_exec_stats 1", NO_PLAN),
    of("sp_query_store_set_hints", "EXEC sp_query_store_set_hints 1, N'OPTION (MAXDOP 1)'", OFF),
    of("sp_query_store_unforce_plan", "EXEC sp_query_store_unforce_plan 1, 1", OFF),
];

type Grants = &'static [(&'static str, &'static [i32])];

const NOTHING: Grants = &[("GRANT ALTER ON DATABASE::{d} TO {u}", &[])];
const OFF: Grants = &[("GRANT ALTER ON DATABASE::{d} TO {u}", &[12405])];
const NO_PLAN: Grants = &[("GRANT ALTER ON DATABASE::{d} TO {u}", &[12403])];
const NO_QUERY: Grants = &[("GRANT ALTER ON DATABASE::{d} TO {u}", &[12402])];

const fn of(line: &'static str, text: &'static str, grants: Grants) -> Case {
    case(line, text, &[5011], grants)
}
