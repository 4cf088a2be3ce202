//! FOR XML EXPLICIT: parses the columns' names, `element!tag!name!directive`.

use types::{DataType, Error, Msg, Result};

use plan::document::{ExplicitColumn, ExplicitDirective};
use plan::query::OutputColumn;

/// Parses the names of the columns after Tag and Parent.
///
/// # Errors
/// 6820, 6803, 6804 for other first columns, 6802 and 6824 for malformed names.
pub(crate) fn columns(output: &[OutputColumn]) -> Result<Vec<ExplicitColumn>> {
    let is = |place: usize, name: &str| {
        output.get(place).is_some_and(|column| column.name.eq_ignore_ascii_case(name))
    };
    if output.len() < 3 {
        return Err(Msg::XmlExplicitColumns.into());
    }
    for (place, number, name) in [(0, 1, "Tag"), (1, 2, "Parent")] {
        if !is(place, name) {
            return Err(Msg::XmlExplicitFirst(number, name, &output[place].name).into());
        }
    }
    let fits = |place: usize| {
        let expr = &output[place].expr;
        expr.ty.data_type == DataType::Int || expr.is_null_literal()
    };
    if !fits(0) {
        return Err(Msg::XmlExplicitTag.into());
    }
    if !fits(1) {
        return Err(Msg::XmlExplicitParentType.into());
    }
    output[2..].iter().map(|column| read(&column.name)).collect()
}

fn read(name: &str) -> Result<ExplicitColumn> {
    let parts: Vec<&str> = name.split('!').collect();
    let refuse = || Error::from(Msg::XmlExplicitName(name));
    let (element, tag) = match parts.as_slice() {
        [element, tag, ..] if !element.is_empty() && parts.len() <= 4 => (*element, *tag),
        _ => return Err(refuse()),
    };
    let tag = tag.parse().ok().filter(|tag: &i64| *tag > 0).ok_or_else(refuse)?;
    let directive = parts.get(3).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let directive = match directive.as_str() {
        "" => ExplicitDirective::Plain,
        "element" => ExplicitDirective::Element,
        "elementxsinil" => ExplicitDirective::ElementNil,
        "xml" => ExplicitDirective::Xml,
        "cdata" => ExplicitDirective::Cdata,
        "hide" => ExplicitDirective::Hide,
        other
            if !matches!(other, "xmltext" | "id" | "idref" | "idrefs" | "nmtoken" | "nmtokens") =>
        {
            return Err(Msg::XmlExplicitMode(other).into());
        }
        other => {
            let what = format!("the directive {other} of FOR XML EXPLICIT");
            return Err(Msg::NotSupported(&what).into());
        }
    };
    let name = parts.get(2).copied().unwrap_or_default().to_owned();
    if directive == ExplicitDirective::Cdata && !name.is_empty() {
        return Err(Msg::NotSupported("a name for CDATA in FOR XML EXPLICIT").into());
    }
    Ok(ExplicitColumn { element: element.to_owned(), tag, name, directive })
}
