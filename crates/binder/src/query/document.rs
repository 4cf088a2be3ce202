//! FOR JSON and FOR XML: derives the structure of the document from the columns' names.

use tsql::ast::{ForClause, ForDirective, ForMode, QueryBody, QueryExpression};
use types::value::ColumnType;
use types::{Collation, DataType, Family, Length, Msg, Result};

use super::{bind_body, explicit, spec};
use crate::Binder;
use functions::json::form_of;
use plan::document::{
    Document, DocumentFormat, ExplicitFormat, JsonFormat, JsonLevel, JsonMember, WhenEmpty,
    XmlElement, XmlFormat, XmlLevel, XmlMember,
};
use plan::expr::{Expr, ExprKind};
use plan::query::{Node, OutputColumn, Query};
use plan::sink::Traits;

/// Name of the single column of FOR JSON.
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
/// Name of the single column of FOR XML.
const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";

/// Binds a query with FOR JSON or FOR XML.
pub fn bind(
    binder: &mut Binder<'_>,
    query: &QueryExpression,
    clause: &ForClause,
    when_empty: WhenEmpty,
) -> Result<Query> {
    let (inner, owners) = match &query.body {
        QueryBody::Select(select) => {
            spec::bind_owned(binder, select, &query.order_by, query.offset.as_ref())?
        }
        QueryBody::Parenthesized(_) | QueryBody::SetOperation { .. } => {
            let inner = bind_body(binder, &query.body, &query.order_by, query.offset.as_ref())?;
            (inner, Vec::new())
        }
    };
    let declared = binder.xml.declarations();
    let (format, name, data_type) = format_of(clause, &inner.output, &owners, declared)?;
    let register = binder.new_register();
    let ty = ColumnType { data_type, collation: Collation::default(), nullable: true };
    let output = OutputColumn {
        name: name.into(),
        expr: Expr::new(ExprKind::Column(register), ty),
        traits: Traits::default(),
    };
    let whole = data_type == DataType::Xml;
    let document = Document { query: inner, format, register, when_empty, whole };
    Ok(Query { root: Node::Document(Box::new(document)), output: vec![output] })
}

fn format_of(
    clause: &ForClause,
    output: &[OutputColumn],
    owners: &[Option<String>],
    declared: String,
) -> Result<(DocumentFormat, &'static str, DataType)> {
    let text = DataType::NVarChar(Length::Max);
    let json = match &clause.mode {
        ForMode::JsonAuto => Some(tables(output, owners, &Msg::JsonAutoNeedsTable)?),
        ForMode::JsonPath => Some(vec![(String::new(), all(output))]),
        ForMode::Browse => return Err(Msg::NotSupported("FOR BROWSE").into()),
        ForMode::XmlExplicit | ForMode::XmlRaw(_) | ForMode::XmlAuto | ForMode::XmlPath(_) => None,
    };
    if let Some(levels) = json {
        let format = json_format(clause, output, levels)?;
        return Ok((DocumentFormat::Json(format), JSON_COLUMN, text));
    }
    let typed = clause.directives.contains(&ForDirective::Type);
    let format = match clause.mode {
        ForMode::XmlExplicit => {
            if !declared.is_empty() {
                return Err(Msg::XmlNamespacesMode.into());
            }
            check_binary(clause, output)?;
            let root = root_of(clause, "root");
            let columns = explicit::columns(output)?;
            DocumentFormat::Explicit(ExplicitFormat { root, declared, columns })
        }
        _ => DocumentFormat::Xml(XmlFormat { declared, ..xml_format(clause, output, owners)? }),
    };
    Ok(if typed { (format, "", DataType::Xml) } else { (format, XML_COLUMN, text) })
}

fn all(output: &[OutputColumn]) -> Vec<usize> {
    (0..output.len()).collect()
}

/// Groups the columns by table, in the order in which the select list first names each. A column
/// without a table belongs to the group of the column before it.
fn tables(
    output: &[OutputColumn],
    owners: &[Option<String>],
    without: &Msg<'_>,
) -> Result<Vec<(String, Vec<usize>)>> {
    let mut tables: Vec<(String, Vec<usize>)> = Vec::new();
    let first = owners.iter().flatten().next();
    let Some(first) = first else { return Err(without.clone().into()) };
    let mut current = 0;
    for column in all(output) {
        if let Some(owner) = owners.get(column).and_then(Option::as_ref) {
            current = match tables.iter().position(|(name, _)| name == owner) {
                Some(place) => place,
                None => {
                    tables.push((owner.clone(), Vec::new()));
                    tables.len() - 1
                }
            };
        } else if tables.is_empty() {
            tables.push((first.clone(), Vec::new()));
        }
        tables[current].1.push(column);
    }
    Ok(tables)
}

