//! `Peer`: a server in the race. Finds the programs on this machine, and starts each with settings
//! that keep all data in memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use load::ask::Asker;
use load::counters::Counters;
use load::link::{Encrypt, Target};
use load::process::Place;
use load::{Idle, Login};
use sos::clock;
use sos::sys::Stop;
use types::Collation;

use crate::Result;
use crate::client::{Client, Maker, Way};
use crate::keeping::Keeping;
use crate::process::{Folder, PeerProcess, free_port};
use crate::protocol::mariadb::MariaDb;
use crate::protocol::memcached::Memcached;
use crate::protocol::postgres::{self, Postgres};
use crate::protocol::redis::Redis;
use crate::protocol::tds::Tds;
use crate::work::{CONNECTIONS, Work};

/// The password of a server that lives as long as the race and listens on this machine alone.
const PASSWORD: &str = "Race-Secret-Word1";
const PASSWORD_VARIABLE: &str = "CLEARWAY_SA_PASSWORD";
/// Memory for data, in MB, for servers that need a limit.
pub(crate) const MEMORY_MB: u32 = 256;
/// How long a listening server may take to accept logins, and to answer a query.
pub(crate) const READY_MAX: Duration = Duration::from_secs(60);
/// How often starting a server is attempted.
const STARTS_MAX: u32 = 2;
const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const STEP: Duration = Duration::from_millis(100);

/// A kind of server that a race starts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This program's own `serve`.
    Clearway,
    /// PostgreSQL, with unlogged tables.
    Postgres,
    /// Redis, without snapshots and without its log.
    Redis,
    /// memcached, the in-memory cache.
    Memcached,
    /// MariaDB, with tables of its MEMORY engine.
    MariaDb,
}

impl Kind {
    /// Every kind, in the order in which they start.
    pub const ALL: [Self; 5] =
        [Self::Clearway, Self::Postgres, Self::MariaDb, Self::Redis, Self::Memcached];

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clearway => "clearway",
            Self::Postgres => "postgresql",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
            Self::MariaDb => "mariadb",
        }
    }

    /// Returns the kind with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Fails if it cannot do a kind of work, with the reason.
    pub(crate) fn races(self, work: Work) -> Result<()> {
        match (self, work) {
            (Self::Memcached, Work::Session) => {
                Err("memcached has no request that reads and locks at once".to_owned())
            }
            (Self::Memcached, Work::Get | Work::Set | Work::Counter) => Ok(()),
            (Self::Clearway | Self::Postgres | Self::Redis | Self::MariaDb, _) => Ok(()),
        }
    }

    const fn program_name(self) -> &'static str {
        match self {
            Self::Clearway => "clearway",
            Self::Postgres => "postgres",
            Self::Redis => "redis-server",
            Self::Memcached => "memcached",
            Self::MariaDb => "mariadbd",
        }
    }

    /// Returns whether it can keep data in this way.
    pub(crate) const fn can_keep(self, keeping: Keeping) -> bool {
        match (self, keeping) {
            (_, Keeping::Memory) => true,
            (Self::Memcached, _) | (Self::Postgres | Self::MariaDb, Keeping::Delayed) => false,
            (Self::Clearway | Self::Postgres | Self::MariaDb | Self::Redis, _) => true,
        }
    }

    /// Returns its name in a race, where it may run twice.
    pub(crate) fn label(self, keeping: Keeping) -> String {
        match keeping {
            Keeping::Memory | Keeping::Durable => self.name().to_owned(),
            Keeping::Delayed => format!("{} delayed", self.name()),
        }
    }

    /// Returns its important settings, in words.
    const fn settings(self, keeping: Keeping) -> &'static str {
        match (self, keeping) {
            (Self::Clearway, Keeping::Durable) => {
                "a data folder; each commit is durable before its reply; procedures called by RPC"
            }
            (Self::Clearway, Keeping::Delayed) => {
                "a data folder; DELAYED_DURABILITY = FORCED: a crash takes 10 ms at most; procedures called by RPC"
            }
            (Self::Postgres, Keeping::Durable) => {
                "logged tables, fillfactor 50 (10 for counters), fsync and synchronous_commit on; statements prepared once, \
                 parameters and results in binary; autovacuum as it comes"
            }
            (Self::MariaDb, Keeping::Durable) => {
                "InnoDB, innodb_flush_log_at_trx_commit 1, no binary log; statements prepared once, parameters and results in \
                 binary; a session is locked by a procedure"
            }
            (Self::Redis, Keeping::Durable) => {
                "no snapshots; append-only file, appendfsync always; sessions by EVALSHA of two Lua scripts"
            }
            (Self::Redis, Keeping::Delayed) => {
                "no snapshots; append-only file, appendfsync everysec; sessions by EVALSHA of two Lua scripts"
            }
            _ => self.settings_in_memory(),
        }
    }

    const fn settings_in_memory(self) -> &'static str {
        match self {
            Self::Clearway => "as it comes; data lives in memory; procedures called by RPC",
            Self::Postgres => {
                "unlogged tables, fillfactor 50 (10 for counters), fsync and synchronous_commit off; statements prepared once, \
                 parameters and results in binary; autovacuum as it comes"
            }
            Self::Redis => {
                "no snapshots, no append-only file; sessions by EVALSHA of two Lua scripts"
            }
            Self::Memcached => "as it comes, one worker thread; text protocol",
            Self::MariaDb => {
                "tables of the MEMORY engine, no binary log; statements prepared once, parameters and results in binary; \
                 a session is locked by a procedure"
            }
        }
    }

    /// Returns its path on this machine. `clearway` is the path of our own program.
    pub(crate) fn find(self, clearway: &Path) -> Option<PathBuf> {
        match self {
            Self::Clearway => Some(clearway.to_owned()),
            _ => program(self.program_name()),
        }
    }
}

