//! Plans in XML: as indented XML, and as a tree of operators.

/// A piece of an XML document.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece<'x> {
    /// A start tag: name and attributes as written.
    Start(&'x str, &'x str),
    /// A tag without content.
    Empty(&'x str, &'x str),
    /// The tag that ends an element.
    End,
    /// Text between tags, declarations and comments.
    Other(&'x str),
}

/// Splits a document into its pieces. What is no XML becomes text.
fn pieces(mut xml: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while !xml.is_empty() {
        let end = match xml.starts_with('<') {
            true => tag_bytes(xml),
            false => xml.find('<').unwrap_or(xml.len()),
        };
        let (piece, rest) = xml.split_at(end);
        xml = rest;
        let inner = piece.strip_prefix('<').and_then(|piece| piece.strip_suffix('>'));
        match inner {
            Some(inner) if inner.starts_with(['?', '!']) => pieces.push(Piece::Other(piece)),
            Some(inner) if inner.starts_with('/') => pieces.push(Piece::End),
            Some(inner) => {
                let (inner, is_empty) =
                    inner.strip_suffix('/').map_or((inner, false), |inner| (inner, true));
                let (name, attributes) =
                    inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
                let make = if is_empty { Piece::Empty } else { Piece::Start };
                pieces.push(make(name, attributes.trim()));
            }
            None if piece.trim().is_empty() => {}
            None => pieces.push(Piece::Other(piece.trim())),
        }
    }
    pieces
}

