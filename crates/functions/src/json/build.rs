//! JSON_OBJECT and JSON_ARRAY.

use types::{Msg, Result, Value};

use plan::document::Form;
use plan::document::text::{as_text, push_string, push_value};
use plan::expr::{Expr, ExprKind};
use plan::query::Node;

/// Functions whose result is JSON already.
const JSON_FUNCTIONS: &[&str] = &["JSON_QUERY", "JSON_MODIFY", "JSON_OBJECT", "JSON_ARRAY"];

/// Returns whether an expression's value is JSON already, so that it is not quoted again.
pub fn form_of(expr: &Expr) -> Form {
    let is_json = match &expr.kind {
        ExprKind::Call(function, _) => JSON_FUNCTIONS.contains(&function.name),
        ExprKind::ScalarSubquery(query) => {
            matches!(&query.root, Node::Document(document) if document.is_json())
        }
        _ => false,
    };
    if is_json { Form::Json } else { Form::Text }
}

/// The treatment of NULL by JSON_OBJECT and JSON_ARRAY.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnNull {
    /// NULL ON NULL: write `null`.
    Null,
    /// ABSENT ON NULL: skip it.
    Absent,
}

/// Returns the object of JSON_OBJECT; arguments alternate between names and values.
///
/// # Errors
/// 1023 for a name that is NULL.
pub(crate) fn object(arguments: &[Expr], values: &[Value], on_null: OnNull) -> Result<String> {
    let mut out = "{".to_owned();
    for (names, pair) in arguments.chunks(2).zip(values.chunks(2)) {
        let ([_, value], [name, given]) = (names, pair) else { continue };
        if name.is_null() {
            return Err(Msg::InvalidParameter(1, "json_object").into());
        }
        if given.is_null() && on_null == OnNull::Absent {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&as_text(name, &names[0].ty, 0)?, &mut out);
        out.push(':');
        push_value(given, &value.ty, form_of(value), &mut out)?;
    }
    out.push('}');
    Ok(out)
}

/// Returns the array of JSON_ARRAY.
///
/// # Errors
/// Errors of the conversions to text.
pub(crate) fn array(arguments: &[Expr], values: &[Value], on_null: OnNull) -> Result<String> {
    let mut out = "[".to_owned();
    for (expr, value) in arguments.iter().zip(values) {
        if value.is_null() && on_null == OnNull::Absent {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        push_value(value, &expr.ty, form_of(expr), &mut out)?;
    }
    out.push(']');
    Ok(out)
}
