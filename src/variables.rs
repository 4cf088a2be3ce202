//! `--mssql-variables`: settings from the environment variables of SQL Server's container image.
//!
//! They are read only on request, since programs that start servers (`lab`, `stress` in a container) pass their
//! environment on. A variable without a value counts as not set. docs/container.md lists them all.

use std::collections::BTreeSet;
use std::ffi::OsString;

/// What variables of SQL Server's images begin with.
const PREFIX: &str = "MSSQL_";
/// Variables that are settings here.
const USED: [&str; 5] = [
    "MSSQL_SA_PASSWORD",
    "MSSQL_TCP_PORT",
    "MSSQL_IP_ADDRESS",
    "MSSQL_MEMORY_LIMIT_MB",
    "MSSQL_DATA_DIR",
];
/// Variables that ask, with these values, for what is so anyway: there are no Agent, no availability groups and no telemetry.
const NEEDLESS: [(&str, &[&str]); 5] = [
    ("MSSQL_AGENT_ENABLED", &["false", "0"]),
    ("MSSQL_ENABLE_HADR", &["0"]),
    ("MSSQL_LCID", &["1033"]),
    ("MSSQL_TELEMETRY_ENABLED", &["false", "0"]),
    ("MSSQL_CUSTOMERFEEDBACK", &["false", "0"]),
];

/// The settings that variables have, as text: `serve.rs` checks them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    /// The address to listen on, of MSSQL_IP_ADDRESS.
    pub(crate) listen: Option<String>,
    /// The port to listen on, of MSSQL_TCP_PORT.
    pub(crate) port: Option<String>,
    /// The limit on memory with its unit, of MSSQL_MEMORY_LIMIT_MB.
    pub(crate) max_memory: Option<String>,
    /// The folder of the data, of MSSQL_DATA_DIR.
    pub(crate) data: Option<String>,
    /// SA_PASSWORD, the older name of MSSQL_SA_PASSWORD.
    pub(crate) sa_password: Option<String>,
    /// Lines for the log: variables that have no effect.
    pub(crate) without_effect: Vec<String>,
}

impl Variables {
    /// Reads the variables of this process, whose collation is `collation`.
    ///
    /// # Errors
    /// One line, if a variable that is used is not text.
    pub(crate) fn read(collation: &str) -> Result<Self, String> {
        Self::from_pairs(std::env::vars_os(), collation)
    }

    fn from_pairs(
        pairs: impl IntoIterator<Item = (OsString, OsString)>,
        collation: &str,
    ) -> Result<Self, String> {
        let mut read = Self::default();
        let mut unused = BTreeSet::new();
        for (name, value) in pairs {
            let Ok(name) = name.into_string() else { continue };
            let is_used = USED.contains(&name.as_str()) || name == "SA_PASSWORD";
            if value.is_empty() || !is_used && !name.starts_with(PREFIX) {
                continue;
            }
            match (is_used, value.into_string()) {
                (true, Ok(value)) => read.set(&name, value),
                (true, Err(_)) => return Err(format!("{name} is not text")),
                (false, Ok(value)) if is_needless(&name, &value, collation) => {}
                (false, _) => _ = unused.insert(name),
            }
        }
        read.without_effect = unused.iter().map(|name| reason(name, collation)).collect();
        Ok(read)
    }

    fn set(&mut self, name: &str, value: String) {
        match name {
            "MSSQL_IP_ADDRESS" => self.listen = Some(value),
            "MSSQL_TCP_PORT" => self.port = Some(value),
            "MSSQL_MEMORY_LIMIT_MB" => self.max_memory = Some(format!("{}MB", value.trim())),
            "MSSQL_DATA_DIR" => self.data = Some(value),
            "SA_PASSWORD" => self.sa_password = Some(value),
            // MSSQL_SA_PASSWORD: it is read without this option too.
            _ => {}
        }
    }
}

