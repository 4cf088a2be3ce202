//! JSON functions: ISJSON, JSON_VALUE, JSON_QUERY, JSON_MODIFY, JSON_PATH_EXISTS, JSON_OBJECT,
//! JSON_ARRAY, and OPENJSON in `open.rs`.
//!
//! JSON is text in SQL Server. `text.rs` parses it, `path.rs` evaluates paths, `modify.rs` changes
//! a text, `build.rs` and `plan::document::text` write one.

#![expect(clippy::ptr_arg, reason = "binders share a signature, and some add arguments")]

mod aggregate;
mod build;
mod modify;
mod open;
mod path;
mod text;

use types::value::ColumnType;
use types::{DataType, Family, Length, Msg, Result, Value};

pub(crate) use aggregate::AGGREGATES;
pub use build::form_of;
pub(crate) use open::FUNCTIONS as TABLES;
pub use open::{Wanted, default_path};
pub use path::Path;
pub use plan::document::text::{base64, escape, from_base64, push_string, push_value, xsd_text};

use crate::entry::{convert, of, pure, text as text_of, whole};
use crate::{Call, Collating, Evaluate, Function};
use build::OnNull;
use path::PathMode;
use plan::expr::Expr;
use plan::function::Context;
use plan::long;
use plan::stop::is_about_resources;
use text::{Kind, Node};

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("ISJSON", (1, 2), bind_is_json, eval_is_json),
    pure("JSON_VALUE", (2, 2), bind_value, eval_value),
    pure("JSON_QUERY", (1, 2), bind_query, eval_query),
    pure("JSON_PATH_EXISTS", (2, 2), bind_exists, eval_exists),
    full("JSON_MODIFY", (3, 3), bind_modify, eval_modify),
    full("JSON_OBJECT", (0, 254), bind_build, |_, c, v| {
        made(&build::object(&c.arguments[1..], &v[1..], on_null(v))?)
    }),
    full("JSON_ARRAY", (0, 254), bind_build, |_, c, v| {
        made(&build::array(&c.arguments[1..], &v[1..], on_null(v))?)
    }),
];

const fn full(
    name: &'static str,
    arity: (u8, u8),
    bind: crate::entry::Bind,
    eval: crate::entry::Eval,
) -> Function {
    Function {
        name,
        arity,
        bind,
        eval: Evaluate::Full(eval),
        deterministic: true,
        collation: Collating::Apart,
    }
}

/// Longest value that JSON_VALUE returns, in UTF-16 units.
const VALUE_UNITS_MAX: u16 = 4_000;
/// Types that ISJSON can test for; the binder passes the keyword's index.
pub const KINDS: &[&str] = &["VALUE", "ARRAY", "OBJECT", "SCALAR"];

/// Checks that the text and the path are strings.
fn strings(arguments: &mut [Expr], count: usize, function: &str) -> Result<types::Collation> {
    for place in 0..count.min(arguments.len()) {
        let ty = arguments[place].ty.data_type;
        let is_text = ty.is_string() || ty.family() == Family::Variant;
        if !is_text && !arguments[place].is_null_literal() {
            let number = i64::try_from(place + 1).unwrap_or(1);
            return Err(Msg::InvalidArgumentType(ty.name(), number, function).into());
        }
        convert(arguments, place, DataType::NVarChar(Length::Max))?;
    }
    Ok(arguments[0].ty.collation)
}

fn bind_is_json(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    strings(arguments, 1, "isjson")?;
    Ok(of(DataType::Int))
}

fn bind_value(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let collation = strings(arguments, 2, "json_value")?;
    let data_type = DataType::NVarChar(Length::Limited(VALUE_UNITS_MAX));
    Ok(ColumnType { collation, ..of(data_type) })
}

fn bind_query(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let collation = strings(arguments, 2, "json_query")?;
    Ok(ColumnType { collation, ..of(DataType::NVarChar(Length::Max)) })
}

fn bind_exists(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    strings(arguments, 2, "json_path_exists")?;
    Ok(of(DataType::Int))
}

