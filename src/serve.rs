//! The verb `serve`: checks its arguments, starts the server, and runs it until a signal stops it.

use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

use server::options::{
    AdminPort, Certificate, Data, Encryption, Limits, LockMode, Options, Password, parse_bytes,
    parse_duration, parse_memory, parse_moment,
};
use sos::ledger::SourceChoice;
use sos::memory::MemoryModel;
use sos::memory::experiment::Experiment;

use crate::variables::Variables;
use crate::{ServeArguments, notify, wrong_usage};

/// Environment variables that may hold the password of `sa`, in order of precedence.
const PASSWORD_VARIABLES: [&str; 2] = ["CLEARWAY_SA_PASSWORD", "MSSQL_SA_PASSWORD"];
/// The most schedulers that can be asked for.
const SCHEDULERS_MAX: usize = 1_024;

/// Runs the server. Returns 0 after an orderly stop, 2 for wrong arguments, 1 for other errors.
pub(crate) fn run(arguments: &ServeArguments) -> ExitCode {
    let variables = match variables(arguments) {
        Ok(variables) => variables,
        Err(what) => return wrong_usage(&what),
    };
    let options = match options(arguments, &variables) {
        Ok(options) => options,
        Err(what) => return wrong_usage(&what),
    };
    variables.without_effect.iter().for_each(|line| sos::error_log::line(line));
    let console = match console(arguments) {
        Ok(console) => console,
        Err(what) => return wrong_usage(&what),
    };
    match serve(&options, console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: &Options, console: Option<webconsole::settings::Settings>) -> Result<(), String> {
    // Before any thread exists, so that all inherit the mask and only this one receives signals.
    let signals = sos::sys::StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    // An event file that exceeds the size limit stops only that file's target.
    sos::sys::ignore_sigxfsz();
    // Before the server starts: an address that is taken must not cost a start.
    let console = console.map(webconsole::Bound::new).transpose()?;
    let server = server::Server::start(options)?;
    server.adopt_caller("main");
    let own = std::process::id();
    server.on_shutdown(move || sos::sys::ask_to_stop(own, sos::sys::Stop::Terminate));
    print(&server.banner());
    if let Some(console) = console {
        let tls = console.needs_tls().then(|| server.https()).transpose()?;
        print(&format!("Console: {}\n", console.url()));
        console.start(server.machine(), server.instance(), tls)?;
    }
    print(&format!("{}\n", server.ready_line()));
    report("READY=1");
    // This thread is idle until the end, so the memory that its start has freed goes to others.
    sos::memory::tidy();
    signals.wait().map_err(|error| format!("signals: {error}"))?;
    let signal = signals.take().map_err(|error| format!("signals: {error}"))?;
    report("STOPPING=1");
    server.stop(signal.unwrap_or(sos::sys::Stop::Terminate));
    Ok(())
}

/// Writes to stdout and flushes. A closed stdout does not stop the server.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Reports a state to the service manager, if there is one. Without an answer there the server still serves.
fn report(state: &str) {
    if let Err(error) = notify::service_manager(state) {
        sos::error_log::line(&format_args!("NOTIFY_SOCKET, {state}: {error}"));
    }
}

/// Reads the environment variables of SQL Server's image, if they are asked for.
fn variables(arguments: &ServeArguments) -> Result<Variables, String> {
    match arguments.mssql_variables {
        true => Variables::read(&server::options::collation()),
        false => Ok(Variables::default()),
    }
}

/// Checks the arguments; returns the server's options.
fn options(arguments: &ServeArguments, variables: &Variables) -> Result<Options, String> {
    let schedulers =
        arguments.schedulers.as_deref().map(|text| number("--schedulers", text, SCHEDULERS_MAX));
    let port = Given::new("--port", &arguments.port, "MSSQL_TCP_PORT", &variables.port, "1433");
    let query_memory_max = arguments.max_query_memory.as_deref().map(|text| {
        parse_bytes(text)
            .and_then(|n| if n > 0 { Ok(n) } else { Err("it must be more than zero".to_owned()) })
            .map_err(|why| wrong("--max-query-memory", text, &why))
    });
    Ok(Options {
        address: address(arguments, variables)?,
        port: parse_port(port.name, port.text)?,
        admin_port: admin_port(arguments, port.text)?,
        socket: arguments.socket.clone(),
        sa_password: password(arguments, variables)?,
        data: data(arguments, variables)?,
        memory_max: memory_max(arguments, variables)?,
        memory_model: MemoryModel::of_name(&arguments.memory_model).ok_or_else(|| {
            let expected = "expected conventional, locked or large";
            wrong("--memory-model", &arguments.memory_model, expected)
        })?,
        experiments: experiments(&arguments.experiment)?,
        query_memory_max: query_memory_max.transpose()?,
        schedulers: schedulers.transpose()?,
        ledger: SourceChoice::of_name(&arguments.ledger).ok_or_else(|| {
            wrong("--ledger", &arguments.ledger, "it is auto, rseq, switches, schedstat or wall")
        })?,
        sampling_rate_hz: sampling_rate(&arguments.sampling_rate)?,
        lock_mode: lock_mode(&arguments.lock_mode)?,
        encryption: encryption(&arguments.encryption)?,
        certificate: match (&arguments.tls_cert, &arguments.tls_key) {
            (Some(certificates), Some(key)) => {
                Certificate::Files { certificates: certificates.clone(), key: key.clone() }
            }
            _ => Certificate::SelfSigned,
        },
        limits: limits(arguments)?,
        start_in_log: arguments.mssql_variables,
    })
}

/// A setting's text, and the option or variable that it is from.
struct Given<'a> {
    name: &'static str,
    text: &'a str,
}

