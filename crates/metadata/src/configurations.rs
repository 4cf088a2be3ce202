//! The instance's settings that have an effect here, as `sys.configurations` and sp_configure show
//! them.

use ::catalog::Catalog;
use ::session::instance::Instance;

/// One setting: a row of `sys.configurations`.
pub struct Setting {
    /// `configuration_id`, SQL Server's number of the setting.
    pub id: i32,
    /// `name`, as sp_configure takes it.
    pub name: &'static str,
    /// `value`: what sp_configure has set it to.
    pub value: i32,
    /// `value_in_use`: the value in effect now.
    pub in_use: i32,
    /// `minimum`: the least value that sp_configure accepts.
    pub minimum: i32,
    /// `maximum`: the greatest value that sp_configure accepts.
    pub maximum: i32,
    /// `description`, in SQL Server's words.
    pub description: &'static str,
    /// `is_dynamic`: whether RECONFIGURE makes a change effective without a restart.
    pub dynamic: bool,
    /// `is_advanced`: whether sp_configure shows it only with 'show advanced options' on.
    pub advanced: bool,
}

/// Returns all settings, ordered by `configuration_id`.
pub fn settings(instance: &Instance, catalog: &Catalog) -> Vec<Setting> {
    let mut all = vec![memory(instance)];
    all.extend(fixed());
    all.extend(pending(catalog));
    let rate = |hz: u32| i32::try_from(hz).unwrap_or(i32::MAX);
    let rate_in_use = instance.machine.accounts().sampler().rate_hz();
    all.push(Setting {
        id: SAMPLING_RATE,
        name: "sampling rate (Hz)",
        value: rate(catalog.settings.sampling_rate_hz.unwrap_or(rate_in_use)),
        in_use: rate(rate_in_use),
        minimum: 0,
        maximum: rate(sos::sampler::RATE_HZ_MAX),
        description: "Call stacks sampled per second of CPU time of each thread; 0 for none",
        dynamic: true,
        advanced: true,
    });
    all.push(Setting {
        id: SHOW_ADVANCED,
        name: "show advanced options",
        value: i32::from(catalog.settings.show_advanced),
        in_use: i32::from(catalog.settings.advanced_in_use),
        minimum: 0,
        maximum: 1,
        description: "show advanced options",
        dynamic: true,
        advanced: false,
    });
    all.sort_by_key(|setting| setting.id);
    all
}

/// Returns the settings whose effect is always the same here: sp_configure shows them and takes no other value.
fn fixed() -> [Setting; 5] {
    let of = |id, name, value, (minimum, maximum), description| Setting {
        id,
        name,
        value,
        in_use: value,
        minimum,
        maximum,
        description,
        dynamic: true,
        advanced: true,
    };
    let triggers = "Allow triggers to be invoked within triggers";
    let noise = "Transform noise words for full-text query";
    [
        Setting { advanced: false, ..of(115, "nested triggers", 1, (0, 1), triggers) },
        // There is no full-text search, so neither its language nor its noise words have an effect.
        of(1_126, "default full-text language", 1_033, (0, i32::MAX), "default full-text language"),
        of(1_127, "two digit year cutoff", 2_049, (1_753, 9_999), "two digit year cutoff"),
        // The bits of @@OPTIONS that a new session starts with beside those that its driver sets.
        Setting { advanced: false, ..of(1_534, "user options", 0, (0, 32_767), "user options") },
        of(1_555, "transform noise words", 0, (0, 1), noise),
    ]
}

fn memory(instance: &Instance) -> Setting {
    let memory_mb = instance.config.memory_max / (1 << 20);
    Setting {
        id: 1_544,
        name: "max server memory (MB)",
        value: i32::try_from(memory_mb).unwrap_or(i32::MAX),
        in_use: i32::try_from(memory_mb).unwrap_or(i32::MAX),
        minimum: 128,
        maximum: i32::MAX,
        description: "Maximum size of server memory (MB)",
        dynamic: true,
        advanced: true,
    }
}

fn pending(catalog: &Catalog) -> [Setting; 6] {
    [
        Setting {
            id: RECOVERY_INTERVAL,
            name: "recovery interval (min)",
            value: catalog.settings.recovery_interval.set,
            in_use: catalog.settings.recovery_interval.in_use,
            minimum: 0,
            maximum: 32_767,
            description: "Maximum recovery interval in minutes",
            dynamic: true,
            advanced: true,
        },
        Setting {
            id: DEFAULT_LANGUAGE,
            name: "default language",
            value: catalog.settings.default_language.set,
            in_use: catalog.settings.default_language.in_use,
            minimum: 0,
            maximum: 9_999,
            description: "default language",
            dynamic: true,
            advanced: false,
        },
        Setting {
            id: DEGREE_MAX,
            name: "max degree of parallelism",
            value: catalog.settings.degree_max.set,
            in_use: catalog.settings.degree_max.in_use,
            minimum: 0,
            maximum: 32_767,
            description: "maximum degree of parallelism",
            dynamic: true,
            advanced: true,
        },
        Setting {
            id: COST_THRESHOLD,
            name: "cost threshold for parallelism",
            value: catalog.settings.cost_threshold.set,
            in_use: catalog.settings.cost_threshold.in_use,
            minimum: 0,
            maximum: 32_767,
            description: "cost threshold for parallelism",
            dynamic: true,
            advanced: true,
        },
        Setting {
            id: BLOCKED_THRESHOLD,
            name: "blocked process threshold (s)",
            value: catalog.settings.blocked_threshold.set,
            in_use: catalog.settings.blocked_threshold.in_use,
            minimum: 0,
            maximum: 86_400,
            description: "Blocked process reporting threshold",
            dynamic: true,
            advanced: true,
        },
        Setting {
            id: POLYBASE_EXPORT,
            name: "allow polybase export",
            value: catalog.settings.polybase_export.set,
            in_use: catalog.settings.polybase_export.in_use,
            minimum: 0,
            maximum: 1,
            description: "Allow INSERT into a Hadoop external table",
            dynamic: true,
            advanced: false,
        },
    ]
}

/// `configuration_id` of 'default language'.
pub const DEFAULT_LANGUAGE: i32 = 124;
/// `configuration_id` of 'cost threshold for parallelism'.
pub const COST_THRESHOLD: i32 = 1_538;
/// `configuration_id` of 'max degree of parallelism'.
pub const DEGREE_MAX: i32 = 1_539;
/// `configuration_id` of 'recovery interval (min)'.
pub const RECOVERY_INTERVAL: i32 = 101;
/// `configuration_id` of 'blocked process threshold (s)'.
pub const BLOCKED_THRESHOLD: i32 = 1_569;
/// `configuration_id` of 'allow polybase export'.
pub const POLYBASE_EXPORT: i32 = 16_397;
/// `configuration_id` of 'sampling rate (Hz)', which SQL Server lacks: above all of its numbers.
pub const SAMPLING_RATE: i32 = 100_001;
/// `configuration_id` of 'show advanced options'.
pub const SHOW_ADVANCED: i32 = 518;
