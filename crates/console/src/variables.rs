//! Scripting variables: `:setvar name value`, `-v name=value`, and `$(name)` in any text.

use std::collections::BTreeMap;

/// Variables by name; names are compared without case.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: BTreeMap<String, String>,
}

impl Variables {
    /// Sets a variable, replacing its value.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_ascii_lowercase(), value.to_owned());
    }

    /// Removes a variable, if it was set.
    pub fn unset(&mut self, name: &str) {
        self.values.remove(&name.to_ascii_lowercase());
    }

    /// Returns a variable's value, or that of the environment variable with the same name.
    pub fn get(&self, name: &str) -> Option<String> {
        let found = self.values.get(&name.to_ascii_lowercase()).cloned();
        found.or_else(|| std::env::var(name).ok())
    }

    /// Returns all variables that were set.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Replaces each `$(name)` by the variable's value.
    ///
    /// # Errors
    /// The name of a variable that is not set.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("$(") {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let name = from[2..].split_once(')').map(|(name, _)| name).filter(|n| is_name(n));
            let Some(name) = name else {
                out.push_str("$(");
                rest = &from[2..];
                continue;
            };
            out.push_str(&self.get(name).ok_or_else(|| name.to_owned())?);
            rest = &from[2 + name.len() + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Returns whether a word can be the name of a variable.
pub fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_values_wherever_they_stand() {
        let mut variables = Variables::default();
        variables.set("Table", "t1");
        variables.set("x", "");
        assert_eq!(
            variables.expand("select '$(table)$(X)' from $(TABLE) -- $ $( $()"),
            Ok("select 't1' from t1 -- $ $( $()".to_owned())
        );
        assert_eq!(variables.expand("$(there_is_no_such)"), Err("there_is_no_such".to_owned()));
        variables.unset("table");
        assert!(variables.expand("$(table)").is_err());
    }
}