/// Whether a variable asks for what is so anyway.
fn is_needless(name: &str, value: &str, collation: &str) -> bool {
    let asked = |(known, values): &(&str, &[&str])| {
        name == *known && values.iter().any(|known| value.eq_ignore_ascii_case(known))
    };
    NEEDLESS.iter().any(asked) || name == "MSSQL_COLLATION" && value.eq_ignore_ascii_case(collation)
}

/// The line about a variable that has no effect. Never its value, which may be a password.
fn reason(name: &str, collation: &str) -> String {
    let why = match name {
        "MSSQL_PID" => "there are no editions and no product keys",
        "MSSQL_COLLATION" => {
            return format!(
                "MSSQL_COLLATION has no effect: the server's collation is {collation}; databases and columns may have \
                 others (COLLATE)"
            );
        }
        "MSSQL_LCID" => {
            "the server's language is us_english; a login may have another (DEFAULT_LANGUAGE)"
        }
        "MSSQL_LOG_DIR" => "the log is in the folder of the data (MSSQL_DATA_DIR)",
        "MSSQL_MASTER_DATA_FILE" | "MSSQL_MASTER_LOG_FILE" => {
            "all databases are in the folder of the data (MSSQL_DATA_DIR)"
        }
        "MSSQL_ERROR_LOG_FILE" => "the log goes to stderr",
        "MSSQL_AGENT_ENABLED" => "there is no SQL Server Agent",
        "MSSQL_ENABLE_HADR" => "there are no availability groups",
        "MSSQL_TELEMETRY_ENABLED" | "MSSQL_CUSTOMERFEEDBACK" => "nothing is ever sent",
        _ => "this server has no such setting",
    };
    format!("{name} has no effect: {why}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Variables {
        let pairs = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Variables::from_pairs(pairs, "C").unwrap()
    }

    #[test]
    fn settings_are_read_and_empty_ones_are_not_set() {
        let found = read(&[
            ("MSSQL_TCP_PORT", "1500"),
            ("MSSQL_IP_ADDRESS", "0.0.0.0"),
            ("MSSQL_MEMORY_LIMIT_MB", "512"),
            ("MSSQL_DATA_DIR", ""),
            ("SA_PASSWORD", "x"),
            ("ACCEPT_EULA", "Y"),
            ("HOME", "/"),
        ]);
        let text = |text: &str| Some(text.to_owned());
        let expected = Variables {
            listen: text("0.0.0.0"),
            port: text("1500"),
            max_memory: text("512MB"),
            sa_password: text("x"),
            ..Variables::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn variables_without_effect_are_named_without_their_values() {
        let found = read(&[
            ("MSSQL_PID", "AAAAA"),
            ("MSSQL_PASSWORD", "AAAAA"),
            ("MSSQL_COLLATION", "AAAAA"),
            ("MSSQL_AGENT_ENABLED", "true"),
        ]);
        let lines = found.without_effect;
        for name in ["MSSQL_PID", "MSSQL_PASSWORD", "MSSQL_COLLATION", "MSSQL_AGENT_ENABLED"] {
            let start = format!("{name} has no effect: ");
            assert!(lines.iter().any(|line| line.starts_with(&start)), "{name}: {lines:?}");
        }
        assert!(lines.len() == 4 && !lines.concat().contains("AAAAA"), "{lines:?}");
        let asked_for_what_is = [("MSSQL_AGENT_ENABLED", "False"), ("MSSQL_COLLATION", "c")];
        assert_eq!(read(&asked_for_what_is), Variables::default());
    }

    #[test]
    fn value_that_is_not_text_is_refused_where_it_is_used() {
        let one = |name: &str| [(name.into(), OsString::from_vec(vec![0xFF]))];
        assert_eq!(
            Variables::from_pairs(one("MSSQL_TCP_PORT"), "C"),
            Err("MSSQL_TCP_PORT is not text".to_owned())
        );
        assert!(Variables::from_pairs(one("OTHER"), "C").is_ok());
    }
}
