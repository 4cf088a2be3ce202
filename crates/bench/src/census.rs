//! Reads `target/census.json`, written by `make census`: an array of workloads, each with the
//! shared accesses of its requests by owner. See docs/census.md.

use load::Result;

/// The classes of rows that cost a running request something; the others are writes between two
/// fixed threads, and of background work.
const OF_REQUESTS: [&str; 2] = ["shared", "amortised"];

/// The shared writes of a workload.
#[derive(Debug, PartialEq)]
pub(crate) struct Workload {
    pub(crate) name: String,
    /// Owners of cache lines, each with the transfers of its lines from another CPU per request.
    pub(crate) owners: Vec<(String, f64)>,
}

/// Reads all workloads of a census.
pub(crate) fn parse(text: &str) -> Result<Vec<Workload>> {
    let mut reader = Reader { rest: text };
    let Some(Json::Array(workloads)) = reader.value().filter(|_| reader.is_at_end()) else {
        return Err("census: no array of workloads, as make census writes it".to_owned());
    };
    let read = |one| workload(one).ok_or_else(|| "census: a workload is not whole".to_owned());
    workloads.iter().map(read).collect()
}

fn workload(json: &Json) -> Option<Workload> {
    let name = json.text("workload")?.to_owned();
    let Json::Array(rows) = json.field("per_request")? else { return None };
    let mut owners = Vec::new();
    for row in rows {
        let is_counted = OF_REQUESTS.contains(&row.text("class")?);
        // A lock's line is transferred once for the write that takes it and the one that releases
        // it.
        let uses = row.number("stores")?.max(row.number("rmw")?);
        if is_counted && uses > 0.0 {
            owners.push((row.text("owner")?.to_owned(), uses));
        }
    }
    Some(Workload { name, owners })
}

/// A JSON value; a census contains no other kinds.
#[derive(Debug, PartialEq)]
enum Json {
    Text(String),
    Number(f64),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn field(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.field(name)? {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        match self.field(name)? {
            Self::Number(number) => Some(*number).filter(|n| n.is_finite() && *n >= 0.0),
            Self::Text(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }
}

/// Reads the part of RFC 8259 that a census uses: no literals, and no escapes but those of its
/// names.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn is_at_end(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(wanted)?;
        Some(())
    }

    fn value(&mut self) -> Option<Json> {
        match self.rest.trim_start().chars().next()? {
            '[' => Some(Json::Array(self.list('[', ']', Self::value)?)),
            '{' => Some(Json::Object(self.list('{', '}', Self::member)?)),
            '"' => Some(Json::Text(self.string()?)),
            _ => self.number(),
        }
    }

    fn list<T>(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.take(open)?;
        let mut items = Vec::new();
        if self.take(close).is_some() {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(close).is_some() {
                return Some(items);
            }
            self.take(',')?;
        }
    }

    fn member(&mut self) -> Option<(String, Json)> {
        let name = self.string()?;
        self.take(':')?;
        Some((name, self.value()?))
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, next)) = chars.next() {
            match next {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '\\' => text.push(chars.next().map(|(_, escaped)| escaped).filter(is_itself)?),
                next => text.push(next),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Json> {
        let text = self.rest.trim_start();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        self.rest = &text[end..];
        text[..end].parse().ok().map(Json::Number)
    }
}

/// Returns whether an escaped character means the character itself.
const fn is_itself(escaped: &char) -> bool {
    matches!(escaped, '"' | '\\' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A census in the form of docs/census.md.
    const CENSUS: &str = r#"[
 {"workload":"point update","requests":2048,"per_request":[
  {"owner":"<a::B as c>::d \"e\"","place":"f.rs:1","class":"shared","stores":1.000000,"rmw":1.000000,"loads":0.5},
  {"owner":"once","place":"g.rs:2","class":"amortised","stores":0.007800,"rmw":0.000000,"loads":0.000000},
  {"owner":"looked at","place":"h.rs:3","class":"shared","stores":0.000000,"rmw":0.000000,"loads":2.000000},
  {"owner":"beside","place":"i.rs:4","class":"background","stores":3.000000,"rmw":0.000000,"loads":0.000000}]},
 {"workload":"point select","requests":2048,"per_request":[]}
]
"#;

    #[test]
    fn writes_of_requests_are_read_by_workload_and_owner() {
        let workloads = parse(CENSUS).expect("a census");
        let owners = vec![("<a::B as c>::d \"e\"".to_owned(), 1.0), ("once".to_owned(), 0.0078)];
        assert_eq!(workloads[0], Workload { name: "point update".to_owned(), owners });
        assert_eq!(workloads[1].owners, []);
    }

    #[test]
    fn what_is_no_census_is_refused() {
        let no_number = CENSUS.replace("0.007800", "\"few\"");
        let negative = CENSUS.replace("0.007800", "-1");
        for text in ["", "LOG 2", "{}", "[{}]", &CENSUS[..300], &no_number, &negative] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("{CENSUS} more")).is_err());
    }
}
