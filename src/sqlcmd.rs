//! The verb `sqlcmd`: the options of Microsoft's sqlcmd, for scripts, health checks and test tools that call it.
//!
//! It runs what `sql` runs. sqlcmd's options are one letter each, with a value in the same word or in the next. Each works as in
//! sqlcmd or is refused by name (exit code 1, as sqlcmd's own): none is ignored. docs/container.md lists them.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Parser};

use crate::sql::{self, SqlArguments};
use crate::stress::EncryptName;

/// The words after `sqlcmd`, as they are.
#[derive(Args)]
pub(crate) struct SqlcmdArguments {
    /// The options of sqlcmd and their values
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    words: Vec<OsString>,
}

/// `sql` without any option.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    sql: SqlArguments,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// A value, in the same word or in the next.
    Value,
    /// A value in the same word, or one of these as the next.
    Perhaps(&'static [&'static str]),
    /// The words up to the next option.
    Words,
}

/// Returns what an option takes; `None` for one that does not work here.
fn takes(option: char) -> Option<Takes> {
    Some(match option {
        'b' | 'C' | 'e' | 'I' | 'W' | 'x' | '?' => Takes::Nothing,
        'd' | 'f' | 'h' | 'i' | 'l' | 'o' | 'P' | 'q' | 'Q' | 's' | 'S' | 't' | 'U' | 'V' | 'w'
        | 'y' => Takes::Value,
        'N' => Takes::Perhaps(&["s", "m", "o", "strict", "mandatory", "optional"]),
        'r' => Takes::Perhaps(&["0", "1"]),
        'v' => Takes::Words,
        _ => return None,
    })
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &SqlcmdArguments) -> ExitCode {
    let words = arguments.words.iter().map(|word| word.to_str().map(str::to_owned));
    let asked = words.collect::<Option<Vec<_>>>().ok_or_else(|| "an option is not text".to_owned());
    let settings = asked.and_then(|words| options(&words)).and_then(|options| {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        apply(&options, &read)
    });
    match settings {
        Ok(Some(sql)) => sql::run(&sql),
        Ok(None) => help(),
        Err(what) => {
            eprintln!("Sqlcmd: {what}");
            ExitCode::FAILURE
        }
    }
}

/// An option and its values.
type Given = (char, Vec<String>);

/// Splits words into options and their values.
fn options(words: &[String]) -> Result<Vec<Given>, String> {
    let mut options = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let mut letters = word.strip_prefix('-').unwrap_or("").chars();
        let option = letters.next().ok_or_else(|| format!("'{word}': unexpected argument"))?;
        let takes = takes(option).ok_or_else(|| refusal(option, word))?;
        let attached = letters.as_str();
        let mut values: Vec<String> =
            (!attached.is_empty()).then(|| attached.to_owned()).into_iter().collect();
        match takes {
            Takes::Nothing if attached.is_empty() => {}
            Takes::Nothing => return Err(format!("'{word}': -{option} takes no value")),
            Takes::Value if attached.is_empty() => {
                let missing = || format!("'-{option}': Missing argument");
                values.push(words.next().ok_or_else(missing)?.clone());
            }
            Takes::Perhaps(known) if attached.is_empty() => {
                values.extend(words.next_if(|word| known.contains(&word.as_str())).cloned());
            }
            Takes::Value | Takes::Perhaps(_) => {}
            Takes::Words => {
                while let Some(word) = words.next_if(|word| !word.starts_with('-')) {
                    values.push(word.clone());
                }
                if values.is_empty() {
                    return Err("'-v': Missing argument".to_owned());
                }
            }
        }
        options.push((option, values));
    }
    Ok(options)
}

/// Says why an option does not work.
fn refusal(option: char, word: &str) -> String {
    let why = match option {
        'E' => "Windows authentication is not supported; use -U and -P",
        'G' => "Microsoft Entra authentication is not supported; use -U and -P",
        '-' => "only sqlcmd's options of one letter are supported",
        'A' | 'a' | 'c' | 'D' | 'F' | 'g' | 'H' | 'j' | 'k' | 'K' | 'L' | 'm' | 'M' | 'n' | 'p'
        | 'R' | 'u' | 'X' | 'Y' | 'z' | 'Z' => "this option of sqlcmd is not supported",
        _ => "Unknown Option",
    };
    format!("'{word}': {why}")
}

/// Returns the arguments of `sql` that do the same; `None` if help is asked for. `read` is the environment.
fn apply(
    options: &[Given],
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<SqlArguments>, String> {
    let mut sql = Defaults::parse_from(["sqlcmd"]).sql;
    let mut user = read("SQLCMDUSER");
    sql.server = read("SQLCMDSERVER").unwrap_or(sql.server);
    sql.database = read("SQLCMDDBNAME").unwrap_or(sql.database);
    if let Some(text) = read("SQLCMDLOGINTIMEOUT") {
        sql.login_timeout = number("SQLCMDLOGINTIMEOUT", &text)?;
    }
    for (option, values) in options {
        let value = values.first().cloned().unwrap_or_default();
        match option {
            '?' => return Ok(None),
            'S' => sql.server = value,
            'U' => user = Some(value),
            'P' => sql.password = Some(value),
            'd' => sql.database = value,
            'Q' => sql.query_and_exit = Some(value),
            'q' => sql.query = Some(value),
            'i' => sql.input.extend(value.split(',').map(Into::into)),
            'o' => sql.output = Some(value.into()),
            'b' => sql.stop_on_error = true,
            'e' => sql.echo = true,
            'x' => sql.no_variables = true,
            'W' => sql.trim = true,
            'v' => sql.variable.extend(values.iter().cloned()),
            's' => sql.separator = value,
            'V' => sql.severity = number("-V", &value)?,
            'l' => sql.login_timeout = number("-l", &value)?,
            't' => sql.query_timeout = number("-t", &value)?,
            'h' => sql.header_rows = number("-h", &value)?,
            'y' => sql.variable_width = number("-y", &value)?,
            'N' => sql.encrypt = Some(encryption(&value)?),
            'r' => sql.redirect = Some(if value.is_empty() { 0 } else { number("-r", &value)? }),
            'f' => code_page(&value)?,
            'w' => line_width(&value)?,
            // Certificates are not checked; quoted identifiers are always on, as in go-sqlcmd.
            _ => {}
        }
    }
    sql.user = user.ok_or("no login: -U or SQLCMDUSER; Windows authentication is not supported")?;
    if (sql.query_and_exit.is_some() || sql.query.is_some()) && !sql.input.is_empty() {
        return Err("-i and -Q or -q are mutually exclusive".to_owned());
    }
    sql.format = Some("plain".to_owned());
    Ok(Some(sql))
}

fn number<N: std::str::FromStr>(option: &str, text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| format!("'{option} {text}': expected a number"))
}

