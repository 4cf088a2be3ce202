//! `stress` with several processes: serves as an agent, or connects to the agents that generate the
//! load.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use load::agent::{Agent, Crew, Job, Password, Token};
use sos::sys::StopSignals;

use crate::stress::{self, EncryptName, Plan, StressArguments};
use crate::{EXIT_USAGE, wrong_usage};

/// The environment variable in which an agent and its coordinator look for their token.
const TOKEN_VARIABLE: &str = "CLEARWAY_AGENT_TOKEN";

/// Serves as an agent until a signal stops it.
pub(crate) fn serve(arguments: &StressArguments, address: &str) -> ExitCode {
    let ready = load::address::of_agent(address).and_then(|address| {
        Ok((address, token(arguments)?, Password(stress::password(arguments)?)))
    });
    let (address, token, password) = match ready {
        Ok(ready) => ready,
        Err(what) => return wrong_usage(&what),
    };
    match serve_at(address, token, password, arguments.quiet) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn serve_at(
    address: SocketAddr,
    token: Token,
    password: Password,
    is_quiet: bool,
) -> Result<(), String> {
    sos::sys::raise_open_files();
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    let agent = Agent::bind(address, token, password)?;
    // Nothing can be done about a closed stdout.
    let _ = writeln!(std::io::stdout(), "The agent is ready: {}", agent.address());
    let tell = |line: &str| {
        if !is_quiet {
            // A closed stderr is no reason to end.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    };
    agent.run(tell, || signals.came().unwrap_or(false))
}

/// Connects to the agents that are to generate the load.
pub(crate) fn gather(arguments: &StressArguments, plan: &Plan) -> Result<Crew, String> {
    let token = token(arguments)?;
    let address = |name: &String| Ok((name.clone(), load::address::of_agent(name)?));
    let addresses = arguments.agents.iter().map(address).collect::<Result<Vec<_>, String>>()?;
    let job = Job {
        server: arguments.server.clone(),
        user: arguments.user.clone(),
        database: arguments.database.clone(),
        encrypt: arguments.encrypt.map(EncryptName::mode),
        source: plan.source.clone(),
        settings: plan.settings.clone(),
        threads: arguments.threads,
    };
    Crew::gather(&addresses, &token, &job, plan.work.kinds().len())
}

fn token(arguments: &StressArguments) -> Result<Token, String> {
    let text = match &arguments.agent_token_file {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => std::env::var(TOKEN_VARIABLE)
            .map_err(|_| format!("agents need a token: --agent-token-file or {TOKEN_VARIABLE}"))?,
    };
    Token::new(&text)
}