impl<'a> Given<'a> {
    /// The option goes before the variable.
    fn new(
        option: &'static str,
        given: &'a Option<String>,
        variable: &'static str,
        value: &'a Option<String>,
        default: &'a str,
    ) -> Self {
        match (given, value) {
            (Some(text), _) => Self { name: option, text },
            (None, Some(text)) => Self { name: variable, text },
            (None, None) => Self { name: option, text: default },
        }
    }
}

fn memory_max(arguments: &ServeArguments, variables: &Variables) -> Result<u64, String> {
    let (name, text) = match (&arguments.max_memory, &variables.max_memory) {
        (Some(text), _) => ("--max-memory", text),
        (None, Some(text)) => ("MSSQL_MEMORY_LIMIT_MB", text),
        (None, None) => return Ok(server::options::default_memory_max()),
    };
    parse_memory(text).map_err(|why| wrong(name, text, &why))
}

/// Returns the settings of the console, if there is to be one.
fn console(arguments: &ServeArguments) -> Result<Option<webconsole::settings::Settings>, String> {
    let Some(text) = &arguments.console else { return Ok(None) };
    let address =
        webconsole::settings::parse_address(text).map_err(|why| wrong("--console", text, &why))?;
    let token = arguments.console_token.as_ref().map(|path| {
        let what = |why: &dyn std::fmt::Display| {
            wrong("--console-token", &path.display().to_string(), &why.to_string())
        };
        let bytes = sos::sys::read_file(&path.to_string_lossy()).map_err(|error| what(&error))?;
        let text = String::from_utf8(bytes).map_err(|error| what(&error))?;
        webconsole::settings::parse_token(&text).map_err(|why| what(&why))
    });
    let hosts = arguments.console_host.clone();
    Ok(Some(webconsole::settings::Settings { address, hosts, token: token.transpose()? }))
}

/// Returns where the data is kept, if it is.
fn data(arguments: &ServeArguments, variables: &Variables) -> Result<Option<Data>, String> {
    let until = arguments.recover_until.as_deref().map(|text| {
        let expected = "expected a UTC time such as 2026-11-28T14:05:00";
        parse_moment(text).ok_or_else(|| wrong("--recover-until", text, expected))
    });
    let until_100ns = until.transpose()?;
    if arguments.data.as_ref().is_some_and(String::is_empty) {
        return Err("--data must not be empty".to_owned());
    }
    let Some(folder) = arguments.data.as_ref().or(variables.data.as_ref()) else {
        let of_folders = [
            (arguments.recover_until.is_some(), "--recover-until"),
            (arguments.salvage, "--salvage"),
            (arguments.keep_schema_only, "--keep-schema-only"),
        ];
        let alone = of_folders.iter().find(|(is_given, _)| *is_given);
        return alone.map_or(Ok(None), |(_, option)| Err(format!("{option} needs --data")));
    };
    Ok(Some(Data {
        folder: folder.clone(),
        until_100ns,
        salvage: arguments.salvage,
        keep_schema_only: arguments.keep_schema_only,
    }))
}

