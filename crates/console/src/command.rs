//! The tool's own commands: `:r`, `:setvar`, `exit` and others as in sqlcmd, and some that sqlcmd
//! does not have.

use std::path::PathBuf;

use crate::render::Format;
use crate::variables::is_name;

/// The destination that `:out` and `:error` choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The standard output of the process.
    Stdout,
    /// The standard error of the process.
    Stderr,
    /// A file, which is overwritten.
    File(PathBuf),
}

/// A line that is executed here and not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `:r file`: reads lines from a file.
    Read(PathBuf),
    /// `:setvar name [value]`; `None` removes the variable.
    SetVariable(String, Option<String>),
    /// `:listvar`: lists the scripting variables.
    ListVariables,
    /// `:out`: chooses where results go.
    Out(Place),
    /// `:error`: chooses where messages go.
    Error(Place),
    /// `:connect server [-U user] [-P password] [-d database]`
    Connect(Vec<String>),
    /// `exit`, `exit()`, `exit(query)`: sends the batch, except for the bare word; the query's
    /// first value is the exit code.
    Exit(Option<String>),
    /// `quit`: ends without sending the batch.
    Quit,
    /// `:on error exit` or `ignore`
    OnError {
        /// Whether the first error ends the run.
        exits: bool,
    },
    /// `:list`: prints the batch so far.
    List,
    /// `reset`: discards the batch so far.
    Reset,
    /// `:help`: lists the commands.
    Help,
    /// `!! command`: runs a shell command.
    Shell(String),
    /// `:format table|plain|csv|json`: chooses the results' format.
    Format(Format),
    /// `:timing on|off`: prints each batch's time.
    Timing(bool),
}

/// The text that `:help` prints.
pub const HELP: &str = "\
GO [n]                     sends the batch, n times
:r FILE                    reads a file as if it were typed here
:setvar NAME [VALUE]       sets a variable, used as $(NAME); without a value removes it
:listvar                   lists the variables
:out FILE|stdout|stderr    where results go
:error FILE|stdout|stderr  where the tool's own errors go
:connect SERVER [-U LOGIN] [-P PASSWORD] [-d DATABASE]
:on error exit|ignore      whether the first error ends the run
:list                      shows the batch so far
reset                      discards the batch so far
exit | exit() | exit(QUERY)  ends; with (), sends the batch first; the query's first value is the exit code
quit                       ends at once
!! COMMAND                 runs a command of the operating system's shell
:format table|plain|csv|json  the format of results
:timing on|off             prints how long each batch took
Ctrl-C cancels the running batch.
";

/// Commands that need no colon.
const BARE: [&str; 4] = ["quit", "exit", "reset", "!!"];

/// Parses a line; `None` if it belongs to the batch.
///
/// # Errors
/// One line that says what is wrong with a command.
pub fn parse(line: &str) -> Option<Result<Command, String>> {
    let trimmed = line.trim();
    let (body, has_colon) = match trimmed.strip_prefix(':') {
        Some(body) => (body, true),
        None => (trimmed, false),
    };
    if let Some(command) = body.strip_prefix("!!") {
        return Some(Ok(Command::Shell(command.trim().to_owned())));
    }
    let end = body.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(body.len());
    let (word, rest) = body.split_at(end);
    let word = word.to_ascii_lowercase();
    let rest = rest.trim();
    if !has_colon {
        let is_bare = BARE.contains(&word.as_str());
        // A bare word is a command only if nothing follows that a statement could have.
        if !is_bare || !(rest.is_empty() || word == "exit" && rest.starts_with('(')) {
            return None;
        }
    }
    Some(command(&word, rest).map_err(|why| format!("{trimmed}: {why}")))
}

