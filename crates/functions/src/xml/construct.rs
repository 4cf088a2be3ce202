//! Parses constructors: direct ones such as `<a b="{c}">d{e}</a>`, and computed ones.

use types::Result;
use types::xml::QName;

use super::parse::Parser;
use super::syntax::{Constructor, Expr};
use super::word::{is_name_start, unescape};

impl Parser<'_> {
    /// Parses an expression that begins with `<`.
    pub(crate) fn constructor(&mut self) -> Result<Expr> {
        if let Some(rest) = self.rest().strip_prefix("<!--") {
            let Some(end) = rest.find("-->") else { return self.fail() };
            self.at += 4 + end + 3;
            return Ok(Expr::Comment(rest[..end].to_owned()));
        }
        if let Some(rest) = self.rest().strip_prefix("<?") {
            let Some(end) = rest.find("?>") else { return self.fail() };
            self.at += 2 + end + 2;
            let (target, text) =
                rest[..end].split_once(char::is_whitespace).unwrap_or((&rest[..end], ""));
            return Ok(Expr::Instruction(target.to_owned(), text.trim_start().to_owned()));
        }
        self.expect("<")?;
        if !self.rest().starts_with(is_name_start) {
            return self.fail();
        }
        let outer = self.namespaces.len();
        let (prefix, local) = self.name()?;
        let (namespaces, attributes) = self.attributes()?;
        let name = self.resolve(prefix, local)?;
        let attributes: Result<Vec<_>> = attributes
            .into_iter()
            .map(|((prefix, local), parts)| {
                let name = match prefix {
                    "" => QName { local: local.to_owned(), ..QName::default() },
                    _ => self.resolve(prefix, local)?,
                };
                Ok((name, parts))
            })
            .collect();
        let mut made =
            Constructor { name, namespaces, attributes: attributes?, content: Vec::new() };
        if !self.eat("/>") {
            self.expect(">")?;
            self.content(&mut made.content)?;
            let end = self.name()?;
            if end != (prefix, local) {
                return self.fail();
            }
            self.expect(">")?;
        }
        self.namespaces.truncate(outer);
        Ok(Expr::Element(Box::new(made)))
    }

    fn resolve(&self, prefix: &str, local: &str) -> Result<QName> {
        Ok(QName { prefix: prefix.to_owned(), local: local.to_owned(), uri: self.uri(prefix)? })
    }
}

type Declared = Vec<(String, String)>;
type Attributes<'t> = Vec<((&'t str, &'t str), Vec<Expr>)>;

impl<'t> Parser<'t> {
    fn attributes(&mut self) -> Result<(Declared, Attributes<'t>)> {
        let (mut declared, mut attributes) = (Vec::new(), Vec::new());
        loop {
            self.space();
            if !self.rest().starts_with(is_name_start) {
                return Ok((declared, attributes));
            }
            let name = self.name()?;
            self.expect("=")?;
            if name.0 == "xmlns" || name == ("", "xmlns") {
                let prefix = if name.0.is_empty() { "" } else { name.1 };
                let uri = self.string()?;
                self.namespaces.push((prefix.to_owned(), uri.clone()));
                declared.push((prefix.to_owned(), uri));
                continue;
            }
            self.space();
            let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                return self.fail();
            };
            self.at += 1;
            let mut parts = Vec::new();
            self.parts(&[quote], &mut parts)?;
            self.at += 1;
            attributes.push((name, parts));
        }
    }

    /// Reads literal text and `{expressions}` up to one of the marks, which is not consumed.
    fn parts(&mut self, until: &[char], parts: &mut Vec<Expr>) -> Result<()> {
        loop {
            let rest = self.rest();
            let stop = |c: char| until.contains(&c) || matches!(c, '{' | '}');
            let Some(end) = rest.find(stop) else { return self.fail() };
            if end > 0 {
                parts.push(Expr::Text(unescape(&rest[..end])));
            }
            self.at += end;
            let rest = self.rest();
            if rest.starts_with("{{") || rest.starts_with("}}") {
                parts.push(Expr::Text(rest[..1].to_owned()));
                self.at += 2;
            } else if rest.starts_with('{') {
                self.at += 1;
                let inner = self.expr()?;
                self.expect("}")?;
                parts.push(inner);
            } else if rest.starts_with('}') {
                return self.fail();
            } else {
                return Ok(());
            }
        }
    }

    /// Reads an element's content, up to and including `</`.
    fn content(&mut self, content: &mut Vec<Expr>) -> Result<()> {
        loop {
            let mut parts = Vec::new();
            self.parts(&['<'], &mut parts)?;
            for part in parts {
                content.push(match part {
                    // White space between tags is dropped.
                    Expr::Text(text) if text.trim().is_empty() => continue,
                    Expr::Text(text) => Expr::TextNode(Box::new(Expr::Text(text))),
                    other => other,
                });
            }
            let rest = self.rest();
            if rest.starts_with("</") {
                self.at += 2;
                return Ok(());
            }
            if let Some(data) = rest.strip_prefix("<![CDATA[") {
                let Some(end) = data.find("]]>") else { return self.fail() };
                content.push(Expr::TextNode(Box::new(Expr::Text(data[..end].to_owned()))));
                self.at += 9 + end + 3;
                continue;
            }
            let inner = self.nested(Self::constructor)?;
            content.push(inner);
        }
    }

    /// Parses `text {..}`, `attribute name {..}` and `element name {..}` after the keyword.
    pub(crate) fn computed(&mut self, kind: &str) -> Result<Expr> {
        let name = match kind {
            "text" => None,
            _ => Some(self.name()?),
        };
        self.expect("{")?;
        let value = if self.eat("}") {
            Expr::Sequence(Vec::new())
        } else {
            let value = self.expr()?;
            self.expect("}")?;
            value
        };
        let Some((prefix, local)) = name else { return Ok(Expr::TextNode(Box::new(value))) };
        if kind == "attribute" {
            let name = match prefix {
                "" => QName { local: local.to_owned(), ..QName::default() },
                _ => self.resolve(prefix, local)?,
            };
            return Ok(Expr::Attribute(name, Box::new(value)));
        }
        Ok(Expr::Element(Box::new(Constructor {
            name: self.resolve(prefix, local)?,
            namespaces: Vec::new(),
            attributes: Vec::new(),
            content: vec![value],
        })))
    }
}
