//! PRELOGIN and LOGIN7: negotiates version and encryption, authenticates the client, and sends the
//! answers that drivers expect.
//!
//! A successful login is answered with ENVCHANGE 1, INFO 5701, ENVCHANGE 7, ENVCHANGE 2, INFO 5703,
//! LOGINACK, ENVCHANGE 4, FEATUREEXTACK if a feature is acknowledged, and DONE. Several drivers
//! fail without the collation.

use engine::instance::Answer;
use engine::session::{Admission, ClientInfo, LoginRequest, Session, Transport};
use sos::sync::Arc;
use sos::sys::Peer;
use sos::wait::WaitType;
use sos::{clock, ledger};
use tds::encryption::{self, EncryptionPolicy, Origin, TlsScope};
use tds::login7::feature;
use tds::packet::{PACKET_SIZE_DEFAULT, negotiated_packet_size};
use tds::sink::Sink;
use tds::{
    Done, DoneKind, DoneStatus, EnvChange, Login7, Message, PacketType, Prelogin, ProtocolError,
    TdsVersion, WireSettings,
};
use types::{Collation, Error, Msg};

use super::channel::Channel;
use super::end::End;
use super::mars::Mux;
use super::request::Open;
use super::scratch::Io;
use super::{Side, Stage};
use crate::log;
use crate::options::Encryption;
use crate::shared::{ADMINS_MAX, Door};
use crate::startup::{LOGIN_PATIENCE, LOGIN_PERIOD};
use crate::tls::Mode;

/// The program name in LOGINACK: drivers accept no other.
const PROGRAM: &str = "Microsoft SQL Server";
/// The version in LOGINACK and PRELOGIN: drivers enable features by it; 16 is SQL Server 2022.
const PROGRAM_VERSION: [u8; 4] = [16, 0, 0x03, 0xE8];
/// The error of a failed login.
const LOGIN_FAILED: i32 = 18456;
/// INFO: the current database has changed.
const DATABASE_CHANGED: i32 = 5701;
/// INFO: the session's language has changed.
const LANGUAGE_CHANGED: i32 = 5703;
/// Severity of INFO messages about the environment.
const SEVERITY_INFO: u8 = 10;

/// What PRELOGIN has negotiated. The default is for a client that sends none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiated {
    scope: TlsScope,
    is_strict: bool,
    /// Whether several sessions share the connection.
    has_mars: bool,
}

impl Default for Negotiated {
    fn default() -> Self {
        Self { scope: TlsScope::None, is_strict: false, has_mars: false }
    }
}

/// A login before the check of name and password.
struct Asked {
    request: LoginRequest,
    settings: WireSettings,
    /// Whether several sessions share the connection.
    has_mars: bool,
    /// Whether the client asked for UTF-8, the only feature extension that is acknowledged.
    wants_utf8: bool,
}

/// A login after the check of name and password.
struct Checked {
    login: Asked,
    /// The errors, if the login is refused.
    refused: Option<Vec<Error>>,
}

/// A login whose answer is delayed.
pub(super) struct Delayed {
    /// When to go on, on the monotonic clock.
    pub(super) until_ns: u64,
    /// The time of arrival, in ticks.
    since: u64,
    /// What to do then; `None` once it was done.
    then: Option<Then>,
}

/// How a delayed login goes on.
enum Then {
    /// It is answered: others with this login or from this client have failed.
    Answer(Checked),
    /// It is checked if the server is ready, and refused after this time on the monotonic clock.
    Check(Asked, u64),
}