/// Returns the length of the tag at the start; `>` in a quoted value does not end it.
fn tag_bytes(xml: &str) -> usize {
    let mut quote = None;
    for (at, character) in xml.char_indices() {
        match (quote, character) {
            (None, '>') => return at + 1,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    xml.len()
}

/// Returns the document with one element to a line, indented.
#[must_use]
pub fn indented(xml: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for piece in pieces(xml) {
        let indent = |depth: usize| "  ".repeat(depth);
        let tag = |name: &str, attributes: &str| match attributes {
            "" => name.to_owned(),
            _ => format!("{name} {attributes}"),
        };
        match piece {
            Piece::Start(name, attributes) => {
                lines.push(format!("{}<{}>", indent(names.len()), tag(name, attributes)));
                names.push(name);
            }
            Piece::Empty(name, attributes) => {
                lines.push(format!("{}<{}/>", indent(names.len()), tag(name, attributes)));
            }
            Piece::End => {
                let name = names.pop().unwrap_or("");
                lines.push(format!("{}</{name}>", indent(names.len())));
            }
            Piece::Other(text) => lines.push(format!("{}{text}", indent(names.len()))),
        }
    }
    lines
}

/// Returns the statements and operators of a plan, one to a line; empty if it has none.
#[must_use]
pub fn operators(xml: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Of each open element, whether it is an operator, and the line of that operator.
    let mut open: Vec<bool> = Vec::new();
    let mut owners: Vec<usize> = Vec::new();
    for piece in pieces(xml) {
        let (name, attributes, is_open) = match piece {
            Piece::Start(name, attributes) => (name, attributes, true),
            Piece::Empty(name, attributes) => (name, attributes, false),
            Piece::End => {
                if open.pop() == Some(true) {
                    owners.pop();
                }
                continue;
            }
            Piece::Other(_) => continue,
        };
        let is_operator = name == "RelOp";
        match name {
            "RelOp" => lines.push(operator(attributes, owners.len())),
            "Object" => {
                // The object belongs to the operator around it.
                if let Some(line) = owners.last().and_then(|index| lines.get_mut(index.to_owned()))
                {
                    line.push_str(&format!("  {}", object(attributes)));
                }
            }
            _ if name.starts_with("Stmt") && is_statement(attributes) => {
                lines.push(statement(attributes));
            }
            _ => {}
        }
        if is_open {
            open.push(is_operator);
            if is_operator {
                owners.push(lines.len() - 1);
            }
        }
    }
    lines
}

fn is_statement(attributes: &str) -> bool {
    attribute(attributes, "StatementText").is_some()
}

fn statement(attributes: &str) -> String {
    let text = attribute(attributes, "StatementText").unwrap_or_default();
    let cost = attribute(attributes, "StatementSubTreeCost");
    let cost = cost.map_or(String::new(), |cost| format!("  (cost {cost})"));
    crate::format::clean(&text) + &cost
}

fn operator(attributes: &str, depth: usize) -> String {
    let of = |name| attribute(attributes, name).unwrap_or_default();
    let (physical, logical) = (of("PhysicalOp"), of("LogicalOp"));
    let logical = if logical == physical { String::new() } else { format!(" ({logical})") };
    format!(
        "{}└ {physical}{logical}  rows {}  cost {}",
        "  ".repeat(depth),
        of("EstimateRows"),
        of("EstimatedTotalSubtreeCost"),
    )
}

fn object(attributes: &str) -> String {
    let names = ["Schema", "Table", "Index"].map(|name| attribute(attributes, name));
    let names: Vec<String> = names.into_iter().flatten().collect();
    names.join(".")
}

/// Returns the value of an attribute, with its entities resolved.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (key, behind) = rest.split_once('=')?;
        let behind = behind.trim_start();
        let quote = behind.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, behind) = behind[1..].split_once(quote)?;
        if key.trim() == name {
            return Some(unescaped(value));
        }
        rest = behind;
    }
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#xd;", " "),
        ("&#xa;", " "),
        ("&#x0D;", " "),
        ("&#x0A;", " "),
        ("&#13;", " "),
        ("&#10;", " "),
        // Last, so that what it makes is not resolved again.
        ("&amp;", "&"),
    ];
    entities.iter().fold(text.to_owned(), |text, (entity, value)| text.replace(entity, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "<?xml version=\"1.0\"?><ShowPlanXML Version=\"1.5\"><Batch>\
        <StmtSimple StatementText=\"SELECT n&#xa;FROM t WHERE a &gt; 1\" StatementSubTreeCost=\"0.5\">\
        <QueryPlan><RelOp PhysicalOp=\"Nested Loops\" LogicalOp=\"Inner Join\" EstimateRows=\"2\" \
        EstimatedTotalSubtreeCost=\"0.5\"><NestedLoops><RelOp PhysicalOp=\"Table Scan\" \
        LogicalOp=\"Table Scan\" EstimateRows=\"9\" EstimatedTotalSubtreeCost=\"0.1\"><TableScan>\
        <Object Schema=\"[dbo]\" Table=\"[t]\"/><Predicate Text=\"a>1\"/></TableScan></RelOp>\
        <RelOp PhysicalOp=\"Top\" LogicalOp=\"Top\" EstimateRows=\"1\" \
        EstimatedTotalSubtreeCost=\"0.2\"/></NestedLoops></RelOp></QueryPlan></StmtSimple></Batch>\
        </ShowPlanXML>";

    #[test]
    fn operators_are_a_tree_with_their_objects() {
        assert_eq!(
            operators(PLAN),
            [
                "SELECT n FROM t WHERE a > 1  (cost 0.5)",
                "└ Nested Loops (Inner Join)  rows 2  cost 0.5",
                "  └ Table Scan  rows 9  cost 0.1  [dbo].[t]",
                "  └ Top  rows 1  cost 0.2",
            ]
        );
        assert!(operators("not a plan").is_empty());
    }

    #[test]
    fn xml_is_indented_and_ends_where_it_began() {
        let lines = indented(PLAN);
        assert_eq!(lines[1], "<ShowPlanXML Version=\"1.5\">");
        assert_eq!(lines.last().map(String::as_str), Some("</ShowPlanXML>"));
        assert!(
            lines.contains(&"                <Predicate Text=\"a>1\"/>".to_owned()),
            "{lines:#?}"
        );
    }

    #[test]
    fn broken_xml_is_shown_as_it_is() {
        assert_eq!(indented("<a x=\"1>"), ["<a x=\"1>"]);
        assert_eq!(indented("text</b>"), ["text", "</>"]);
        assert_eq!(attribute("a=\"1\" b='2 &amp;lt;'", "b").as_deref(), Some("2 &lt;"));
        assert_eq!(attribute("a=1", "a"), None);
    }
}