/// A TDS server, here or elsewhere, that is already running and is raced as it is.
#[derive(Clone, Debug)]
pub struct TdsServer {
    /// Its address, login and encryption.
    pub target: Target,
}

/// The source of a server's CPU time.
enum Books {
    /// The kernel, for a server that the race has started.
    Kernel(PeerProcess),
    /// The server itself, by sys.dm_os_sys_info.
    Server(Asker),
    /// None: it is on another machine, or does not report it.
    Nobody,
}

/// A server that takes part, with its client.
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) kind: Option<Kind>,
    pub(crate) version: String,
    pub(crate) command: String,
    pub(crate) settings: String,
    // Dropped first: connections end before the server does.
    pub(crate) client: Client,
    books: Books,
}

impl Peer {
    /// Starts a server of a kind, creates what the work needs, and checks that it keeps the values
    /// it is given.
    pub(crate) fn start(start: &Start<'_>, idle: Idle) -> Result<Self> {
        let Start { kind, keeping, program, .. } = *start;
        let (shown, process) = start_process(start)?;
        let make = maker(kind, keeping);
        let way = Way::Plain(process.address());
        let end_ns = clock::deadline_ns(READY_MAX);
        let client = loop {
            // Some servers listen before they accept logins.
            match Client::open(&way, &make, CONNECTIONS, idle) {
                Err(why) if why.contains("57P03") && clock::monotonic_ns() < end_ns => {
                    load::pause(STEP);
                }
                opened => break opened?,
            }
        };
        Ok(Self {
            name: kind.label(keeping),
            kind: Some(kind),
            version: version(program),
            command: shown,
            settings: kind.settings(keeping).to_owned(),
            client,
            books: Books::Kernel(process),
        })
    }

    /// Connects to a server that is already running.
    pub(crate) fn join(server: &TdsServer, idle: Idle) -> Result<Self> {
        let target = &server.target;
        let mut asker = Asker::connect(target, PATIENCE)?;
        let answer = asker.ask("select @@version")?;
        let version =
            answer.rows().first().and_then(|row| row.first()?.as_text(Collation::default()));
        let (books, cpu) = match Counters::read(&mut asker).cpu_ms() {
            Some(_) => (Books::Server(asker), "CPU by its sys.dm_os_sys_info"),
            None => (Books::Nobody, "it does not report its CPU time, so there is no figure"),
        };
        let encrypted = match target.encrypt {
            Encrypt::Off => "in plain text",
            Encrypt::On => "TLS in TDS",
            Encrypt::Strict => "TDS 8.0",
        };
        let near = match target.address.is_local() {
            true => "on this machine",
            false => "on another machine: latencies include the network",
        };
        let login = target.login.clone();
        let make: Maker = Box::new(move || Box::new(Tds::new(login.clone())));
        Ok(Self {
            name: format!("tds {}", target.address),
            kind: None,
            version: version.unwrap_or_default().lines().next().unwrap_or("unknown").to_owned(),
            command: "already running, so not pinned to a CPU".to_owned(),
            settings: format!("{near}, {encrypted}; its use of the disk is unknown; {cpu}"),
            client: Client::open(&Way::Tds(target.clone()), &make, CONNECTIONS, idle)?,
            books,
        })
    }