impl Side {
    /// Answers a PRELOGIN message.
    pub(super) fn prelogin(
        &mut self,
        message: Message<'_>,
        origin: Origin,
        io: &mut Io,
    ) -> Result<(), End> {
        if message.kind != PacketType::Prelogin {
            return Err(ProtocolError::UnexpectedMessage(message.kind).into());
        }
        let asked = Prelogin::parse(message.body)?;
        let policy = match self.shared.encryption {
            Encryption::Off => EncryptionPolicy::Off,
            Encryption::On => EncryptionPolicy::Optional,
            Encryption::Required | Encryption::Strict => EncryptionPolicy::Required,
        };
        let (encryption, scope) = encryption::decide(asked.encryption, policy, origin);
        let [major, minor, build_high, build_low] = PROGRAM_VERSION;
        let has_mars = asked.mars == Some(true);
        let answer = Prelogin {
            version: [major, minor, build_high, build_low, 0, 0],
            encryption: Some(encryption),
            mars: Some(has_mars),
            federated_auth_required: asked.federated_auth_required.map(|_| false),
            ..Prelogin::default()
        };
        io.writer.begin(WireSettings::default());
        io.writer.put(&answer.to_server_payload());
        io.writer.finish();
        self.send(io)?;
        self.stage =
            Stage::Login(Negotiated { scope, is_strict: origin == Origin::Strict, has_mars });
        match scope {
            TlsScope::None => Ok(()),
            TlsScope::LoginOnly | TlsScope::Full => {
                let config = self.shared.tls.config(Mode::Wrapped).map_err(End::NoTls)?;
                self.channel = Channel::wrapped(config)?;
                Ok(())
            }
            TlsScope::Refuse => Err(End::Unencrypted),
        }
    }

    /// Answers a LOGIN7 message.
    pub(super) fn login(&mut self, message: Message<'_>, io: &mut Io) -> Result<(), End> {
        if message.kind != PacketType::Login7 {
            return Err(ProtocolError::UnexpectedMessage(message.kind).into());
        }
        let Stage::Login(negotiated) = self.stage else {
            unreachable!("only a connection that waits for LOGIN7 gets here")
        };
        let login = Login7::parse(message.body)?;
        let version = login.version()?;
        if negotiated.scope == TlsScope::LoginOnly {
            self.channel = Channel::Plain;
        }
        if version == TdsVersion::V8_0 && !negotiated.is_strict {
            return Err(ProtocolError::Login("TDS 8.0 is spoken inside TLS only").into());
        }
        let settings = WireSettings {
            version,
            packet_size: negotiated_packet_size(login.packet_size),
            spid: 0,
        };
        if let Some(unsupported) = unsupported(&login) {
            return self.refuse(&[unsupported], settings, io);
        }
        let wants_utf8 = login.has_feature(feature::UTF8_SUPPORT);
        let request = self.login_request(login, settings);
        let has_mars = negotiated.has_mars;
        let login = Asked { request, settings, has_mars, wants_utf8 };
        if self.shared.startup.is_ready() {
            return self.check_login(login, io);
        }
        let patience = LOGIN_PATIENCE.min(self.shared.limits.login_timeout / 2);
        let end_ns = clock::deadline_ns(patience);
        self.delay(
            clock::deadline_ns(LOGIN_PERIOD),
            clock::now_ticks(),
            Then::Check(login, end_ns),
        );
        Ok(())
    }

    fn check_login(&mut self, login: Asked, io: &mut Io) -> Result<(), End> {
        let Admission { answer, refused } = Session::admit(&self.shared.instance, &login.request);
        let login = Checked { login, refused };
        match answer {
            Answer::Now | Answer::Refused => self.answer_login(login, io),
            Answer::At(until_ns) => {
                self.delay(until_ns, clock::now_ticks(), Then::Answer(login));
                Ok(())
            }
        }
    }

    fn delay(&mut self, until_ns: u64, since: u64, then: Then) {
        self.stage = Stage::Delayed(Box::new(Delayed { until_ns, since, then: Some(then) }));
    }

    /// Goes on with a delayed login when its time has come. No worker waits in between: the connection's
    /// deadline wakes the task.
    pub(super) fn answer_if_due(&mut self, io: &mut Io) -> Result<(), End> {
        let Stage::Delayed(delayed) = &mut self.stage else { return Ok(()) };
        if delayed.until_ns > clock::monotonic_ns() {
            return Ok(());
        }
        let Some(then) = delayed.then.take() else { return Ok(()) };
        let since = delayed.since;
        match then {
            Then::Check(login, end_ns)
                if !self.shared.startup.is_ready() && clock::monotonic_ns() < end_ns =>
            {
                self.delay(clock::deadline_ns(LOGIN_PERIOD), since, Then::Check(login, end_ns));
                return Ok(());
            }
            Then::Answer(_) | Then::Check(..) => {}
        }
        ledger::book_wait(WaitType::LoginDelay, clock::now_ticks().saturating_sub(since));
        match then {
            Then::Answer(login) => self.answer_login(login, io),
            Then::Check(login, _) if self.shared.startup.is_ready() => self.check_login(login, io),
            Then::Check(login, _) => {
                let errors = [self.shared.startup.not_ready()];
                self.note_refusal(&login.request.user, &errors);
                self.refuse(&errors, login.settings, io)
            }
        }
    }

