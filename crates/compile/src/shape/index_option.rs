//! The options of rowstore indexes: what each one does here, and which values it accepts.

use tsql::ast::{IndexOption, Literal, OptionValue};
use types::{Error, Msg, Result};

use super::refuse;
use ::binder::hint::Effect;
use ::catalog::{IndexDef, IndexKind, ShownOptions};

/// Options by name, as the page "CREATE INDEX" lists them. Those with `Advice` are about how an
/// index is built, which no statement waits for here. Those about pages and page locks are stored
/// and shown in the catalog only.
pub const INDEX_OPTIONS: &[(&str, Effect)] = &[
    ("ALLOW_PAGE_LOCKS", Effect::Acts),
    ("ALLOW_ROW_LOCKS", Effect::Acts),
    ("BUCKET_COUNT", Effect::Acts),
    ("COMPRESSION_DELAY", Effect::Refused),
    ("DATA_COMPRESSION", Effect::Acts),
    ("DROP_EXISTING", Effect::Acts),
    ("FILLFACTOR", Effect::Acts),
    ("IGNORE_DUP_KEY", Effect::Acts),
    ("LOB_COMPACTION", Effect::Refused),
    ("MAXDOP", Effect::Advice),
    ("MAX_DURATION", Effect::Advice),
    ("ONLINE", Effect::Advice),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", Effect::Acts),
    ("PAD_INDEX", Effect::Acts),
    ("RESUMABLE", Effect::Advice),
    ("SORT_IN_TEMPDB", Effect::Advice),
    ("STATISTICS_INCREMENTAL", Effect::Refused),
    ("STATISTICS_NORECOMPUTE", Effect::Acts),
    ("XML_COMPRESSION", Effect::Refused),
];

/// Options of other kinds of indexes and of statistics, which are refused by their names.
const FOREIGN: [&str; 2] = ["AUTO_DROP", "COMPRESS_ALL_ROW_GROUPS"];

/// Checks the names of options; `statement` is CREATE INDEX, or ALTER INDEX and its verb.
///
/// # Errors
/// 40517 for an option that SQL Server has elsewhere, 155 for one that it does not have.
pub fn check_names(options: &[IndexOption], statement: &str) -> Result<()> {
    let is_known = |name: &str| INDEX_OPTIONS.iter().any(|option| option.0 == name);
    match options.iter().find(|option| !is_known(&option.name)) {
        None => Ok(()),
        Some(option) if FOREIGN.contains(&option.name.as_ref()) => {
            refuse(&format!("the index option {}", option.name))
        }
        Some(option) => Err(Msg::UnrecognizedOption(&option.written, statement).into()),
    }
}

/// Sets an option of CREATE INDEX.
///
/// # Errors
/// As [`show`], and 41303 for a BUCKET_COUNT out of range.
pub fn set(index: &mut IndexDef, option: &IndexOption) -> Result<()> {
    match option.name.as_ref() {
        "BUCKET_COUNT" => {
            let count = match option.value {
                OptionValue::Literal(Literal::Int(count)) => u64::try_from(count).ok(),
                _ => None,
            };
            match count.filter(|count| (1..=catalog::BUCKET_COUNT_MAX).contains(count)) {
                Some(count) => index.bucket_count = Some(count),
                None => return Err(Msg::BucketCountRange.into()),
            }
        }
        "IGNORE_DUP_KEY" => index.ignore_dup_key = is_on(option)?,
        _ => show(&mut index.shown, option)?,
    }
    Ok(())
}

/// Checks that a hash index has a number of buckets and is in a memory-optimized table.
///
/// # Errors
/// 10791 for another table, and 10789.
pub fn check_hash(index: &IndexDef, (table, memory_optimized): (&str, bool)) -> Result<()> {
    if index.kind != IndexKind::Hash {
        return Ok(());
    }
    if !memory_optimized {
        return Err(Msg::HashOnDisk.into());
    }
    match index.bucket_count {
        Some(_) => Ok(()),
        None => Err(Msg::BucketCountMissing(&index.name, table).into()),
    }
}

/// Options that ALTER INDEX .. SET takes.
const CHANGEABLE: [&str; 5] = [
    "ALLOW_PAGE_LOCKS",
    "ALLOW_ROW_LOCKS",
    "IGNORE_DUP_KEY",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY",
    "STATISTICS_NORECOMPUTE",
];

/// Sets an option of ALTER INDEX .. REBUILD.
///
/// # Errors
/// As [`set`], and 1979 for IGNORE_DUP_KEY if the index enforces a constraint.
pub fn rebuild(index: &mut IndexDef, option: &IndexOption) -> Result<()> {
    match option.name.as_ref() {
        "DROP_EXISTING" | "BUCKET_COUNT" => return wrong(option),
        "IGNORE_DUP_KEY" if index.constraint.is_some() => {
            let text = format!(
                "Cannot use index option ignore_dup_key to alter index '{}' as it enforces a primary or unique constraint.",
                index.name
            );
            return Err(Error::custom(1979, 16, 1, text));
        }
        _ => {}
    }
    set(index, option)
}

