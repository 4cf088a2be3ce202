//! The server: accepts connections, logs clients in, passes requests to sessions and sends results
//! back.
//!
//! The only crate that uses both the wire codec (`tds`) and the engine.
//!
//! ```text
//!   socket ─► Channel (TLS) ─► MessageReader ─► Request ─► engine::Session
//!   socket ◄─ Channel (TLS) ◄─ ResponseWriter ◄─ TokenSink ◄────┘
//! ```
#![forbid(unsafe_code)]

mod banner;
mod connection;
#[cfg(test)]
mod containment;
#[cfg(test)]
mod known_call_tests;
mod log;
pub mod options;
mod shared;
mod sink;
mod startup;
#[cfg(test)]
mod startup_tests;
mod tls;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable::{Folder, Recovered, Settings};
use engine::event::emit::blocked::{BLOCKED_PERIOD, BlockedProcesses};
use engine::instance::{Config, Instance, Shutdown};
use sos::clock;
use sos::epoch;
use sos::memory;
use sos::park::Cancel;
use sos::sched::{Machine, MachineConfig, StopOutcome};
use sos::sync::Arc;
use sos::sys::{self, Listener};

use storage::{Store, StoreOptions};

use banner::Coordinates;
use connection::Connection;
use options::{AdminPort, Options, Password};
use shared::{ADMIN_DOORS_MAX, ADMINS_MAX, Door, Seats, Shared, mars_sessions_max};

pub use tls::random_password;

/// Clearway's version, from Cargo.toml.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Interval at which old row versions left by idle connections are collected. Writers collect their
/// own; each wake-up here takes the CPU from a scheduler.
const COLLECT_PERIOD: Duration = Duration::from_millis(100);
/// The interval while requests fail with error 701, perhaps because of memory that can be
/// collected.
const COLLECT_PERIOD_SHORT: Duration = Duration::from_millis(1);
/// Interval at which the tuple mover looks for full delta stores, and for dropped tables that are
/// still referenced.
const TUPLE_MOVER_PERIOD: Duration = Duration::from_secs(5);
/// Interval at which the ledger's history gets an entry.
const HISTORY_PERIOD: Duration = Duration::from_secs(engine::instance::PERIOD_SECONDS);
const QUERY_STORE_PERIOD: Duration =
    Duration::from_secs(engine::instance::QUERY_STORE_PERIOD_SECONDS);

/// A running server, with its listener.
pub struct Server {
    machine: Arc<Machine>,
    shared: Arc<Shared>,
    address: SocketAddr,
    /// The port of the dedicated admin connection.
    admin_port: Option<u16>,
    /// The UNIX socket that it listens on as well; its file goes when the server stops.
    socket: Option<SocketFile>,
    sa_password: String,
    /// Where data is kept, for the banner.
    data: String,
    /// Why the memory model in use is not the one asked for.
    memory_lost: Option<String>,
}

