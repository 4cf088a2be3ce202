//! Views of the log and of checkpoints. An instance has one log for all its databases but tempdb, so
//! each of them shows the same figures. Without `--data` there is no log.

pub(crate) mod dm_db_log_info;
pub(crate) mod dm_db_log_space_usage;
pub(crate) mod dm_db_log_stats;
pub(crate) mod dm_db_xtp_checkpoint_files;
pub(crate) mod dm_db_xtp_checkpoint_stats;
pub(crate) mod dm_os_log_flushes;
pub(crate) mod fn_dblog;

use types::Value;

use metadata::Scope;
use metadata::log::{Figures, figures};

/// Returns the databases that a function's argument selects, those with a log only: an id, or all
/// for NULL and DEFAULT.
fn databases(scope: &Scope<'_>) -> Vec<(i16, Figures)> {
    let wanted = match scope.arguments.first() {
        Some(Value::SmallInt(id)) => Some(i32::from(*id)),
        Some(Value::Int(id)) => Some(*id),
        _ => None,
    };
    let ids = scope.session.catalog.databases.values().map(|database| database.id);
    let ids = ids.filter(|id| wanted.is_none_or(|wanted| wanted == i32::from(*id)));
    ids.filter_map(|id| Some((id, figures(scope, id)?))).collect()
}

/// Returns bytes in MB.
#[expect(clippy::cast_precision_loss, reason = "shown in MB")]
fn megabytes(bytes: u64) -> Value {
    Value::Float(bytes as f64 / 1_048_576.0)
}