    fn answer_login(&mut self, login: Checked, io: &mut Io) -> Result<(), End> {
        let Checked { login: Asked { request, settings, has_mars, wants_utf8 }, refused } = login;
        let user = request.user.clone();
        let opened = match refused {
            Some(errors) => Err(errors),
            None => {
                self.take_admins_seat().and_then(|()| Session::open(&self.shared.instance, request))
            }
        };
        match opened {
            Ok(session) => self.welcome(session, (settings, has_mars), wants_utf8, io),
            Err(errors) => {
                self.note_refusal(&user, &errors);
                self.refuse(&errors, settings, io)
            }
        }
    }

    /// Takes the place of the dedicated admin connection, if that is what it is.
    fn take_admins_seat(&mut self) -> Result<(), Vec<Error>> {
        if self.door == Door::Admin {
            let max = i64::try_from(ADMINS_MAX).unwrap_or(i64::MAX);
            let seat = self.shared.admins.take();
            let refused = || vec![Error::from(Msg::TooManyAdminConnections(max)).at_line(1)];
            self.admin = Some(seat.ok_or_else(refused)?);
        }
        Ok(())
    }

    fn login_request(&self, login: Login7, settings: WireSettings) -> LoginRequest {
        let address = |end: Peer| match end {
            Peer::Tcp(address) => (address.ip().to_canonical().to_string(), address.port()),
            Peer::Unix => (String::new(), 0),
        };
        let transport = match self.client {
            Peer::Tcp(_) => Transport::Tcp,
            Peer::Unix => Transport::UnixSocket,
        };
        let client = ClientInfo {
            host_name: login.host,
            program_name: login.application,
            interface_name: login.library,
            process_id: login.client_pid,
            client_version: login.client_version,
            tds_version: settings.version.code(),
            packet_size: u32::from(settings.packet_size),
            transport,
            is_admin: self.door == Door::Admin,
            address: address(self.client),
            local_address: address(self.local),
            encrypted: !self.channel.is_plain(),
            odbc: login.flags.is_odbc(),
            traffic: Arc::clone(&self.link.traffic),
        };
        let new_password = login.flags.changes_password().then_some(login.new_password);
        LoginRequest {
            user: login.user,
            password: login.password,
            new_password,
            database: login.database,
            language: login.language,
            client,
        }
    }

    /// Opens the session and sends the client its environment. `wants_utf8` is whether the client
    /// asked for UTF-8, the only feature extension that is acknowledged.
    fn welcome(
        &mut self,
        session: Session,
        (settings, has_mars): (WireSettings, bool),
        wants_utf8: bool,
        io: &mut Io,
    ) -> Result<(), End> {
        let state = session.state();
        let spid = u16::try_from(state.connection.id).unwrap_or(0);
        let database = state.identity.database.to_string();
        let language = state.options.language;
        self.link.set_cancel(Arc::clone(session.cancel()));
        // The login itself is answered in packets of the default size.
        let settings_before = WireSettings { packet_size: PACKET_SIZE_DEFAULT, spid, ..settings };
        let writer = &mut io.writer;
        writer.begin(settings_before);
        writer.env_change(EnvChange::Database(&database, "master"));
        writer.message(
            &info(DATABASE_CHANGED, 2, format!("Changed database context to '{database}'.")),
            &self.shared.server_name,
        );
        writer.env_change(EnvChange::Collation(Collation::default()));
        writer.env_change(EnvChange::Language(language.name(), ""));
        writer.message(&info(LANGUAGE_CHANGED, 1, language.changed()), &self.shared.server_name);
        writer.login_ack(PROGRAM, PROGRAM_VERSION);
        writer.env_change(EnvChange::PacketSize(settings.packet_size, PACKET_SIZE_DEFAULT));
        if wants_utf8 {
            writer.feature_ext_ack();
        }
        writer.done(Done {
            kind: DoneKind::Done,
            status: DoneStatus::FINAL,
            command: 0,
            row_count: None,
        });
        writer.finish();
        self.send(io)?;
        let settings = WireSettings { spid, ..settings };
        self.stage = if has_mars {
            let channel = std::mem::take(&mut self.channel);
            let mux = Mux::new(session, settings, &self.link, channel, &self.shared);
            Stage::Mars(Box::new(mux))
        } else {
            Stage::Open(Box::new(Open::new(session, settings)))
        };
        Ok(())
    }

