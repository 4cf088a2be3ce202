//! OPENJSON: the members of a JSON array or object as rows.
//!
//! With a WITH clause the binder appends two constants for each column to the text and path: the
//! column's path and what it selects. The columns are returned as text; the binder converts them to
//! their types.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Msg, Result, Value};

use super::path::{Path, PathMode};
use super::text::{self, Kind, Node};
use crate::entry::{convert, of, whole};
use crate::{Collating, TableFunction, made};
use plan::expr::Expr;
use plan::function::Context;
use plan::long::{self, Growing, push};
use sos::sched::Pace;

pub(crate) static FUNCTIONS: &[TableFunction] = &[
    TableFunction {
        name: "OPENJSON",
        bind: bind_open,
        rows: |cx, values| open(cx, values).map(made),
        collation: Collating::Apart,
    },
    // No text can name this: the form with WITH.
    TableFunction {
        name: "OPENJSON WITH",
        bind: bind_open_with,
        rows: |cx, values| open_with(cx, values).map(made),
        collation: Collating::Apart,
    },
];

/// What a column of WITH selects at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A scalar value, as text.
    Scalar,
    /// AS JSON: an array or object.
    Json,
    /// A scalar in base 64, as bytes.
    Bytes,
}

impl Wanted {
    /// Returns its code as an argument.
    pub fn code(self) -> i32 {
        match self {
            Self::Scalar => 0,
            Self::Json => 1,
            Self::Bytes => 2,
        }
    }

    fn of(code: Option<i64>) -> Self {
        match code {
            Some(1) => Self::Json,
            Some(2) => Self::Bytes,
            _ => Self::Scalar,
        }
    }
}

fn texts(arguments: &mut [Expr]) -> Result<()> {
    for place in 0..arguments.len().min(2) {
        convert(arguments, place, DataType::NVarChar(Length::Max))?;
    }
    Ok(())
}

fn bind_open(arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    if arguments.is_empty() || arguments.len() > 2 {
        return Err(Msg::FunctionArgumentRange("openjson", 1, 2).into());
    }
    texts(arguments)?;
    // Property names compare exactly.
    let exact = Collation::by_name("Latin1_General_BIN2").unwrap_or_default();
    let key = of(DataType::NVarChar(Length::Limited(4_000)));
    Ok(vec![
        ("key".to_owned(), ColumnType { collation: exact, nullable: false, ..key }),
        ("value".to_owned(), of(DataType::NVarChar(Length::Max))),
        ("type".to_owned(), ColumnType { nullable: false, ..of(DataType::TinyInt) }),
    ])
}

fn bind_open_with(arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    texts(arguments)?;
    let mut columns = Vec::new();
    for place in (2..arguments.len()).step_by(2) {
        let bytes = arguments[place + 1].as_constant() == Some(&Value::Int(Wanted::Bytes.code()));
        let data_type =
            if bytes { DataType::VarBinary(Length::Max) } else { DataType::NVarChar(Length::Max) };
        columns.push((String::new(), of(data_type)));
    }
    Ok(columns)
}

/// Returns the text and the node at the path.
fn source(values: &[Value], path_place: Option<usize>) -> Result<Option<(String, Node, Path)>> {
    let text_at = |place: usize| match values.get(place) {
        Some(value) => long::text(value, Collation::default()),
        None => Ok(None),
    };
    let Some(json) = text_at(0)? else { return Ok(None) };
    let path = match path_place.map(text_at).transpose()? {
        None => Path { mode: PathMode::Lax, append: false, steps: Vec::new() },
        Some(Some(path)) => Path::parse(&path)?,
        Some(None) => return Ok(None),
    };
    let root = text::parse(&json)?;
    Ok(Some((json, root, path)))
}

/// Returns the node at a path, if it has members.
fn members<'n>(root: &'n Node, path: &Path) -> Result<Option<&'n Node>> {
    let found = path.find(root);
    match (found.filter(|n| n.is_structure()), path.mode) {
        (Some(node), _) => Ok(Some(node)),
        (None, PathMode::Lax) => Ok(None),
        (None, PathMode::Strict) if found.is_some() => Err(Msg::JsonObjectNotFound.into()),
        (None, PathMode::Strict) => Err(Msg::JsonPropertyNotFound.into()),
    }
}