fn experiments(names: &[String]) -> Result<Vec<Experiment>, String> {
    let expected = "expected page-per-hash, decommit-per-segment or allocator-lock";
    let mode = |name: &String| {
        Experiment::of_name(name).ok_or_else(|| wrong("--experiment", name, expected))
    };
    names.iter().map(mode).collect()
}

fn limits(arguments: &ServeArguments) -> Result<Limits, String> {
    let time =
        |option: &str, text: &str| parse_duration(text).map_err(|why| wrong(option, text, &why));
    let defaults = Limits::default();
    Ok(Limits {
        login_timeout: time("--login-timeout", &arguments.login_timeout)?,
        packet_timeout: time("--packet-timeout", &arguments.packet_timeout)?,
        send_timeout: time("--send-timeout", &arguments.send_timeout)?,
        shutdown_timeout: time("--shutdown-timeout", &arguments.shutdown_timeout)?,
        connections_max: number(
            "--max-connections",
            &arguments.max_connections,
            defaults.connections_max,
        )?,
        ..defaults
    })
}

fn wrong(option: &str, text: &str, why: &str) -> String {
    format!("invalid value '{text}' for '{option}': {why}")
}

fn address(arguments: &ServeArguments, variables: &Variables) -> Result<IpAddr, String> {
    let (given, variable) = (&arguments.listen, &variables.listen);
    let given = Given::new("--listen", given, "MSSQL_IP_ADDRESS", variable, "127.0.0.1");
    let text = given.text;
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(IpAddr::from([127, 0, 0, 1]));
    }
    text.parse().map_err(|_| {
        let expected = "expected an IP address, such as 127.0.0.1; its port is --port";
        wrong(given.name, text, expected)
    })
}

fn parse_port(option: &str, text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| wrong(option, text, "expected a number from 0 to 65535"))
}

/// Clients look for the dedicated admin connection of a default instance at its usual port.
fn admin_port(arguments: &ServeArguments, server: &str) -> Result<Option<AdminPort>, String> {
    const USUAL: u16 = 1434;
    let given = arguments.admin_port.as_deref().map(|text| parse_port("--admin-port", text));
    let given = given.transpose()?;
    if given.is_some_and(|port| port != 0 && port.to_string() == server) {
        return Err("--admin-port must not be that of --port".to_owned());
    }
    Ok(match given {
        Some(port) => Some(AdminPort::Given(port)),
        None => (server == "1433").then_some(AdminPort::Usual(USUAL)),
    })
}

fn number(option: &str, text: &str, max: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| wrong(option, text, &format!("expected a number from 1 to {max}")))
}

fn sampling_rate(text: &str) -> Result<u32, String> {
    let max = sos::sampler::RATE_HZ_MAX;
    let rate = text.parse().ok().filter(|rate| *rate <= max);
    let expected = format!("expected a number from 0 to {max}");
    rate.ok_or_else(|| wrong("--sampling-rate", text, &expected))
}

fn lock_mode(text: &str) -> Result<LockMode, String> {
    let expected = "expected snapshot, exclusive, rw or distributed";
    LockMode::of_name(text).ok_or_else(|| wrong("--lock-mode", text, expected))
}

fn encryption(text: &str) -> Result<Encryption, String> {
    match text.to_ascii_lowercase().as_str() {
        "off" => Ok(Encryption::Off),
        "on" => Ok(Encryption::On),
        "required" => Ok(Encryption::Required),
        "strict" => Ok(Encryption::Strict),
        _ => Err(wrong("--encryption", text, "expected off, on, required or strict")),
    }
}

/// Returns the given password, or makes a random one.
fn password(arguments: &ServeArguments, variables: &Variables) -> Result<Password, String> {
    if let Some(given) = &arguments.sa_password {
        return if given.is_empty() {
            Err("--sa-password must not be empty".to_owned())
        } else {
            Ok(Password::Given(given.clone()))
        };
    }
    for variable in PASSWORD_VARIABLES {
        match std::env::var(variable) {
            Ok(password) if !password.is_empty() => return Ok(Password::Hidden(password)),
            Ok(_) => return Err(format!("{variable} must not be empty")),
            Err(std::env::VarError::NotPresent) => {}
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(format!("{variable} is not text"));
            }
        }
    }
    match &variables.sa_password {
        Some(password) => Ok(Password::Hidden(password.clone())),
        None => server::random_password().map(Password::Random),
    }
}