    /// Refuses a login and sends the client the errors. 18456 is sent with state 1, which hides the
    /// reason; the log has the real state.
    fn refuse(&mut self, errors: &[Error], settings: WireSettings, io: &mut Io) -> Result<(), End> {
        io.writer.begin(WireSettings { packet_size: PACKET_SIZE_DEFAULT, ..settings });
        for error in errors {
            let shown = if error.number == LOGIN_FAILED {
                error.clone().with_state(1)
            } else {
                error.clone()
            };
            io.writer.message(&shown, &self.shared.server_name);
        }
        io.writer.done(failed());
        io.writer.finish();
        self.send(io)?;
        Err(End::LoginRefused)
    }

    fn note_refusal(&self, user: &str, errors: &[Error]) {
        for error in errors {
            let shown = log::printable(&error.message);
            let line = format_args!(
                "Login refused to '{}': error {}, state {}: {shown}",
                log::printable(user),
                error.number,
                error.state
            );
            self.shared.client_log.line(&self.client, &line);
        }
    }

    /// Sends a client the reason why its connection ends, if it can still understand it.
    pub(super) fn explain(&mut self, error: &Error, io: &mut Io) {
        let settings = match &self.stage {
            // The client has sent nothing that can be answered; in MARS an answer is a session's.
            Stage::Opening | Stage::Mars(_) => return,
            Stage::Prelogin(_) | Stage::Login(_) | Stage::Delayed(_) => WireSettings::default(),
            Stage::Open(open) => open.settings,
        };
        if matches!(self.channel, Channel::Wrapped(_)) {
            return;
        }
        io.writer.begin(settings);
        io.writer.message(error, &self.shared.server_name);
        io.writer.done(failed());
        io.writer.finish();
        self.send_now(io);
        // Bytes that could not be sent must not reach the next connection.
        io.writer.discard();
    }
}

/// Returns the error for a login that asks for an unsupported feature.
fn unsupported(login: &Login7) -> Option<Error> {
    if let Some(error) = foreign_authentication(login) {
        return Some(error);
    }
    let attaches = !login.attach_file.is_empty();
    attaches.then(|| Msg::NotSupported("attaching a database file at login").into())
}

/// Returns the error for a login without a password of this server: Windows authentication gets
/// SQL Server's number for an untrusted domain, and Entra the one for a failed login. The text names
/// the way out.
fn foreign_authentication(login: &Login7) -> Option<Error> {
    const OF_WINDOWS: &str = "Login failed: Windows authentication is not available on this server; \
        connect with a SQL login (User ID and Password) instead of Trusted_Connection=yes or \
        Integrated Security=SSPI.";
    const OF_ENTRA: &str = "Login failed: Microsoft Entra authentication is not available on this \
        server; connect with a SQL login (User ID and Password) instead of an access token or \
        Authentication=ActiveDirectory...";
    login.unsupported_authentication()?;
    let (number, text) = match login.has_feature(feature::FEDERATED_AUTH) {
        true => (18_456, OF_ENTRA),
        false => (18_452, OF_WINDOWS),
    };
    Some(Error::custom(number, 14, 1, text).at_line(1))
}

fn info(number: i32, state: u8, text: String) -> Error {
    Error::custom(number, SEVERITY_INFO, state, text).at_line(1)
}

/// Returns the DONE of a response that is an error.
pub(super) const fn failed() -> Done {
    Done { kind: DoneKind::Done, status: DoneStatus::ERROR, command: 0, row_count: None }
}
