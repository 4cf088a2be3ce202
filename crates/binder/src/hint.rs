//! Hints: the effect of every query hint in OPTION (..), and the table hints that are refused.
//!
//! A hint acts, or advises a choice that does not exist here and changes no result, or is refused
//! by name. Any other name is a syntax error.

use tsql::ast::{QueryHint, QueryHintKind, TableHint, TableHintKind, TableHintWord};
use types::{Error, Msg, Result};

use super::expr::not_supported;
use crate::Binder;

/// Largest value of MAXRECURSION.
const RECURSION_MAX: i64 = 32_767;

/// The effect of a query hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It determines the plan, or limits the execution.
    Acts,
    /// It advises a strategy that Clearway does not have; the result is the same, so it is ignored.
    Advice,
    /// It would change the result, or concerns a missing feature: error 40517.
    Refused,
}

/// The operand of a query hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// No operand follows it.
    None,
    /// A number follows it.
    Number,
    /// A text follows it.
    Text,
}

/// Query hints by name, as listed on the page "Query hints".
pub const QUERY_HINTS: &[(&str, Operand, Effect)] = &[
    ("CONCAT UNION", Operand::None, Effect::Advice),
    ("DISABLE EXTERNALPUSHDOWN", Operand::None, Effect::Advice),
    ("DISABLE SCALEOUTEXECUTION", Operand::None, Effect::Advice),
    ("DISABLE_OPTIMIZED_PLAN_FORCING", Operand::None, Effect::Advice),
    ("EXPAND VIEWS", Operand::None, Effect::Advice),
    ("FAST", Operand::Number, Effect::Advice),
    ("FORCE EXTERNALPUSHDOWN", Operand::None, Effect::Refused),
    ("FORCE ORDER", Operand::None, Effect::Acts),
    ("FORCE SCALEOUTEXECUTION", Operand::None, Effect::Refused),
    ("HASH GROUP", Operand::None, Effect::Advice),
    ("HASH JOIN", Operand::None, Effect::Acts),
    ("HASH UNION", Operand::None, Effect::Advice),
    ("IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX", Operand::None, Effect::Advice),
    ("KEEP PLAN", Operand::None, Effect::Advice),
    ("KEEPFIXED PLAN", Operand::None, Effect::Advice),
    // A name for the views of Azure Synapse; SQL Server has no place that shows it.
    ("LABEL", Operand::Text, Effect::Advice),
    ("LOOP JOIN", Operand::None, Effect::Acts),
    ("MAXDOP", Operand::Number, Effect::Acts),
    ("MAXRECURSION", Operand::Number, Effect::Acts),
    ("MAX_GRANT_PERCENT", Operand::Number, Effect::Advice),
    ("MERGE JOIN", Operand::None, Effect::Acts),
    ("MERGE UNION", Operand::None, Effect::Advice),
    ("MIN_GRANT_PERCENT", Operand::Number, Effect::Advice),
    ("NO_PERFORMANCE_SPOOL", Operand::None, Effect::Advice),
    ("ORDER GROUP", Operand::None, Effect::Advice),
    ("PARAMETERIZATION FORCED", Operand::None, Effect::Refused),
    ("PARAMETERIZATION SIMPLE", Operand::None, Effect::Refused),
    ("QUERYTRACEON", Operand::Number, Effect::Advice),
    ("RECOMPILE", Operand::None, Effect::Acts),
    ("ROBUST PLAN", Operand::None, Effect::Advice),
    ("USE PLAN", Operand::Text, Effect::Refused),
];

