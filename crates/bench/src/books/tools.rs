//! Tools that observe a process from outside, if they are installed and permitted: `perf` and
//! `strace`. A missing tool is reported; nothing replaces it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use load::{Result, pause};

/// How long a tool may take to attach to every thread.
const ATTACH: Duration = Duration::from_millis(300);

/// A tool that runs beside a load and writes its results when it is stopped.
pub(crate) struct Tool {
    child: Child,
    output: PathBuf,
}

impl Tool {
    /// Starts `perf stat` of the CPU time of a process.
    pub(crate) fn task_clock(process_id: u32) -> Result<Self> {
        let output = scratch("perf-stat");
        let mut command = Command::new("perf");
        command.args(["stat", "-x", ",", "-e", "task-clock", "-o"]).arg(&output);
        Self::start(command.args(["-p", &process_id.to_string()]), output)
    }

    /// Starts `perf record` of the stacks of a process.
    pub(crate) fn stacks(process_id: u32) -> Result<Self> {
        let output = scratch("perf-record");
        let mut command = Command::new("perf");
        command.args(["record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o"]).arg(&output);
        Self::start(command.args(["-p", &process_id.to_string()]), output)
    }

    /// Starts `strace`, counting the system calls of a process and its threads.
    pub(crate) fn system_calls(process_id: u32) -> Result<Self> {
        let output = scratch("strace");
        let mut command = Command::new("strace");
        command.args(["-f", "-q", "-c", "-o"]).arg(&output);
        Self::start(command.args(["-p", &process_id.to_string()]), output)
    }

    fn start(command: &mut Command, output: PathBuf) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let mut tool = Self { child, output };
        pause(ATTACH);
        match tool.child.try_wait() {
            Ok(None) => Ok(tool),
            Ok(Some(status)) => Err(format!("{name} may not look here: {status}")),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }

    /// Stops the tool and returns its output.
    pub(crate) fn stop(mut self) -> Result<String> {
        self.end()?;
        let found = fs::read_to_string(&self.output);
        found.map_err(|error| format!("{}: {error}", self.output.display()))
    }
}

impl Tool {
    fn end(&mut self) -> Result<()> {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-s", "INT", &id]).status();
        told.map_err(|error| format!("kill: {error}"))?;
        self.child.wait().map_err(|error| format!("a tool: {error}"))?;
        Ok(())
    }
}

/// Stops a recording and returns its stacks: address and function, from the innermost outwards.
pub(crate) fn stacks(mut tool: Tool) -> Result<Vec<Vec<(String, String)>>> {
    tool.end()?;
    let mut command = Command::new("perf");
    command.args(["script", "-F", "ip,sym", "-i"]).arg(&tool.output).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("perf script: {error}"))?;
    Ok(frames(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses stacks from the output of `perf script`: a line for each frame, an empty one between
/// stacks.
fn frames(text: &str) -> Vec<Vec<(String, String)>> {
    let mut stacks = vec![Vec::new()];
    for line in text.lines() {
        match (line.trim().split_once(' '), stacks.last_mut()) {
            (Some((address, symbol)), Some(stack)) => {
                stack.push((address.to_owned(), symbol.to_owned()));
            }
            _ => stacks.push(Vec::new()),
        }
    }
    stacks.retain(|stack| !stack.is_empty());
    stacks
}

impl Drop for Tool {
    fn drop(&mut self) {
        // It has ended already unless something failed, and its output may be unread.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.output);
    }
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("clearway-books-{}-{name}", std::process::id()))
}

/// Parses the nanoseconds from the output of `perf stat -x ,`.
pub(crate) fn task_clock_ns(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("task-clock"))?;
    let mut fields = line.split(',');
    let (number, unit) = (fields.next()?.parse::<f64>().ok()?, fields.next()?);
    let factor = match unit {
        "msec" => 1e6,
        "" | "ns" => 1.0,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time is positive and far from 2^64 ns"
    )]
    Some((number * factor) as u64)
}

/// Parses the calls by name from the output of `strace -c`.
pub(crate) fn calls(text: &str) -> Vec<(String, u64)> {
    let row = |line: &str| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        // Fields: % time, seconds, usecs/call, calls, errors (often missing), name.
        let (count, name) = (fields.get(3)?.parse().ok()?, *fields.last()?);
        (fields.len() >= 5 && name != "total").then(|| (name.to_owned(), count))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_perf_stat_is_read() {
        let text =
            "# started on Sat\n\n1234.56,msec,task-clock,1234560000,100.00,0.8,CPUs utilized\n";
        assert_eq!(task_clock_ns(text), Some(1_234_560_000));
        assert_eq!(task_clock_ns("<not counted>,msec,task-clock,0,,,"), None);
    }

    #[test]
    fn the_stacks_of_perf_script_are_read() {
        let text = "\n\tffff81 __schedule\n\t  5c2162 sos::sys::poll\n\n\n\t  5c <a as b>::c\n";
        let found = frames(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0][1], ("5c2162".to_owned(), "sos::sys::poll".to_owned()));
        assert_eq!(found[1][0].1, "<a as b>::c");
    }

    #[test]
    fn the_table_of_strace_is_read() {
        let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           3       100         7 recvfrom
 40.00    0.000200           2        90           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           2       190         7 total
";
        let found = calls(text);
        assert_eq!(found, [("recvfrom".to_owned(), 100), ("sendto".to_owned(), 90)]);
    }
}
