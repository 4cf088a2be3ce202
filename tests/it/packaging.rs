//! What a package installs: the Debian package's content and fields, its service, and how the server speaks to a service manager.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Client;
use crate::command_line::run;
use crate::server::{PASSWORD, PATIENCE, ServerProcess, command};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether all these programs are on this machine; if not, the test is skipped and says so.
fn have(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|at| at.join(name).exists());
    let missing = programs.iter().find(|name| !is_there(name));
    if let Some(name) = missing {
        eprintln!("skipped: no {name}");
    }
    missing.is_none()
}

/// Returns what a program writes to stdout; it must succeed.
fn output(program: &mut Command) -> String {
    let output = program.output().expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("clearway-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn debian_package_has_its_files_fields_and_scripts() {
    if !have(&["dpkg-deb", "readelf", "python3", "gzip", "bash"]) {
        return;
    }
    let folder = Folder::new("package");
    let binary = command(&[]).get_program().to_owned();
    let mut make = Command::new(root().join("packaging/package.sh"));
    output(make.env("BINARY", &binary).env("OUT", &folder.0).env("QUICK", "1"));
    let (version, arch) = (env!("CARGO_PKG_VERSION"), debian_architecture());
    let package = folder.0.join(format!("clearway_{version}_{arch}.deb"));
    let deb = |option: &str| Command::new("dpkg-deb").arg(option).arg(&package).output();
    let text =
        |option: &str| String::from_utf8(deb(option).expect("dpkg-deb runs").stdout).expect("text");

    let fields = text("--field");
    assert!(fields.contains(&format!("Package: clearway\nVersion: {version}\n")), "{fields}");
    assert!(fields.contains(&format!("Architecture: {arch}\n")), "{fields}");
    // The oldest glibc that runs what this machine has linked, which is no newer than its own.
    let depends = fields.lines().find(|line| line.starts_with("Depends: ")).expect("a field");
    let glibc = depends.split("libc6 (>= ").nth(1).and_then(|rest| rest.split(')').next());
    let number = |text: &str| text.split('.').map(|n| n.parse().expect("a number")).collect();
    let glibc: Vec<u32> = number(glibc.expect("a version of libc6"));
    let own = output(Command::new("getconf").arg("GNU_LIBC_VERSION"));
    assert!(glibc <= number(own.trim().trim_start_matches("glibc ")), "{depends}; here {own}");
    assert!(glibc >= vec![2, 17] && depends.contains("adduser"), "{depends}");

    let listed = text("--contents");
    for (mode, path) in [
        ("-rwxr-xr-x root/root", "./usr/bin/clearway"),
        ("-rw-r--r-- root/root", "./lib/systemd/system/clearway.service"),
        ("-rw-r----- root/root", "./etc/default/clearway"),
        ("-rw-r--r-- root/root", "./usr/share/man/man1/clearway.1.gz"),
        ("-rw-r--r-- root/root", "./usr/share/man/man1/clearway-serve.1.gz"),
        ("-rw-r--r-- root/root", "./usr/share/bash-completion/completions/clearway"),
        ("-rw-r--r-- root/root", "./usr/share/doc/clearway/copyright"),
        ("-rw-r--r-- root/root", "./usr/share/doc/clearway/NOTICE"),
        ("-rw-r--r-- root/root", "./usr/share/doc/clearway/THIRD-PARTY.gz"),
    ] {
        let line = listed.lines().find(|line| line.ends_with(path));
        assert!(line.is_some_and(|line| line.starts_with(mode)), "{path}: {line:?}");
    }

    let unpacked = folder.0.join("unpacked");
    output(Command::new("dpkg-deb").arg("--raw-extract").arg(&package).arg(&unpacked));
    let read = |path: &str| std::fs::read_to_string(unpacked.join(path)).expect("a file");
    assert_eq!(read("DEBIAN/conffiles"), "/etc/default/clearway\n");
    for script in ["postinst", "prerm", "postrm"] {
        output(Command::new("sh").arg("-n").arg(unpacked.join("DEBIAN").join(script)));
    }
    // The binary keeps the lines of its functions, for profiles.
    let sections =
        output(Command::new("readelf").args(["-SW"]).arg(unpacked.join("usr/bin/clearway")));
    assert!(sections.contains(".debug_line"), "{sections}");
    manual_and_completion_have_every_option(&unpacked);
}

/// Checks them against the help of this binary.
fn manual_and_completion_have_every_option(unpacked: &Path) {
    let page = unpacked.join("usr/share/man/man1/clearway-serve.1.gz");
    let page = output(Command::new("gzip").arg("-dc").arg(page)).replace("\\-", "-");
    let completion = unpacked.join("usr/share/bash-completion/completions/clearway");
    let completion = std::fs::read_to_string(completion).expect("a file");
    let (_, help, _) = run(&["serve", "--help"]);
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"))
        .filter_map(|line| line.split([' ', '[']).next())
        .collect();
    assert!(options.len() > 20, "{options:?}");
    for option in options {
        assert!(page.contains(&format!("--{option}")), "{option}");
        assert!(completion.contains(&format!("--{option}")), "{option}");
    }
}

fn debian_architecture() -> &'static str {
    if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" }
}