fn bind_modify(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let collation = strings(arguments, 2, "json_modify")?;
    let value = arguments[2].ty.data_type;
    if value.family() == Family::Binary || value == DataType::Xml {
        return Err(Msg::InvalidArgumentType(value.name(), 3, "json_modify").into());
    }
    Ok(ColumnType { collation, ..of(DataType::NVarChar(Length::Max)) })
}

/// Returns a text that was made, whose characters double in width and are copied once.
fn made(text: &str) -> Result<Value> {
    const TIMES: usize = 4;
    long::ask(TIMES * text.len())?;
    Ok(long::nvarchar(text))
}

/// The first argument is the treatment of NULLs.
fn bind_build(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(ColumnType { nullable: false, ..of(DataType::NVarChar(Length::Max)) })
}

fn on_null(values: &[Value]) -> OnNull {
    if whole(values, 0) == Some(0) { OnNull::Absent } else { OnNull::Null }
}

fn eval_is_json(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let json = text_of(call, values, 0)?.unwrap_or_default();
    let node = match text::parse(&json) {
        Ok(node) => node,
        Err(error) if is_about_resources(&error) => return Err(error),
        Err(_) => return Ok(Value::Int(0)),
    };
    // Without a type, an object or an array; a JSON text of a scalar needs VALUE.
    let fits = match (whole(values, 1), &node.kind) {
        (None, _) => node.is_structure(),
        (Some(0), _) => true,
        (Some(1), Kind::Array(_)) | (Some(2), Kind::Object(_)) => true,
        (Some(3), Kind::Number | Kind::String(_)) => true,
        (Some(_), _) => false,
    };
    Ok(Value::Int(i32::from(fits)))
}

/// The parsed arguments of a function: a text, and a path in it.
struct Question {
    json: String,
    root: Node,
    path: Path,
}

fn question(call: &Call<'_>, values: &[Value]) -> Result<Question> {
    let path = match values.get(1) {
        Some(_) => Path::parse(&text_of(call, values, 1)?.unwrap_or_default())?,
        None => Path { mode: PathMode::Lax, append: false, steps: Vec::new() },
    };
    let json = text_of(call, values, 0)?.unwrap_or_default();
    let root = text::parse(&json)?;
    Ok(Question { json, root, path })
}

/// Returns NULL in lax mode, an error in strict mode.
fn missing(mode: PathMode, msg: Msg<'_>) -> Result<Value> {
    match mode {
        PathMode::Lax => Ok(Value::Null),
        PathMode::Strict => Err(msg.into()),
    }
}

fn eval_value(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let asked = question(call, values)?;
    let mode = asked.path.mode;
    let Some(found) = asked.path.find(&asked.root) else {
        return missing(mode, Msg::JsonPropertyNotFound);
    };
    if found.is_structure() {
        return missing(mode, Msg::JsonScalarNotFound);
    }
    let Some(text) = found.scalar(&asked.json) else { return Ok(Value::Null) };
    if text.encode_utf16().count() > usize::from(VALUE_UNITS_MAX) {
        return missing(mode, Msg::JsonTruncated);
    }
    Ok(long::nvarchar(text))
}

fn eval_query(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let asked = question(call, values)?;
    let mode = asked.path.mode;
    match asked.path.find(&asked.root) {
        None => missing(mode, Msg::JsonPropertyNotFound),
        Some(found) if !found.is_structure() => missing(mode, Msg::JsonObjectNotFound),
        Some(found) => Ok(long::nvarchar(&asked.json[found.span.clone()])),
    }
}

fn eval_exists(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let asked = question(call, values)?;
    Ok(Value::Int(i32::from(asked.path.find(&asked.root).is_some())))
}

fn eval_modify(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    if values[0].is_null() || values[1].is_null() {
        return Ok(Value::Null);
    }
    let asked = question(call, values)?;
    let expr = &call.arguments[2];
    let mut value = String::new();
    push_value(&values[2], &expr.ty, form_of(expr), &mut value)?;
    let value = (!values[2].is_null()).then_some(value.as_str());
    let modified = modify::modify(&asked.json, &asked.root, &asked.path, value)?;
    made(&modified)
}
