//! `ServerProcess`: the binary, started on a free port for one test and ended with it.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The password of `sa` in all tests.
pub(crate) const PASSWORD: &str = "Secret-Word1";
/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// A `clearway serve` child process.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) banner: String,
    log: mpsc::Receiver<String>,
}

/// Returns the binary's command with these arguments, and nothing of our own environment that counts. `CLEARWAY_BINARY`
/// names another binary than that of this build.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let built = env!("CARGO_BIN_EXE_clearway");
    let binary = std::env::var_os("CLEARWAY_BINARY").unwrap_or_else(|| built.into());
    let mut command = Command::new(binary);
    command.args(arguments).env_remove("CLEARWAY_SA_PASSWORD").env_remove("MSSQL_SA_PASSWORD");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// As [`command`], started by a shell that runs `before` first: limits and signals are inherited.
pub(crate) fn command_after(before: &str, arguments: &[&str]) -> Command {
    let own = command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before}; exec \"$0\" \"$@\"")]);
    shell.arg(own.get_program()).args(own.get_args());
    shell.env_remove("CLEARWAY_SA_PASSWORD").env_remove("MSSQL_SA_PASSWORD");
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

impl ServerProcess {
    /// Starts a server with the usual password.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--port", "0", "--sa-password", PASSWORD];
        all.extend_from_slice(arguments);
        Self::start_command(command(&all))
    }

    /// Starts a server by a command, and waits until it is ready.
    pub(crate) fn start_command(mut command: Command) -> Self {
        let child = command.spawn().expect("the binary starts");
        // From here on its end is this value's, whatever fails.
        let mut server =
            Self { child, address: NOWHERE, banner: String::new(), log: mpsc::channel().1 };
        server.log = forward(server.child.stderr.take().expect("stderr is piped"));
        let lines = forward(server.child.stdout.take().expect("stdout is piped"));
        loop {
            let line = lines.recv_timeout(PATIENCE).expect("the server gets ready");
            if let Some(address) = line.strip_prefix("Clearway is ready: ") {
                server.address = address.parse().expect("the ready line ends in an address");
                return server;
            }
            server.banner.push_str(&line);
            server.banner.push('\n');
        }
    }

    /// Returns the lines that it has logged so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.try_iter().collect()
    }

    /// Waits for a line of the log that contains `text`.
    pub(crate) fn wait_for_log(&self, text: &str) -> String {
        let end = now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(now());
            let line = self.log.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("the log has no line with '{text}'"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Returns the number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the process a signal, by name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let end = now() + PATIENCE;
        while now() < end {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                return status;
            }
            pause();
        }
        panic!("the server did not end");
    }

    /// Returns how many sockets it has open. Its other descriptors come and go with its threads.
    pub(crate) fn sockets(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        let descriptors = std::fs::read_dir(folder).expect("the server lives").flatten();
        let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// Returns its resident memory in KB.
    pub(crate) fn resident_kb(&self) -> u64 {
        self.kernel_kb("VmRSS")
    }

    /// Returns a number of the kernel's about its memory, in KB.
    pub(crate) fn kernel_kb(&self, name: &str) -> u64 {
        let read = |file: &str| {
            let path = format!("/proc/{}/{file}", self.child.id());
            std::fs::read_to_string(path).expect("the server lives")
        };
        let text = read("status") + &read("smaps_rollup");
        let line = text.lines().find(|line| line.starts_with(name)).expect("it has memory");
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    }

    /// Waits until a condition holds.
    pub(crate) fn wait_until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let end = now() + PATIENCE;
        while !holds(self) {
            assert!(now() < end, "never: {what}");
            pause();
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            for line in self.log() {
                eprintln!("server: {line}");
            }
        }
    }
}

/// The time outside of the server.
#[expect(clippy::disallowed_methods, reason = "a test looks at the process from outside")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Lets a short time pass between two looks at another process.
#[expect(clippy::disallowed_methods, reason = "a test has no scheduler to wait on")]
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

/// Sends lines as they come, so that a full pipe never stops the server.
#[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
fn forward(source: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The first CPU that this process may use.
pub(crate) fn first_allowed_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = line.expect("the kernel says which CPUs").trim();
    list.split([',', '-']).next().expect("at least one").to_owned()
}
