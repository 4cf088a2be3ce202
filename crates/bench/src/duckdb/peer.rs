//! The other side: DuckDB on one thread, run by a Python program that answers the same queries.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use load::Result;

use super::answer::{Field, Rows};

/// The other side's result for one query.
pub(crate) struct PeerAnswer {
    pub(crate) name: String,
    pub(crate) cpu_ns: u64,
    pub(crate) rows: Rows,
}

/// A DuckDB on one thread that has loaded the data.
pub(crate) struct Peer {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts the program that is the peer: see tests/workloads/duckdb_side.py.
    ///
    /// # Errors
    /// Why it could not load the files.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let gone = || format!("{command:?}: it has no pipes");
        let questions = process.stdin.take().ok_or_else(gone)?;
        let answers = BufReader::new(process.stdout.take().ok_or_else(gone)?);
        let mut peer = Self { process, questions, answers };
        match peer.line()?.as_str() {
            "L" => Ok(peer),
            other => Err(format!("{command:?}: '{other}'")),
        }
    }

    /// Runs a query once.
    ///
    /// # Errors
    /// If the query fails, which ends the peer.
    pub(crate) fn answer(&mut self, name: &str) -> Result<PeerAnswer> {
        self.ask(name, name)
    }

    /// Runs a query once without its TOP, or OFFSET and FETCH.
    ///
    /// # Errors
    /// If the query fails, which ends the peer.
    pub(crate) fn whole_answer(&mut self, name: &str) -> Result<Rows> {
        Ok(self.ask(&format!("whole {name}"), name)?.rows)
    }

    fn ask(&mut self, command: &str, name: &str) -> Result<PeerAnswer> {
        let asked = writeln!(self.questions, "{command}").and_then(|()| self.questions.flush());
        asked.map_err(|error| format!("the peer does not listen: {error}"))?;
        let mut text = String::new();
        loop {
            let line = self.line()?;
            if line == "E" {
                let answer = parse(&text)?.pop().filter(|answer| answer.name == name);
                return answer.ok_or_else(|| format!("no answer to {name}"));
            }
            text.push_str(&line);
            text.push('\n');
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("the peer has ended".to_owned()),
            Ok(_) => Ok(line.trim_end_matches('\n').to_owned()),
            Err(error) => Err(format!("the peer does not answer: {error}")),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a program that makes data, and returns what it prints.
///
/// # Errors
/// What it says on its error output, if it fails.
pub(crate) fn run(mut command: Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {}: {errors}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

/// Parses the program's output, whose format `duckdb_side.py` describes.
fn parse(text: &str) -> Result<Vec<PeerAnswer>> {
    let mut answers: Vec<PeerAnswer> = Vec::new();
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        match (&fields[..], answers.last_mut()) {
            (["Q", name, cpu_ns], _) => {
                let cpu_ns = cpu_ns.parse().map_err(|error| format!("'{line}': {error}"))?;
                answers.push(PeerAnswer { name: (*name).to_owned(), cpu_ns, rows: Vec::new() });
            }
            (["R", fields @ ..], Some(answer)) => {
                let row: Result<_> = fields.iter().map(|field| Field::parse(field)).collect();
                answer.rows.push(row?);
            }
            _ => return Err(format!("not a line of an answer: '{line}'")),
        }
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_prints_is_read() {
        let answers =
            parse("Q\tq01\t1200\nR\td1\tta b\nR\tn\tt\nQ\tq02\t7\n").expect("two answers");
        assert_eq!(answers.len(), 2);
        assert_eq!((answers[0].name.as_str(), answers[0].cpu_ns), ("q01", 1_200));
        assert_eq!(answers[0].rows.len(), 2);
        assert!(answers[1].rows.is_empty());
        assert!(parse("R\tn\n").is_err());
    }
}
