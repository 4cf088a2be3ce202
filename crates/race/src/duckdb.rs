//! `DuckDb`: DuckDB in a separate Python process, which gets one statement at a time over pipes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use load::process::Place;
use sos::sys::{self, Direction, poll_fd};
use sos::{clock, sys::clear_signal_mask};

use crate::Result;
use crate::peer::program;
use crate::process::spawn;

/// The Python program that it runs.
const PROGRAM: &str = include_str!("bulk.py");
/// The Python that `make race-setup` and tests/setup.sh install, with packages.
const OWN_PYTHON: &str = ".venv/bin/python";

/// A running DuckDB process, ended when dropped.
pub(crate) struct DuckDb {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    version: String,
    command: String,
}

impl DuckDb {
    /// Starts it; `None` if no Python on this machine has DuckDB.
    pub(crate) fn start(place: Place, patience: Duration) -> Result<Option<Self>> {
        let own = Some(PathBuf::from(OWN_PYTHON)).filter(|path| path.exists());
        for python in own.into_iter().chain(program("python3")) {
            let mut command = Command::new(&python);
            command.args(["-c", PROGRAM]).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            clear_signal_mask(&mut command);
            let mut child = spawn(&mut command, place)?;
            let pipes = child.stdin.take().zip(child.stdout.take());
            let (stdin, stdout) = pipes.ok_or("a child without pipes")?;
            let mut duckdb = Self {
                child,
                stdin,
                stdout: BufReader::new(stdout),
                version: String::new(),
                command: format!("{} -c 'import duckdb ..'", python.display()),
            };
            // A Python without DuckDB ends before it prints anything.
            if let Some(version) = duckdb.line(patience)? {
                duckdb.version = format!("DuckDB {version}");
                return Ok(Some(duckdb));
            }
        }
        Ok(None)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Runs a statement; returns the numbers in the first row of its answer.
    pub(crate) fn ask(&mut self, text: &str, patience: Duration) -> Result<Vec<i64>> {
        let sent = writeln!(self.stdin, "{text}").and_then(|()| self.stdin.flush());
        sent.map_err(|error| format!("DuckDB has gone: {error}"))?;
        let line = self.line(patience)?.ok_or("DuckDB has gone")?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("ok", row) => Ok(row.split(' ').filter_map(|word| word.parse().ok()).collect()),
            (_, why) => Err(why.to_owned()),
        }
    }

    /// Reads the next line; `None` if the process has ended.
    fn line(&mut self, patience: Duration) -> Result<Option<String>> {
        // Each answer is one line, so the buffer is empty before it.
        let is_there =
            poll_fd(self.stdout.get_ref(), Direction::Readable, Some(clock::deadline_ns(patience)));
        if !is_there.map_err(|error| format!("poll: {error}"))? {
            return Err("DuckDB is silent".to_owned());
        }
        let mut line = String::new();
        let count = self.stdout.read_line(&mut line).map_err(|error| error.to_string())?;
        Ok((count > 0).then(|| line.trim_end().to_owned()))
    }

    /// Returns the CPU time so far.
    pub(crate) fn cpu_ns(&self) -> Result<u64> {
        sys::process_clock_ns(self.child.id()).map_err(|error| format!("DuckDB has gone: {error}"))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
