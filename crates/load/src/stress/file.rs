//! Workload files: a mix of statements in TOML, with the distributions of their parameters.
//! docs/stress.md describes the format.

use std::collections::BTreeMap;

use serde::Deserialize;
use sos::sync::AtomicU64;
use types::{DataType, Length, Value};

use super::input::batches;
use super::random::Zipf;
use super::template::{Draw, Parameter, Source, Template};
use super::work::{Kind, Work};

/// The longest string that is not `(max)`, in characters.
const UNITS_MAX: i64 = 4_000;
const BYTES_MAX: i64 = 8_000;
/// The longest value in bytes: a request is built in memory.
const VALUE_MAX: i64 = 16 << 20;

/// A workload described by a file.
#[derive(Debug)]
pub struct FileWork {
    /// Batches to send before the run, on one connection.
    pub setup: Vec<String>,
    /// The requests to send.
    pub work: Work,
    /// Batches to send after the run.
    pub teardown: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    setup: String,
    #[serde(default)]
    teardown: String,
    statement: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    name: String,
    #[serde(default = "one")]
    weight: u32,
    sql: Option<String>,
    procedure: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, Spec>,
}

const fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    draw: String,
    from: Option<i64>,
    to: Option<i64>,
    skew: Option<f64>,
    prefix: Option<String>,
    /// The length in characters or bytes, fixed or a range.
    length: Option<Span>,
    values: Option<Vec<toml::Value>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Span {
    Exactly(i64),
    Between([i64; 2]),
}

impl FileWork {
    /// Reads a workload file.
    ///
    /// # Errors
    /// What is wrong with it; for syntax errors with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| one_line(&error, text))?;
        let kinds = file.statement.into_iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            setup: batches(&file.setup),
            work: Work::of_mix(kinds)?,
            teardown: batches(&file.teardown),
        })
    }
}

fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line =
        error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{place}{}", error.message().replace('\n', " "))
}

fn kind(statement: Statement) -> Result<Kind, String> {
    let name = statement.name;
    let wrong = |why: &str| format!("statement '{name}': {why}");
    let parameters = statement.parameters.iter();
    let parameters = parameters.map(|(parameter, spec)| {
        self::parameter(parameter, spec)
            .map_err(|why| wrong(&format!("parameter '{parameter}': {why}")))
    });
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    let template = match (statement.sql, statement.procedure) {
        (Some(text), None) => Template::statement(&text, parameters),
        (None, Some(procedure)) => Template::procedure(&procedure, parameters),
        _ => return Err(wrong("expected sql or procedure, and not both")),
    };
    Ok(Kind::drawn(name, statement.weight, template))
}

fn parameter(name: &str, spec: &Spec) -> Result<Parameter, String> {
    let name = if name.starts_with('@') { name.to_owned() } else { format!("@{name}") };
    let (data_type, source) = match spec.kind.as_str() {
        "int" | "bigint" => number(spec)?,
        "nvarchar" => string(spec)?,
        "varbinary" => {
            spec.has_only(&["length"])?;
            let (least, most) = spec.span(VALUE_MAX)?;
            (DataType::VarBinary(length_type(most, BYTES_MAX)), Source::Bytes(least, most))
        }
        "uniqueidentifier" if spec.draw.is_empty() => {
            spec.has_only(&[])?;
            (DataType::UniqueIdentifier, Source::Guid)
        }
        "uniqueidentifier" => {
            spec.has_only(&["from", "to", "skew"])?;
            (DataType::UniqueIdentifier, Source::NumberedGuid(spec.draw()?))
        }
        other => {
            return Err(format!(
                "type '{other}' is not one of int, bigint, nvarchar, varbinary, uniqueidentifier"
            ));
        }
    };
    Ok(Parameter { name, data_type, source })
}