fn root_of(clause: &ForClause, default: &str) -> Option<String> {
    clause.directives.iter().find_map(|directive| match directive {
        ForDirective::Root(name) => Some(name.as_deref().unwrap_or(default).to_owned()),
        _ => None,
    })
}

fn json_format(
    clause: &ForClause,
    output: &[OutputColumn],
    groups: Vec<(String, Vec<usize>)>,
) -> Result<JsonFormat> {
    let root = root_of(clause, "root");
    let without_wrapper = clause.directives.contains(&ForDirective::WithoutArrayWrapper);
    if root.is_some() && without_wrapper {
        return Err(Msg::JsonRootAndWrapper.into());
    }
    let mut levels = Vec::with_capacity(groups.len());
    for (name, columns) in groups {
        let mut members = Vec::new();
        for &column in &columns {
            let name = &output[column].name;
            if name.is_empty() {
                return Err(Msg::JsonColumnUnnamed.into());
            }
            let value = |step: &str| {
                JsonMember::Value(step.to_owned(), column, form_of(&output[column].expr))
            };
            add_member(&mut members, name, name, value)?;
        }
        levels.push(JsonLevel { name, members, columns });
    }
    let include_nulls = clause.directives.contains(&ForDirective::IncludeNullValues);
    Ok(JsonFormat { root, include_nulls, without_wrapper, levels })
}

/// Adds a property by its path: the part before a point is a nested object, that of the column
/// before if it has the same name.
fn add_member(
    members: &mut Vec<JsonMember>,
    path: &str,
    whole: &str,
    value: impl FnOnce(&str) -> JsonMember,
) -> Result<()> {
    let step = path.split('.').next().unwrap_or(path);
    let rest = path.get(step.len() + 1..);
    let name_of = |member: &JsonMember| match member {
        JsonMember::Value(name, ..) | JsonMember::Object(name, _) => name == step,
    };
    let Some(rest) = rest else {
        if members.iter().any(name_of) {
            return Err(Msg::JsonColumnConflict(whole).into());
        }
        members.push(value(step));
        return Ok(());
    };
    if let Some(JsonMember::Object(name, inner)) = members.last_mut()
        && name == step
    {
        return add_member(inner, rest, whole, value);
    }
    if members.iter().any(name_of) {
        return Err(Msg::JsonColumnConflict(whole).into());
    }
    let mut inner = Vec::new();
    add_member(&mut inner, rest, whole, value)?;
    members.push(JsonMember::Object(step.to_owned(), inner));
    Ok(())
}

fn xml_format(
    clause: &ForClause,
    output: &[OutputColumn],
    owners: &[Option<String>],
) -> Result<XmlFormat> {
    for directive in &clause.directives {
        match directive {
            ForDirective::XmlData => return Err(Msg::NotSupported("XMLDATA").into()),
            ForDirective::XmlSchema(_) => return Err(Msg::NotSupported("XMLSCHEMA").into()),
            ForDirective::Root(_)
            | ForDirective::Type
            | ForDirective::Elements
            | ForDirective::ElementsXsinil
            | ForDirective::BinaryBase64
            | ForDirective::IncludeNullValues
            | ForDirective::WithoutArrayWrapper => {}
        }
    }
    check_binary(clause, output)?;
    let show_nulls = clause.directives.contains(&ForDirective::ElementsXsinil);
    let elements = show_nulls || clause.directives.contains(&ForDirective::Elements);
    let levels = match &clause.mode {
        ForMode::XmlPath(row) => vec![path_level(row.as_deref().unwrap_or("row"), output)?],
        ForMode::XmlAuto => {
            let groups = tables(output, owners, &Msg::XmlAutoNeedsTable)?;
            let levels = groups.into_iter();
            let level = |(name, columns): (String, Vec<usize>)| {
                column_level(&encoded(&name), columns, output, elements)
            };
            levels.map(level).collect::<Result<Vec<_>>>()?
        }
        ForMode::XmlRaw(row) => {
            let row = row.as_deref().unwrap_or("row");
            vec![column_level(row, all(output), output, elements)?]
        }
        ForMode::XmlExplicit | ForMode::JsonAuto | ForMode::JsonPath | ForMode::Browse => {
            Vec::new()
        }
    };
    Ok(XmlFormat { root: root_of(clause, "root"), show_nulls, declared: String::new(), levels })
}