fn command(word: &str, rest: &str) -> Result<Command, String> {
    Ok(match word {
        "r" => Command::Read(PathBuf::from(argument(rest)?)),
        "setvar" => set_variable(rest)?,
        "listvar" => Command::ListVariables,
        "out" => Command::Out(place(rest)?),
        "error" => Command::Error(place(rest)?),
        "connect" => match words(rest) {
            words if words.is_empty() => return Err("a server is missing".to_owned()),
            words => Command::Connect(words),
        },
        "exit" if rest.is_empty() => Command::Exit(None),
        "exit" => {
            let query = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            Command::Exit(Some(query.ok_or("expected exit(query)")?.trim().to_owned()))
        }
        "quit" => Command::Quit,
        "on" => match rest.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>()[..] {
            ["error", "exit"] => Command::OnError { exits: true },
            ["error", "ignore"] => Command::OnError { exits: false },
            _ => return Err("expected :on error exit, or ignore".to_owned()),
        },
        "list" => Command::List,
        "reset" => Command::Reset,
        "help" => Command::Help,
        "format" => {
            Command::Format(Format::of_name(rest).ok_or("expected table, plain, csv or json")?)
        }
        "timing" => match rest.to_ascii_lowercase().as_str() {
            "on" => Command::Timing(true),
            "off" => Command::Timing(false),
            _ => return Err("expected on or off".to_owned()),
        },
        _ => return Err("unknown command; :help lists the commands".to_owned()),
    })
}

fn set_variable(rest: &str) -> Result<Command, String> {
    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !is_name(name) {
        return Err("expected a name".to_owned());
    }
    let value = value.trim();
    let value = match value {
        "" => None,
        _ => Some(words(value).into_iter().next().unwrap_or_default()),
    };
    Ok(Command::SetVariable(name.to_owned(), value))
}

fn place(rest: &str) -> Result<Place, String> {
    let name = argument(rest)?;
    Ok(match name.to_ascii_lowercase().as_str() {
        "stdout" => Place::Stdout,
        "stderr" => Place::Stderr,
        _ => Place::File(PathBuf::from(name)),
    })
}

/// Returns the single argument of a command, in quotes if it has blanks.
fn argument(rest: &str) -> Result<String, String> {
    let mut words = words(rest);
    match (words.pop(), words.is_empty()) {
        (Some(word), true) => Ok(word),
        (None, _) => Err("a name is missing".to_owned()),
        (Some(_), false) => Err("more than one name".to_owned()),
    }
}

/// Splits a text at blanks; double quotes keep blanks, and a doubled quote inside them is a quote.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut is_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                word.get_or_insert_default().push('"');
            }
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            blank if blank.is_whitespace() && !is_quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_statements() {
        for line in ["select 1", "exit_code = 1", "quit now", "reset x", "::fn", "", "exitx(1)"] {
            let parsed = parse(line);
            assert!(
                parsed.is_none() || line.starts_with(':') && parsed.is_some_and(|p| p.is_err()),
                "{line}"
            );
        }
        let ok = |line| parse(line).expect("a command").expect("a good one");
        assert_eq!(ok(":r \"a b.sql\""), Command::Read("a b.sql".into()));
        assert_eq!(
            ok(":SETVAR x \"a \"\"b\"\"\""),
            Command::SetVariable("x".into(), Some("a \"b\"".into()))
        );
        assert_eq!(ok(":setvar x"), Command::SetVariable("x".into(), None));
        assert_eq!(ok("exit"), Command::Exit(None));
        assert_eq!(ok("EXIT(select 3)"), Command::Exit(Some("select 3".into())));
        assert_eq!(ok(":exit ()"), Command::Exit(Some(String::new())));
        assert_eq!(ok("!! ls -l"), Command::Shell("ls -l".into()));
        assert_eq!(ok(":on error exit"), Command::OnError { exits: true });
        assert_eq!(ok(":out STDERR"), Command::Out(Place::Stderr));
        for line in [":r", ":r a b", ":connect", ":on fire", ":xml on", ":format pdf", ":exit(1"] {
            assert!(parse(line).is_some_and(|parsed| parsed.is_err()), "{line}");
        }
    }
}