    /// Fails if it cannot do a kind of work, with the reason.
    pub(crate) fn races(&self, work: Work) -> Result<()> {
        self.kind.map_or(Ok(()), |kind| kind.races(work))
    }

    /// Returns the server's CPU time so far; `None` if there is no source.
    pub(crate) fn cpu_ns(&mut self) -> Result<Option<u64>> {
        match &mut self.books {
            Books::Kernel(process) => process.cpu_ns().map(Some),
            Books::Server(asker) => {
                let ms = Counters::read(asker).cpu_ms().and_then(|ms| u64::try_from(ms).ok());
                Ok(Some(ms.ok_or("the server does not report its CPU time")? * 1_000_000))
            }
            Books::Nobody => Ok(None),
        }
    }
}

/// What server to start, and where.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) kind: Kind,
    pub(crate) keeping: Keeping,
    pub(crate) program: &'a Path,
    pub(crate) place: Place,
    /// The folder in which its own is made; `None` for that of temporary files.
    pub(crate) disk: Option<&'a Path>,
    /// Memory for its data in MB, if it needs a limit.
    pub(crate) memory_mb: u32,
    /// Arguments behind those that every race gives it.
    pub(crate) extra: &'a [&'a str],
}

/// Starts a server of a kind; returns the command as text, and the server.
pub(crate) fn start_process(start: &Start<'_>) -> Result<(String, PeerProcess)> {
    let Start { kind, place, disk, .. } = *start;
    let mut tries_left = STARTS_MAX;
    loop {
        tries_left -= 1;
        let folder = Folder::new(disk, kind.name())?;
        let port = free_port()?;
        let (mut command, stop) = command(start, &folder, port)?;
        command.args(start.extra);
        let shown = shown(&command, folder.path());
        match PeerProcess::start(command, folder, port, stop, place) {
            // Another process may have taken the port in the meantime.
            Err(_) if tries_left > 0 => {}
            started => return started.map(|process| (shown, process)),
        }
    }
}

/// Returns the login for a Clearway that the race has started.
pub(crate) fn own_login() -> Login {
    Login { user: "sa".to_owned(), password: PASSWORD.to_owned(), database: String::new() }
}

fn maker(kind: Kind, keeping: Keeping) -> Maker {
    match kind {
        Kind::Clearway => Box::new(move || Box::new(Tds::new(own_login()).keeping(keeping))),
        Kind::Postgres => Box::new(move || Box::new(Postgres { keeping })),
        Kind::Redis => Box::new(|| Box::new(Redis::default())),
        Kind::Memcached => Box::new(|| Box::new(Memcached)),
        Kind::MariaDb => Box::new(move || Box::new(MariaDb::new(keeping))),
    }
}

