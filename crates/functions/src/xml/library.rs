//! The functions that XQuery expressions can call.

use std::collections::HashSet;
use std::sync::Arc;

use sos::sched::Pace;
use types::{Error, Msg, Result};

use crate::pieces::pause;

use super::eval::{Focus, Item, Sequence, truth};

/// An XQuery function of the library.
pub struct Function {
    /// Name, with a prefix unless it is `fn`.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (usize, usize),
    /// Whether each argument must be at most one item by the form of the query.
    pub single: bool,
    /// Code that computes the result.
    pub eval: fn(&Focus, Vec<Sequence>) -> Result<Sequence>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Finds a function by its name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

type Eval = fn(&Focus, Vec<Sequence>) -> Result<Sequence>;

const fn one(name: &'static str, arity: (usize, usize), eval: Eval) -> Function {
    Function { name, arity, single: true, eval }
}

const fn any(name: &'static str, arity: (usize, usize), eval: Eval) -> Function {
    Function { name, arity, single: false, eval }
}

/// All functions, in no order.
pub(crate) static FUNCTIONS: &[Function] = &[
    any("count", (1, 1), |_, a| number(i64::try_from(a[0].len()).unwrap_or(i64::MAX))),
    any("empty", (1, 1), |_, a| boolean(a[0].is_empty())),
    any("not", (1, 1), |_, a| boolean(!truth(&a[0]))),
    any("boolean", (1, 1), |_, a| boolean(truth(&a[0]))),
    any("true", (0, 0), |_, _| boolean(true)),
    any("false", (0, 0), |_, _| boolean(false)),
    one("xs:base64Binary", (1, 1), |_, a| binary(&a[0], crate::json::from_base64, Item::Base64)),
    one("xs:hexBinary", (1, 1), |_, a| binary(&a[0], from_hex, Item::Hex)),
    any("data", (1, 1), |_, a| Ok(each(&a[0]).map(Item::atomized).collect())),
    any("distinct-values", (1, 1), |_, a| Ok(distinct(&a[0]))),
    any("sum", (1, 1), |_, a| Ok(vec![sum(&a[0])])),
    any("avg", (1, 1), |_, a| Ok(average(&a[0]))),
    any("min", (1, 1), |_, a| Ok(extreme(&a[0], std::cmp::Ordering::Less))),
    any("max", (1, 1), |_, a| Ok(extreme(&a[0], std::cmp::Ordering::Greater))),
    any("position", (0, 0), |focus, _| number(focus.position)),
    any("last", (0, 0), |focus, _| number(focus.size)),
    one("string", (0, 1), |focus, a| text(argument_text(focus, &a, 0))),
    one("number", (0, 1), |focus, a| {
        Ok(vec![Item::Double(argument_text(focus, &a, 0).trim().parse().unwrap_or(f64::NAN))])
    }),
    one("string-length", (0, 1), |focus, a| {
        number(i64::try_from(argument_text(focus, &a, 0).chars().count()).unwrap_or(i64::MAX))
    }),
    one("concat", (2, 255), |_, a| text(a.iter().map(first_text).collect())),
    one("contains", (2, 2), |_, a| boolean(first_text(&a[0]).contains(&first_text(&a[1])))),
    one("substring", (2, 3), |_, a| text(substring(&a))),
    one("upper-case", (1, 1), |_, a| text(in_case(&first_text(&a[0]), str::to_uppercase))),
    one("lower-case", (1, 1), |_, a| text(in_case(&first_text(&a[0]), str::to_lowercase))),
    one("local-name", (0, 1), |focus, a| text(name_part(focus, &a, |name| name.local.clone()))),
    one("namespace-uri", (0, 1), |focus, a| text(name_part(focus, &a, |name| name.uri.clone()))),
    one("floor", (1, 1), |_, a| rounded(&a[0], f64::floor)),
    one("ceiling", (1, 1), |_, a| rounded(&a[0], f64::ceil)),
    // Halves are rounded up.
    one("round", (1, 1), |_, a| rounded(&a[0], |n| (n + 0.5).floor())),
    one("xs:string", (1, 1), |_, a| cast(&a[0], |t| Some(Item::Text(t.to_owned())))),
    one("xs:boolean", (1, 1), |_, a| cast(&a[0], to_boolean)),
    one("xs:integer", (1, 1), |_, a| cast(&a[0], to_integer)),
    one("xs:int", (1, 1), |_, a| cast(&a[0], to_integer)),
    one("xs:long", (1, 1), |_, a| cast(&a[0], to_integer)),
    one("xs:short", (1, 1), |_, a| cast(&a[0], to_integer)),
    one("xs:unsignedInt", (1, 1), |_, a| cast(&a[0], to_integer)),
    one("xs:unsignedLong", (1, 1), |_, a| cast(&a[0], to_integer)),
    one("xs:decimal", (1, 1), |_, a| cast(&a[0], to_double)),
    one("xs:double", (1, 1), |_, a| cast(&a[0], to_double)),
    one("xs:float", (1, 1), |_, a| cast(&a[0], to_double)),
    // Dates and times stay text, in a form that compares correctly.
    one("xs:date", (1, 1), |_, a| cast(&a[0], |t| Some(Item::Text(t.trim().to_owned())))),
    one("xs:time", (1, 1), |_, a| cast(&a[0], |t| Some(Item::Text(t.trim().to_owned())))),
    one("xs:dateTime", (1, 1), |_, a| cast(&a[0], |t| Some(Item::Text(t.trim().to_owned())))),
    one("xdt:untypedAtomic", (1, 1), |_, a| cast(&a[0], |t| Some(Item::Untyped(t.to_owned())))),
];

/// Returns the items of a sequence, which may be millions: other requests run in between.
fn each(sequence: &Sequence) -> impl Iterator<Item = &Item> {
    let mut pace = Pace::new();
    sequence.iter().inspect(move |_| pace.tick())
}

fn number(n: i64) -> Result<Sequence> {
    Ok(vec![Item::Integer(n)])
}

fn boolean(b: bool) -> Result<Sequence> {
    Ok(vec![Item::Bool(b)])
}

fn text(text: String) -> Result<Sequence> {
    Ok(vec![Item::Text(text)])
}

fn first_text(sequence: &Sequence) -> String {
    sequence.first().map(Item::text).unwrap_or_default()
}

/// Returns the text of an argument, or of the context item without one.
fn argument_text(focus: &Focus, arguments: &[Sequence], place: usize) -> String {
    match arguments.get(place) {
        Some(argument) => first_text(argument),
        None => focus.item.as_ref().map(Item::text).unwrap_or_default(),
    }
}

fn name_part(
    focus: &Focus,
    arguments: &[Sequence],
    part: impl Fn(&types::xml::QName) -> String,
) -> String {
    let item = match arguments.first() {
        Some(argument) => argument.first(),
        None => focus.item.as_ref(),
    };
    match item {
        Some(Item::Node(document, node)) => part(document.name(*node)),
        _ => String::new(),
    }
}

/// A value that does not convert is dropped: in SQL Server such errors give the empty sequence.
fn cast(argument: &Sequence, convert: impl Fn(&str) -> Option<Item>) -> Result<Sequence> {
    Ok(argument.first().and_then(|item| convert(&item.text())).into_iter().collect())
}

/// Casts to one of the binary types: from the other, or from text, which `decode` reads.
fn binary(
    argument: &Sequence,
    decode: impl Fn(&str) -> Option<Vec<u8>>,
    item: impl Fn(Vec<u8>) -> Item,
) -> Result<Sequence> {
    let bytes = argument.first().and_then(|given| match given {
        Item::Base64(bytes) | Item::Hex(bytes) => Some(bytes.clone()),
        other => decode(other.text().trim()),
    });
    Ok(bytes.map(item).into_iter().collect())
}

/// Returns the bytes of pairs of hexadecimal digits; `None` if there is anything else.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let mut pace = Pace::new();
    let digit = |c: char| {
        pace.tick();
        c.to_digit(16)
    };
    let digits: Option<Vec<u32>> = text.chars().map(digit).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

fn to_boolean(text: &str) -> Option<Item> {
    match text.trim() {
        "true" | "1" => Some(Item::Bool(true)),
        "false" | "0" => Some(Item::Bool(false)),
        _ => None,
    }
}

fn to_integer(text: &str) -> Option<Item> {
    text.trim().parse().ok().map(Item::Integer)
}

fn to_double(text: &str) -> Option<Item> {
    text.trim().parse().ok().map(Item::Double)
}

fn rounded(argument: &Sequence, round: fn(f64) -> f64) -> Result<Sequence> {
    Ok(argument
        .first()
        .and_then(|item| match item {
            Item::Integer(n) => Some(Item::Integer(*n)),
            item => item.number().map(|n| Item::Double(round(n))),
        })
        .into_iter()
        .collect())
}

/// Folds the case of a text: a long one in pieces, unless it has the one letter whose form depends on what follows.
fn in_case(text: &str, fold: fn(&str) -> String) -> String {
    if text.contains('\u{3a3}') {
        return fold(text);
    }
    let folded = types::text::str_pieces(text).inspect(|_| pause()).map(fold);
    folded.collect()
}

/// `substring(text, start[, length])`: positions are 1-based and rounded.
fn substring(arguments: &[Sequence]) -> String {
    let source = first_text(&arguments[0]);
    let at = |place: usize| arguments.get(place)?.first()?.number().map(f64::round);
    let Some(start) = at(1) else { return String::new() };
    let end = match arguments.len() {
        2 => f64::INFINITY,
        _ => match at(2) {
            Some(length) => start + length,
            None => return String::new(),
        },
    };
    let mut position = 0.0;
    let mut pace = Pace::new();
    let wanted = |_: &char| {
        pace.tick();
        position += 1.0;
        position >= start && position < end
    };
    source.chars().filter(wanted).collect()
}

fn distinct(sequence: &Sequence) -> Sequence {
    let mut seen: HashSet<String> = HashSet::new();
    let mut kept = Vec::new();
    for item in each(sequence) {
        if seen.insert(item.text()) {
            kept.push(item.atomized());
        }
    }
    kept
}

fn sum(sequence: &Sequence) -> Item {
    let whole: Option<i64> = each(sequence).try_fold(0_i64, |total, item| match item.atomized() {
        Item::Integer(n) => total.checked_add(n),
        Item::Untyped(text) => total.checked_add(text.trim().parse().ok()?),
        _ => None,
    });
    whole.map_or_else(|| Item::Double(each(sequence).filter_map(Item::number).sum()), Item::Integer)
}

fn average(sequence: &Sequence) -> Sequence {
    let numbers: Vec<f64> = each(sequence).filter_map(Item::number).collect();
    let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    if count == 0 {
        return Vec::new();
    }
    vec![Item::Double(numbers.iter().sum::<f64>() / f64::from(count))]
}

/// Returns the minimum or maximum: of numbers if all are, else of text.
fn extreme(sequence: &Sequence, wanted: std::cmp::Ordering) -> Sequence {
    let numeric = each(sequence).all(|item| item.number().is_some());
    let mut best: Option<Item> = None;
    for item in each(sequence) {
        let item = item.atomized();
        let better = best.as_ref().is_none_or(|best| {
            let order = if numeric {
                item.number().partial_cmp(&best.number())
            } else {
                Some(item.text().cmp(&best.text()))
            };
            order == Some(wanted)
        });
        if better {
            best = Some(item);
        }
    }
    best.into_iter().collect()
}

/// Returns the error for a query that is nested too deeply.
pub(crate) fn too_deep() -> Error {
    Msg::NestedTooDeeply.into()
}

/// Returns whether two items are the same node.
pub(crate) fn same_node(left: &Item, right: &Item) -> bool {
    match (left, right) {
        (Item::Node(a, m), Item::Node(b, n)) => Arc::ptr_eq(a, b) && m == n,
        _ => false,
    }
}