impl Server {
    /// Starts a server. The port is open from the first moment; when this returns, the data is there
    /// and logins are accepted.
    ///
    /// # Errors
    /// One sentence that says why it cannot start.
    pub fn start(options: &Options) -> Result<Self, String> {
        let listener = listen(SocketAddr::new(options.address, options.port))?;
        let address = listener.local_address().map_err(|error| format!("the address: {error}"))?;
        let local = options.socket.as_deref().map(listen_at).transpose()?;
        let admin = options.admin_port.map(listen_for_admin).transpose()?.flatten();
        memory::set_limit_bytes(options.memory_max);
        let model = memory::set_model(options.memory_model, options.memory_max);
        let memory_lost =
            model.err().map(|why| format!("{} not granted ({why})", options.memory_model.name()));
        options.experiments.iter().for_each(|mode| mode.switch_on());
        sys::raise_open_files();
        let schedulers = options.schedulers.unwrap_or(0);
        let ledger = options.ledger;
        let sampling_rate_hz = options.sampling_rate_hz;
        let config =
            MachineConfig { schedulers, ledger, sampling_rate_hz, ..MachineConfig::default() };
        let machine = Machine::start(&config)
            .map_err(|error| format!("the schedulers cannot be started: {error}"))?;
        let machine = Arc::new(machine);
        let recovery = Recovery::of(options)?;
        let is_first = recovery.as_ref().is_none_or(Recovery::is_first);
        let shared = Arc::new(shared(options, &machine)?);
        let begin = |listener, door, name: &str| {
            accept(&machine, listener, &shared, door)
                .map_err(|error| format!("{name} cannot be started: {error}"))
        };
        begin(listener, Door::Clients, "the listener")?;
        let socket = local.map(|(listener, file)| {
            begin(listener, Door::Clients, "the listener of the socket").map(|()| file)
        });
        let socket = socket.transpose()?;
        let admin_port = admin.as_ref().map(|(_, port)| *port);
        let listening = admin.map(|(listener, _)| {
            begin(listener, Door::Admin, "the listener of the dedicated admin connection")
        });
        listening.transpose()?;
        let data = open(&shared, recovery, &options.sa_password)?;
        shared.startup.end();
        let sa_password = match &options.sa_password {
            Password::Random(_) if !is_first => "<the password of the first start>".to_owned(),
            Password::Hidden(_) => "<the password of the environment>".to_owned(),
            Password::Random(known) | Password::Given(known) => known.clone(),
        };
        let server =
            Self { machine, shared, address, admin_port, socket, sa_password, data, memory_lost };
        server.keep_start(options.start_in_log);
        Ok(server)
    }

    /// Keeps what scripts look for in an error log after a start, in SQL Server's words. It is written to stderr only on
    /// request: the banner says it.
    fn keep_start(&self, writes: bool) {
        let (ip, port) = (self.address.ip(), self.address.port());
        let family = if ip.is_ipv4() { "ipv4" } else { "ipv6" };
        let mut lines = vec![
            format!("Clearway {VERSION}"),
            format!("Server process ID is {}.", std::process::id()),
            self.data.clone(),
            format!("Server is listening on [ {ip} <{family}> {port} ]."),
        ];
        if let Some(SocketFile(path)) = &self.socket {
            lines.push(format!("Server is listening on [ {} ].", path.display()));
        }
        if let Some(port) = self.admin_port {
            lines.push(format!(
                "Dedicated admin connection support was established for listening locally on port {port}."
            ));
        }
        lines.push(
            "SQL Server is now ready for client connections. This is an informational message; no user action is required."
                .to_owned(),
        );
        lines.push(
            "Recovery is complete. This is an informational message only. No user action is required."
                .to_owned(),
        );
        for line in &lines {
            match writes {
                true => log::line(line),
                false => sos::error_log::keep(line),
            }
        }
    }

    /// Returns the address it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the port of the dedicated admin connection, on the loopback address.
    pub const fn admin_port(&self) -> Option<u16> {
        self.admin_port
    }

    /// Registers the calling thread in the ledger under this name: the process's first thread,
    /// which waits for the end.
    pub fn adopt_caller(&self, name: &str) {
        self.machine.accounts().adopt(name);
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.shared.seats.taken()
    }

