//! The encoding of what belongs to the server: logins, messages, settings.

use catalog::{BackupFacts, Login, PasswordPolicy, SERVER_ROLES, Settings, UserMessage};
use types::Language;

use crate::code::{Binary, Code, Cx, Fields, Result, known, put_field, record};

record! { PasswordPolicy { 1 checked, 2 expires, 3 must_change, 4 set } }
record! { UserMessage { 1 severity, 2 text, 3 logged } }

impl Code for BackupFacts {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        Code::get(bytes, cx).map(Self)
    }
}

impl Code for Login {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            name,
            password_hash,
            sid,
            principal_id,
            default_database,
            sysadmin,
            roles,
            disabled,
            policy,
            created,
            modified,
            default_language,
        } = self;
        put_field(out, 1, name);
        put_field(out, 2, &Binary(password_hash.clone()));
        put_field(out, 3, &Binary(sid.clone()));
        put_field(out, 4, principal_id);
        put_field(out, 5, default_database);
        put_field(out, 6, sysadmin);
        put_field(out, 7, &roles.iter().map(|role| (*role).to_owned()).collect::<Vec<_>>());
        put_field(out, 8, disabled);
        put_field(out, 9, policy);
        put_field(out, 10, created);
        put_field(out, 11, modified);
        put_field(out, 12, &Some(i32::from(default_language.id())).filter(|id| *id != 0));
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let name = fields.take(1, cx)?;
        let (hash, sid): (Binary, Binary) = (fields.take(2, cx)?, fields.take(3, cx)?);
        let (principal_id, default_database) = (fields.take(4, cx)?, fields.take(5, cx)?);
        let (sysadmin, roles) = (fields.take(6, cx)?, fields.take::<Vec<String>>(7, cx)?);
        let (disabled, policy) = (fields.take(8, cx)?, fields.take(9, cx)?);
        let (created, modified) = (fields.take(10, cx)?, fields.take(11, cx)?);
        // A login of an earlier version has no such field, and us_english.
        let language = fields.take::<Option<i32>>(12, cx)?.unwrap_or(0);
        fields.end()?;
        let roles = roles.iter().map(|role| known(SERVER_ROLES, role));
        Ok(Self {
            name,
            password_hash: hash.0,
            sid: sid.0,
            principal_id,
            default_database,
            sysadmin,
            roles: roles.collect::<Result<_>>()?,
            disabled,
            policy,
            created,
            modified,
            default_language: Language::by_id(language).unwrap_or_default(),
        })
    }
}

/// The configured values are kept. A start uses them, whether RECONFIGURE has run or not.
impl Code for Settings {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            show_advanced,
            advanced_in_use: _,
            // RECONFIGURE gives it to the sampler, whose rate is an option of the start.
            sampling_rate_hz: _,
            degree_max,
            cost_threshold,
            polybase_export,
            recovery_interval,
            default_language,
            blocked_threshold,
        } = self;
        put_field(out, 1, show_advanced);
        put_field(out, 2, &degree_max.set);
        put_field(out, 3, &cost_threshold.set);
        put_field(out, 4, &polybase_export.set);
        put_field(out, 5, &Some(recovery_interval.set).filter(|minutes| *minutes != 0));
        put_field(out, 6, &Some(default_language.set).filter(|id| *id != 0));
        put_field(out, 7, &Some(blocked_threshold.set).filter(|seconds| *seconds != 0));
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let show_advanced = fields.take(1, cx)?;
        let mut settings =
            Self { show_advanced, advanced_in_use: show_advanced, ..Self::default() };
        let Self { degree_max, cost_threshold, polybase_export, .. } = &mut settings;
        let numbers = [degree_max, cost_threshold, polybase_export];
        for (tag, setting) in (2..).zip(numbers) {
            setting.set = fields.take(tag, cx)?;
            setting.in_use = setting.set;
        }
        let Self { recovery_interval, default_language, blocked_threshold, .. } = &mut settings;
        for (tag, setting) in (5..).zip([recovery_interval, default_language, blocked_threshold]) {
            setting.set = fields.take::<Option<i32>>(tag, cx)?.unwrap_or(0);
            setting.in_use = setting.set;
        }
        fields.end()?;
        Ok(settings)
    }
}
