//! OPENXML: the nodes of a document of sp_xml_preparedocument, as rows.
//!
//! With a WITH clause the binder appends three constants for each column to handle, pattern and
//! flags: the column's name, its pattern (empty for the mapping that the flags define) and whether
//! it is XML. The columns are returned as text; the binder converts them to their types. Patterns
//! are XPath, which the XQuery parser reads.

use std::sync::Arc;

use types::value::ColumnType;
use types::xml::{Document, NodeId, NodeKind, ROOT};
use types::{DataType, Error, Length, Msg, Result, Value};

use super::eval::{Evaluation, Focus, Item};
use super::parse;
use super::syntax::Body;
use crate::entry::{convert, of, whole};
use crate::pieces::PAUSE;
use crate::{Collating, TableFunction, made};
use plan::expr::Expr;
use plan::function::Context;
use plan::long::Growing;
use plan::sort::interruptible;
use plan::stop::is_about_resources;
use sos::park::Cancel;
use sos::sched::Pace;

/// Internal name of OPENXML with a WITH clause; no text can name it.
pub const WITH: &str = "OPENXML WITH";
/// Number of arguments before those of the columns, and of those per column.
const LEADING: usize = 3;
const OF_COLUMN: usize = 3;
/// Columns of the edge table, and what a value takes in memory, with a short text.
const EDGE_COLUMNS: usize = 9;
const VALUE_BYTES: usize = 2 * size_of::<Value>();
/// Bits of the flags: attribute mapping, element mapping, and no consumed data in the overflow.
const ATTRIBUTES: i64 = 1;
const ELEMENTS: i64 = 2;
const NO_OVERFLOW: i64 = 8;
/// First node number below the root element.
const FIRST_ID: i64 = 2;
/// Node types of the W3C document object model.
const ELEMENT: i32 = 1;
const ATTRIBUTE: i32 = 2;
const TEXT: i32 = 3;
const INSTRUCTION: i32 = 7;
const COMMENT: i32 = 8;

pub(crate) const EDGE: TableFunction = TableFunction {
    name: "OPENXML",
    bind: bind_edge,
    rows: |cx, values| edge_rows(cx, values).map(made),
    collation: Collating::Apart,
};
pub(crate) const COLUMNS: TableFunction = TableFunction {
    name: WITH,
    bind: bind_columns,
    rows: |cx, values| column_rows(cx, values).map(made),
    collation: Collating::Apart,
};

/// A document that sp_xml_preparedocument has parsed.
#[derive(Debug)]
pub struct Prepared {
    /// The document that was parsed.
    pub document: Arc<Document>,
    /// Prefixes that patterns may use, with their URIs.
    pub namespaces: Vec<(String, String)>,
}

fn bind_common(arguments: &mut Vec<Expr>) -> Result<()> {
    if !(2..=LEADING).contains(&arguments.len()) {
        return Err(Msg::FunctionArgumentRange("openxml", 2, 3).into());
    }
    if arguments.len() < LEADING {
        arguments.push(Expr::constant(Value::Int(0), DataType::Int));
    }
    convert(arguments, 0, DataType::Int)?;
    convert(arguments, 1, DataType::NVarChar(Length::Max))?;
    convert(arguments, 2, DataType::Int)
}

fn bind_edge(arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    bind_common(arguments)?;
    let name = of(DataType::NVarChar(Length::Limited(4_000)));
    let columns = [
        ("id", of(DataType::BigInt)),
        ("parentid", of(DataType::BigInt)),
        ("nodetype", of(DataType::Int)),
        ("localname", name),
        ("prefix", name),
        ("namespaceuri", name),
        ("datatype", name),
        ("prev", of(DataType::BigInt)),
        ("text", of(DataType::NText)),
    ];
    Ok(columns.map(|(name, ty)| (name.to_owned(), ty)).into())
}