#[test]
fn service_is_one_that_systemd_accepts() {
    if !have(&["systemd-analyze"]) {
        return;
    }
    let folder = Folder::new("unit");
    let unit = std::fs::read_to_string(root().join("packaging/debian/clearway.service"));
    // The binary need not be installed.
    let unit = unit.expect("the unit").replace("/usr/bin/clearway", "/bin/true");
    let path = folder.0.join("clearway.service");
    std::fs::write(&path, unit.replace("man:clearway(1) ", "")).expect("a file");
    let mut verify = Command::new("systemd-analyze");
    let verified = verify.args(["verify", "--man=no"]).arg(&path).output().expect("it runs");
    let said = String::from_utf8_lossy(&verified.stderr);
    // Other units of the machine are none of ours.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("clearway")).collect();
    assert!(ours.is_empty(), "{said}");
}

/// Starts a server that has this NOTIFY_SOCKET.
fn start_notifying(place: &str) -> ServerProcess {
    let mut start = command(&["serve", "--port", "0", "--sa-password", PASSWORD]);
    start.env("NOTIFY_SOCKET", place);
    ServerProcess::start_command(start)
}

/// Receives the next message, which must come in time.
fn message(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let length = socket.recv(&mut buffer).expect("a message");
    String::from_utf8(buffer[..length].to_vec()).expect("text")
}

#[test]
fn service_manager_learns_when_the_server_is_ready_and_when_it_stops() {
    let folder = Folder::new("notify");
    let path = folder.0.join("socket");
    let name = format!("clearway-notify-{}", std::process::id());
    let hidden = SocketAddr::from_abstract_name(&name).expect("a name");
    let bound: [(String, io::Result<UnixDatagram>); 2] = [
        (path.display().to_string(), UnixDatagram::bind(&path)),
        (format!("@{name}"), UnixDatagram::bind_addr(&hidden)),
    ];
    for (place, socket) in bound {
        let socket = socket.expect("a socket");
        let mut server = start_notifying(&place);
        assert_eq!(message(&socket), "READY=1", "{place}");
        Client::log_in(server.address);
        socket.set_nonblocking(true).expect("a socket");
        assert!(socket.recv(&mut [0; 8]).is_err(), "nothing more until the stop");
        socket.set_nonblocking(false).expect("a socket");
        server.signal("TERM");
        assert_eq!(message(&socket), "STOPPING=1", "{place}");
        assert!(server.wait().success());
    }
}

#[test]
fn service_manager_that_does_not_hear_is_a_line_of_the_log() {
    for place in ["/nowhere/at/all", "vsock:2:1234"] {
        let server = start_notifying(place);
        let line = server.wait_for_log("NOTIFY_SOCKET");
        assert!(line.contains("READY=1"), "{line}");
        Client::log_in(server.address);
    }
}