    /// Returns the threads and the ledger, for what is served beside SQL.
    pub const fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns the engine, for what is served beside SQL.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.shared.instance
    }

    /// Returns the configuration of HTTPS with the server's certificate.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub fn https(&self) -> Result<std::sync::Arc<rustls::ServerConfig>, String> {
        self.shared.tls.config(tls::Mode::Https)
    }

    /// Returns the banner: version, limits of the ledger on this machine, and a connection string
    /// for each driver.
    pub fn banner(&self) -> String {
        let books = self.machine.accounts().close();
        let sampler = self.machine.accounts().sampler();
        let sampler = match (sampler.rate_hz(), sampler.refusal()) {
            (0, _) => "off".to_owned(),
            (hz, None) => format!("{hz} Hz"),
            (_, Some(why)) => format!("none, because the system refuses timers ({why})"),
        };
        let at = Coordinates {
            memory: std::iter::once(memory::model().name())
                .chain(self.memory_lost.as_deref())
                .collect(),
            ledger: std::iter::once(books.source.name()).chain(books.lost).collect(),
            sampler: &sampler,
            address: self.address,
            socket: self.socket.as_ref().map(|file| file.0.as_path()),
            password: &self.sa_password,
            data: &self.data,
            encryption: self.shared.encryption,
        };
        banner::banner(VERSION, &at)
    }

    /// Returns the ready line, which says that connections are accepted.
    pub fn ready_line(&self) -> String {
        banner::ready_line(self.address)
    }

    /// Sets what SHUTDOWN calls to have this server stopped: the caller of [`Self::stop`] must learn
    /// of it. Without this call SHUTDOWN is refused.
    pub fn on_shutdown(&self, stop: impl Fn() -> io::Result<()> + Send + Sync + 'static) {
        self.shared.instance.on_shutdown(Box::new(move |why| {
            log::line(&why);
            stop()
        }));
    }

    /// Stops: accepts no more connections and requests, and lets those in progress finish, unless SHUTDOWN
    /// WITH NOWAIT was the reason. A stop by a signal ends those that wait in WAITFOR. The log says
    /// what it waits for and what becomes of the data.
    pub fn stop(mut self, signal: sys::Stop) {
        let started_ns = clock::monotonic_ns();
        // Later clients learn at once that no server listens.
        drop(self.socket.take());
        let how = self.shared.instance.shutdown();
        let grace = match how {
            Shutdown::Signalled | Shutdown::Orderly => self.shared.limits.shutdown_timeout,
            Shutdown::AtOnce => Duration::ZERO,
        };
        if how == Shutdown::Signalled {
            let (name, connections, seconds) =
                (signal.name(), self.connections(), grace.as_secs_f64());
            log::line(&format_args!(
                "The server stops on {name}; {connections} connections, whose requests have {seconds} s to end"
            ));
        }
        // WAITFOR lets time pass: what comes behind it would not finish in time.
        let instance = &self.shared.instance;
        let urge = || {
            if how == Shutdown::Signalled {
                instance.end_pauses();
            }
        };
        match self.machine.stop_with(grace, urge) {
            StopOutcome::Clean => {}
            StopOutcome::Abandoned(requests) => {
                log::line(&format_args!("{requests} requests did not end in time"));
            }
        }
        if let Some(database) = self.shared.instance.durable() {
            match how {
                Shutdown::Signalled | Shutdown::Orderly => {
                    self.shared.instance.write_query_stores(true);
                    database.stop();
                }
                Shutdown::AtOnce => database.stop_at_once(),
            }
        }
        let ms = (clock::monotonic_ns() - started_ns) / 1_000_000;
        log::line(&match self.shared.instance.durable() {
            Some(database) => {
                format!("The server has stopped in {ms} ms; its data is in {}", database.name())
            }
            None => format!("The server has stopped in {ms} ms; its data lived in memory only"),
        });
    }
}

fn listen(address: SocketAddr) -> Result<Listener, String> {
    Listener::bind(address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{address} is in use; choose another with --port or --listen")
        }
        io::ErrorKind::PermissionDenied => format!("no permission to listen on {address}"),
        io::ErrorKind::AddrNotAvailable => format!("{address} is not an address of this machine"),
        // A foreign type: any other system error.
        _ => format!("{address}: {error}"),
    })
}

/// Listens for the dedicated admin connection, on this machine only. `None` if the usual port is
/// taken: the server is of use without it.
fn listen_for_admin(port: AdminPort) -> Result<Option<(Listener, u16)>, String> {
    let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    let listener = match port {
        AdminPort::Given(port) => listen(at(port))?,
        AdminPort::Usual(port) => match listen(at(port)) {
            Ok(listener) => listener,
            Err(why) => {
                log::line(&format_args!("No dedicated admin connection: {why}"));
                return Ok(None);
            }
        },
    };
    let address = listener.local_address().map_err(|error| format!("the address: {error}"))?;
    Ok(Some((listener, address.port())))
}

