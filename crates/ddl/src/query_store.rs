//! ALTER DATABASE .. SET QUERY_STORE: its options, and CLEAR.

use tsql::ast::{AlterDatabaseAction, Literal, NamedOption, OptionValue};
use types::{Error, Msg, Result};

use ::catalog::{Database, DatabaseOptions};
use ::executor::Cx;
use ::query_store::options::{Capture, INTERVALS, Mode, NAME, Options, Policy};

/// Sets the options of a database's Query Store.
///
/// # Errors
/// 102 for a wrong option or value, 153, 12452 and 12453 for a value out of range, 12401 for an
/// option that is given twice.
pub(crate) fn set(options: &mut DatabaseOptions, option: &NamedOption) -> Result<()> {
    let mut store = Options::of(options);
    match &option.value {
        OptionValue::On => store.mode = Mode::ReadWrite,
        OptionValue::Off => store.mode = Mode::Off,
        OptionValue::OnList(list) => {
            store.mode = Mode::ReadWrite;
            set_all(&mut store, list)?;
        }
        // Without ON the options are set, and a store that is off stays off.
        OptionValue::List(list) => {
            let was_off = store.mode == Mode::Off;
            set_all(&mut store, list)?;
            if was_off {
                store.mode = Mode::Off;
            }
        }
        value if is_clear(value) => return Ok(()),
        OptionValue::None
        | OptionValue::Literal(_)
        | OptionValue::Quantity(..)
        | OptionValue::Name(_)
        | OptionValue::Place(..) => return Err(wrong(NAME)),
    }
    store.store(options);
    Ok(())
}

fn is_clear(value: &OptionValue) -> bool {
    value.word().is_some_and(|word| word.eq_ignore_ascii_case("CLEAR"))
}

fn set_all(store: &mut Options, list: &[NamedOption]) -> Result<()> {
    check_once(list)?;
    list.iter().try_for_each(|option| set_one(store, option))
}

/// Checks that no option is given twice.
fn check_once(list: &[NamedOption]) -> Result<()> {
    for (place, option) in list.iter().enumerate() {
        if list[..place].iter().any(|other| other.name == option.name) {
            let text = format!(
                "The QUERY_STORE option '{}' was specified more than once. Each option can be specified only once.",
                option.name
            );
            return Err(Error::custom(12401, 15, 2, text));
        }
    }
    Ok(())
}

fn set_one(store: &mut Options, option: &NamedOption) -> Result<()> {
    let name = option.name.as_ref();
    match name {
        "OPERATION_MODE" => {
            let modes = [Mode::ReadOnly, Mode::ReadWrite].map(|mode| (mode.name(), mode));
            store.mode = word(option, &modes)?;
        }
        "QUERY_CAPTURE_MODE" => {
            let modes = Capture::ALL.map(|capture| (capture.name(), capture));
            store.capture = word(option, &modes)?;
        }
        "SIZE_BASED_CLEANUP_MODE" => {
            store.cleans_up = match option.value {
                OptionValue::Off => false,
                OptionValue::On => return Err(Msg::SyntaxNearKeyword("ON").into()),
                _ => word(option, &[("AUTO", true)])?,
            };
        }
        "WAIT_STATS_CAPTURE_MODE" => {
            store.waits = match option.value {
                OptionValue::On => true,
                OptionValue::Off => false,
                _ => return Err(wrong(name)),
            };
        }
        "DATA_FLUSH_INTERVAL_SECONDS" => {
            let seconds = number(option)?;
            if seconds < 60 {
                return Err(out_of_range("flush_interval_seconds", 15, 5));
            }
            store.flush_seconds = seconds;
        }
        "INTERVAL_LENGTH_MINUTES" => {
            let minutes = number(option)?;
            if !INTERVALS.contains(&minutes) {
                return Err(out_of_range("interval_length_minutes", 16, 6));
            }
            store.interval_minutes = minutes;
        }
        "MAX_STORAGE_SIZE_MB" => store.max_mb = number(option)?,
        "MAX_PLANS_PER_QUERY" => store.max_plans = number(option)?,
        "CLEANUP_POLICY" => match &option.value {
            OptionValue::List(list) => {
                check_once(list)?;
                for option in list {
                    match option.name.as_ref() {
                        "STALE_QUERY_THRESHOLD_DAYS" => store.stale_days = number(option)?,
                        other => return Err(wrong(other)),
                    }
                }
            }
            _ => return Err(wrong(name)),
        },
        "QUERY_CAPTURE_POLICY" => match &option.value {
            OptionValue::List(list) => {
                check_once(list)?;
                list.iter().try_for_each(|option| set_policy(&mut store.policy, option))?;
            }
            _ => return Err(wrong(name)),
        },
        other => return Err(wrong(other)),
    }
    Ok(())
}

