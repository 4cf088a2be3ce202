//! The banner: who this is, and per driver a connection string that works as it stands.

use std::fmt::Write;
use std::net::SocketAddr;

use sos::memory::experiment::Experiment;

use crate::options::Encryption;

/// What a connection string is made of.
#[derive(Clone, Debug)]
pub(crate) struct Coordinates<'a> {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    /// The password of `sa`.
    pub(crate) password: &'a str,
    /// What the server does about encryption.
    pub(crate) encryption: Encryption,
    /// How memory is taken from the operating system, and why not otherwise.
    pub(crate) memory: Vec<&'a str>,
    /// How the ledger tells time on a CPU from time off it, and what it has lost.
    pub(crate) ledger: Vec<&'static str>,
    /// How often the sampler looks, and why it does not.
    pub(crate) sampler: &'a str,
}

/// Returns the banner, without the ready line.
pub(crate) fn banner(version: &str, at: &Coordinates<'_>) -> String {
    let mut text = format!(
        "Clearway {version} on {}\nData lives in memory only: it ends with this process.\n\
         Memory: {}\nLedger: {}\nSampler: {}\n\n",
        at.address,
        at.memory.join("; "),
        at.ledger.join("; "),
        at.sampler
    );
    for mode in Experiment::ALL.into_iter().filter(|mode| mode.is_on()) {
        // Writing to a String can't fail.
        let _ =
            writeln!(text, "EXPERIMENT: {} is on; this server is slow on purpose\n", mode.name());
    }
    for (driver, connect) in connection_strings(at) {
        // Writing to a String can't fail.
        let _ = writeln!(text, "  {driver:<8} {connect}");
    }
    text
}

/// Returns the line that says that connections are accepted.
pub(crate) fn ready_line(address: SocketAddr) -> String {
    format!("Clearway is ready: {address}")
}

/// Returns a connection string per driver.
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

/// Returns a host that reaches a server on this machine, also if it listens on all addresses.
fn reachable_host(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { address.ip().to_string() }
}

fn url_host(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Quotes for a POSIX shell, only if it must.
fn shell_quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,/+@%".contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes as Python and JavaScript both read it.
fn script_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Quotes as ODBC and JDBC connection strings do: braces, a closing one doubled.
fn braced(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,/+@%!".contains(c)) {
        return text.to_owned();
    }
    format!("{{{}}}", text.replace('}', "}}"))
}

/// Quotes as .NET connection strings do: double quotes, inner ones doubled.
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
            password,
            encryption: Encryption::On,
            memory: vec!["conventional"],
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