/// The file of a UNIX socket, removed when dropped.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // An operator may have removed it already.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens on a UNIX socket.
fn listen_at(path: &Path) -> Result<(Listener, SocketFile), String> {
    let name = path.display();
    let listener = Listener::bind_unix(path).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{name} is in use: a server listens there, or it is no socket")
        }
        io::ErrorKind::PermissionDenied => format!("no permission to make the socket {name}"),
        io::ErrorKind::NotFound => format!("the folder of the socket {name} does not exist"),
        // A foreign type: any other system error.
        _ => format!("the socket {name}: {error}"),
    })?;
    Ok((listener, SocketFile(path.to_owned())))
}

/// The folder of a database that is about to be opened.
struct Recovery {
    folder: Folder,
    settings: Settings,
}

impl Recovery {
    /// Locks the folder, if one is given. Nothing of the server has been started yet, so a folder
    /// that cannot be used costs nothing.
    fn of(options: &Options) -> Result<Option<Self>, String> {
        let Some(data) = &options.data else { return Ok(None) };
        let settings = Settings {
            until_100ns: data.until_100ns,
            salvage: data.salvage,
            keep_schema_only: data.keep_schema_only,
            ..Settings::default()
        };
        Ok(Some(Self { folder: Folder::open(&data.folder)?, settings }))
    }

    /// Returns whether the folder was made just now.
    fn is_first(&self) -> bool {
        self.folder.is_new()
    }
}

/// What a recovery has read and made, for the log.
struct Figures<'a>(&'a Recovered);

impl fmt::Display for Figures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recovered { counts, rows, millis, lost, .. } = self.0;
        write!(
            f,
            "{rows} rows in {millis} ms, by {} transactions with {} changes in {} bytes of log",
            counts.transactions, counts.changes, counts.bytes
        )?;
        if counts.later > 0 {
            write!(f, "; {} later transactions are left out", counts.later)?;
        }
        for lost in lost {
            write!(f, "; LOST: {lost}")?;
        }
        Ok(())
    }
}

/// Brings back what the folder has; returns what the banner says of it.
fn recover(
    shared: &Shared,
    recovery: Option<Recovery>,
    password: &Password,
) -> Result<String, String> {
    let instance = &shared.instance;
    let Some(Recovery { folder, settings }) = recovery else {
        return Ok("Data lives in memory only: it ends with this process.".to_owned());
    };
    let name = folder.name().to_owned();
    if !folder.is_new() {
        log::line(&format_args!("Recovery of {name} starts"));
        let reported = shared.startup.report(&instance.machine, &name);
        reported.map_err(|error| format!("the report of the progress: {error}"))?;
    }
    let progress = &shared.startup.progress;
    let found = instance.recover_database(folder, &settings, progress)?;
    if !found.is_new {
        log::line(&format_args!("Recovery of {name} is complete: {}", Figures(&found)));
    }
    if let Some(kept) = &found.kept {
        log::line(&match kept.is_found {
            true => format!(
                "SCHEMA_ONLY tables have what the last stop has kept: {} rows of {} tables",
                kept.rows, kept.tables
            ),
            false => "SCHEMA_ONLY tables start empty: the last stop has kept nothing".to_owned(),
        });
    }
    if found.is_new || matches!(password, Password::Given(_) | Password::Hidden(_)) {
        instance.set_sa_password(password.text()).map_err(|error| error.to_string())?;
    }
    let mut text = if found.is_new {
        format!("Data is kept in {name}, which is new.")
    } else {
        format!("Data is kept in {name}: {} rows recovered in {} ms.", found.rows, found.millis)
    };
    if found.counts.later > 0 {
        text +=
            &format!("\nLEFT OUT, since later than asked for: {} transactions", found.counts.later);
    }
    for lost in found.lost {
        text += &format!("\nLOST: {lost}");
    }
    Ok(text)
}

