//! CREATE LOGIN, ALTER LOGIN and DROP LOGIN.
//!
//! The catalog's `password_policy.rs` has the rules for passwords; `login.rs` of the crate
//! `session` applies at login what is set here.

use std::sync::Arc;

use tsql::ast::{self, LoginOption, NamedOption, OptionValue};
use types::{Error, Language, Msg, Result, Value};

use super::principal;
use ::catalog::name::Name;
use ::catalog::{Class, Database, Login, PasswordPolicy, Permission, password, weakness};
use ::compile::refuse;
use ::compile::table::created;
use ::executor::Cx;

/// Lowest `principal_id` of logins that users create.
const LOGIN_FIRST: i32 = 267;
const SID_BYTES: usize = 16;

/// A password as the statement specifies it.
enum Given {
    Clear(String),
    Hash(Vec<u8>),
}

/// The options of a statement.
#[derive(Default)]
struct Wanted {
    password: Option<Given>,
    must_change: bool,
    unlock: bool,
    check_policy: Option<bool>,
    check_expiration: Option<bool>,
    default_database: Option<String>,
    default_language: Option<Language>,
    sid: Option<Vec<u8>>,
}

impl Wanted {
    fn read(options: &[LoginOption], cx: &Cx<'_>) -> Result<Self> {
        let mut wanted = Self::default();
        for option in options {
            match option {
                LoginOption::Password { password, hashed, must_change, unlock, .. } => {
                    let given = if *hashed { hash(password, cx)? } else { clear(password, cx)? };
                    wanted.password = Some(given);
                    wanted.must_change = *must_change;
                    wanted.unlock = *unlock;
                }
                LoginOption::Other(option) => wanted.read_other(option, cx)?,
            }
        }
        Ok(wanted)
    }

    fn read_other(&mut self, option: &NamedOption, cx: &Cx<'_>) -> Result<()> {
        match option.name.as_ref() {
            "CHECK_POLICY" => self.check_policy = Some(is_on(option)?),
            "CHECK_EXPIRATION" => self.check_expiration = Some(is_on(option)?),
            "DEFAULT_DATABASE" => {
                let name = option.value.word().ok_or(Msg::SyntaxNear("DEFAULT_DATABASE"))?;
                let found = cx.session.catalog.database(name);
                let found = found.ok_or(Msg::DatabaseNotFoundFor(name))?;
                self.default_database = Some(found.name.clone());
            }
            "DEFAULT_LANGUAGE" => self.default_language = Some(language(&option.value)?),
            "SID" => self.sid = Some(sid(option)?),
            other => return refuse(&format!("the login option {other}")),
        }
        Ok(())
    }

    /// Returns the password policy: the login's previous one with the changes of the statement. The
    /// default of CREATE LOGIN is checked, without expiration.
    ///
    /// # Errors
    /// 15122, 15128 and 15099 for options that contradict each other.
    fn policy(&self, before: PasswordPolicy) -> Result<PasswordPolicy> {
        let checked = self.check_policy.unwrap_or(before.checked);
        // Turning CHECK_POLICY on turns on CHECK_EXPIRATION too; turning it off turns both off.
        let by_default = match self.check_policy {
            Some(true) => before.expires || !before.checked,
            Some(false) => false,
            None => before.expires,
        };
        let expires = self.check_expiration.unwrap_or(by_default);
        let must_change = self.must_change || (before.must_change && self.password.is_none());
        let turned_off = self.check_policy == Some(false) || self.check_expiration == Some(false);
        if must_change && turned_off {
            return Err(Msg::PolicyWhileMustChange.into());
        }
        if expires && !checked {
            return Err(Msg::ExpirationNeedsPolicy.into());
        }
        if must_change && !expires {
            return Err(Msg::MustChangeNeedsExpiration.into());
        }
        Ok(PasswordPolicy { checked, expires, must_change, set: before.set })
    }

    /// Returns the hash of the password, after checking it against the policy. A password that is
    /// given as HASHED can't be checked.
    ///
    /// # Errors
    /// 15116 and 15118 if the password violates the policy.
    fn checked_hash(&mut self, login: &str, policy: PasswordPolicy) -> Result<Option<Vec<u8>>> {
        Ok(match self.password.take() {
            None => None,
            Some(Given::Hash(hash)) => Some(hash),
            Some(Given::Clear(clear)) => {
                let weak = if policy.checked { weakness(login, &clear) } else { None };
                match weak {
                    Some(weakness) => return Err(weakness.message().into()),
                    None => Some(password::hash(&clear)),
                }
            }
        })
    }
}