fn bind_columns(arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    let columns = arguments.split_off(LEADING.min(arguments.len()));
    bind_common(arguments)?;
    let count = columns.len() / OF_COLUMN;
    arguments.extend(columns);
    Ok(vec![(String::new(), of(DataType::NVarChar(Length::Max))); count])
}

/// The document of a handle, and the nodes that match the pattern.
struct Opened {
    prepared: Arc<Prepared>,
    nodes: Vec<NodeId>,
    flags: i64,
    cancel: Arc<Cancel>,
}

fn open(cx: &Context<'_>, values: &[Value]) -> Result<Opened> {
    let handle = whole(values, 0).unwrap_or(0);
    let found = cx.document(handle).and_then(|document| document.downcast::<Prepared>().ok());
    let Some(prepared) = found else {
        return Err(Error::from(Msg::PreparedNotFound(handle)).with_state(5));
    };
    let pattern = text_of(values, 1);
    let cancel = Arc::clone(cx.cancel());
    let nodes = prepared.find(&pattern, ROOT, &cancel)?;
    let flags = whole(values, 2).unwrap_or(0);
    Ok(Opened { prepared, nodes, flags, cancel })
}

fn text_of(values: &[Value], place: usize) -> String {
    let bytes = values.get(place).and_then(Value::string_bytes).unwrap_or_default();
    types::text::from_utf16(bytes)
}

impl Prepared {
    /// Returns the nodes that match a pattern from a node on, in document order.
    ///
    /// # Errors
    /// 6603 for a pattern that is wrong; 701, and an error that stops the statement if `cancel` is set in that time.
    fn find(&self, pattern: &str, from: NodeId, cancel: &Cancel) -> Result<Vec<NodeId>> {
        let declared = self.namespaces.iter();
        let prolog: String = declared
            .map(|(prefix, uri)| format!("declare namespace {prefix}=\"{uri}\"; "))
            .collect();
        let wrong = |error: Error| match is_about_resources(&error) {
            true => error,
            false => Error::from(Msg::XmlPatternWrong(&error.message)),
        };
        let query = parse(&format!("{prolog}{pattern}"), "nodes").map_err(wrong)?;
        let Body::Value(expr) = &query.body else { return Ok(Vec::new()) };
        let mut evaluation = Evaluation::new(&[], cancel);
        let item = Some(Item::Node(Arc::clone(&self.document), from));
        let found = evaluation.eval(expr, &Focus { item, position: 1, size: 1 }).map_err(wrong)?;
        let node = |item: Item| match item {
            Item::Node(document, node) if Arc::ptr_eq(&document, &self.document) => Ok(node),
            _ => Err(Msg::XmlPatternWrong(pattern).into()),
        };
        found.into_iter().map(node).collect()
    }

    /// Returns the attribute or element with a column's name, for a column without a pattern.
    fn by_name(&self, node: NodeId, name: &str, flags: i64) -> Option<NodeId> {
        let document = &self.document;
        let is_it = |n: &NodeId| document.name(*n).local == name;
        let attribute = || document.attributes(node).find(is_it);
        let is_element = |n: &NodeId| document.kind(*n) == NodeKind::Element && is_it(n);
        let element = || document.children(node).find(is_element);
        match flags & (ATTRIBUTES | ELEMENTS) {
            ELEMENTS => element(),
            both if both == ATTRIBUTES | ELEMENTS => attribute().or_else(element),
            _ => attribute(),
        }
    }
}

fn column_rows(cx: &mut Context<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    let opened = open(cx, values)?;
    let numbers = Numbers::new(&opened.prepared.document);
    let columns = values.get(LEADING..).unwrap_or_default();
    let (mut pace, mut memory) = (Pace::new(), Growing::default());
    let row = |node: &NodeId| -> Result<Vec<Value>> {
        pace.tick();
        memory.take((columns.len() / OF_COLUMN + 2) * VALUE_BYTES)?;
        let columns = columns.chunks_exact(OF_COLUMN);
        columns.map(|column| value_of(&opened, *node, column, &numbers)).collect()
    };
    opened.nodes.iter().map(row).collect()
}