/// Returns the command that serves, and the signal that ends it in order.
fn command(start: &Start<'_>, folder: &Folder, port: u16) -> Result<(Command, Stop)> {
    let Start { kind, keeping, program, memory_mb, .. } = *start;
    let is_in_memory = keeping == Keeping::Memory;
    let mut command = Command::new(program);
    let port = port.to_string();
    match kind {
        Kind::Clearway => {
            // As the current user: our program may be in a folder that others cannot enter.
            command.args(["serve", "--port", &port, "--schedulers", "1"]);
            command.env(PASSWORD_VARIABLE, PASSWORD);
            if !is_in_memory {
                command.arg("--data").arg(folder.path().join("data"));
            }
            return Ok((command, Stop::Terminate));
        }
        Kind::Postgres => {
            let data = folder.path().join("data");
            // Its helper programs are beside the file that a link points to.
            let home = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
            let mut make = Command::new(home.with_file_name("initdb"));
            make.arg("-D").arg(&data).args(["-U", postgres::USER, "-A", "trust", "-E", "UTF8"]);
            make.args(["--locale=C", "--no-sync"]);
            folder.run(&mut make)?;
            command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port, "-k", ""]);
            let settings: &[&str] = match is_in_memory {
                true => &["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
                false => &["fsync=on", "synchronous_commit=on"],
            };
            for setting in settings {
                command.args(["-c", setting]);
            }
            command.args(["-c", &format!("shared_buffers={memory_mb}MB")]);
        }
        Kind::Redis => {
            command.args(["--bind", "127.0.0.1", "--port", &port, "--save", ""]);
            command.args(redis_log(keeping)).args(["--maxmemory", &format!("{memory_mb}mb")]);
            command.arg("--dir").arg(folder.path());
        }
        Kind::Memcached => {
            command.args(["-l", "127.0.0.1", "-p", &port, "-U", "0", "-t", "1"]);
            command.args(["-m", &memory_mb.to_string()]);
        }
        Kind::MariaDb => {
            let data = path_option("--datadir", &folder.path().join("data"));
            let installer =
                self::program("mariadb-install-db").ok_or("mariadb-install-db: not found")?;
            let mut make = Command::new(installer);
            make.args(["--no-defaults", "--skip-test-db", "--skip-name-resolve"]).arg(&data);
            make.arg("--auth-root-authentication-method=normal");
            folder.run(&mut make)?;
            command
                .arg("--no-defaults")
                .arg(data)
                .args(["--bind-address=127.0.0.1", "--skip-log-bin"]);
            command.args([&format!("--port={port}"), "--skip-name-resolve"]);
            command.arg(path_option("--socket", &folder.path().join("socket")));
            command.arg(path_option("--pid-file", &folder.path().join("pid")));
            if !is_in_memory {
                command.arg("--innodb-flush-log-at-trx-commit=1");
            }
            command.arg(format!("--innodb-buffer-pool-size={memory_mb}M"));
        }
    }
    folder.own(&mut command);
    // An interrupt ends PostgreSQL's sessions; a termination would wait for them.
    Ok((command, if kind == Kind::Postgres { Stop::Interrupt } else { Stop::Terminate }))
}

/// Returns Redis's options for its append-only file.
const fn redis_log(keeping: Keeping) -> &'static [&'static str] {
    match keeping {
        Keeping::Memory => &["--appendonly", "no"],
        Keeping::Durable => &["--appendonly", "yes", "--appendfsync", "always"],
        Keeping::Delayed => &["--appendonly", "yes", "--appendfsync", "everysec"],
    }
}

/// Returns an option whose value is a path.
fn path_option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut option = std::ffi::OsString::from(name);
    option.push("=");
    option.push(path);
    option
}

/// Returns a command as one would type it, with FOLDER for the temporary folder.
fn shown(command: &Command, folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut text = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy().replace(&*folder, "FOLDER");
        text.push(' ');
        text.push_str(if argument.is_empty() { "''" } else { &argument });
    }
    text
}

/// Returns the first line of a program's version output.
pub(crate) fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.ok().and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default()
}

/// Finds a program along PATH, and where Debian installs servers.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"].map(PathBuf::from);
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    folders.extend(postgres_folders());
    folders.into_iter().map(|folder| folder.join(name)).find(|file| can_run(file))
}

/// Returns the folders of Debian's PostgreSQL versions, newest first.
fn postgres_folders() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let mut found: Vec<_> =
        versions.filter_map(|entry| Some((number(&entry)?, entry.path().join("bin")))).collect();
    found.sort();
    found.into_iter().rev().map(|(_, folder)| folder).collect()
}

fn can_run(file: &Path) -> bool {
    const EXECUTABLE: u32 = 0o111;
    fs::metadata(file)
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & EXECUTABLE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        assert!(program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(program("no-such-program-anywhere"), None);
        let clearway = Path::new("/somewhere/clearway");
        assert_eq!(Kind::Clearway.find(clearway).as_deref(), Some(clearway));
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/usr/bin/redis-server");
        command.args(["--save", "", "--port", "7", "--dir", "/a/b"]);
        let shown = shown(&command, Path::new("/a/b"));
        assert_eq!(shown, "redis-server --save '' --port 7 --dir FOLDER");
    }

    #[test]
    fn memcached_has_no_sessions() {
        assert!(Kind::Memcached.races(Work::Session).is_err());
        assert!(Kind::Memcached.races(Work::Get).is_ok());
        assert!(Kind::ALL.iter().all(|kind| Kind::of_name(kind.name()) == Some(*kind)));
    }
}
