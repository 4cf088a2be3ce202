//! Login: checks name and password, chooses the database, and sets the session's initial options.
//!
//! Failed logins are counted and delayed by `session::instance::login_failures`; the tokens of the answer are made in
//! `server/connection/login.rs`.

use std::sync::Arc;

use types::{Error, Language, Msg, Value};

use crate::catalog::name::Name;
use crate::catalog::{Catalog, Database, Login, Weakness, password, weakness};
use crate::session::{LoginRequest, Options, SessionState};
use ::catalog::security::Rights;
use ::ddl::user_access;
use ::session::accounting::Accounting;
use ::session::connection::{Connection, Pooled};
use ::session::context::Identity;
use ::session::event::emit;
use ::session::instance::{Answer, Instance};

/// Reasons for a failed login: the states of error 18456 in the server's log. The client gets state
/// 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoginFailure {
    /// State 5: there is no such login.
    UnknownLogin = 5,
    /// State 8: the password is wrong.
    WrongPassword = 8,
    /// State 1, which says nothing: only sysadmin may use the dedicated admin connection.
    NotAdministrator = 1,
    /// State 38: the requested database can't be opened.
    UnknownDatabase = 38,
    /// State 40: the login's default database can't be opened.
    UnknownDefault = 40,
}

impl LoginFailure {
    fn error(self, user: &str) -> Error {
        Error::from(Msg::LoginFailed(user)).with_state(self as u8).at_line(1)
    }
}

fn no_database(name: &str, user: &str) -> Vec<Error> {
    vec![
        Error::from(Msg::CannotOpenDatabase(name)).at_line(1),
        LoginFailure::UnknownDatabase.error(user),
    ]
}

/// Returns the errors if the default database does not exist or does not admit the login.
fn no_default(user: &str) -> Vec<Error> {
    vec![Error::from(Msg::CannotOpenDefault).at_line(1), LoginFailure::UnknownDefault.error(user)]
}

/// The result of checking name and password, and the time of the answer.
pub struct Admission {
    /// When the answer is to be sent: failed logins are delayed.
    pub answer: Answer,
    /// The errors for a refused login; `None` if it is admitted.
    pub refused: Option<Vec<Error>>,
}

/// Checks name and password, and counts failures.
pub(super) fn admit(instance: &Arc<Instance>, request: &LoginRequest) -> Admission {
    let catalog = instance.catalog.load();
    look_up(instance, &request.user, catalog.version);
    let failure = check_password(&catalog, request).err();
    let state = failure.map(|failure| failure as u8);
    let address = &request.client.address.0;
    let answer = instance.login_failures.admit(&request.user, address, state);
    let failure = failure.or((answer == Answer::Refused).then_some(LoginFailure::WrongPassword));
    let refused = failure.map(|failure| {
        let error = failure.error(&request.user);
        emit::error::login_failed(&error);
        vec![error]
    });
    Admission { answer, refused }
}

/// Makes the state of an admitted session.
pub(super) fn open(
    instance: &Arc<Instance>,
    request: LoginRequest,
) -> Result<SessionState, Vec<Error>> {
    enter(instance, request).inspect_err(|errors| {
        instance.login_failures.count_other();
        errors.iter().for_each(emit::error::login_failed);
    })
}

fn enter(instance: &Arc<Instance>, request: LoginRequest) -> Result<SessionState, Vec<Error>> {
    let catalog = instance.catalog.load();
    let login = catalog.logins.get(&Name::new(&request.user));
    let login = login.ok_or_else(|| vec![LoginFailure::UnknownLogin.error(&request.user)])?;
    check_account(login, &request)?;
    if request.client.is_admin && !login.sysadmin {
        return Err(vec![LoginFailure::NotAdministrator.error(&request.user)]);
    }
    let rights = Rights::of(&catalog, &login.name);
    let database = first_database(&catalog, login, &rights, &request)?;
    let language = first_language(login, &request)?;
    let cancel = Arc::new(sos::park::Cancel::new());
    let accounting = Accounting::new(instance, &cancel, database.id);
    let database: Arc<str> = database.name.as_str().into();
    let id = instance.sessions.open_id();
    let connection = Connection {
        id,
        original_login: login.name.as_str().into(),
        login_database: Arc::clone(&database),
        login_options: Arc::new(login_options(language)),
        login_time: login_time(),
        pooled: Pooled::now(),
        client: request.client,
        cancel,
        next_descriptor: 0,
        trace_flags: Vec::new(),
        cursors: ::session::cursor::shown_cursors(),
    };
    Ok(SessionState {
        instance: Arc::clone(instance),
        connection,
        accounting,
        identity: Identity::at_login(login.name.clone(), rights, database, &catalog),
        options: login_options(language),
        isolation: crate::session::IsolationLevel::ReadCommitted,
        transaction: Default::default(),
        locks: instance.store.locks().open(crate::session::session_number(id)),
        temp: Default::default(),
        held: Default::default(),
        last: Default::default(),
        request: Default::default(),
        caches: Default::default(),
        mars: None,
        catalog,
    })
}