fn value_of(opened: &Opened, node: NodeId, column: &[Value], numbers: &Numbers) -> Result<Value> {
    let (name, pattern) = (text_of(column, 0), text_of(column, 1));
    let prepared = &opened.prepared;
    let (path, last) = pattern.rsplit_once('/').unwrap_or(("", &pattern));
    if let Some(property) = last.strip_prefix("@mp:") {
        let of = match path {
            "" => Some(node),
            path => prepared.find(path, node, &opened.cancel)?.first().copied(),
        };
        return of.map_or(Ok(Value::Null), |of| property_of(opened, of, property, numbers));
    }
    let found = match pattern.as_str() {
        "" => prepared.by_name(node, &name, opened.flags),
        pattern => prepared.find(pattern, node, &opened.cancel)?.first().copied(),
    };
    let Some(found) = found else { return Ok(Value::Null) };
    let wants_xml = whole(column, 2) == Some(1);
    Ok(plan::long::nvarchar(
        &match wants_xml && prepared.document.kind(found) == NodeKind::Element {
            true => written(&prepared.document, found),
            false => prepared.document.string_value(found),
        },
    ))
}

fn written(document: &Document, node: NodeId) -> String {
    let mut out = String::new();
    document.write_pausing(node, &mut out, PAUSE);
    out
}

/// Returns a metaproperty of a node, such as `@mp:id`.
fn property_of(opened: &Opened, node: NodeId, property: &str, numbers: &Numbers) -> Result<Value> {
    let document = &opened.prepared.document;
    let parent = document.parent(node).filter(|parent| *parent != ROOT);
    let (of, property) = match property.strip_prefix("parent") {
        Some(property) => (parent, property),
        None => (Some(node), property),
    };
    let number = |node: NodeId| Value::nvarchar(&numbers.id(node).to_string());
    let name = |pick: fn(&types::xml::QName) -> &str| {
        let named =
            of.filter(|n| matches!(document.kind(*n), NodeKind::Element | NodeKind::Attribute));
        named.map(|n| pick(document.name(n))).filter(|text| !text.is_empty()).map(Value::nvarchar)
    };
    let value = match property {
        "id" => of.map(number),
        "localname" => name(|n| &n.local),
        "prefix" => name(|n| &n.prefix),
        "namespaceuri" => name(|n| &n.uri),
        "prev" => numbers.before(node).map(number),
        "xmltext" if opened.flags & NO_OVERFLOW != 0 => {
            return Err(Msg::NotSupported("@mp:xmltext of OPENXML with flag 8").into());
        }
        "xmltext" => Some(plan::long::nvarchar(&written(document, node))),
        _ => return Err(Msg::XmlPatternWrong(&format!("@mp:{property}")).into()),
    };
    Ok(value.unwrap_or(Value::Null))
}

fn is_leading(document: &Document, node: NodeId) -> bool {
    matches!(document.kind(node), NodeKind::Attribute | NodeKind::Namespace)
}

/// The numbers of a document's nodes, and their previous siblings.
struct Numbers {
    /// 0 for the root element, and from 2 on in document order.
    ids: Vec<i64>,
    /// The previous sibling of each node; the node itself if it has none.
    before: Vec<NodeId>,
}

impl Numbers {
    fn new(document: &Document) -> Self {
        let mut next = FIRST_ID;
        let root = (0..document.len()).find(|n| document.kind(*n) == NodeKind::Element);
        let number = |node: NodeId| {
            if node == ROOT || Some(node) == root {
                return 0;
            }
            next += 1;
            next - 1
        };
        let ids = (0..document.len()).map(number).collect();
        let mut before: Vec<NodeId> = (0..document.len()).collect();
        // The last child of each node so far.
        let mut last: Vec<NodeId> = before.clone();
        for node in 1..document.len() {
            let Some(parent) = document.parent(node).filter(|_| !is_leading(document, node)) else {
                continue;
            };
            let child = std::mem::replace(&mut last[parent as usize], node);
            if child != parent {
                before[node as usize] = child;
            }
        }
        Self { ids, before }
    }

