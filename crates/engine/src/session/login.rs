//! Login: name, password, database; and the options that a session begins with.

use std::sync::Arc;

use types::{Bytes, Error, Msg, Value};

use crate::catalog::name::Name;
use crate::catalog::security::Copies;
use crate::catalog::{Catalog, Database, Login, Weakness, password, weakness};
use crate::session::cache::ProgramCache;
use crate::session::state::SessionScratch;
use crate::session::{LoginRequest, Options, SessionState};
use crate::stats::{Live, Meter};
use ::catalog::security::Rights;
use ::ddl::user_access;
use ::session::event::emit;
use ::session::instance::{Answer, Instance, SessionCounters as Counters};

/// Why a login fails: the states of error 18456, as the server's log has them. The client is told
/// state 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoginFailure {
    /// 5: no such login.
    UnknownLogin = 5,
    /// 8: wrong password.
    WrongPassword = 8,
    /// 38: the database named can't be opened.
    UnknownDatabase = 38,
    /// 40: the login's own database can't be opened.
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

/// The login's own database is not there, or does not let it in.
fn no_default(user: &str) -> Vec<Error> {
    vec![Error::from(Msg::CannotOpenDefault).at_line(1), LoginFailure::UnknownDefault.error(user)]
}

/// Whether name and password are right, and when the client is answered.
pub struct Admission {
    /// When the answer is due.
    pub answer: Answer,
    /// The errors of who is refused.
    pub refused: Option<Vec<Error>>,
}

/// Checks name and password, and counts those that are wrong.
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

/// Makes the session's state of who was admitted.
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
    let rights = Rights::of(&catalog, &login.name);
    let database = first_database(&catalog, login, &rights, &request)?;
    check_language(&request.language)?;
    let (cancel, counters) = (Arc::new(sos::park::Cancel::new()), Arc::<Counters>::default());
    let database_counters = counters.of_database(database.id);
    let database: Arc<str> = database.name.as_str().into();
    let (login, id) = (login.name.clone(), instance.sessions.open_id());
    Ok(SessionState {
        definitions: None,
        rights,
        api_cursors: Vec::new(),
        id,
        locks: instance.store.locks().open(crate::session::session_number(id)),
        instance: Arc::clone(instance),
        catalog,
        original_login: login.as_str().into(),
        contexts: Default::default(),
        login,
        login_database: Arc::clone(&database),
        database,
        login_options: Arc::new(login_options()),
        options: login_options(),
        isolation: crate::session::IsolationLevel::ReadCommitted,
        client: request.client,
        transaction: Default::default(),
        next_descriptor: 0,
        temp: Default::default(),
        cursors: Vec::new(),
        fetch_status: -1,
        cursor_rows: 0,
        last_error: 0,
        row_count: 0,
        last_identity: None,
        scope_identity: None,
        identity_insert: None,
        context_info: Bytes::new(),
        trace_flags: Vec::new(),
        text_pointers: crate::session::pointer::TextPointers::default(),
        session_context: Vec::new(),
        nest_level: 0,
        trigger_level: 0,
        event_data: None,
        in_rpc: false,
        inserting_call: false,
        saved_options: None,
        try_depth: 0,
        handled_errors: Vec::new(),
        line: 0,
        tokens_sent: 0,
        cancel: Arc::clone(&cancel),
        login_time: login_time(),
        pooled: crate::session::state::Pooled::now(),
        pending_bulk: None,
        documents: Vec::new(),
        prepared: Vec::new(),
        counters,
        database_counters,
        programs: ProgramCache::default(),
        compile_ns: 0,
        grant: Arc::new(::executor::grant::Grant::new(&instance.workspace, &cancel)),
        books: Arc::default(),
        meter: Meter::new(Arc::new(Live::new(sos::clock::now_ticks()))),
        scratch: SessionScratch::default(),
        copies: Copies::default(),
    })
}

/// Whether a session may be in the database that it has logged in to.
pub(super) fn check_entry(state: &SessionState) -> Result<(), Vec<Error>> {
    let database = state.catalog.database(&state.database);
    let checked = database.map(|database| user_access::check_entry(state, database));
    match checked {
        None | Some(Ok(())) => Ok(()),
        Some(Err(_)) => Err(no_database(&state.database, &state.login)),
    }
}

/// Checks what has been said about a login whose password is right: disabled, expired, to be changed. Who gives a new
/// password with the old one does what is asked.
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

/// The database that a session begins in: the one that it asks for, or its login's.
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

/// Gives the login the password that its client asked for: LOGIN7 with fChangePassword. Without a policy the
/// only password that is refused is none.
///
/// # Errors
/// 18464 and 18466, and 18456 where the old password has been changed meanwhile.
pub(super) fn change_password(
    state: &SessionState,
    old: &str,
    new: &str,
) -> Result<(), Vec<Error>> {
    let user = &state.login;
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

/// Looks a login up as a server does that keeps metadata in shared tables.
fn look_up(instance: &Instance, user: &str, version: u64) {
    if let Some(metadata) = &instance.metadata {
        metadata.login(user, version);
    }
}

fn check_language(language: &str) -> Result<(), Vec<Error>> {
    if language.is_empty() || ::catalog::options::is_known_language(language) {
        return Ok(());
    }
    Err(vec![Error::from(Msg::NotSupported(::catalog::options::OTHER_LANGUAGES)).at_line(1)])
}

/// Takes as long for a login that there is not as for one that there is.
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

/// The ANSI options: SQL Server gives them to ODBC and OLE DB logins, every other modern driver sets
/// them itself, and an old one that wants something else says so.
fn login_options() -> Options {
    Options {
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
