//! Runs the scripts of `tests/scripts`.
//!
//! A script is blocks separated by blank lines. The first line of a block says what it is; the
//! lines after it are a batch (or a call), and the expected answer follows a line `----`, with ` |
//! ` between columns and another `----` before the next result set.
//!
//! ```text
//! feature: statement|INSERT  names what the next block shows, for docs/support.md: kind|name
//! run                        must give no error
//! query                      must give these rows, in this order, and no error
//! error 2627 duplicate key   must give this error first, whose text holds these words
//! messages                   must give these messages, one a line, and no error
//! count 3                    must change this many rows
//! answer                     must give these tokens: see `Answer::trace` for their form
//! tokens                     the same, without `done` of any kind
//! commands                   must give these `done`s, each with its statement's number (CurCmd) in hexadecimal
//! rpc dbo.p                  calls a procedure; a line for each parameter: `@a int = 5 output`,
//!                            `@a default`, `- int = 5` without name; the answer as above
//! transaction begin          a transaction manager request; the answer as above
//! reset                      takes the session back as a connection pool does; the answer as above
//! cancel                     raises the attention of this session before the next request
//! session b                  goes on in another session (`a` is the first)
//! ```
//! Lines that begin with `--` before a block are comments. A line `~` is a blank line of the text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use engine::instance::ExecutionMode;
use engine::session::{Reset, Rpc, RpcParameter, RpcTarget, Session, TransactionRequest};
use engine::sink::{Done, DoneKind};

use crate::client::{Answer, batch, describe, instance, login};

#[test]
fn scripts_give_what_they_say() {
    run_scripts(ExecutionMode::Row, Constants::AsWritten);
}

/// Vector mode for every query that supports it.
#[test]
fn scripts_give_the_same_in_vector_mode() {
    run_scripts(ExecutionMode::Vector, Constants::AsWritten);
}

/// Parameters in every statement that allows them, at its first run.
#[test]
fn scripts_give_the_same_with_parameters_for_constants() {
    run_scripts(ExecutionMode::Row, Constants::AsParameters);
}

/// The treatment of constants that could be parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constants {
    /// The engine's default rules.
    AsWritten,
    AsParameters,
}

fn run_scripts(mode: ExecutionMode, constants: Constants) {
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let mut failures = String::new();
    let mut blocks = 0;
    for path in scripts() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // It tests that texts with different constants stay separate.
        let apart = constants == Constants::AsParameters && name == "statistics.test";
        if name.contains(&only) && !apart {
            let text = std::fs::read_to_string(&path).unwrap();
            blocks += run(&name, &text, (mode, constants), &mut failures);
        }
    }
    assert!(blocks > 0, "there are scripts");
    assert!(failures.is_empty(), "\n{failures}");
}

/// Returns the scripts, sorted.
pub(crate) fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A block of a script.
pub(crate) struct Block<'t> {
    /// Line number of its head in the script, 1-based.
    pub(crate) line: usize,
    /// Labels before it: what it proves.
    pub(crate) features: Vec<&'t str>,
    /// Kind of the block.
    pub(crate) head: &'t str,
    /// Lines after the head.
    pub(crate) lines: Vec<&'t str>,
}

/// Splits a script into blocks.
pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    for block in text.split("\n\n") {
        let at = line;
        line += block.matches('\n').count() + 2;
        let mut features = Vec::new();
        let mut lines =
            block.lines().skip_while(|l| l.is_empty() || l.starts_with("--")).peekable();
        while let Some(label) = lines.peek().and_then(|l| l.strip_prefix("feature:")) {
            features.push(label.trim());
            lines.next();
        }
        if let Some(head) = lines.next() {
            found.push(Block { line: at, features, head, lines: lines.collect() });
        }
    }
    found
}

fn run(
    name: &str,
    text: &str,
    (mode, constants): (ExecutionMode, Constants),
    failures: &mut String,
) -> usize {
    let instance = instance();
    if constants == Constants::AsParameters {
        instance.parameterize_at_once();
    }
    instance.set_execution_mode(mode);
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut current = "a".to_owned();
    let blocks = blocks(text);
    for block in &blocks {
        if let Some(session) = block.head.strip_prefix("session ") {
            current = session.to_owned();
            continue;
        }
        let session = sessions.entry(current.clone()).or_insert_with(|| login(&instance));
        if let Err(problem) = check(session, block) {
            let sql = block.lines.join("\n    ");
            writeln!(failures, "{name}:{}: {problem}\n    {sql}\n", block.line).unwrap();
        }
    }
    blocks.len()
}

/// Runs a block and compares its answer.
pub(crate) fn check(session: &mut Session, block: &Block<'_>) -> Result<(), String> {
    let mut parts = block.lines.split(|l| *l == "----");
    let text: Vec<&str> = parts.next().unwrap_or_default().to_vec();
    let sql: Vec<&str> = text.iter().map(|l| if *l == "~" { "" } else { *l }).collect();
    let sql = sql.join("\n");
    let expected = lines(parts.clone().flatten());
    let (kind, argument) = block.head.split_once(' ').unwrap_or((block.head, ""));
    match kind {
        "reset" => {
            let mut answer = Answer::default();
            session.reset(Reset::All, &mut answer).unwrap();
            return same_tokens(&expected, &answer);
        }
        "cancel" => session.cancel().set(),
        "rpc" => return same_tokens(&expected, &call(session, argument, &text)?),
        "transaction" => return same_tokens(&expected, &transaction(session, argument)?),
        "answer" => return same_tokens(&expected, &batch(session, &sql)),
        "tokens" => return same(&expected, &without_dones(&batch(session, &sql))),
        "commands" => return same(&expected, &commands(&batch(session, &sql))),
        "error" => return check_error(&batch(session, &sql), argument),
        _ => return check_result(&batch(session, &sql), (kind, argument), parts),
    }
    Ok(())
}