fn number(spec: &Spec) -> Result<(DataType, Source), String> {
    let (data_type, range) = match spec.kind.as_str() {
        "int" => (DataType::Int, i64::from(i32::MIN)..=i64::from(i32::MAX)),
        _ => (DataType::BigInt, i64::MIN..=i64::MAX),
    };
    if let Some(values) = &spec.values {
        spec.has_only(&["values"])?;
        let value = |value: &toml::Value| match value.as_integer().filter(|n| range.contains(n)) {
            Some(number) if data_type == DataType::Int => {
                Ok(i32::try_from(number).map_or(Value::Null, Value::Int))
            }
            Some(number) => Ok(Value::BigInt(number)),
            None => Err(format!("a value is a {}, or out of range", value.type_str())),
        };
        let values = values.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        return list(values).map(|source| (data_type, source));
    }
    spec.has_only(&["from", "to", "skew"])?;
    let (from, to) = spec.range()?;
    if !range.contains(&from) || !range.contains(&to) {
        return Err(format!("from and to must be {}s", spec.kind));
    }
    Ok((data_type, Source::Number(spec.draw()?)))
}

fn string(spec: &Spec) -> Result<(DataType, Source), String> {
    if let Some(values) = &spec.values {
        spec.has_only(&["values"])?;
        let texts = values.iter().map(|value| {
            value.as_str().ok_or(format!("a value is a {}, not a string", value.type_str()))
        });
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        let longest = texts.iter().map(|text| text.encode_utf16().count()).max().unwrap_or(0);
        let longest = i64::try_from(longest).unwrap_or(i64::MAX);
        let source = list(texts.into_iter().map(Value::nvarchar).collect())?;
        return Ok((DataType::NVarChar(length_type(longest, UNITS_MAX)), source));
    }
    if spec.length.is_some() {
        spec.has_only(&["length"])?;
        let (least, most) = spec.span(VALUE_MAX / 2)?;
        return Ok((
            DataType::NVarChar(length_type(most, UNITS_MAX)),
            Source::Letters(least, most),
        ));
    }
    spec.has_only(&["from", "to", "skew", "prefix"])?;
    let prefix = spec.prefix.clone().unwrap_or_default();
    let most = i64::try_from(prefix.encode_utf16().count() + 20).unwrap_or(i64::MAX);
    let ty = DataType::NVarChar(length_type(most, UNITS_MAX));
    Ok((ty, Source::Numbered(prefix, spec.draw()?)))
}

fn list(values: Vec<Value>) -> Result<Source, String> {
    if values.is_empty() { Err("'values' is empty".to_owned()) } else { Ok(Source::List(values)) }
}

fn length_type(most: i64, limit: i64) -> Length {
    let fits = u16::try_from(most).ok().filter(|_| most <= limit);
    fits.map_or(Length::Max, |most| Length::Limited(most.max(1)))
}

impl Spec {
    /// Fails if a setting is given that its kind does not use.
    fn has_only(&self, known: &[&str]) -> Result<(), String> {
        let draws = known.contains(&"from");
        let said = [
            ("draw", !self.draw.is_empty() && !draws),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("skew", self.skew.is_some()),
            ("prefix", self.prefix.is_some()),
            ("length", self.length.is_some()),
            ("values", self.values.is_some()),
        ];
        match said.iter().find(|(name, is_said)| *is_said && !known.contains(name)) {
            Some((name, _)) => Err(format!("'{name}' has no meaning here")),
            None => Ok(()),
        }
    }

    fn range(&self) -> Result<(i64, i64), String> {
        let to = self.to.ok_or("'to' is missing")?;
        let from = self.from.unwrap_or(1);
        if from > to { Err("'from' is above 'to'".to_owned()) } else { Ok((from, to)) }
    }

    fn span(&self, most: i64) -> Result<(i64, i64), String> {
        let (from, to) = match self.length.ok_or("'length' is missing")? {
            Span::Exactly(length) => (length, length),
            Span::Between([from, to]) => (from, to),
        };
        match 0 <= from && from <= to && to <= most {
            true => Ok((from, to)),
            false => Err(format!("'length' must be within 0 and {most}")),
        }
    }

