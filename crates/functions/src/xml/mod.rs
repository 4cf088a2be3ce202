//! The methods of `xml`: `value()`, `query()`, `exist()`, `nodes()` and `modify()`.
//!
//! `syntax.rs` and `parse.rs` define the language, `check.rs` does static typing, `eval.rs` and
//! `library.rs` evaluate, `change.rs` executes `modify()`. The binder calls the methods as
//! functions that no text can name. Their arguments are the instance, the number of the context
//! node in it, the query, the name of the column or variable that is changed, and the values that
//! the query takes from SQL. A column of `nodes()` is an instance with such a number.

pub mod cache;
mod change;
mod check;
mod construct;
mod eval;
mod library;
pub mod open;
mod parse;
pub mod syntax;
mod word;

use std::sync::Arc;

use sos::park::Cancel;
use sos::sched::Pace;
use types::value::ColumnType;
use types::xml::{Document, NodeId, NodeKind, ROOT};
use types::{Collation, DataType, Length, Mode, Msg, Result, Value};

use self::eval::{Evaluation, Focus, Item, Sequence};
use self::syntax::{Body, Query};
use crate::entry::{of, whole};
use crate::json::xsd_text;
use crate::pieces::PAUSE;
use crate::{Call, Collating, Evaluate, Function, TableFunction, made};
use plan::expr::Expr;
use plan::function::Context;

pub use parse::parse;

pub(crate) static FUNCTIONS: &[Function] = &[
    method(VALUE, eval_value),
    method(QUERY, eval_query),
    method(EXIST, eval_exist),
    method(MODIFY, eval_modify),
];

pub(crate) static TABLES: &[TableFunction] = &[
    TableFunction {
        name: NODES,
        bind: refuse_table,
        rows: |cx, values| nodes(cx, values).map(made),
        collation: Collating::Apart,
    },
    open::EDGE,
    open::COLUMNS,
];

/// Internal name of `value()`.
pub const VALUE: &str = "XML.VALUE()";
/// Internal name of `query()`.
pub const QUERY: &str = "XML.QUERY()";
/// Internal name of `exist()`.
pub const EXIST: &str = "XML.EXIST()";
/// Internal name of `modify()`.
pub const MODIFY: &str = "XML.MODIFY()";
/// Internal name of `nodes()`.
pub const NODES: &str = "XML.NODES()";

const fn method(
    name: &'static str,
    eval: fn(&mut Context<'_>, &Call<'_>, &[Value]) -> Result<Value>,
) -> Function {
    Function {
        name,
        arity: (4, 255),
        bind: refuse,
        eval: Evaluate::Full(eval),
        deterministic: false,
        collation: Collating::Apart,
    }
}

/// Refuses a direct call, since methods are not functions that a text can call.
fn refuse(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Err(Msg::NotRecognized("xml", "built-in function name").into())
}

fn refuse_table(_: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    Err(Msg::InvalidObject("xml").into())
}

/// The arguments of a method call: the instance, the context node, and the query.
struct Work {
    document: Arc<Document>,
    node: NodeId,
    query: Arc<Query>,
    externals: Vec<Sequence>,
    cancel: Arc<Cancel>,
}

/// Index of the argument with the variable's or column's name, for messages.
const NAME: usize = 3;
/// Index of the first argument with a value from SQL.
const EXTERNALS: usize = 4;

impl Work {
    /// Reads the arguments of a method; `None` if the instance is NULL.
    fn new(
        cx: &mut Context<'_>,
        method: &str,
        types: &[ColumnType],
        values: &[Value],
    ) -> Result<Option<Self>> {
        let [Value::NVarChar(instance), _, Value::NVarChar(query), ..] = values else {
            return Ok(None);
        };
        let node = whole(values, 1).and_then(|n| NodeId::try_from(n).ok());
        let Some(node) = node else { return Ok(None) };
        let cancel = Arc::clone(cx.cancel());
        let cache = cache::XmlCache::of(cx.parsed());
        let query = cache.query(query, method)?;
        let document = cache.document(instance, &cancel)?;
        let externals = values.get(EXTERNALS..).unwrap_or_default();
        let types = types.get(EXTERNALS..).unwrap_or_default();
        let externals = externals.iter().zip(types).map(|(value, ty)| from_sql(value, ty));
        let externals = externals.collect::<Result<Vec<_>>>()?;
        Ok(Some(Self { document, node, query, externals, cancel }))
    }

    fn evaluate(&self) -> Result<Sequence> {
        let Body::Value(expr) = &self.query.body else { return Ok(Vec::new()) };
        let mut evaluation = Evaluation::new(&self.externals, &self.cancel);
        let item = Some(Item::Node(Arc::clone(&self.document), self.node));
        evaluation.eval(expr, &Focus { item, position: 1, size: 1 })
    }
}

fn argument_types(call: &Call<'_>) -> Vec<ColumnType> {
    call.arguments.iter().map(|argument| argument.ty).collect()
}

/// Converts a SQL value to a sequence; NULL is empty.
fn from_sql(value: &Value, ty: &ColumnType) -> Result<Sequence> {
    Ok(match value {
        Value::Null => Vec::new(),
        Value::Variant(inner) => return from_sql(&inner.0, &inner.1),
        Value::Bit(b) => vec![Item::Bool(*b)],
        Value::VarChar(_) | Value::NVarChar(_) => {
            vec![Item::Text(plan::long::text(value, ty.collation)?.unwrap_or_default())]
        }
        _ if ty.data_type.family() == types::Family::Binary => {
            vec![Item::Base64(value.string_bytes().unwrap_or_default().to_vec())]
        }
        Value::Real(n) => vec![Item::Double(f64::from(*n))],
        Value::Float(n) => vec![Item::Double(*n)],
        _ => match whole(std::slice::from_ref(value), 0) {
            Some(n) => vec![Item::Integer(n)],
            None => {
                let text = xsd_text(value, ty)?;
                let number = matches!(value, Value::Decimal(_) | Value::Money(_));
                vec![match text.parse() {
                    Ok(n) if number => Item::Double(n),
                    _ => Item::Text(text),
                }]
            }
        },
    })
}