/// Returns the language of DEFAULT_LANGUAGE: a name, an alias, a `langid` or an LCID.
///
/// # Errors
/// 15033 if there is none.
fn language(value: &OptionValue) -> Result<Language> {
    let found = match value {
        OptionValue::Literal(ast::Literal::Int(id)) => {
            let id = *id;
            Language::by_id(id).or_else(|| Language::by_lcid(id))
        }
        value => value.word().and_then(Language::by_name),
    };
    found.ok_or_else(|| {
        let shown = match value {
            OptionValue::Literal(ast::Literal::Int(id)) => id.to_string(),
            value => value.word().unwrap_or_default().to_owned(),
        };
        let text = format!("'{shown}' is not a valid official language name.");
        Error::custom(15033, 16, 1, &text)
    })
}

fn is_on(option: &NamedOption) -> Result<bool> {
    match option.value {
        OptionValue::On => Ok(true),
        OptionValue::Off => Ok(false),
        _ => Err(Msg::SyntaxNear(&option.written).into()),
    }
}

/// Parses SID, the security id of the new login: that of a login of another server, so that users
/// of copied databases match it.
fn sid(option: &NamedOption) -> Result<Vec<u8>> {
    match &option.value {
        OptionValue::Literal(ast::Literal::Binary(sid)) if sid.len() == SID_BYTES => {
            Ok(sid.to_vec())
        }
        _ => Err(Error::custom(15419, 16, 1, "Supplied parameter sid should be binary(16).")),
    }
}

fn constant(password: &ast::Expr, cx: &Cx<'_>) -> Result<Value> {
    let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
    let bound = ::binder::expr::bind_expr(&mut context.binder(), password)?;
    bound.as_constant().cloned().ok_or_else(|| Msg::SyntaxNear("PASSWORD").into())
}

fn clear_text(password: &ast::Expr, cx: &Cx<'_>) -> Result<String> {
    let text = constant(password, cx)?.as_text(cx.session.collation());
    text.ok_or_else(|| Msg::SyntaxNear("PASSWORD").into())
}

fn clear(password: &ast::Expr, cx: &Cx<'_>) -> Result<Given> {
    clear_text(password, cx).map(Given::Clear)
}

/// Parses a HASHED password, copied from another server.
///
/// # Errors
/// 15021 if it is not a hash, 40517 for a hash made before SQL Server 2012.
fn hash(password: &ast::Expr, cx: &Cx<'_>) -> Result<Given> {
    const BEFORE_2012: [u8; 2] = [1, 0];
    let Value::VarBinary(hash) = constant(password, cx)? else {
        return Err(Msg::ParameterValue("PASSWORD").into());
    };
    if hash.starts_with(&BEFORE_2012) {
        return refuse("password hashes of version 0x0100");
    }
    match password::is_hash(&hash) {
        true => Ok(Given::Hash(hash.to_vec())),
        false => Err(Msg::ParameterValue("PASSWORD").into()),
    }
}

/// Creates a login.
///
/// # Errors
/// 15025 if the name and 15433 if the SID is taken; the errors of its options.
pub(crate) fn create(name: &str, options: &[LoginOption], cx: &mut Cx<'_>) -> Result<()> {
    check_create_options(options)?;
    let mut wanted = Wanted::read(options, cx)?;
    let policy = wanted.policy(PasswordPolicy { checked: true, ..PasswordPolicy::none() })?;
    let Some(password_hash) = wanted.checked_hash(name, policy)? else {
        return Err(Msg::SyntaxNear("LOGIN").into());
    };
    let sid = wanted.sid.unwrap_or_else(|| sos::sys::random_bytes::<SID_BYTES>().to_vec());
    let default_database = wanted.default_database.unwrap_or_else(|| "master".to_owned());
    let by_default = cx.session.catalog.settings.default_language.in_use;
    let default_language = wanted.default_language.or_else(|| Language::by_id(by_default));
    let default_language = default_language.unwrap_or_default();
    cx.session.change_catalog(|catalog| {
        let key = Name::new(name);
        if catalog.logins.contains_key(&key) {
            return Err(Msg::LoginExists(name).into());
        }
        if catalog.logins.values().any(|login| login.sid == sid) {
            return Err(Error::custom(15433, 16, 1, "Supplied parameter sid is in use."));
        }
        let highest = catalog.logins.values().map(|l| l.principal_id).max();
        let now = created();
        let login = Login {
            name: name.to_owned(),
            password_hash,
            sid,
            principal_id: highest.map_or(LOGIN_FIRST, |id| (id + 1).max(LOGIN_FIRST)),
            default_database,
            default_language,
            sysadmin: false,
            roles: Vec::new(),
            disabled: false,
            policy,
            created: now.clone(),
            modified: now,
        };
        catalog.logins.insert(key, Arc::new(login));
        Ok(())
    })
}

