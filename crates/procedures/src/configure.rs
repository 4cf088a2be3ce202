//! sp_configure and RECONFIGURE: the settings of the instance.
//!
//! `sys.configurations` lists the settings that have an effect here. Some can be changed: 'show
//! advanced options', the degree of parallelism and its cost threshold, the permission to write
//! files, the recovery interval, the language of new logins, the blocked process threshold, and the
//! sampling rate. Changing another one is refused by name, so that no script assumes an effect.

use types::{Error, Msg, Value};

use super::catalog::{TextProcedure, run};
use crate::procedure::{SystemProcedure, argument, text, whole};
use ::catalog::Settings;
use ::executor::Cx;
use interpreter::{Argument, Stop};
use metadata::configurations::{
    BLOCKED_THRESHOLD, COST_THRESHOLD, DEFAULT_LANGUAGE, DEGREE_MAX, POLYBASE_EXPORT,
    RECOVERY_INTERVAL, SAMPLING_RATE, SHOW_ADVANCED, Setting, settings,
};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_configure", id: 0, run: configure }];

/// Numbers that take effect with RECONFIGURE.
const PENDING: [i32; 6] = [
    DEGREE_MAX,
    COST_THRESHOLD,
    POLYBASE_EXPORT,
    RECOVERY_INTERVAL,
    DEFAULT_LANGUAGE,
    BLOCKED_THRESHOLD,
];

/// Settings that SQL Server documents and that have no effect here.
const OTHERS: &[&str] = &[
    "access check cache bucket count",
    "access check cache quota",
    "Ad Hoc Distributed Queries",
    "ADR cleaner retry timeout (min)",
    "affinity I/O mask",
    "affinity mask",
    "affinity64 I/O mask",
    "affinity64 mask",
    "Agent XPs",
    "allow updates",
    "automatic soft-NUMA disabled",
    "backup checksum default",
    "backup compression algorithm",
    "backup compression default",
    "c2 audit mode",
    "clr enabled",
    "clr strict security",
    "column encryption enclave type",
    "contained database authentication",
    "cross db ownership chaining",
    "cursor threshold",
    "Database Mail XPs",
    "default trace enabled",
    "disallow results from triggers",
    "EKM provider enabled",
    "external scripts enabled",
    "filestream access level",
    "fill factor (%)",
    "ft crawl bandwidth (max)",
    "ft crawl bandwidth (min)",
    "ft notify bandwidth (max)",
    "ft notify bandwidth (min)",
    "hadoop connectivity",
    "in-doubt xact resolution",
    "index create memory (KB)",
    "lightweight pooling",
    "locks",
    "max full-text crawl range",
    "max text repl size (B)",
    "max worker threads",
    "media retention",
    "min memory per query (KB)",
    "min server memory (MB)",
    "network packet size (B)",
    "Ole Automation Procedures",
    "open objects",
    "optimize for ad hoc workloads",
    "PH timeout (s)",
    "polybase enabled",
    "precompute rank",
    "priority boost",
    "query governor cost limit",
    "query wait (s)",
    "remote access",
    "remote admin connections",
    "remote data archive",
    "remote login timeout (s)",
    "remote proc trans",
    "remote query timeout (s)",
    "Replication XPs",
    "scan for startup procs",
    "server trigger recursion",
    "set working set size",
    "SMO and DMO XPs",
    "tempdb metadata memory-optimized",
    "user connections",
    "version high part of SQL Server",
    "version low part of SQL Server",
    "xp_cmdshell",
];

/// `sp_configure [@configname [, @configvalue]]`.
fn configure(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(name) = text(arguments, 0, "@configname", cx)? else {
        return run(&LIST, &mut [], cx);
    };
    let setting = find(&name, cx)?;
    if argument(arguments, 1, "@configvalue").is_none_or(|a| a.value == Value::Null) {
        let mut name = [Argument {
            name: String::new(),
            ty: cx.session.text_type(),
            value: Value::nvarchar(setting.name),
            output: false,
            default: false,
            table: None,
            cursor: None,
        }];
        return run(&ONE, &mut name, cx);
    }
    let value = whole(arguments, 1, "@configvalue");
    let value = value.and_then(|n| i32::try_from(n).ok()).ok_or_else(|| invalid("", &setting))?;
    check_permission(cx)?;
    if !(setting.minimum..=setting.maximum).contains(&value) {
        return Err(invalid(&value.to_string(), &setting));
    }
    if setting.id == DEFAULT_LANGUAGE && types::Language::by_id(value).is_none() {
        let text = "Cannot set the default language to a language ID not defined in syslanguages.";
        return Err(Error::custom(15_127, 16, 1, text).into());
    }
    if setting.id == SHOW_ADVANCED {
        cx.session.instance.catalog.change(|catalog| {
            catalog.settings.show_advanced = value != 0;
            Ok(())
        })?;
        cx.session.refresh_catalog();
    } else if setting.id == SAMPLING_RATE {
        cx.session.instance.catalog.change(|catalog| {
            catalog.settings.sampling_rate_hz = u32::try_from(value).ok();
            Ok(())
        })?;
        cx.session.refresh_catalog();
    } else if PENDING.contains(&setting.id) {
        cx.session.instance.catalog.change(|catalog| {
            let settings = &mut catalog.settings;
            let of = match setting.id {
                DEGREE_MAX => &mut settings.degree_max,
                COST_THRESHOLD => &mut settings.cost_threshold,
                RECOVERY_INTERVAL => &mut settings.recovery_interval,
                DEFAULT_LANGUAGE => &mut settings.default_language,
                BLOCKED_THRESHOLD => &mut settings.blocked_threshold,
                _ => &mut settings.polybase_export,
            };
            of.set = value;
            Ok(())
        })?;
        cx.session.refresh_catalog();
    } else if value != setting.value {
        return Err(
            Msg::NotSupported(&format!("a change of the setting '{}'", setting.name)).into()
        );
    }
    let text = format!(
        "Configuration option '{}' changed from {} to {value}. Run the RECONFIGURE statement to install.",
        setting.name, setting.value
    );
    cx.sink.message(&Error::custom(15_457, 0, 1, &text))?;
    Ok(0)
}

