//! The server in a container: the variables of SQL Server's image, `sqlcmd` as scripts call it, and limits of control groups.

use std::path::PathBuf;
use std::process::{Command, Output};

use types::Value;

use crate::client::Client;
use crate::server::{PASSWORD, ServerProcess, command, command_after};

/// Variables that a server could have from our own environment.
const VARIABLES: [&str; 6] = [
    "MSSQL_TCP_PORT",
    "MSSQL_IP_ADDRESS",
    "MSSQL_MEMORY_LIMIT_MB",
    "MSSQL_DATA_DIR",
    "MSSQL_PID",
    "SA_PASSWORD",
];

/// The command of a server that reads these variables.
fn with_variables(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut start = command(&["serve", "--mssql-variables"]);
    VARIABLES.iter().for_each(|name| _ = start.env_remove(name));
    start.args(arguments).envs(variables.iter().copied());
    start
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("clearway-{}-{name}", std::process::id()))
}

#[test]
fn variables_of_the_image_are_settings() {
    let data = folder("variables");
    let text = data.display().to_string();
    let variables = [
        ("ACCEPT_EULA", "Y"),
        ("SA_PASSWORD", PASSWORD),
        ("MSSQL_TCP_PORT", "0"),
        ("MSSQL_IP_ADDRESS", "0.0.0.0"),
        ("MSSQL_MEMORY_LIMIT_MB", "300"),
        ("MSSQL_DATA_DIR", text.as_str()),
        ("MSSQL_PID", "Developer"),
        ("MSSQL_AGENT_ENABLED", "false"),
    ];
    let server = ServerProcess::start_command(with_variables(&[], &variables));
    assert!(server.address.ip().is_unspecified(), "{}", server.address);
    assert!(server.banner.contains(&format!("Data is kept in {text}")), "{}", server.banner);
    assert!(!server.banner.contains(PASSWORD), "logs keep it: {}", server.banner);
    let at = format!("127.0.0.1:{}", server.address.port()).parse().expect("an address");
    let mut client = Client::log_in(at);
    let query = "(SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'max server memory (MB)')";
    assert_eq!(client.value_of(query), Value::Int(300));
    // What scripts and Testcontainers wait for is there when logins work.
    let log = server.wait_for_log("has no effect");
    assert!(log.contains("MSSQL_PID has no effect"), "{log}");
    let log = server.wait_for_log("SQL Server is now ready for client connections");
    assert!(!log.contains("MSSQL_"), "{log}");
    server.wait_for_log("Recovery is complete.");
    assert!(server.log().iter().all(|line| !line.contains("ACCEPT_EULA")), "it needs nothing");
    drop(server);
    std::fs::remove_dir_all(data).expect("the folder of the data");
}

#[test]
fn options_go_before_variables_and_without_the_option_they_count_nothing() {
    let variables =
        [("MSSQL_TCP_PORT", "1"), ("MSSQL_IP_ADDRESS", "nowhere"), ("MSSQL_DATA_DIR", "")];
    let options = ["--port", "0", "--listen", "127.0.0.1", "--sa-password", PASSWORD];
    let server = ServerProcess::start_command(with_variables(&options, &variables));
    assert!(server.banner.contains("memory only"), "{}", server.banner);
    Client::log_in(server.address);
    let mut start = command(&["--port", "0", "--sa-password", PASSWORD]);
    let server = {
        start.env("MSSQL_IP_ADDRESS", "nowhere").env("MSSQL_DATA_DIR", "/nowhere");
        ServerProcess::start_command(start)
    };
    assert!(server.banner.contains("memory only"), "{}", server.banner);
}

