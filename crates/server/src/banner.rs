//! The banner: the server's version and settings, and a connection string for each driver that
//! works unchanged.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use sos::memory::experiment::Experiment;

use crate::options::Encryption;

/// The values that connection strings are made of.
#[derive(Clone, Debug)]
pub(crate) struct Coordinates<'a> {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    /// The UNIX socket on which it listens as well.
    pub(crate) socket: Option<&'a Path>,
    /// The password of `sa`; a description in angle brackets if it is not known.
    pub(crate) password: &'a str,
    /// Where data is kept: one or more lines.
    pub(crate) data: &'a str,
    /// The server's encryption setting.
    pub(crate) encryption: Encryption,
    /// The memory model in use, and why it is not another one.
    pub(crate) memory: Vec<&'a str>,
    /// How the ledger distinguishes time on a CPU from time off it, and what it cannot measure.
    pub(crate) ledger: Vec<&'static str>,
    /// The sampler's rate, or why it is off.
    pub(crate) sampler: &'a str,
}

/// Returns the banner, without the ready line.
pub(crate) fn banner(version: &str, at: &Coordinates<'_>) -> String {
    let mut text = format!(
        "Clearway {version} on {}\n{}\nMemory: {}\nLedger: {}\nSampler: {}\n\n",
        at.address,
        at.data,
        at.memory.join("; "),
        at.ledger.join("; "),
        at.sampler
    );
    if let Some(path) = at.socket {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Socket: unix:{}\n", path.display());
    }
    for mode in Experiment::ALL.into_iter().filter(|mode| mode.is_on()) {
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "EXPERIMENT: {} is on; this server is slow on purpose\n", mode.name());
    }
    for (driver, connect) in connection_strings(at) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {driver:<8} {connect}");
    }
    text
}

/// Returns the ready line, which says that connections are accepted.
pub(crate) fn ready_line(address: SocketAddr) -> String {
    format!("Clearway is ready: {address}")
}

/// Returns a connection string for each driver.
fn connection_strings(at: &Coordinates<'_>) -> Vec<(&'static str, String)> {
    let (host, port) = (reachable_host(at.address), at.address.port());
    let is_strict = at.encryption == Encryption::Strict;
    let either = |strict: &'static str, other: &'static str| if is_strict { strict } else { other };
    let shell = shell_quoted(at.password);
    let braced = braced(at.password);
    vec![
        (
            "sqlcmd",
            format!("sqlcmd -S {host},{port} -U sa -P {shell} {}", either("-N strict", "-C")),
        ),
        (
            "ODBC",
            format!(
                "Driver={{ODBC Driver 18 for SQL Server}};Server={host},{port};UID=sa;PWD={braced};{}",
                either("Encrypt=strict", "TrustServerCertificate=yes")
            ),
        ),
        (
            "pymssql",
            format!(
                "pymssql.connect(server='{host}', port='{port}', user='sa', password={})",
                script_quoted(at.password)
            ),
        ),
        ("tedious", tedious(&host, port, at)),
        (
            "Go",
            format!(
                "sqlserver://sa:{}@{}:{port}?{}",
                percent_encoded(at.password),
                url_host(&host),
                either("encrypt=strict", "trustServerCertificate=true")
            ),
        ),
        (
            "JDBC",
            format!(
                "jdbc:sqlserver://{host}:{port};user=sa;password={braced};{}",
                either("encrypt=strict", "trustServerCertificate=true")
            ),
        ),
        (
            ".NET",
            format!(
                "Server={host},{port};User ID=sa;Password={};{}",
                doubled_quoted(at.password),
                either("Encrypt=Strict", "TrustServerCertificate=True")
            ),
        ),
    ]
}

fn tedious(host: &str, port: u16, at: &Coordinates<'_>) -> String {
    let encrypt = if at.encryption == Encryption::Strict { "encrypt: 'strict', " } else { "" };
    format!(
        "new Connection({{ server: '{host}', authentication: {{ type: 'default', options: \
         {{ userName: 'sa', password: {} }} }}, options: {{ port: {port}, {encrypt}\
         trustServerCertificate: true }} }})",
        script_quoted(at.password)
    )
}

/// Returns a host that reaches the server from this machine, even if it listens on all addresses.
fn reachable_host(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { address.ip().to_string() }
}

fn url_host(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Quotes a text for a POSIX shell, if necessary.
fn shell_quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,/+@%".contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes a text as both Python and JavaScript read it.
fn script_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Quotes a text for ODBC and JDBC connection strings: in braces, a closing one doubled.
fn braced(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,/+@%!".contains(c)) {
        return text.to_owned();
    }
    format!("{{{}}}", text.replace('}', "}}"))
}

/// Quotes a text for .NET connection strings: in double quotes, inner ones doubled.
fn doubled_quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,/+@%!".contains(c)) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn percent_encoded(text: &str) -> String {
    let mut target = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            let _ = write!(target, "%{byte:02X}");
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(password: &str) -> Coordinates<'_> {
        Coordinates {
            address: "127.0.0.1:1433".parse().expect("an address"),
            socket: None,
            password,
            encryption: Encryption::On,
            memory: vec!["conventional"],
            data: "Data lives in memory only.",
            ledger: vec!["rseq"],
            sampler: "97 Hz",
        }
    }

    fn find(at: &Coordinates<'_>, driver: &str) -> String {
        let all = connection_strings(at);
        all.into_iter().find(|(name, _)| *name == driver).expect("the driver has a line").1
    }

    #[test]
    fn every_driver_has_a_line() {
        let drivers: Vec<_> = connection_strings(&at("x")).iter().map(|(name, _)| *name).collect();
        assert_eq!(drivers, ["sqlcmd", "ODBC", "pymssql", "tedious", "Go", "JDBC", ".NET"]);
    }

    #[test]
    fn awkward_passwords_are_quoted_as_each_driver_reads_them() {
        let at = at("a;b'c}d\"e");
        assert!(find(&at, "sqlcmd").contains(r#"-P 'a;b'\''c}d"e'"#));
        assert!(find(&at, "ODBC").contains(r#"PWD={a;b'c}}d"e};"#));
        assert!(find(&at, "pymssql").contains(r#"password='a;b\'c}d"e'"#));
        assert!(find(&at, "Go").contains("sa:a%3Bb%27c%7Dd%22e@"));
        assert!(find(&at, ".NET").contains(r#"Password="a;b'c}d""e";"#));
    }

    #[test]
    fn a_server_on_all_addresses_is_reached_by_loopback() {
        let mut at = at("x");
        at.address = "0.0.0.0:14330".parse().expect("an address");
        assert!(find(&at, "JDBC").starts_with("jdbc:sqlserver://127.0.0.1:14330;"));
    }
}