    fn id(&self, node: NodeId) -> i64 {
        self.ids[node as usize]
    }

    /// Returns the previous sibling of a node; `None` for attributes.
    fn before(&self, node: NodeId) -> Option<NodeId> {
        let before = self.before[node as usize];
        (before != node).then_some(before)
    }
}

/// Returns the rows of the edge table: every node at or below those that match the pattern,
/// followed by the values of attributes, which are separate nodes here.
fn edge_rows(cx: &mut Context<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    let opened = open(cx, values)?;
    let document = &opened.prepared.document;
    let numbers = Numbers::new(document);
    let mut next = i64::from(document.len()) + FIRST_ID;
    let mut rows = Vec::new();
    let mut done: NodeId = 0;
    let (mut pace, mut memory) = (Pace::new(), Growing::default());
    for node in opened.nodes {
        for inner in node.max(done)..document.end(node) {
            pace.tick();
            let rows_of_node = if is_leading(document, inner) { 2 } else { 1 };
            memory.take(rows_of_node * EDGE_COLUMNS * VALUE_BYTES)?;
            if inner != ROOT {
                rows.push(edge_row(document, inner, &numbers));
            }
            if is_leading(document, inner) {
                rows.push(value_row(document, inner, &numbers, next));
                next += 1;
            }
        }
        done = done.max(document.end(node));
    }
    interruptible(cx.cancel(), |comparisons| {
        rows.sort_by(|a, b| {
            comparisons.compared(0);
            whole(a, 0).cmp(&whole(b, 0))
        });
    })?;
    Ok(rows)
}

fn number_of(numbers: &Numbers, node: NodeId) -> Value {
    Value::BigInt(numbers.id(node))
}

fn edge_row(document: &Document, node: NodeId, numbers: &Numbers) -> Vec<Value> {
    let kind = match document.kind(node) {
        NodeKind::Root | NodeKind::Element => ELEMENT,
        NodeKind::Namespace | NodeKind::Attribute => ATTRIBUTE,
        NodeKind::Text => TEXT,
        NodeKind::Comment => COMMENT,
        NodeKind::Instruction => INSTRUCTION,
    };
    let parent = document.parent(node).filter(|parent| *parent != ROOT);
    let shown = |text: &str| if text.is_empty() { Value::Null } else { Value::nvarchar(text) };
    let (local, prefix, uri, text) = match kind {
        TEXT => (Value::nvarchar("#text"), Value::Null, Value::Null, shown(document.value(node))),
        COMMENT => {
            (Value::nvarchar("#comment"), Value::Null, Value::Null, shown(document.value(node)))
        }
        _ => {
            let name = document.name(node);
            let text = if kind == INSTRUCTION { shown(document.value(node)) } else { Value::Null };
            (shown(&name.local), shown(&name.prefix), shown(&name.uri), text)
        }
    };
    let prev = numbers.before(node).map_or(Value::Null, |n| number_of(numbers, n));
    vec![
        number_of(numbers, node),
        parent.map_or(Value::Null, |n| number_of(numbers, n)),
        Value::Int(kind),
        local,
        prefix,
        uri,
        Value::Null,
        prev,
        text,
    ]
}

/// Returns the row of the text node with an attribute's value.
fn value_row(document: &Document, node: NodeId, numbers: &Numbers, number: i64) -> Vec<Value> {
    vec![
        Value::BigInt(number),
        number_of(numbers, node),
        Value::Int(TEXT),
        Value::nvarchar("#text"),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::nvarchar(document.value(node)),
    ]
}
