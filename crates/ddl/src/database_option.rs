//! The options of ALTER DATABASE .. SET: those that have an effect here, those that are accepted
//! without effect because they are about files, logs and background services, and those that are
//! refused.

use tsql::ast::{NamedOption, OptionValue};
use types::{Error, Msg, Result};

use super::database::word;
use ::catalog::{DatabaseOptions, UserAccess};
use ::compile::refuse;

/// Options without an effect that a statement could observe: how files grow, are checked and
/// shrink, when statistics are made, how a log is written. Database defaults of SET options are
/// among them, because a session gets its own at login.
pub const HARMLESS: [&str; 20] = [
    "ACCELERATED_DATABASE_RECOVERY",
    "ANSI_NULLS",
    "ANSI_NULL_DEFAULT",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "AUTO_CLOSE",
    "AUTO_CREATE_STATISTICS",
    "AUTO_SHRINK",
    "AUTO_UPDATE_STATISTICS",
    "AUTO_UPDATE_STATISTICS_ASYNC",
    "CONCAT_NULL_YIELDS_NULL",
    "DATE_CORRELATION_OPTIMIZATION",
    "MIXED_PAGE_ALLOCATION",
    "NUMERIC_ROUNDABORT",
    "OPTIMIZED_LOCKING",
    "QUOTED_IDENTIFIER",
    "TEMPORAL_HISTORY_RETENTION",
    "TORN_PAGE_DETECTION",
    "VARDECIMAL_STORAGE_FORMAT",
];

/// Options of [`HARMLESS`] that have a word as value, with their words.
pub const WORDS: [(&str, &[&str]); 5] = [
    ("DELAYED_DURABILITY", &["DISABLED", "ALLOWED", "FORCED"]),
    ("ONLINE", &[""]),
    ("PAGE_VERIFY", &["CHECKSUM", "TORN_PAGE_DETECTION", "NONE"]),
    ("PARAMETERIZATION", &["SIMPLE", "FORCED"]),
    ("READ_WRITE", &[""]),
];

/// Options that may be set to OFF only, which they are: the feature does not exist here.
pub const OFF_ONLY: [&str; 12] = [
    "CHANGE_TRACKING",
    "CURSOR_CLOSE_ON_COMMIT",
    "DATA_RETENTION",
    "DB_CHAINING",
    "ENCRYPTION",
    "HADR",
    "HONOR_BROKER_PRIORITY",
    "LEDGER",
    "RECURSIVE_TRIGGERS",
    "REMOTE_DATA_ARCHIVE",
    "SUPPLEMENTAL_LOGGING",
    "TRUSTWORTHY",
];

/// Options that SQL Server has and this server refuses.
pub const REFUSED: [&str; 19] = [
    "AUTOMATIC_TUNING",
    "DEFAULT_FULLTEXT_LANGUAGE",
    "DEFAULT_LANGUAGE",
    "EMERGENCY",
    "ENABLE_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
    "FULLTEXT",
    "MANUAL_CUTOVER",
    "NESTED_TRIGGERS",
    "NEW_BROKER",
    "OFFLINE",
    "PARTNER",
    "PERSISTENT_LOG_BUFFER",
    "READ_ONLY",
    "SUSPEND_FOR_SNAPSHOT_BACKUP",
    "TRANSFORM_NOISE_WORDS",
    "TWO_DIGIT_YEAR_CUTOFF",
    "WITNESS",
    "XTP_ENGINE",
];

/// Values that COMPATIBILITY_LEVEL accepts.
const LEVELS: [u8; 8] = [100, 110, 120, 130, 140, 150, 160, 170];