/// Sets an option of ALTER INDEX .. SET.
///
/// # Errors
/// As [`rebuild`], and 102 for an option that requires a rebuild.
pub fn change(index: &mut IndexDef, option: &IndexOption) -> Result<()> {
    match CHANGEABLE.contains(&option.name.as_ref()) || *option.name == *"COMPRESSION_DELAY" {
        true => rebuild(index, option),
        false => wrong(option),
    }
}

/// Checks an option of ALTER INDEX .. REORGANIZE. Large values are stored with their rows, so
/// LOB_COMPACTION has nothing to do.
///
/// # Errors
/// 102 for an option that REORGANIZE does not have.
pub fn reorganize(_: &mut IndexDef, option: &IndexOption) -> Result<()> {
    match option.name.as_ref() {
        "LOB_COMPACTION" => is_on(option).map(drop),
        _ => wrong(option),
    }
}

/// Stores what the catalog views show of an option.
///
/// # Errors
/// 40517 for an unsupported option, 129 for a FILLFACTOR out of range, 102 for a value of the wrong
/// kind.
pub fn show(shown: &mut ShownOptions, option: &IndexOption) -> Result<()> {
    match option.name.as_ref() {
        "FILLFACTOR" => shown.fill_factor = fill_factor(option)?,
        "PAD_INDEX" => shown.is_padded = is_on(option)?,
        "ALLOW_ROW_LOCKS" => shown.no_row_locks = !is_on(option)?,
        "ALLOW_PAGE_LOCKS" => shown.no_page_locks = !is_on(option)?,
        "OPTIMIZE_FOR_SEQUENTIAL_KEY" => shown.is_sequential = is_on(option)?,
        "STATISTICS_NORECOMPUTE" => shown.no_recompute = is_on(option)?,
        "DATA_COMPRESSION" => shown.compression = compression(&option.name, &option.value)?,
        // Off is the default and accepted; the feature that ON selects does not exist here.
        "STATISTICS_INCREMENTAL" | "XML_COMPRESSION" if !is_on(option)? => {}
        // A delay of 0 is accepted: nothing is delayed here.
        "COMPRESSION_DELAY" if is_zero(&option.value) => {}
        "DROP_EXISTING" | "SORT_IN_TEMPDB" | "RESUMABLE" => {
            is_on(option)?;
        }
        // ONLINE = ON may have a list of options; the others are numbers with units.
        "ONLINE" | "MAXDOP" | "MAX_DURATION" => {}
        other => return refuse(&format!("the index option {other}")),
    }
    Ok(())
}

fn is_zero(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Literal(Literal::Int(0)) | OptionValue::Quantity(0, _))
}

/// Parses DATA_COMPRESSION: 0 NONE, 1 ROW, 2 PAGE.
///
/// # Errors
/// 102 for another value.
pub fn compression(name: &str, value: &OptionValue) -> Result<u8> {
    let said = value.word().map(str::to_ascii_uppercase);
    match said.as_deref() {
        Some("NONE") => Ok(0),
        Some("ROW") => Ok(1),
        Some("PAGE") => Ok(2),
        _ => Err(Msg::SyntaxNear(name).into()),
    }
}

/// Returns an option's ON or OFF. Old scripts write PAD_INDEX alone for PAD_INDEX = ON.
fn is_on(option: &IndexOption) -> Result<bool> {
    match option.value {
        OptionValue::On | OptionValue::None => Ok(true),
        OptionValue::Off => Ok(false),
        _ => wrong(option),
    }
}

fn fill_factor(option: &IndexOption) -> Result<u8> {
    let OptionValue::Literal(Literal::Int(percent)) = option.value else { return wrong(option) };
    let valid = u8::try_from(percent).ok().filter(|percent| (1..=100).contains(percent));
    valid.ok_or_else(|| {
        let text = format!(
            "Fillfactor {percent} is not a valid percentage; fillfactor must be between 1 and 100."
        );
        Error::custom(129, 15, 1, text)
    })
}

fn wrong<T>(option: &IndexOption) -> Result<T> {
    Err(Msg::SyntaxNear(&option.written).into())
}

/// The error of an index name that an index or statistics of the table already has: 1913.
pub fn duplicate_index(index: &str, table: &str) -> Error {
    Error::custom(
        1913,
        16,
        1,
        format!(
            "The operation failed because an index or statistics with name '{index}' already exists on table '{table}'."
        ),
    )
}