fn encryption(text: &str) -> Result<EncryptName, String> {
    match text.to_ascii_lowercase().as_str() {
        "" | "m" | "mandatory" => Ok(EncryptName::On),
        "s" | "strict" => Ok(EncryptName::Strict),
        "o" | "optional" => Ok(EncryptName::Off),
        _ => Err(format!("'-N {text}': expected s, m or o")),
    }
}

/// Input and output are UTF-8.
fn code_page(text: &str) -> Result<(), String> {
    let is_utf8 = |part: &str| matches!(part, "65001" | "i:65001" | "o:65001");
    match text.split(',').all(is_utf8) {
        true => Ok(()),
        false => Err(format!("'-f {text}': only code page 65001 (UTF-8) is supported")),
    }
}

/// Lines are never wrapped, which is what the widest screen means.
fn line_width(text: &str) -> Result<(), String> {
    match text {
        "65535" => Ok(()),
        _ => Err(format!("'-w {text}': lines are not wrapped; only 65535 is supported")),
    }
}

fn help() -> ExitCode {
    let text = "usage: sqlcmd [-S server] [-U login] [-P password] [-d database] [-C] [-N[s|m|o]] [-l seconds]\n\
        \x20 [-Q \"query, then exit\"] [-q \"query\"] [-i file[,file]] [-o file] [-v name=value ..] [-x]\n\
        \x20 [-b] [-V severity] [-r[0|1]] [-t seconds] [-h headers] [-s separator] [-W] [-y width]\n\
        \x20 [-w 65535] [-f 65001] [-I] [-e] [-?]\n\
        SQLCMDSERVER, SQLCMDUSER, SQLCMDPASSWORD, SQLCMDDBNAME and SQLCMDLOGINTIMEOUT are read. Other options are refused.\n";
    // Nothing can be done about a closed stdout.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(line: &[&str]) -> Result<Option<SqlArguments>, String> {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        apply(&options(&words)?, &|_| None)
    }

    #[test]
    fn values_are_attached_or_follow() {
        let line = ["-Slocalhost", "-U", "sa", "-P", "-=x", "-C", "-b", "-r1", "-No", "-Q", "--"];
        let found = sql(&line).unwrap().unwrap();
        assert_eq!((found.server.as_str(), found.user.as_str()), ("localhost", "sa"));
        assert_eq!((found.password.as_deref(), found.redirect), (Some("-=x"), Some(1)));
        assert_eq!(found.query_and_exit.as_deref(), Some("--"));
        assert!(found.stop_on_error && matches!(found.encrypt, Some(EncryptName::Off)));
        let found = sql(&["-U", "sa", "-r", "-N", "-i", "a,b", "-v", "a=1", "b=2", "-h-1"]);
        let found = found.unwrap().unwrap();
        assert_eq!((found.redirect, found.header_rows, found.input.len()), (Some(0), -1, 2));
        assert_eq!(found.variable, ["a=1", "b=2"]);
    }

    #[test]
    fn every_option_works_or_is_refused_by_name() {
        for option in ('a'..='z').chain('A'..='Z').chain(['?']) {
            if takes(option).is_none() {
                let said = sql(&["-U", "sa", &format!("-{option}")]).err().unwrap();
                assert!(said.contains(&format!("-{option}")), "{said}");
            }
        }
        for word in ["-f1252", "-w80", "-Nx", "-tsoon", "-h-", "-r2.5", "-C1", "-Vhigh"] {
            let said = sql(&["-U", "sa", word]).err().unwrap();
            assert!(said.contains(&word[..2]), "{said}");
        }
        assert!(sql(&["-E"]).err().unwrap().contains("Windows"));
        assert!(sql(&["-Q", "x"]).err().unwrap().contains("-U"));
        assert!(sql(&["-U", "sa", "-Q", "x", "-i", "y"]).is_err());
        assert!(sql(&["--query"]).is_err() && sql(&["text"]).is_err() && sql(&["-"]).is_err());
        assert!(sql(&["-U"]).is_err() && sql(&["-U", "sa", "-v"]).is_err());
    }

    #[test]
    fn environment_is_what_no_option_says() {
        let read = |name: &str| match name {
            "SQLCMDUSER" => Some("u".to_owned()),
            "SQLCMDSERVER" => Some("s".to_owned()),
            _ => None,
        };
        let found = apply(&[('S', vec!["t".to_owned()])], &read).unwrap().unwrap();
        assert_eq!((found.server.as_str(), found.user.as_str()), ("t", "u"));
    }
}