/// Sets an option. One that has an effect sets its own field; one without is stored as written, for
/// `sys.databases`.
///
/// # Errors
/// 40517 for an unsupported option, 102 for an unknown one, 15048 for an invalid compatibility
/// level.
pub fn set(options: &mut DatabaseOptions, option: &NamedOption) -> Result<()> {
    let on = matches!(option.value, OptionValue::On | OptionValue::OnList(_));
    let said = word(&option.value);
    let is = |wanted: &str| said.eq_ignore_ascii_case(wanted);
    let name = option.name.as_ref();
    match name {
        "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT" => options.elevate_to_snapshot = on,
        "READ_COMMITTED_SNAPSHOT" => options.read_committed_snapshot = on,
        "ALLOW_SNAPSHOT_ISOLATION" => options.allow_snapshot_isolation = on,
        "COMPATIBILITY_LEVEL" => {
            let level = said.parse().ok().filter(|level| LEVELS.contains(level));
            options.compatibility_level = level.ok_or(Msg::InvalidCompatibilityLevel)?;
        }
        "RECOVERY" => match ["FULL", "SIMPLE", "BULK_LOGGED"].into_iter().find(|model| is(model)) {
            Some(model) => model.clone_into(&mut options.recovery),
            None => return Err(unknown(&said)),
        },
        "QUERY_STORE" => crate::query_store::set(options, option)?,
        "CURSOR_DEFAULT" if is("GLOBAL") => {}
        "CONTAINMENT" if is("NONE") => {}
        "DISABLE_BROKER" => {}
        // Done by `user_access`, before the options are set.
        _ if UserAccess::by_name(name).is_some() => {}
        // `FILESTREAM (NON_TRANSACTED_ACCESS = OFF)`: scripts of whole databases contain it.
        "FILESTREAM" if is_off(&option.value) => {}
        "TARGET_RECOVERY_TIME" => {
            options.others.insert(name.to_owned(), seconds(option)?.to_string());
        }
        // `ON (INCREMENTAL = OFF)`: what Management Studio writes for ON.
        "AUTO_CREATE_STATISTICS" if is_not_incremental(&option.value) => {
            options.others.insert(name.to_owned(), "ON".to_owned());
        }
        "AUTO_CREATE_STATISTICS" | "ACCELERATED_DATABASE_RECOVERY"
            if matches!(option.value, OptionValue::OnList(_)) =>
        {
            return refuse(&format!("ALTER DATABASE .. SET {name} with a list"));
        }
        _ if HARMLESS.contains(&name) && (on || is("OFF")) => {
            options.others.insert(name.to_owned(), said);
        }
        _ if OFF_ONLY.contains(&name) && !on && is("OFF") => {
            options.others.insert(name.to_owned(), said);
        }
        _ if WORDS.iter().any(|(known, words)| *known == name && words.iter().any(|w| is(w))) => {
            options.others.insert(name.to_owned(), said.to_ascii_uppercase());
        }
        "CURSOR_DEFAULT" | "CONTAINMENT" | "FILESTREAM" => {
            return refuse(&format!("ALTER DATABASE .. SET {name} {said}"));
        }
        _ if OFF_ONLY.contains(&name) && on => {
            return refuse(&format!("ALTER DATABASE .. SET {name} ON"));
        }
        _ if OFF_ONLY.contains(&name) || REFUSED.contains(&name) => {
            return refuse(&format!("ALTER DATABASE .. SET {name}"));
        }
        _ => return Err(unknown(&option.written)),
    }
    Ok(())
}

fn is_off(value: &OptionValue) -> bool {
    let OptionValue::List(options) = value else { return false };
    matches!(options.as_slice(), [one] if *one.name == *"NON_TRANSACTED_ACCESS" && one.value == OptionValue::Off)
}

fn is_not_incremental(value: &OptionValue) -> bool {
    let OptionValue::OnList(options) = value else { return false };
    matches!(options.as_slice(), [one] if *one.name == *"INCREMENTAL" && one.value == OptionValue::Off)
}

/// Parses `TARGET_RECOVERY_TIME = 5 MINUTES` to seconds.
fn seconds(option: &NamedOption) -> Result<u64> {
    let wrong = || unknown(&option.written);
    match &option.value {
        OptionValue::Quantity(count, unit) => match &**unit {
            "SECOND" | "SECONDS" => Ok(*count),
            "MINUTE" | "MINUTES" => count.checked_mul(60).ok_or_else(wrong),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn unknown(name: &str) -> Error {
    Error::from(Msg::SyntaxNear(name)).with_state(6)
}