/// Checks that the session may enter the database that it logged in to.
pub(super) fn check_entry(state: &SessionState) -> Result<(), Vec<Error>> {
    let database = state.catalog.database(&state.identity.database);
    let checked = database.map(|database| user_access::check_entry(state, database));
    match checked {
        None | Some(Ok(())) => Ok(()),
        Some(Err(_)) => Err(no_database(&state.identity.database, &state.identity.login)),
    }
}

/// Checks the account of a login whose password is right: disabled, expired, or to be changed. A
/// client that sends a new password with the old one satisfies the last two.
fn check_account(login: &Login, request: &LoginRequest) -> Result<(), Vec<Error>> {
    let user = &request.user;
    let changes = request.new_password.is_some();
    let policy = &login.policy;
    let refused = if login.disabled {
        Msg::LoginDisabled(user)
    } else if policy.must_change && !changes {
        Msg::LoginMustChangePassword(user)
    } else if !changes && policy.has_expired(crate::catalog::clock::clock().days) {
        Msg::LoginPasswordExpired(user)
    } else {
        return Ok(());
    };
    Err(vec![Error::from(refused).at_line(1)])
}

/// Returns the first database of a session: the requested one, or the login's default.
fn first_database<'c>(
    catalog: &'c Catalog,
    login: &Login,
    rights: &Rights,
    request: &LoginRequest,
) -> Result<&'c Arc<Database>, Vec<Error>> {
    let by_default = request.database.is_empty();
    let name = if by_default { &login.default_database } else { &request.database };
    let found = catalog.database(name).filter(|database| rights.enters(database));
    found.ok_or_else(|| match by_default {
        true => no_default(&request.user),
        false => no_database(name, &request.user),
    })
}

/// Sets the password that the client asked for with LOGIN7 (fChangePassword). Without a policy,
/// only an empty password is refused.
///
/// # Errors
/// 18464 and 18466, and 18456 if the old password has been changed since.
pub(super) fn change_password(
    state: &SessionState,
    old: &str,
    new: &str,
) -> Result<(), Vec<Error>> {
    let user = &state.identity.login;
    let checked = state.catalog.logins.get(&Name::new(user)).is_some_and(|l| l.policy.checked);
    let weak = if checked { weakness(user, new) } else { None };
    let refused = match weak {
        None if !new.is_empty() => None,
        None | Some(Weakness::TooShort) => Some(Msg::NewPasswordTooShort(user)),
        Some(Weakness::TooSimple) => Some(Msg::NewPasswordTooSimple(user)),
    };
    if let Some(refused) = refused {
        return Err(vec![Error::from(refused).at_line(1)]);
    }
    let hash = password::hash(new);
    let changed = state.instance.catalog.change(|catalog| {
        let login = catalog.logins.get_mut(&Name::new(user));
        match login.filter(|login| password::matches(&login.password_hash, old)) {
            Some(login) => {
                Arc::make_mut(login).set_password(hash);
                Ok(())
            }
            None => Err(LoginFailure::WrongPassword.error(user)),
        }
    });
    changed.map_err(|error| vec![error])
}

/// Looks up the login in shared metadata tables, in the lock modes that measure the cost of that.
fn look_up(instance: &Instance, user: &str, version: u64) {
    if let Some(metadata) = &instance.metadata {
        metadata.login(user, version);
    }
}

/// Returns the language of a session: the requested one, or the login's default.
///
/// # Errors
/// 2740 for an unknown name.
fn first_language(login: &Login, request: &LoginRequest) -> Result<Language, Vec<Error>> {
    let name = &request.language;
    if name.is_empty() {
        return Ok(login.default_language);
    }
    Language::by_name(name).ok_or_else(|| vec![Error::from(Msg::SetLanguage(name)).at_line(1)])
}

/// Checks the password. Takes the same time for an unknown login as for a known one.
fn check_password(catalog: &Catalog, request: &LoginRequest) -> Result<(), LoginFailure> {
    const NO_HASH: [u8; 68] = [0; 68];
    let login = catalog.logins.get(&Name::new(&request.user));
    let hash = login.map_or(&NO_HASH[..], |login| &login.password_hash);
    let matches = password::matches(hash, &request.password);
    match (login, matches) {
        (None, _) => Err(LoginFailure::UnknownLogin),
        (Some(_), false) => Err(LoginFailure::WrongPassword),
        (Some(_), true) => Ok(()),
    }
}

/// The ANSI options, all ON. SQL Server sets them for ODBC and OLE DB logins; other modern drivers
/// set them themselves, and older ones send SET statements if they need other values.
fn login_options(language: Language) -> Options {
    Options {
        language,
        date_format: language.date_format(),
        date_first: language.date_first(),
        quoted_identifier: true,
        ansi_nulls: true,
        ansi_null_default: true,
        ansi_padding: true,
        ansi_warnings: true,
        concat_null_yields_null: true,
        ..Options::default()
    }
}

fn login_time() -> Value {
    crate::catalog::clock::clock().to_value(&types::DataType::DateTime).unwrap_or(Value::Null)
}