fn eval_value(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(work) = Work::new(cx, "value", &argument_types(call), values)? else {
        return Ok(Value::Null);
    };
    let found = work.evaluate()?;
    let Some(item) = found.first() else { return Ok(Value::Null) };
    if let (Item::Base64(bytes) | Item::Hex(bytes), types::Family::Binary) =
        (item, call.ty.data_type.family())
    {
        let from = of(DataType::VarBinary(Length::Max));
        let bytes = Value::VarBinary(types::Bytes::from(bytes.clone()));
        return types::convert(&bytes, &from, call.ty, 0, Mode::Explicit, &cx.convert_options());
    }
    let text = match (item, call.ty.data_type.is_string()) {
        (Item::Bool(b), false) => i32::from(*b).to_string(),
        (item, true) => item.text(),
        (item, false) => item.text().trim().to_owned(),
    };
    to_sql(cx, &text, call.ty)
}

/// Converts text to the type that `value()` requests.
fn to_sql(cx: &Context<'_>, text: &str, ty: &ColumnType) -> Result<Value> {
    /// CONVERT style of XML's dates with a time zone.
    const STYLE_ZONED: i32 = 127;
    let options = cx.convert_options();
    let from = of(DataType::NVarChar(Length::Max));
    if ty.data_type.family() == types::Family::Binary {
        // Malformed base 64 gives NULL.
        let bytes = crate::json::from_base64(text).map(types::Bytes::from);
        let Some(bytes) = bytes else { return Ok(Value::Null) };
        let from = of(DataType::VarBinary(Length::Max));
        return types::convert(&Value::VarBinary(bytes), &from, ty, 0, Mode::Explicit, &options);
    }
    let source = plan::long::nvarchar(text);
    let plain = types::convert(&source, &from, ty, 0, Mode::Explicit, &options);
    if plain.is_err() && ty.data_type.family() == types::Family::DateTime {
        let zoned = types::convert(&source, &from, ty, STYLE_ZONED, Mode::Explicit, &options);
        return zoned.or(plain);
    }
    plain
}

fn eval_query(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(work) = Work::new(cx, "query", &argument_types(call), values)? else {
        return Ok(Value::Null);
    };
    let mut out = String::new();
    let (mut after_value, mut pace) = (false, Pace::new());
    for item in work.evaluate()? {
        // Each is written on its own, and most are short.
        pace.tick();
        let is_value = !matches!(item, Item::Node(..));
        match item {
            Item::Node(document, node) => {
                if document.kind(node) == NodeKind::Attribute {
                    return Err(Msg::XQueryAttributeOutside("query").into());
                }
                document.write_pausing(node, &mut out, PAUSE);
            }
            value => {
                if after_value {
                    out.push(' ');
                }
                types::xml::escape_text_pausing(&value.text(), &mut out, PAUSE);
            }
        }
        after_value = is_value;
    }
    Ok(plan::long::nvarchar(&out))
}

fn eval_exist(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(work) = Work::new(cx, "exist", &argument_types(call), values)? else {
        return Ok(Value::Null);
    };
    Ok(Value::Bit(!work.evaluate()?.is_empty()))
}

fn eval_modify(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    if values[0].is_null() {
        let name = values.get(NAME).and_then(|v| v.as_text(Collation::default()));
        return Err(Msg::XmlMutatorOnNull("modify", &name.unwrap_or_default()).into());
    }
    let Some(work) = Work::new(cx, "modify", &argument_types(call), values)? else {
        return Ok(Value::Null);
    };
    let Body::Change(change) = &work.query.body else { return Err(Msg::XmlNotDml.into()) };
    let mut evaluation = Evaluation::new(&work.externals, &work.cancel);
    let changed = change::apply(change, &work.document, &mut evaluation)?;
    let mut out = String::new();
    changed.write_pausing(ROOT, &mut out, PAUSE);
    Ok(plan::long::nvarchar(&out))
}

/// Returns the rows of `nodes()`: the instance and the number of a node in it.
fn nodes(cx: &mut Context<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    // Types matter only for text of other collations, and these arguments are `nvarchar`.
    let types = vec![of(DataType::NVarChar(Length::Max)); values.len()];
    let Some(work) = Work::new(cx, "nodes", &types, values)? else { return Ok(Vec::new()) };
    let (mut rows, mut pace) = (Vec::new(), Pace::new());
    for item in work.evaluate()? {
        pace.tick();
        match item {
            Item::Node(document, node) if Arc::ptr_eq(&document, &work.document) => {
                let number = i32::try_from(node).map_err(|_| Msg::InternalError)?;
                rows.push(vec![values[0].clone(), Value::Int(number)]);
            }
            _ => return Err(Msg::NotSupported("nodes() over constructed nodes").into()),
        }
    }
    Ok(rows)
}

/// Returns the type that an argument from SQL is converted to.
pub fn external_type(ty: &ColumnType) -> ColumnType {
    match ty.data_type.family() {
        types::Family::String => ColumnType {
            data_type: DataType::NVarChar(Length::Max),
            collation: Collation::default(),
            nullable: true,
        },
        _ => *ty,
    }
}