/// Names that USE HINT accepts, as listed on its page and in SQL Server's
/// `sys.dm_exec_valid_use_hints`; all of them guide the choice of a plan.
pub const USE_HINTS: &[&str] = &[
    "ASSUME_FIXED_MAX_SELECTIVITY_FOR_REGEXP",
    "ASSUME_FIXED_MIN_SELECTIVITY_FOR_REGEXP",
    "ASSUME_FULL_INDEPENDENCE_FOR_FILTER_ESTIMATES",
    "ASSUME_JOIN_PREDICATE_DEPENDS_ON_FILTERS",
    "ASSUME_MIN_SELECTIVITY_FOR_FILTER_ESTIMATES",
    "ASSUME_PARTIAL_CORRELATION_FOR_FILTER_ESTIMATES",
    "DISABLE_BATCH_MODE_ADAPTIVE_JOINS",
    "DISABLE_BATCH_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_CE_FEEDBACK",
    "DISABLE_DEFERRED_COMPILATION_TV",
    "DISABLE_DOP_FEEDBACK",
    "DISABLE_INTERLEAVED_EXECUTION_TVF",
    "DISABLE_MEMORY_GRANT_FEEDBACK_PERSISTENCE",
    "DISABLE_OPTIMIZED_HALLOWEEN_PROTECTION",
    "DISABLE_OPTIMIZED_NESTED_LOOP",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "DISABLE_OPTIMIZER_ROWGOAL",
    "DISABLE_PARAMETER_SENSITIVE_PLAN_OPTIMIZATION",
    "DISABLE_PARAMETER_SNIFFING",
    "DISABLE_ROW_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_TSQL_SCALAR_UDF_INLINING",
    "DISALLOW_BATCH_MODE",
    "ENABLE_HIST_AMENDMENT_FOR_ASC_KEYS",
    "ENABLE_PARALLEL_PLAN_PREFERENCE",
    "ENABLE_QUERY_OPTIMIZER_HOTFIXES",
    "FORCE_DEFAULT_CARDINALITY_ESTIMATION",
    "FORCE_LEGACY_CARDINALITY_ESTIMATION",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_100",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_110",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_120",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_130",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_140",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_150",
    "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_160",
    "QUERY_PLAN_PROFILE",
];

/// Checks hints that a Query Store is to compile a query with.
///
/// # Errors
/// 12455 for hints that a Query Store can't have, and the errors of an OPTION clause.
pub fn check_for_query_store(hints: &[QueryHint]) -> Result<()> {
    let unsupported = |name: &str, state: u8| {
        let text = format!("Setting query hint(s) '{name}' in Query Store is not supported.");
        Err(Error::custom(12455, 16, state, text))
    };
    for hint in hints {
        match &hint.kind {
            QueryHintKind::OptimizeFor(_) => return unsupported("OPTIMIZE FOR", 2),
            QueryHintKind::TableHint(..) => return unsupported("TABLE HINT", 1),
            QueryHintKind::Text(name, _) if &**name == "USE PLAN" => {
                return unsupported("USE PLAN", 1);
            }
            QueryHintKind::Text(name, _) => check(name, Operand::Text)?,
            QueryHintKind::Plain(name) => check(name, Operand::None)?,
            QueryHintKind::Number(name, _) => check(name, Operand::Number)?,
            QueryHintKind::UseHint(names) => check_use(names)?,
            QueryHintKind::OptimizeForUnknown => {}
        }
    }
    Ok(())
}

/// Applies the OPTION clause. MAXDOP takes effect when the statement runs.
///
/// # Errors
/// 40517 for refused hints, 102 and 10715 for unknown ones, 310 for a MAXRECURSION out of range.
pub(crate) fn set_hints(binder: &mut Binder<'_>, hints: &[QueryHint]) -> Result<()> {
    for hint in hints {
        match &hint.kind {
            QueryHintKind::Plain(name) => {
                check(name, Operand::None)?;
                set_plain(binder, name);
            }
            QueryHintKind::Number(name, value) => {
                check(name, Operand::Number)?;
                if &**name == "MAXRECURSION" {
                    set_recursion(binder, *value)?;
                }
            }
            QueryHintKind::Text(name, _) => check(name, Operand::Text)?,
            QueryHintKind::UseHint(names) => check_use(names)?,
            // Plans depend on table contents, never on the values of variables.
            QueryHintKind::OptimizeFor(_) | QueryHintKind::OptimizeForUnknown => {}
            QueryHintKind::TableHint(..) => return not_supported("OPTION (TABLE HINT ..)"),
        }
    }
    Ok(())
}

fn set_plain(binder: &mut Binder<'_>, name: &str) {
    match name {
        "FORCE ORDER" => binder.hints.force_order = true,
        "LOOP JOIN" => binder.hints.method = Some(optimizer::Method::Loop),
        "HASH JOIN" | "MERGE JOIN" => binder.hints.method = Some(optimizer::Method::Hash),
        // The plan is used for one execution.
        "RECOMPILE" => binder.session_bound = true,
        // Ignored advice.
        _ => {}
    }
}