fn open(_: &mut Context<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    let Some((json, root, path)) = source(values, (values.len() > 1).then_some(1))? else {
        return Ok(Vec::new());
    };
    let Some(node) = members(&root, &path)? else { return Ok(Vec::new()) };
    let mut made = Made::default();
    let mut row = |key: &str, node: &Node| {
        let (number, value) = match &node.kind {
            Kind::Null => (0, Value::Null),
            Kind::String(text) => (1, long::nvarchar(text)),
            Kind::Number => (2, long::nvarchar(&json[node.span.clone()])),
            Kind::Bool => (3, long::nvarchar(&json[node.span.clone()])),
            Kind::Array(_) => (4, long::nvarchar(&json[node.span.clone()])),
            Kind::Object(_) => (5, long::nvarchar(&json[node.span.clone()])),
        };
        made.push(vec![long::nvarchar(key), value, Value::TinyInt(number)])
    };
    match &node.kind {
        Kind::Object(properties) => {
            for property in properties {
                row(&property.name, &property.value)?;
            }
        }
        Kind::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                row(&index.to_string(), element)?;
            }
        }
        Kind::Null | Kind::Bool | Kind::Number | Kind::String(_) => {}
    }
    Ok(made.list)
}

/// Rows that are made at once. Requests their memory.
#[derive(Default)]
struct Made {
    list: Vec<Vec<Value>>,
    memory: Growing,
    pace: Pace,
}

impl Made {
    fn push(&mut self, row: Vec<Value>) -> Result<()> {
        self.pace.tick();
        let texts = row.iter().filter_map(Value::string_bytes).map(<[u8]>::len).sum::<usize>();
        self.memory.take(size_of_val(row.as_slice()) + size_of::<Vec<Value>>() + texts)?;
        push(&mut self.list, row)
    }
}

fn open_with(_: &mut Context<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    let Some((json, root, path)) = source(values, Some(1))? else { return Ok(Vec::new()) };
    let Some(node) = members(&root, &path)? else { return Ok(Vec::new()) };
    let mut columns = Vec::new();
    for pair in values[2..].chunks(2) {
        let path = pair[0].as_text(Collation::default()).unwrap_or_default();
        columns.push((Path::parse(&path)?, Wanted::of(whole(pair, 1))));
    }
    let mut made = Made::default();
    let mut row = |node: &Node| {
        let cells = columns.iter().map(|(path, wanted)| cell(&json, node, path, *wanted));
        made.push(cells.collect::<Result<Vec<_>>>()?)
    };
    match &node.kind {
        Kind::Array(elements) => elements.iter().try_for_each(row)?,
        _ => row(node)?,
    }
    Ok(made.list)
}

/// Returns the value of one column.
fn cell(json: &str, node: &Node, path: &Path, wanted: Wanted) -> Result<Value> {
    let missing = |msg: Msg<'_>| match path.mode {
        PathMode::Lax => Ok(Value::Null),
        PathMode::Strict => Err(msg.into()),
    };
    let Some(found) = path.find(node) else { return missing(Msg::JsonPropertyNotFound) };
    if wanted == Wanted::Json {
        if !found.is_structure() {
            return missing(Msg::JsonObjectNotFound);
        }
        return Ok(long::nvarchar(&json[found.span.clone()]));
    }
    if found.is_structure() {
        return missing(Msg::JsonScalarNotFound);
    }
    let Some(text) = found.scalar(json) else { return Ok(Value::Null) };
    if wanted == Wanted::Bytes {
        let bytes = super::from_base64(text).ok_or(Msg::InvalidData("varbinary"))?;
        return Ok(Value::VarBinary(types::Bytes::from(bytes)));
    }
    Ok(long::nvarchar(text))
}

/// Returns the path of a column that declares none: its own name.
pub fn default_path(column: &str) -> String {
    let mut path = "$.".to_owned();
    super::push_string(column, &mut path);
    path.replace("\\/", "/")
}

#[cfg(test)]
mod tests {
    use super::super::path::Step;
    use super::*;

    #[test]
    fn the_default_path_of_a_column_is_its_name() {
        for name in ["a", "a b", "a\"b", "a/b", "a\\b"] {
            let path = Path::parse(&default_path(name)).unwrap();
            assert_eq!(path.steps, vec![Step::Name(name.to_owned())], "{name}");
        }
    }
}
