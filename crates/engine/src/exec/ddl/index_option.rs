//! The options of indexes on rows: every one, what it does here, and the values that it may have.

use tsql::ast::{IndexOption, Literal, OptionValue};
use types::{Error, Msg, Result};

use super::refuse;
use crate::bind::hint::Effect;
use crate::catalog::{IndexDef, ShownOptions};

/// Options by name, as the page "CREATE INDEX" lists them. What is advice is about how an index is built, which nothing
/// waits for here; what is only shown is about pages and locks of pages.
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

/// Sets an option of an index that is created.
///
/// # Errors
/// As [`check`].
pub(super) fn set(index: &mut IndexDef, option: &IndexOption) -> Result<()> {
    match option.name.as_ref() {
        "BUCKET_COUNT" => {
            if let OptionValue::Literal(Literal::Int(count)) = option.value {
                index.bucket_count = u64::try_from(count).ok();
            }
        }
        "IGNORE_DUP_KEY" => index.ignore_dup_key = is_on(option)?,
        _ => show(&mut index.shown, option)?,
    }
    Ok(())
}

/// Keeps what the catalog shows of an option.
///
/// # Errors
/// 40517 for an option that is not there, 129 for a FILLFACTOR out of range, 102 for a value of another kind.
pub(super) fn show(shown: &mut ShownOptions, option: &IndexOption) -> Result<()> {
    match option.name.as_ref() {
        "FILLFACTOR" => shown.fill_factor = fill_factor(option)?,
        "PAD_INDEX" => shown.is_padded = is_on(option)?,
        "ALLOW_ROW_LOCKS" => shown.no_row_locks = !is_on(option)?,
        "ALLOW_PAGE_LOCKS" => shown.no_page_locks = !is_on(option)?,
        "OPTIMIZE_FOR_SEQUENTIAL_KEY" => shown.is_sequential = is_on(option)?,
        "STATISTICS_NORECOMPUTE" => shown.no_recompute = is_on(option)?,
        "DATA_COMPRESSION" => {
            let said = option.value.word().map(str::to_ascii_uppercase);
            shown.compression = match said.as_deref() {
                Some("NONE") => 0,
                Some("ROW") => 1,
                Some("PAGE") => 2,
                _ => return wrong(option),
            };
        }
        "DROP_EXISTING" | "SORT_IN_TEMPDB" | "RESUMABLE" => {
            is_on(option)?;
        }
        // ONLINE = ON may have a list, the others are numbers with units.
        "ONLINE" | "MAXDOP" | "MAX_DURATION" => {}
        other => return refuse(&format!("the index option {other}")),
    }
    Ok(())
}

/// Old scripts say PAD_INDEX alone for PAD_INDEX = ON.
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
    Err(Msg::SyntaxNear(&option.name).into())
}