fn set_recursion(binder: &mut Binder<'_>, value: f64) -> Result<()> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked on the result")]
    let value = value as i64;
    match u32::try_from(value) {
        Ok(rounds) if value <= RECURSION_MAX => binder.recursion_max = Some(rounds),
        _ => return Err(Msg::MaxRecursionTooLarge(value, RECURSION_MAX).into()),
    }
    Ok(())
}

fn check(name: &str, operand: Operand) -> Result<()> {
    let found = QUERY_HINTS.iter().find(|hint| hint.0 == name && hint.1 == operand);
    match found.map(|hint| hint.2) {
        Some(Effect::Acts | Effect::Advice) => Ok(()),
        Some(Effect::Refused) => not_supported(&format!("OPTION ({name})")),
        None => {
            let word = name.split(' ').next_back().unwrap_or(name);
            Err(Msg::SyntaxNear(word).into())
        }
    }
}

fn check_use(names: &[Box<str>]) -> Result<()> {
    let unknown = names.iter().find(|name| !USE_HINTS.iter().any(|u| u.eq_ignore_ascii_case(name)));
    unknown.map_or(Ok(()), |name| Err(Msg::InvalidUseHint(name).into()))
}

/// Table hints of which each entry allows only one per table: lock granularity, and isolation
/// level. Words in one entry are synonyms.
const CHOICES: [&[&[TableHintWord]]; 2] = [
    &[
        &[TableHintWord::NoLock, TableHintWord::ReadUncommitted],
        &[TableHintWord::PagLock],
        &[TableHintWord::ReadCommittedLock],
        &[TableHintWord::RowLock],
        &[TableHintWord::TabLock],
        &[TableHintWord::TabLockX],
    ],
    &[
        &[TableHintWord::HoldLock, TableHintWord::Serializable],
        &[TableHintWord::NoLock, TableHintWord::ReadUncommitted],
        &[TableHintWord::ReadCommitted],
        &[TableHintWord::RepeatableRead],
    ],
];

/// Checks that no two hints conflict, as described on the page "Table hints".
fn check_choices(hints: &[TableHint]) -> Result<()> {
    let said = |entry: &&&[TableHintWord]| {
        hints.iter().any(|h| matches!(h.kind, TableHintKind::Word(word) if entry.contains(&word)))
    };
    match CHOICES.iter().any(|choice| choice.iter().filter(said).count() > 1) {
        true => Err(Msg::ConflictingLockHints.into()),
        false => Ok(()),
    }
}

/// Checks the hints of a table that is changed.
///
/// # Errors
/// 1065 for NOLOCK and READUNCOMMITTED; those of [`check_table_hints`].
pub(crate) fn check_target_hints(hints: &[TableHint]) -> Result<()> {
    let reads_uncommitted = |hint: &TableHint| {
        matches!(
            hint.kind,
            TableHintKind::Word(TableHintWord::NoLock | TableHintWord::ReadUncommitted)
        )
    };
    if hints.iter().any(reads_uncommitted) {
        return Err(Msg::NoLockTarget.into());
    }
    check_table_hints(hints)
}

/// Refuses unsupported table hints: those for INSERT .. SELECT FROM OPENROWSET (BULK ..), for
/// indexes on views and for spatial indexes.
///
/// # Errors
/// 1047 for two conflicting hints; 40517 for an unsupported one.
pub(crate) fn check_table_hints(hints: &[TableHint]) -> Result<()> {
    check_choices(hints)?;
    for hint in hints {
        let name = match hint.kind {
            TableHintKind::Word(TableHintWord::IgnoreConstraints) => "IGNORE_CONSTRAINTS",
            TableHintKind::Word(TableHintWord::IgnoreTriggers) => "IGNORE_TRIGGERS",
            TableHintKind::Word(TableHintWord::KeepDefaults) => "KEEPDEFAULTS",
            TableHintKind::Word(TableHintWord::KeepIdentity) => "KEEPIDENTITY",
            TableHintKind::Word(TableHintWord::NoExpand) => "NOEXPAND",
            TableHintKind::SpatialWindowMaxCells(_) => "SPATIAL_WINDOW_MAX_CELLS",
            TableHintKind::Word(_) | TableHintKind::Index(_) | TableHintKind::ForceSeek(_) => {
                continue;
            }
        };
        return not_supported(&format!("the table hint {name}"));
    }
    Ok(())
}