/// Makes what connections share, with an engine that has no data yet.
fn shared(options: &Options, machine: &Arc<Machine>) -> Result<Shared, String> {
    let machine_name = machine_name();
    let config = Config {
        sa_password: options.sa_password.text().to_owned(),
        server_name: machine_name.clone(),
        memory_max: options.memory_max,
        query_memory_max: options.query_memory_max.unwrap_or(0),
        lock_mode: options.lock_mode,
        optimizer: engine::opt::Level::Full,
    };
    Ok(Shared {
        instance: instance(config, machine)?,
        startup: Arc::default(),
        tls: tls::Tls::new(&options.certificate, &machine_name)?,
        encryption: options.encryption,
        limits: options.limits.clone(),
        server_name: machine_name,
        client_log: log::ClientLog::default(),
        seats: Seats::new(options.limits.connections_max),
        mars: Seats::new(mars_sessions_max(sys::raise_open_files())),
        admin_doors: Seats::new(ADMIN_DOORS_MAX),
        admins: Seats::new(ADMINS_MAX),
    })
}

/// Creates the engine, and starts the collection of old row versions.
fn instance(config: Config, machine: &Arc<Machine>) -> Result<Arc<Instance>, String> {
    let store = Store::new(StoreOptions::default());
    let (watched, collected) = (Arc::clone(&store), Arc::clone(&store));
    let collector = Arc::new(memory::Collector::new());
    let resting = Arc::clone(&collector);
    // While the server is idle the collector sleeps; the first garbage wakes it, and it waits until
    // more has gathered. It does not sleep while unlinked objects are still visible to other
    // threads.
    let wait = move |stopping: &Cancel| {
        if epoch::pending() == 0 {
            watched.wait_for_garbage(stopping);
        }
        let is_short = memory::check().is_err();
        let pause = if is_short { COLLECT_PERIOD_SHORT } else { COLLECT_PERIOD };
        resting.rest(pause, stopping);
        epoch::collect();
    };
    machine
        .spawn_waiting("row versions", wait, move || {
            collector.pass(|| {
                let done = collected.collect();
                memory::Pass { freed: done.versions + done.rows, left: done.remaining }
            });
        })
        .map_err(|error| format!("the collector cannot be started: {error}"))?;
    Ok(engine::start(config, Arc::clone(machine), store))
}

/// Gives the engine what its database has, and starts what works on it in the background. Returns
/// what the banner says of the data.
fn open(
    shared: &Shared,
    recovery: Option<Recovery>,
    password: &Password,
) -> Result<String, String> {
    let data = recover(shared, recovery, password)?;
    let (instance, machine) = (&shared.instance, &shared.instance.machine);
    let remembering = Arc::clone(instance);
    instance.start_event_sessions()?;
    machine
        .spawn_background("historian", HISTORY_PERIOD, move || remembering.remember())
        .map_err(|error| format!("the historian cannot be started: {error}"))?;
    let tending = Arc::clone(instance);
    machine
        .spawn_background("query store", QUERY_STORE_PERIOD, move || tending.tend_query_stores())
        .map_err(|error| format!("the Query Store cannot be started: {error}"))?;
    let watching = Arc::clone(instance);
    let mut blocked = BlockedProcesses::default();
    machine
        .spawn_background("lock monitor", BLOCKED_PERIOD, move || blocked.look(&watching))
        .map_err(|error| format!("the lock monitor cannot be started: {error}"))?;
    let moving = Arc::clone(instance);
    let move_tuples = move || {
        engine::move_tuples(&moving, moving.machine.stopping());
        moving.let_go_of_dropped();
    };
    machine
        .spawn_background("tuple mover", TUPLE_MOVER_PERIOD, move_tuples)
        .map_err(|error| format!("the tuple mover cannot be started: {error}"))?;
    Ok(data)
}

fn accept(
    machine: &Machine,
    listener: Listener,
    shared: &Arc<Shared>,
    door: Door,
) -> io::Result<()> {
    let shared = Arc::clone(shared);
    machine.listen(listener, move |socket, client| {
        let Some(seat) = shared.seats_of(door).take() else {
            shared.client_log.line(&client, &"Too many connections; this one is closed");
            return None;
        };
        match Connection::adopt(&shared, (seat, door), socket, client) {
            Ok(connection) => Some(connection),
            Err(error) => {
                shared.client_log.line(&client, &error);
                None
            }
        }
    })
}

/// Returns this machine's name in capitals, the value of `@@SERVERNAME`.
fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "CLEARWAY".to_owned() } else { name.to_ascii_uppercase() }
}