    fn draw(&self) -> Result<Draw, String> {
        let (from, to) = self.range()?;
        let count = to.abs_diff(from).saturating_add(1);
        match self.draw.as_str() {
            "" | "uniform" | "sequence" if self.skew.is_some() => {
                Err("'skew' is only for draw = 'zipf'".to_owned())
            }
            "" | "uniform" => Ok(Draw::Uniform(from, to)),
            "sequence" => Ok(Draw::Sequence { from, to, next: AtomicU64::new(0), step: 1 }),
            "zipf" => {
                let skew = self.skew.unwrap_or(1.0);
                match skew > 0.0 && skew.is_finite() {
                    true => Ok(Draw::Zipf(from, Zipf::new(count, skew))),
                    false => Err("'skew' must be above 0".to_owned()),
                }
            }
            other => Err(format!("draw '{other}' is not one of uniform, zipf, sequence")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::random::Random;

    const FILE: &str = r#"
setup = """
create table t (id int)
GO
insert t values (1)
"""
[[statement]]
name = "read"
weight = 3
sql = "select * from t where id = @id and name = @name"
[statement.parameters]
id = { type = "int", draw = "zipf", from = 10, to = 20, skew = 1.2 }
name = { type = "nvarchar", values = ["a", "bcd"] }
[[statement]]
name = "write"
procedure = "dbo.p"
[statement.parameters]
key = { type = "nvarchar", prefix = "k", draw = "sequence", to = 3 }
body = { type = "varbinary", length = [5, 9000] }
guid = { type = "uniqueidentifier" }
"#;

    #[test]
    fn a_file_is_a_mix_with_its_setup() {
        let file = FileWork::parse(FILE).expect("a good file");
        assert_eq!((file.setup.len(), file.teardown.len()), (2, 0));
        let names: Vec<_> = file.work.kinds().iter().map(|k| (k.name.as_str(), k.weight)).collect();
        assert_eq!(names, [("read", 3), ("write", 1)]);
        let mut random = Random::new(1);
        let turn = file.work.first(0, &mut random);
        let request = file.work.drawn(turn, 0, &mut random).expect("it is drawn");
        assert_eq!(request[0], 3, "a procedure call");
        let again = file.work.drawn(turn, 0, &mut Random::new(1)).expect("it is drawn");
        assert_eq!(again, file.work.drawn(turn, 0, &mut Random::new(1)).expect("it is drawn"));
    }

    #[test]
    fn mistakes_are_one_line_that_names_them() {
        for (text, named) in [
            ("[[statement]]\nname = \"a\"\nsqll = \"x\"", "sqll"),
            ("[[statement]]\nname = \"a\"", "sql or procedure"),
            ("statement = 5", "line 1"),
            ("", "statement"),
            ("[[statement]]\nname=\"a\"\nsql=\"x\"\nparameters.b.type=\"float\"", "float"),
            ("[[statement]]\nname=\"a\"\nsql=\"x\"\nparameters.b.type=\"int\"", "'to'"),
            (
                "[[statement]]\nname=\"a\"\nsql=\"x\"\n[statement.parameters]\nb={type=\"int\",to=5,length=3}",
                "length",
            ),
            (
                "[[statement]]\nname=\"a\"\nsql=\"x\"\n[statement.parameters]\nb={type=\"int\",to=5,draw=\"x\"}",
                "'x'",
            ),
            (
                "[[statement]]\nname=\"a\"\nsql=\"x\"\n[statement.parameters]\nb={type=\"int\",to=5000000000}",
                "ints",
            ),
        ] {
            let why = FileWork::parse(text).expect_err(text);
            assert!(why.contains(named) && !why.contains('\n'), "{why}");
        }
    }
}