/// Refuses UNLOCK and OLD_PASSWORD, which belong to ALTER LOGIN.
fn check_create_options(options: &[LoginOption]) -> Result<()> {
    for option in options {
        let LoginOption::Password { unlock, old_password, .. } = option else { continue };
        if *unlock {
            return Err(Msg::SyntaxNear("UNLOCK").into());
        }
        if old_password.is_some() {
            return Err(Msg::SyntaxNear("OLD_PASSWORD").into());
        }
    }
    Ok(())
}

/// Changes a login: password, options or name.
///
/// # Errors
/// 15151 if it does not exist or the old password is wrong; the errors of its options.
pub(crate) fn alter(name: &str, options: &[LoginOption], cx: &mut Cx<'_>) -> Result<()> {
    let mut wanted = Wanted::read(options, cx)?;
    if wanted.sid.is_some() {
        return Err(Msg::SyntaxNear("SID").into());
    }
    let Some(login) = cx.session.catalog.logins.get(&Name::new(name)).map(Arc::clone) else {
        return Err(principal::no_principal(name));
    };
    check_old_password(&login, options, cx)?;
    let policy = wanted.policy(login.policy)?;
    if policy.checked && matches!(wanted.password, Some(Given::Hash(_))) {
        return Err(Msg::PasswordTooSimple.into());
    }
    let hash = wanted.checked_hash(&login.name, policy)?;
    change(name, cx, |login| {
        login.policy = policy;
        if let Some(hash) = hash {
            login.set_password(hash);
            login.policy.must_change = policy.must_change;
        }
        if let Some(database) = wanted.default_database {
            login.default_database = database;
        }
        if let Some(language) = wanted.default_language {
            login.default_language = language;
        }
    })?;
    if wanted.unlock || wanted.check_policy == Some(false) {
        cx.session.instance.login_failures.forgive(&login.name);
    }
    Ok(())
}

/// Checks OLD_PASSWORD, if it is given.
///
/// # Errors
/// 15151 for a wrong one, as for a login that does not exist.
fn check_old_password(login: &Login, options: &[LoginOption], cx: &Cx<'_>) -> Result<()> {
    for option in options {
        if let LoginOption::Password { old_password: Some(old), .. } = option
            && !password::matches(&login.password_hash, &clear_text(old, cx)?)
        {
            return Err(Msg::PrincipalNotFound("alter", "login", &login.name).into());
        }
    }
    Ok(())
}

/// Enables or disables a login. Its open sessions continue.
pub(crate) fn set_disabled(name: &str, disabled: bool, cx: &mut Cx<'_>) -> Result<()> {
    change(name, cx, |login| login.disabled = disabled)
}

fn change(name: &str, cx: &mut Cx<'_>, apply: impl FnOnce(&mut Login)) -> Result<()> {
    cx.session.change_catalog(|catalog| {
        let Some(found) = catalog.logins.get_mut(&Name::new(name)) else {
            return Err(principal::no_principal(name));
        };
        let login = Arc::make_mut(found);
        apply(login);
        login.touch();
        Ok(())
    })
}

/// Drops a login; returns false if it does not exist.
pub(crate) fn drop(name: &str, cx: &mut Cx<'_>) -> Result<bool> {
    cx.session.change_catalog(|catalog| {
        if Name::same(name, "sa") {
            return Err(Error::custom(15150, 16, 1, "Cannot drop the login 'sa'."));
        }
        let owns = |database: &Arc<Database>| {
            let dbo = database.principals.get(&Name::new("dbo"));
            dbo.and_then(|dbo| dbo.login.as_deref()).is_some_and(|login| Name::same(login, name))
        };
        if catalog.databases.values().any(owns) {
            return Err(Msg::OwnsDatabases(name).into());
        }
        let Some(login) = catalog.logins.remove(&Name::new(name)) else { return Ok(false) };
        // The id may be reused, so its permissions are removed.
        let id = login.principal_id;
        let is_about = |p: &Permission| p.class == Class::Principal && p.object_id == id;
        catalog.server_permissions.retain(|p| p.principal_id != id && !is_about(p));
        Ok(true)
    })
}