/// Finds a setting by its name or by an unambiguous beginning of it.
///
/// # Errors
/// 15123 for an unknown name, 15124 for an ambiguous one; 40517 for a setting of SQL Server that
/// does not exist here.
fn find(name: &str, cx: &Cx<'_>) -> Result<Setting, Stop> {
    let begins =
        |known: &str| known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let advanced = cx.session.catalog.settings.advanced_in_use;
    let mut all = settings(&cx.session.instance, &cx.session.catalog);
    let exact = all.iter().position(|s| s.name.eq_ignore_ascii_case(name));
    if exact.is_none() && OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name)) {
        return Err(Msg::NotSupported(&format!("the setting '{name}'")).into());
    }
    let here = all.iter().filter(|s| begins(s.name)).count();
    let count = here + OTHERS.iter().filter(|other| begins(other)).count();
    let unknown = || {
        let text = format!(
            "The configuration option '{name}' does not exist, or it may be an advanced option."
        );
        Stop::from(Error::custom(15_123, 16, 1, &text))
    };
    let place = match (exact, count) {
        (Some(place), _) => place,
        (None, 0) => return Err(unknown()),
        (None, 1) => match all.iter().position(|s| begins(s.name)) {
            Some(place) => place,
            None => return Err(Msg::NotSupported(&format!("the setting '{name}'")).into()),
        },
        (None, _) => {
            let text = format!("The configuration option '{name}' is not unique.");
            return Err(Error::custom(15_124, 16, 1, &text).into());
        }
    };
    if all[place].advanced && !advanced {
        return Err(unknown());
    }
    Ok(all.swap_remove(place))
}

fn invalid(value: &str, setting: &Setting) -> Stop {
    let text =
        format!("'{value}' is not a valid value for configuration option '{}'.", setting.name);
    Error::custom(15_129, 16, 1, &text).into()
}

fn check_permission(cx: &Cx<'_>) -> Result<(), Stop> {
    if cx.session.identity.rights.has_of_server(&cx.session.catalog, "ALTER SETTINGS") {
        return Ok(());
    }
    Err(Msg::NoPermissionForAction.into())
}

/// RECONFIGURE: makes the changed settings effective.
///
/// # Errors
/// 5812 without the permission ALTER SETTINGS.
pub fn reconfigure(cx: &mut Cx<'_>) -> Result<(), Stop> {
    if !cx.session.identity.rights.has_of_server(&cx.session.catalog, "ALTER SETTINGS") {
        let text = "You do not have permission to run the RECONFIGURE statement.";
        return Err(Error::custom(5_812, 14, 1, text).into());
    }
    let settings = cx.session.catalog.settings;
    let numbers = [
        settings.degree_max,
        settings.cost_threshold,
        settings.polybase_export,
        settings.recovery_interval,
        settings.default_language,
        settings.blocked_threshold,
    ];
    let is_other = numbers.iter().any(|number| number.set != number.in_use);
    if is_other || settings.show_advanced != settings.advanced_in_use {
        cx.session.instance.catalog.change(|catalog| {
            let settings = &mut catalog.settings;
            settings.advanced_in_use = settings.show_advanced;
            let Settings {
                degree_max,
                cost_threshold,
                polybase_export,
                recovery_interval,
                default_language,
                blocked_threshold,
                ..
            } = settings;
            let all = [
                degree_max,
                cost_threshold,
                polybase_export,
                recovery_interval,
                default_language,
                blocked_threshold,
            ];
            for number in all {
                number.in_use = number.set;
            }
            Ok(())
        })?;
        cx.session.refresh_catalog();
    }
    if let Some(hz) = settings.sampling_rate_hz {
        let accounts = cx.session.instance.machine.accounts();
        if accounts.sampler().rate_hz() != hz {
            accounts.set_sampling_rate(hz);
        }
    }
    Ok(())
}

static LIST: TextProcedure = TextProcedure {
    name: "sp_configure",
    parameters: &[],
    text: "
SELECT c.name, CAST(c.minimum AS int) AS minimum, CAST(c.maximum AS int) AS maximum,
    CAST(c.value AS int) AS config_value, CAST(c.value_in_use AS int) AS run_value
FROM sys.configurations AS c
WHERE c.is_advanced = 0 OR EXISTS (SELECT * FROM sys.configurations AS a WHERE a.configuration_id = 518 AND a.value_in_use = 1)
ORDER BY c.name",
};

static ONE: TextProcedure = TextProcedure {
    name: "sp_configure",
    parameters: &[("@name", "nvarchar(35)")],
    text: "
SELECT c.name, CAST(c.minimum AS int) AS minimum, CAST(c.maximum AS int) AS maximum,
    CAST(c.value AS int) AS config_value, CAST(c.value_in_use AS int) AS run_value
FROM sys.configurations AS c WHERE c.name = @name",
};
