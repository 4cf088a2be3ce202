//! `PeerProcess`: a server that the race starts and owns: in its own folder, process group, free
//! port and CPU; ended and removed when dropped.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use load::process::Place;
use sos::sync::{AtomicU32, Ordering};
use sos::sys::{Listener, Stop};
use sos::{clock, sys};

use crate::Result;

/// How long a server may take to listen, and to end after a signal.
const START_MAX: Duration = Duration::from_secs(60);
const STOP_MAX: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(20);
/// The user for servers that refuse to run as root, or should not.
const USER: &str = "nobody";
const LOG: &str = "race.log";

/// How many folders this process has made.
static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A temporary folder, removed with its content when dropped.
pub(crate) struct Folder {
    path: PathBuf,
    /// User and group that own the folder; `None` for the current user.
    owner: Option<(u32, u32)>,
}

impl Folder {
    /// Makes a folder for a peer, in `disk` or else among the temporary files.
    pub(crate) fn new(disk: Option<&Path>, name: &str) -> Result<Self> {
        let parent = match disk {
            Some(disk) => absolute(disk)?,
            None => temporary(),
        };
        // Two races of one process may have peers of the same name.
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("clearway-race-{}-{number}-{name}", std::process::id()));
        let failed = |error| format!("{}: {error}", path.display());
        // A folder left by an earlier process with the same id is not in use.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(failed)?;
        let owner = if is_root(&path) { user_ids(USER) } else { None };
        let folder = Self { path, owner };
        if let Some((user, group)) = owner {
            let given = chown(&folder.path, Some(user), Some(group));
            given.map_err(|error| format!("{}: {error}", folder.path.display()))?;
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a command run in the folder, as its owner and without the environment of ours.
    ///
    /// Its temporary files are there too: a MariaDB that starts removes those of another one in the
    /// same folder, and that one's bootstrap then fails.
    pub(crate) fn own(&self, command: &mut Command) {
        command.current_dir(&self.path).stdin(Stdio::null());
        command.env("HOME", &self.path).env("TMPDIR", &self.path);
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        self.own(command);
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.output().map_err(|error| format!("{name}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(format!("{name}: {}: {}", output.status, last_line(&text)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed it stays in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns the folder for temporary files; if other users may not enter that, the system's usual
/// one.
fn temporary() -> PathBuf {
    let own = std::env::temp_dir();
    if others_may_enter(&own) { own } else { PathBuf::from("/tmp") }
}

/// Returns the whole path of a folder that the user has named; fails if other users may not enter it.
fn absolute(folder: &Path) -> Result<PathBuf> {
    let failed = |what: &str| Err(format!("{}: {what}", folder.display()));
    match fs::canonicalize(folder) {
        Ok(path) if others_may_enter(&path) => Ok(path),
        Ok(_) => failed("the peers run as another user, who may not enter it"),
        Err(error) => failed(&error.to_string()),
    }
}

pub(crate) fn others_may_enter(folder: &Path) -> bool {
    const ENTER: u32 = 0o001;
    let may_enter =
        |path: &Path| fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & ENTER != 0);
    folder.ancestors().all(may_enter)
}

/// Returns whether a file that we make belongs to root.
fn is_root(made: &Path) -> bool {
    fs::metadata(made).is_ok_and(|facts| facts.uid() == 0)
}

/// Returns user and group of a name, from the list of users.
fn user_ids(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns a port of this machine on which no process listens.
pub(crate) fn free_port() -> Result<u16> {
    let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let address = listener.and_then(|listener| listener.local_address());
    address.map(|address| address.port()).map_err(|error| format!("a free port: {error}"))
}

/// A running server, ended when dropped.
pub(crate) struct PeerProcess {
    child: Child,
    address: SocketAddr,
    stop: Stop,
    folder: Folder,
}

impl PeerProcess {
    /// Starts a server and waits until it listens. `stop` is the signal for an orderly end.
    pub(crate) fn start(
        mut command: Command,
        folder: Folder,
        port: u16,
        stop: Stop,
        place: Place,
    ) -> Result<Self> {
        let log = File::create(folder.path.join(LOG)).map_err(|error| format!("{LOG}: {error}"))?;
        let same = log.try_clone().map_err(|error| format!("{LOG}: {error}"))?;
        // In its own process group a Ctrl-C reaches only us, and we end it in order.
        command.stdin(Stdio::null()).stdout(log).stderr(same).process_group(0);
        sys::clear_signal_mask(&mut command);
        let child = spawn(&mut command, place)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // From here on this value ends the child, whatever fails.
        let mut peer = Self { child, address, stop, folder };
        let end_ns = clock::deadline_ns(START_MAX);
        while !peer.listens()? {
            if clock::monotonic_ns() > end_ns {
                return Err(format!("it does not listen: {}", peer.last_words()));
            }
            load::pause(STEP);
        }
        Ok(peer)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether this server is the one listening on its port; fails if it has ended.
    fn listens(&mut self) -> Result<bool> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(format!("it ended at once, {status}: {}", self.last_words()));
        }
        let Some(socket) = listening_socket(self.address.port()) else { return Ok(false) };
        let processes = tree(self.child.id());
        match processes.iter().any(|process| holds(process.id, &socket)) {
            true => Ok(true),
            // The child may be between fork and exec; if another process has the port, the child
            // will report it and end.
            false => Ok(false),
        }
    }

    fn last_words(&self) -> String {
        let text = fs::read_to_string(self.folder.path.join(LOG)).unwrap_or_default();
        last_line(&text)
    }

    /// Returns the CPU time of all its processes so far, ended ones included.
    pub(crate) fn cpu_ns(&self) -> Result<u64> {
        let ticks = sys::kernel_ticks_per_second().max(1);
        let sum = tree(self.child.id()).into_iter().map(|process| {
            // A process that has just ended is now in its parent's count.
            let own = sys::process_clock_ns(process.id).unwrap_or(0);
            own + process.ended_ticks * (1_000_000_000 / ticks)
        });
        let sum = sum.sum::<u64>();
        if sum == 0 { Err("the server has gone".to_owned()) } else { Ok(sum) }
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It may be ending already.
            let _ = sys::ask_to_stop(self.child.id(), self.stop);
        }
        let end_ns = clock::deadline_ns(STOP_MAX);
        while matches!(self.child.try_wait(), Ok(None)) {
            if clock::monotonic_ns() > end_ns {
                // It is still our child, so its id has not been reused.
                let _ = sys::kill_group(self.child.id());
                let _ = self.child.wait();
                return;
            }
            load::pause(STEP);
        }
    }
}

/// Starts a command on its CPU.
pub(crate) fn spawn(command: &mut Command, place: Place) -> Result<Child> {
    if let Place::Pinned { server_cpu, .. } = place {
        // A child inherits the CPUs of the thread that starts it.
        sys::pin_to_cpu(server_cpu).map_err(|error| format!("CPU {server_cpu}: {error}"))?;
    }
    let spawned = command.spawn();
    if let Place::Pinned { client_cpu, .. } = place {
        sys::pin_to_cpu(client_cpu).map_err(|error| format!("CPU {client_cpu}: {error}"))?;
    }
    spawned.map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))
}

fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("it has no output").trim().to_owned()
}