/// Checks that binary columns have BINARY BASE64 in RAW and EXPLICIT; AUTO would write URLs of
/// them.
fn check_binary(clause: &ForClause, output: &[OutputColumn]) -> Result<()> {
    let binary = |column: &&OutputColumn| column.expr.ty.data_type.family() == Family::Binary;
    let found = output.iter().find(binary);
    match (found, &clause.mode) {
        _ if clause.directives.contains(&ForDirective::BinaryBase64) => Ok(()),
        (Some(column), ForMode::XmlRaw(_) | ForMode::XmlExplicit) => {
            Err(Msg::XmlBinaryUrl(&column.name).into())
        }
        (Some(_), ForMode::XmlAuto) => {
            Err(Msg::NotSupported("addresses of binary values in FOR XML AUTO").into())
        }
        _ => Ok(()),
    }
}

/// Returns the level of RAW or AUTO: columns are attributes or elements.
fn column_level(
    name: &str,
    columns: Vec<usize>,
    output: &[OutputColumn],
    elements: bool,
) -> Result<XmlLevel> {
    let mut element = XmlElement { name: name.to_owned(), ..XmlElement::default() };
    for &column in &columns {
        let OutputColumn { name, expr, .. } = &output[column];
        let is_xml = expr.ty.data_type == DataType::Xml;
        if name.is_empty() && !is_xml {
            return Err(Msg::XmlColumnUnnamed.into());
        }
        let name = encoded(name);
        if name.is_empty() {
            element.content.push(XmlMember::Text(column));
        } else if elements || is_xml {
            let content = vec![XmlMember::Text(column)];
            let inner = XmlElement { name, attributes: Vec::new(), content };
            element.content.push(XmlMember::Element(inner));
        } else {
            element.attributes.push((name, column));
        }
    }
    Ok(XmlLevel { element, columns })
}

/// Returns the level of PATH: a column's name is the path of its value.
fn path_level(row: &str, output: &[OutputColumn]) -> Result<XmlLevel> {
    let mut element = XmlElement { name: row.to_owned(), ..XmlElement::default() };
    for (column, out) in output.iter().enumerate() {
        add_path(&mut element, &out.name, &out.name, column)?;
        if row.is_empty() && !element.attributes.is_empty() {
            return Err(Msg::XmlRowTagOmitted.into());
        }
    }
    Ok(XmlLevel { element, columns: all(output) })
}

fn add_path(element: &mut XmlElement, path: &str, whole: &str, column: usize) -> Result<()> {
    if let Some((step, rest)) = path.split_once('/') {
        check_name(step, whole)?;
        if let Some(XmlMember::Element(last)) = element.content.last_mut()
            && last.name == step
        {
            return add_path(last, rest, whole, column);
        }
        let mut inner = XmlElement { name: step.to_owned(), ..XmlElement::default() };
        add_path(&mut inner, rest, whole, column)?;
        element.content.push(XmlMember::Element(inner));
        return Ok(());
    }
    if let Some(attribute) = path.strip_prefix('@') {
        check_name(attribute, whole)?;
        if !element.content.is_empty() {
            return Err(Msg::XmlAttributeAfter(whole).into());
        }
        element.attributes.push((attribute.to_owned(), column));
        return Ok(());
    }
    let instruction =
        path.strip_prefix("processing-instruction(").and_then(|rest| rest.strip_suffix(')'));
    element.content.push(match (path, instruction) {
        (_, Some(name)) => XmlMember::Instruction(name.to_owned(), column),
        ("" | "*" | "text()" | "node()", _) => XmlMember::Text(column),
        ("data()", _) => XmlMember::Data(column),
        ("comment()", _) => XmlMember::Comment(column),
        (name, None) => {
            check_name(name, whole)?;
            let content = vec![XmlMember::Text(column)];
            XmlMember::Element(XmlElement { name: name.into(), attributes: Vec::new(), content })
        }
    });
    Ok(())
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

/// Checks that a text is an XML name.
fn check_name(name: &str, whole: &str) -> Result<()> {
    let mut characters = name.chars();
    let first = characters.next().filter(|c| !is_name_start(*c));
    match first.or_else(|| characters.find(|c| !is_name_part(*c))) {
        None if !name.is_empty() => Ok(()),
        fault => {
            let fault = fault.unwrap_or('/');
            let code = format!("{:04X}", u32::from(fault));
            Err(Msg::XmlColumnName(whole, fault, &code).into())
        }
    }
}

/// Encodes a text as an XML name: other characters become `_x0020_` and the like.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (place, c) in name.chars().enumerate() {
        if (place == 0 && is_name_start(c)) || (place > 0 && is_name_part(c)) {
            out.push(c);
        } else {
            out.push_str(&format!("_x{:04X}_", u32::from(c)));
        }
    }
    out
}
