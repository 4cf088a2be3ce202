//! The other side: DuckDB on one thread, by a Python program that answers the same queries.

use std::path::Path;
use std::process::Command;

use load::Result;

use super::answer::{Field, Rows};

/// What the other side found about one query.
pub(super) struct PeerAnswer {
    pub(super) name: String,
    pub(super) cpu_ns: u64,
    pub(super) rows: Rows,
}

/// Makes the data, if it is not there.
pub(super) fn generate(python: &Path, scale: &str, folder: &Path) -> Result<()> {
    if folder.join("lineitem.tbl").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut command = Command::new(python.with_file_name("tpchgen-cli"));
    command.args(["tbl", "-q", "-s", scale, "-o"]).arg(folder);
    run(command).map(|_| ())
}

/// Runs every query there.
pub(super) fn answer(
    python: &Path,
    data: &Path,
    queries: &Path,
    runs: usize,
) -> Result<Vec<PeerAnswer>> {
    let mut command = Command::new(python);
    command.arg(queries.join("peer.py")).arg(data).arg(queries).arg(runs.to_string());
    parse(&run(command)?)
}

fn run(mut command: Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {}: {errors}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

/// Reads what the program prints: `peer.py` says how it looks.
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