/// Checks a batch that must give no error.
fn check_result<'l>(
    answer: &Answer,
    (kind, argument): (&str, &str),
    parts: impl Iterator<Item = &'l [&'l str]>,
) -> Result<(), String> {
    if let Some(error) = answer.errors.first() {
        return Err(describe(error));
    }
    match kind {
        "run" => Ok(()),
        "query" => {
            let expected: Vec<Vec<String>> = parts.map(|set| lines(set.iter())).collect();
            let given: Vec<Vec<String>> = answer.sets.iter().map(|s| rows(s)).collect();
            same(&expected, &given)
        }
        "count" => {
            let given = answer.counts.last().map(ToString::to_string).unwrap_or_default();
            same(&argument.to_owned(), &given)
        }
        "messages" => {
            let given = answer.messages.iter().map(|m| m.message.trim_end().to_owned());
            let given: Vec<String> = given.collect();
            same(&lines(parts.flatten()), &given)
        }
        _ => Err(format!("'{kind}' is no kind of block")),
    }
}

fn lines<'l>(lines: impl Iterator<Item = &'l &'l str>) -> Vec<String> {
    lines.map(|l| if *l == "~" { String::new() } else { l.trim_end().to_owned() }).collect()
}

fn rows(set: &[Vec<String>]) -> Vec<String> {
    set.iter().map(|row| row.join(" | ").trim_end().to_owned()).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(expected: &T, given: &T) -> Result<(), String> {
    if expected == given {
        return Ok(());
    }
    Err(format!("\n    expected {expected:#?}\n    but got  {given:#?}"))
}

/// Compares all tokens. One rule is always checked: the last `done` says that nothing follows, and
/// no other does.
fn same_tokens(expected: &Vec<String>, answer: &Answer) -> Result<(), String> {
    same(expected, &answer.trace)?;
    let more: Vec<bool> = answer.dones.iter().map(|d| d.more).collect();
    let mut wanted = vec![true; more.len()];
    if let Some(last) = wanted.last_mut() {
        *last = false;
    }
    same(&wanted, &more)
}

fn without_dones(answer: &Answer) -> Vec<String> {
    let is_done = |line: &&String| {
        line.starts_with("done") || line.starts_with("inproc") || line.starts_with("proc")
    };
    answer.trace.iter().filter(|l| !is_done(l)).cloned().collect()
}

fn commands(answer: &Answer) -> Vec<String> {
    let show = |done: &Done| {
        let kind = match done.kind {
            DoneKind::Done => "done",
            DoneKind::InProcedure => "inproc",
            DoneKind::Procedure => "proc",
        };
        let error = if done.error { " error" } else { "" };
        let rows = done.rows.map(|rows| format!(" {rows}")).unwrap_or_default();
        format!("{kind}{error} {:X}{rows}", done.command.code())
    };
    answer.dones.iter().map(show).collect()
}

fn check_error(answer: &Answer, argument: &str) -> Result<(), String> {
    let (number, words) = argument.split_once(' ').unwrap_or((argument, ""));
    let Some(error) = answer.errors.first() else {
        return Err(format!("expected error {number}, got none"));
    };
    if error.number.to_string() != number || !error.message.contains(words) {
        return Err(format!("expected error {argument}, got {}", describe(error)));
    }
    Ok(())
}

/// Runs an `rpc` block.
fn call(session: &mut Session, name: &str, lines: &[&str]) -> Result<Answer, String> {
    let mut parameters = Vec::new();
    for line in lines {
        parameters.push(parameter(session, line)?);
    }
    let target = match name.strip_prefix('#').and_then(|id| id.parse().ok()) {
        Some(id) => RpcTarget::Id(id),
        None => RpcTarget::Name(name),
    };
    let mut answer = Answer::default();
    let rpc = Rpc { target, parameters: &mut parameters, more: false, stream: None };
    session.rpc(rpc, &mut answer).unwrap();
    Ok(answer)
}

/// Returns a parameter of `@a int = 5 output`: the engine evaluates the value, in a session that
/// the script does not see.
fn parameter(session: &Session, line: &str) -> Result<RpcParameter, String> {
    let (name, rest) = line.split_once(' ').ok_or_else(|| format!("no parameter: {line}"))?;
    let name = name.trim_start_matches('-').to_owned();
    let (rest, output) = match rest.strip_suffix(" output") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let default = rest == "default";
    let rest = if default { "int = NULL" } else { rest };
    let (ty, value) = rest.split_once(" = ").unwrap_or((rest, "NULL"));
    let mut helper = login(&session.state().instance);
    let sql = format!("DECLARE @value {ty} = {value}; SELECT @value");
    let mut answer = batch(&mut helper, &sql);
    if let Some(error) = answer.errors.first() {
        return Err(describe(error));
    }
    let ty = answer.columns[0][0].column_type;
    let value = answer.last_row.remove(0);
    Ok(RpcParameter { name, ty, value, output, default, table: None })
}

fn transaction(session: &mut Session, request: &str) -> Result<Answer, String> {
    let (verb, name) = request.split_once(' ').unwrap_or((request, ""));
    let request = match verb {
        "begin" => TransactionRequest::Begin(None, name),
        "commit" => TransactionRequest::Commit(None),
        "rollback" => TransactionRequest::Rollback(name, None),
        "save" => TransactionRequest::Save(name),
        _ => return Err(format!("'{verb}' is no transaction request")),
    };
    let mut answer = Answer::default();
    session.transaction(request, &mut answer).unwrap();
    Ok(answer)
}
