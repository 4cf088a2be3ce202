//! `--socket PATH` and `-S unix:PATH`: the server on a UNIX socket beside its port.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::server::{PASSWORD, ServerProcess, command};

/// A folder of this test, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("clearway-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("sql.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it harms nothing.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(path: &Path) -> ServerProcess {
    ServerProcess::start(&["--socket", path.to_str().expect("text")])
}

/// Runs a query over the socket.
fn ask(path: &Path, query: &str) -> Output {
    let target = format!("unix:{}", path.display());
    let fixed = ["sql", "-S", &target, "-P", PASSWORD, "-W", "-h", "-1", "-s", "|", "-Q", query];
    command(&fixed).stdin(Stdio::null()).output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn socket_serves_beside_the_port_and_goes_with_the_server() {
    let folder = Folder::new("socket");
    let path = folder.file();
    let mut server = start(&path);
    assert!(server.banner.contains(&format!("unix:{}", path.display())), "{}", server.banner);
    let query = "set nocount on; select net_transport, client_net_address, client_tcp_port, \
                 local_net_address, connectionproperty('net_transport') \
                 from sys.dm_exec_connections where session_id = @@spid";
    let output = ask(&path, query);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    assert!(found.contains("Unix socket|<local machine>|NULL|NULL|Unix socket"), "{found}");
    let by_port = format!("127.0.0.1,{}", server.address.port());
    let both = "set nocount on; select count(*) from sys.dm_exec_connections \
                where net_transport = 'TCP' and session_id = @@spid";
    let output = command(&["sql", "-S", &by_port, "-P", PASSWORD, "-W", "-h", "-1", "-Q", both])
        .output()
        .expect("it ends");
    assert!(text(&output.stdout).starts_with('1'), "{}", text(&output.stdout));
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(!path.exists(), "the file of the socket is removed");
    let output = ask(&path, "select 1");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("unix:"), "{}", text(&output.stderr));
}

#[test]
fn file_of_a_server_that_was_killed_is_replaced_and_no_other() {
    let folder = Folder::new("socket-file");
    let path = folder.file();
    let mut killed = start(&path);
    killed.signal("KILL");
    killed.wait();
    assert!(std::fs::symlink_metadata(&path).expect("it stays").file_type().is_socket());
    let server = start(&path);
    assert_eq!(ask(&path, "select 1").status.code(), Some(0));
    let refused = |path: &Path| {
        let fixed = ["serve", "--port", "0", "--socket", path.to_str().expect("text")];
        let output = command(&fixed).output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert!(refused(&path).contains("is in use"), "a second server");
    assert_eq!(ask(&path, "select 1").status.code(), Some(0), "the first goes on");
    drop(server);
    let other = folder.0.join("letter.txt");
    std::fs::write(&other, "keep me").expect("a file");
    assert!(refused(&other).contains("no socket"));
    assert_eq!(std::fs::read(&other).expect("a file"), b"keep me");
    assert!(refused(&folder.0.join("nowhere/sql.sock")).contains("does not exist"));
}