fn set_policy(policy: &mut Policy, option: &NamedOption) -> Result<()> {
    let positive = |name: &str, state: u8| match number(option)? {
        0 => {
            let text = format!(
                "The value 0 is not valid for query_capture_policy option {name}. The value must be between 1 and {}.",
                i32::MAX
            );
            Err(Error::custom(12452, 15, state, text))
        }
        n => Ok(n),
    };
    match option.name.as_ref() {
        "EXECUTION_COUNT" => policy.executions = positive("execution_count", 1)?,
        "TOTAL_COMPILE_CPU_TIME_MS" => {
            policy.compile_ms = positive("total_compile_cpu_time_ms", 1)?;
        }
        "TOTAL_EXECUTION_CPU_TIME_MS" => {
            policy.execution_ms = positive("total_execution_cpu_time_ms", 2)?;
        }
        "STALE_CAPTURE_POLICY_THRESHOLD" => {
            let hours = match &option.value {
                OptionValue::Quantity(n, unit) if matches!(&**unit, "HOUR" | "HOURS") => *n,
                OptionValue::Quantity(n, unit) if matches!(&**unit, "DAY" | "DAYS") => {
                    n.saturating_mul(24)
                }
                _ => return Err(wrong(&option.written)),
            };
            if !(1..=7 * 24).contains(&hours) {
                let text = "Invalid value provided for query_capture_policy option stale_capture_policy_threshold. The value must be between 1 hour and 7 days.";
                return Err(Error::custom(12453, 16, 1, text));
            }
            policy.stale_hours = hours;
        }
        other => return Err(wrong(other)),
    }
    Ok(())
}

/// Returns the value that the option's word names.
fn word<T: Copy>(option: &NamedOption, words: &[(&str, T)]) -> Result<T> {
    let found = option.value.word().and_then(|word| {
        words.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, of)| *of)
    });
    found.ok_or_else(|| wrong(&option.written))
}

fn number(option: &NamedOption) -> Result<u64> {
    match &option.value {
        OptionValue::Literal(Literal::Int(n)) => {
            u64::try_from(*n).map_err(|_| wrong(&option.written))
        }
        _ => Err(wrong(&option.written)),
    }
}

fn wrong(near: &str) -> Error {
    Msg::SyntaxNear(near).into()
}

fn out_of_range(option: &str, severity: u8, state: u8) -> Error {
    let text = format!("Invalid usage of the option {option} in the ALTER DATABASE statement.");
    Error::custom(153, severity, state, text)
}

/// Checks that a database may have a Query Store, and that an action names it once.
///
/// # Errors
/// 12438 and 5069 for master and tempdb, 12417 for two clauses.
pub(crate) fn check(database: &Database, options: &[NamedOption]) -> Result<()> {
    let clauses = options.iter().filter(|option| &*option.name == NAME).count();
    if clauses > 1 {
        let text = "Only one Query Store option can be given in ALTER DATABASE statement.";
        return Err(Error::custom(12417, 16, 1, text));
    }
    if clauses == 1 && matches!(database.id, 1 | 2) {
        let text = format!(
            "Cannot perform action because Query Store cannot be enabled on system database {}.",
            database.name
        );
        let first = Error::custom(12438, 16, 1, text);
        let both = vec![first.clone(), Msg::AlterDatabaseFailed.into()];
        return Err(Error::all(both).unwrap_or(first));
    }
    Ok(())
}

/// Makes the instance take over what ALTER DATABASE has set; CLEAR forgets what was recorded.
pub(crate) fn apply(name: &str, action: &AlterDatabaseAction, cx: &Cx<'_>) {
    let AlterDatabaseAction::Set { options, .. } = action else { return };
    let Some(option) = options.iter().find(|option| &*option.name == NAME) else { return };
    let instance = &cx.session.instance;
    instance.change_query_stores();
    if is_clear(&option.value)
        && let Some(database) = cx.session.catalog.database(name)
    {
        instance.query_store.change(database.id, |found| {
            if let Some(found) = found {
                found.clear();
            }
        });
    }
}