#[test]
fn wrong_values_are_one_line_that_names_the_variable() {
    for (name, value) in [
        ("MSSQL_TCP_PORT", "many"),
        ("MSSQL_IP_ADDRESS", "nowhere"),
        ("MSSQL_MEMORY_LIMIT_MB", "lots"),
        ("MSSQL_MEMORY_LIMIT_MB", "5"),
    ] {
        let mut start = with_variables(&[], &[("SA_PASSWORD", PASSWORD), (name, value)]);
        let output = start.output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(name) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn password_of_the_environment_is_not_printed() {
    for name in ["CLEARWAY_SA_PASSWORD", "MSSQL_SA_PASSWORD"] {
        let mut start = command(&["--port", "0"]);
        start.env(name, PASSWORD);
        let server = ServerProcess::start_command(start);
        Client::log_in(server.address);
        assert!(!server.banner.contains(PASSWORD), "{}", server.banner);
    }
}

/// Runs sqlcmd against a server, with these options.
fn sqlcmd(server: &ServerProcess, options: &[&str]) -> Output {
    let place = format!("localhost,{}", server.address.port());
    let mut run = command(&["sqlcmd", "-S", &place, "-U", "sa", "-P", PASSWORD]);
    run.env_remove("SQLCMDUSER").args(options).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn sqlcmd_does_what_health_checks_and_start_scripts_ask() {
    let server = ServerProcess::start(&[]);
    // What compose files, Testcontainers for Python, for .NET and for Go send.
    for options in [
        &["-C", "-Q", "SELECT 1"][..],
        &["-C", "-b", "-Q", "SELECT 1", "-o", "/dev/null"],
        &["-No", "-l", "3", "-h", "-1", "-W", "-Q", "SET NOCOUNT ON; SELECT 1"],
        &["-b", "-r", "1", "-t", "1", "-h-1", "-Q", "SELECT 1"],
        &["-I", "-w", "65535", "-f", "65001", "-s,", "-d", "master", "-Q", "SELECT 1"],
    ] {
        let output = sqlcmd(&server, options);
        assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
    }
    let output = sqlcmd(&server, &["-h-1", "-W", "-Q", "SET NOCOUNT ON; SELECT 41 + 1"]);
    assert_eq!(text(&output.stdout).trim_end(), "42");

    let script = folder("script.sql");
    std::fs::write(&script, "PRINT N'$(a) and $(b)';\nGO\nRAISERROR('it fails', 16, 1);\nGO\n")
        .expect("a script");
    let path = script.display().to_string();
    let output = sqlcmd(&server, &["-b", "-r1", "-v", "a=one", "b=two", "-i", &path]);
    std::fs::remove_file(script).expect("the script");
    assert_eq!(output.status.code(), Some(1), "-b");
    let said = text(&output.stderr);
    assert!(said.contains("one and two") && said.contains("it fails"), "{said}");

    let long = "SELECT REPLICATE(CAST('y' AS varchar(max)), 1000) AS y";
    let whole = text(&sqlcmd(&server, &["-y", "0", "-Q", long]).stdout);
    assert!(whole.contains(&format!("{}\n", "y".repeat(1000))), "{whole}");
    let cut = text(&sqlcmd(&server, &["-y", "10", "-Q", long]).stdout);
    assert!(!cut.contains(&"y".repeat(11)), "{cut}");
}

#[test]
fn sqlcmd_fails_where_sqlcmd_fails() {
    let server = ServerProcess::start(&[]);
    let wrong = sqlcmd(&server, &["-P", "wrong", "-Q", "SELECT 1"]);
    assert_eq!(wrong.status.code(), Some(1), "a password that is wrong");
    assert!(text(&wrong.stderr).contains("Login failed"), "{}", text(&wrong.stderr));
    let sent = sqlcmd(&server, &["-Q", "SELECT * FROM nothing"]);
    assert_eq!(sent.status.code(), Some(0), "without -b");
    assert!(text(&sent.stdout).contains("Msg 208"), "{}", text(&sent.stdout));
    for option in ["-E", "-m1", "-Z", "-w80", "-f1252", "--query"] {
        let refused = sqlcmd(&server, &[option, "-Q", "SELECT 1"]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{option}: {said}");
        let name = option.get(..2).expect("an option");
        assert!(said.contains(name) && said.lines().count() == 1, "{said}");
        assert_eq!(text(&refused.stdout), "");
    }
}

/// Control groups of a test, gone with it.
struct Groups(Vec<PathBuf>);

impl Groups {
    /// Makes groups with these limits; `None` where this machine or its user may not.
    fn limit(memory_bytes: u64, cpus: f64) -> Option<Self> {
        let name = format!("clearway-it-{}", std::process::id());
        let (period_us, top) = (100_000.0, PathBuf::from("/sys/fs/cgroup"));
        let mut groups = Self(Vec::new());
        let quota = format!("{:.0}", cpus * period_us);
        let is_first = top.join("memory/memory.limit_in_bytes").exists();
        let limits = match is_first {
            true => vec![
                (top.join("memory").join(&name), "memory.limit_in_bytes", memory_bytes.to_string()),
                (top.join("cpu").join(&name), "cpu.cfs_quota_us", quota),
            ],
            false => {
                let group = top.join(&name);
                vec![
                    (group.clone(), "memory.max", memory_bytes.to_string()),
                    (group, "cpu.max", format!("{quota} {period_us:.0}")),
                ]
            }
        };
        for (group, file, limit) in limits {
            if !groups.0.contains(&group) {
                std::fs::create_dir(&group).ok()?;
                groups.0.push(group.clone());
            }
            std::fs::write(group.join(file), limit).ok()?;
        }
        Some(groups)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        // If it fails an empty group stays.
        self.0.iter().for_each(|group| _ = std::fs::remove_dir(group));
    }
}

#[test]
fn server_takes_what_its_control_group_grants() {
    let Some(groups) = Groups::limit(512 << 20, 0.9) else {
        println!("skipped: no control group can be made here");
        return;
    };
    let enter: Vec<String> = groups
        .0
        .iter()
        .map(|group| format!("echo $$ > {}/cgroup.procs", group.display()))
        .collect();
    let arguments = ["serve", "--port", "0", "--sa-password", PASSWORD];
    let mut server = ServerProcess::start_command(command_after(&enter.join("; "), &arguments));
    let mut client = Client::log_in(server.address);
    let schedulers =
        "(SELECT CAST(COUNT(*) AS int) FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE')";
    assert_eq!(client.value_of(schedulers), Value::Int(1), "a quota of 0.9 CPUs");
    let memory = "(SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'max server memory (MB)')";
    assert_eq!(client.value_of(memory), Value::Int(384), "three quarters of 512 MB");
    server.signal("TERM");
    server.wait();
}
