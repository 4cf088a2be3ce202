//! WITH of CREATE and ALTER EVENT SESSION: the session's options.

use tsql::ast::{Literal, NamedOption, OptionValue};
use types::{Error, Msg, Result};

use ::catalog::{Choice, EventSessionOptions, PARTITIONS, RETENTIONS};

/// Greatest MAX_MEMORY, in KB.
const MEMORY_MAX_KB: u64 = 2_097_151 << 10;
/// Greatest MAX_DISPATCH_LATENCY, in seconds.
const LATENCY_MAX_S: u64 = 2_147_483;

/// Applies options to the session's current ones.
///
/// # Errors
/// 25702 for an option that is set twice, 25703 for an invalid value.
pub(super) fn apply(
    mut options: EventSessionOptions,
    given: &[NamedOption],
) -> Result<EventSessionOptions> {
    for (place, option) in given.iter().enumerate() {
        if given[..place].iter().any(|other| other.name == option.name) {
            return Err(Msg::EventOptionTwice(&option.name).into());
        }
        set(&mut options, option)?;
    }
    Ok(options)
}

fn set(options: &mut EventSessionOptions, option: &NamedOption) -> Result<()> {
    let invalid = || Error::from(Msg::EventOptionValue(&option.name));
    let value = &option.value;
    match option.name.as_ref() {
        "MAX_MEMORY" => options.max_memory_kb = kilobytes(value).ok_or_else(invalid)?,
        "MAX_EVENT_SIZE" => options.max_event_size_kb = kilobytes(value).ok_or_else(invalid)?,
        "MAX_DISPATCH_LATENCY" => {
            options.max_dispatch_latency_ms = latency_ms(value).ok_or_else(invalid)?;
        }
        "EVENT_RETENTION_MODE" => {
            let found = value.word().and_then(|word| Choice::named(&RETENTIONS, word));
            options.retention = found.ok_or_else(invalid)?;
        }
        "MEMORY_PARTITION_MODE" => {
            let found = value.word().and_then(|word| Choice::named(&PARTITIONS, word));
            options.partition = found.ok_or_else(invalid)?;
        }
        "TRACK_CAUSALITY" => options.track_causality = switch(value).ok_or_else(invalid)?,
        "STARTUP_STATE" => options.startup_state = switch(value).ok_or_else(invalid)?,
        "MAX_DURATION" => {
            return Err(Msg::NotSupported("MAX_DURATION of an event session").into());
        }
        other => return Err(Msg::SyntaxNear(other).into()),
    }
    Ok(())
}

fn switch(value: &OptionValue) -> Option<bool> {
    match value {
        OptionValue::On => Some(true),
        OptionValue::Off => Some(false),
        _ => None,
    }
}

/// Parses a size to KB; a number without a unit is in KB.
fn kilobytes(value: &OptionValue) -> Option<u32> {
    let kb = match value {
        OptionValue::Literal(Literal::Int(number)) => u64::try_from(*number).ok()?,
        OptionValue::Quantity(number, unit) => match unit.as_ref() {
            "KB" => *number,
            "MB" => number.checked_mul(1024)?,
            _ => return None,
        },
        _ => return None,
    };
    u32::try_from(kb).ok().filter(|kb| u64::from(*kb) <= MEMORY_MAX_KB)
}

/// Parses a time to ms; 0 is INFINITE.
fn latency_ms(value: &OptionValue) -> Option<u32> {
    let seconds = match value {
        OptionValue::Quantity(number, unit) if unit.as_ref() == "SECONDS" => *number,
        other if other.word().is_some_and(|word| word.eq_ignore_ascii_case("INFINITE")) => 0,
        _ => return None,
    };
    u32::try_from(seconds.min(LATENCY_MAX_S + 1) * 1000).ok().filter(|_| seconds <= LATENCY_MAX_S)
}