/// A process of a process tree.
struct Process {
    id: u32,
    /// CPU time of its children that have ended, in ticks of the kernel's clock.
    ended_ticks: u64,
}

/// Returns a process with all its descendants.
fn tree(root: u32) -> Vec<Process> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // The process may have ended in between.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some((parent, ended_ticks)) = parent_and_ended(&stat) {
            all.push((parent, Process { id, ended_ticks }));
        }
    }
    let mut found: Vec<Process> = Vec::new();
    let mut wanted = vec![root];
    while let Some(id) = wanted.pop() {
        let (own, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, process)| process.id == id);
        found.extend(own.into_iter().map(|(_, process)| process));
        wanted.extend(
            others.iter().filter(|(parent, _)| *parent == id).map(|(_, process)| process.id),
        );
        all = others;
    }
    found
}

/// Returns the parent's id and the CPU time of ended children: fields 4, 16 and 17 of `stat`.
fn parent_and_ended(stat: &str) -> Option<(u32, u64)> {
    // The name may contain brackets and blanks.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((fields.get(1)?.parse().ok()?, ticks(13)? + ticks(14)?))
}

/// Returns the kernel's number of the socket that listens on a port of this machine.
fn listening_socket(port: u16) -> Option<String> {
    const LISTENS: &str = "0A";
    let wanted = format!(":{port:04X}");
    let sockets = fs::read_to_string("/proc/net/tcp").ok()?;
    sockets.lines().find_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&wanted) && *fields.get(3)? == LISTENS;
        is_it.then(|| format!("socket:[{}]", fields.get(9).copied().unwrap_or_default()))
    })
}

/// Returns whether a process has a socket open.
fn holds(process: u32, socket: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files.flatten().any(|file| {
        fs::read_link(file.path()).is_ok_and(|target| target.to_string_lossy() == socket)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_books_of_a_process_are_read() {
        let stat = "7 (a) (b) S 3 7 7 0 -1 4194304 1 2 3 4 50 60 11 22 20 0 1 0 9 9 9";
        assert_eq!(parent_and_ended(stat), Some((3, 33)));
        assert!(tree(std::process::id()).iter().any(|process| process.id == std::process::id()));
    }

    #[test]
    fn a_listener_of_this_process_is_found() {
        let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let port = listener.local_address().unwrap().port();
        let socket = listening_socket(port).unwrap();
        assert!(holds(std::process::id(), &socket));
        assert!(!holds(std::process::id(), "socket:[0]"));
    }

    #[test]
    fn a_folder_goes_with_what_is_in_it() {
        let folder = Folder::new(None, "test").unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "text").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
