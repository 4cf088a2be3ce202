//! Parses names, variables and types.

use types::{Error, Msg, Result};

use super::Parser;
use crate::QuotedIdentifier;
use crate::ast::{Ident, ObjectName, Quoting, Span, TypeArguments, TypeName, Variable};
use crate::keyword::Keyword as Kw;
use crate::lexer::{Token, TokenKind};

/// Most characters of a name; a longer one is error 103.
const NAME_CHARS_MAX: usize = 128;

impl Parser<'_> {
    /// Returns whether a token can be a name here.
    #[inline]
    pub(super) fn is_ident(&self, token: Token) -> bool {
        match token.kind {
            TokenKind::Word => !token.keyword.is_reserved(),
            TokenKind::Bracketed => true,
            TokenKind::DoubleQuoted => self.quotes == QuotedIdentifier::On,
            _ => false,
        }
    }

    #[inline]
    pub(super) fn at_ident(&self) -> bool {
        self.is_ident(self.token())
    }

    /// Returns whether a token is a string here.
    #[inline]
    pub(super) fn is_string(&self, token: Token) -> bool {
        match token.kind {
            TokenKind::String | TokenKind::NString => true,
            TokenKind::DoubleQuoted => self.quotes == QuotedIdentifier::Off,
            _ => false,
        }
    }

    /// Returns whether a name follows that is not the label of the next statement.
    pub(super) fn at_plain_alias(&self) -> bool {
        self.at_ident() && self.kind_at(1) != TokenKind::Colon
    }

    pub(super) fn ident(&mut self) -> Result<Ident> {
        if self.at_ident() { self.take_ident() } else { Err(self.unexpected()) }
    }

    /// Parses a name that may be a reserved word, as `public`, an option or a language.
    pub(super) fn any_word(&mut self) -> Result<Ident> {
        match self.kind() {
            TokenKind::Word | TokenKind::Dollar => self.take_ident(),
            _ => self.ident(),
        }
    }

    /// Takes the next token as a name.
    pub(super) fn take_ident(&mut self) -> Result<Ident> {
        let token = self.token();
        let (start, end) = (token.start, token.end());
        // A name has at least as many bytes as characters, and most names are short.
        if token.kind == TokenKind::Word && (end - start) as usize <= NAME_CHARS_MAX {
            self.position += 1;
            return Ok(Ident::new(self.text_of(token), Quoting::None, Span::new(start, end)));
        }
        self.take_quoted_ident()
    }

    /// Takes a name in quotes, or one of more than [`NAME_CHARS_MAX`] bytes.
    #[inline(never)]
    fn take_quoted_ident(&mut self) -> Result<Ident> {
        let token = self.advance();
        let span = Span::new(token.start, token.end());
        let text = self.text_of(token);
        let ident = match token.kind {
            TokenKind::Bracketed => Ident::new(unquote(text, "]]", "]"), Quoting::Brackets, span),
            TokenKind::DoubleQuoted => {
                Ident::new(unquote(text, "\"\"", "\""), Quoting::Quotes, span)
            }
            _ => Ident::new(text, Quoting::None, span),
        };
        if ident.is_empty() {
            return Err(self.error_at(Msg::NameMissing, token.start));
        }
        if ident.len() > NAME_CHARS_MAX && ident.encode_utf16().count() > NAME_CHARS_MAX {
            let shown: String = ident.chars().take(NAME_CHARS_MAX).collect();
            return Err(
                self.error_at(Msg::IdentifierTooLong("identifier", &shown, 128), token.start)
            );
        }
        Ok(ident)
    }

    /// Parses a name if one follows.
    pub(super) fn optional_ident(&mut self) -> Result<Option<Ident>> {
        if self.at_ident() { self.ident().map(Some) } else { Ok(None) }
    }

    /// Parses a name of one to four parts; parts may be left out: `a..b`.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        let start = self.start();
        // Nearly all names have one part or two.
        match self.plain_parts() {
            Some(1) => return Ok(ObjectName::simple(self.take_ident()?)),
            Some(_) => {
                let schema = Some(self.take_ident()?);
                self.position += 1;
                let object = self.take_ident()?;
                let span = self.span_from(start);
                return Ok(ObjectName { object, schema, database: None, server: None, span });
            }
            None => {}
        }
        let mut parts = [None, None, None, None];
        let mut count = 0;
        loop {
            if count == parts.len() {
                let name = self.text[start as usize..self.end() as usize].to_owned();
                return Err(self.error_at(Msg::TooManyPrefixes("object", &name, 3), start));
            }
            parts[count] =
                if self.at_kind(TokenKind::Dot) { None } else { Some(self.name_part()?) };
            count += 1;
            if !self.eat_kind(TokenKind::Dot) {
                break;
            }
        }
        let [a, b, c, d] = parts;
        let (server, database, schema, object) = match count {
            1 => (None, None, None, a),
            2 => (None, None, a, b),
            3 => (None, a, b, c),
            _ => (a, b, c, d),
        };
        let Some(object) = object else { return Err(self.unexpected()) };
        Ok(ObjectName { object, schema, database, server, span: self.span_from(start) })
    }

    /// Parses the name of an object of this server: one to three parts.
    pub(super) fn local_name(&mut self) -> Result<ObjectName> {
        let name = self.object_name()?;
        if name.server.is_none() {
            return Ok(name);
        }
        let text = &self.text[name.span.start as usize..name.span.end as usize];
        Err(self.error_at(Msg::TooManyPrefixes("object", text, 2), name.span.start))
    }

    /// Returns how many parts the next name has, if it has one or two and none is left out.
    pub(super) fn plain_parts(&self) -> Option<usize> {
        if !self.at_ident() {
            return None;
        }
        if self.kind_at(1) != TokenKind::Dot {
            return Some(1);
        }
        let two = self.is_ident(self.token_at(2)) && self.kind_at(3) != TokenKind::Dot;
        two.then_some(2)
    }

    /// Parses one part of a name. Behind a point SQL Server accepts a few reserved words as names.
    fn name_part(&mut self) -> Result<Ident> {
        match self.kind() {
            TokenKind::Dollar => self.take_ident(),
            TokenKind::Percent => Err(self.pseudo_column()),
            _ => self.ident(),
        }
    }

    /// Returns the error of a pseudo column of the storage engine, such as `%%physloc%%`; of a
    /// syntax error if there is none.
    pub(super) fn pseudo_column(&self) -> Error {
        let is_marked = self.kind_at(1) == TokenKind::Percent && self.is_ident(self.token_at(2));
        if !is_marked {
            return self.unexpected();
        }
        let name = self.text_of(self.token_at(2)).to_lowercase();
        self.not_supported(&format!("the pseudo column %%{name}%%"), self.start())
    }

    pub(super) fn at_variable(&self) -> bool {
        self.at_kind(TokenKind::Variable)
    }

    pub(super) fn variable(&mut self) -> Result<Variable> {
        let token = self.expect_kind(TokenKind::Variable)?;
        let text = self.text_of(token);
        if text.len() > NAME_CHARS_MAX && text.encode_utf16().count() > NAME_CHARS_MAX {
            let shown: String = text.chars().take(NAME_CHARS_MAX).collect();
            return Err(
                self.error_at(Msg::IdentifierTooLong("identifier", &shown, 128), token.start)
            );
        }
        Ok(Variable { name: text.into(), span: Span::new(token.start, token.end()) })
    }

    /// Parses a data type.
    pub(super) fn type_name(&mut self) -> Result<TypeName> {
        let start = self.start();
        let name = match self.long_type_name() {
            Some(word) => {
                ObjectName::simple(Ident::new(word, Quoting::None, self.span_from(start)))
            }
            None => self.object_name()?,
        };
        let arguments = if self.at_kind(TokenKind::LeftParen) {
            self.parens(|parser| parser.type_arguments(&name))?
        } else {
            TypeArguments::None
        };
        // Of the names of several words, `national char varying (10)` alone can be recognised at
        // its end only.
        Ok(TypeName { name, arguments, span: self.span_from(start) })
    }

    /// Takes a type's name of several words and returns its short form.
    fn long_type_name(&mut self) -> Option<&'static str> {
        const VARYING: [&[Kw]; 3] = [&[Kw::Char], &[Kw::Character], &[Kw::Binary]];
        if self.eat_all(&[Kw::Double, Kw::Precision]) {
            return Some("float");
        }
        if self.at(Kw::National) {
            return self.national_type_name();
        }
        for words in VARYING {
            if self.at_all(words) && self.keyword_at(1) == Kw::Varying {
                self.position += 2;
                return Some(if words[0] == Kw::Binary { "varbinary" } else { "varchar" });
            }
        }
        None
    }

    fn national_type_name(&mut self) -> Option<&'static str> {
        if self.eat_all(&[Kw::National, Kw::Text]) {
            return Some("ntext");
        }
        if !matches!(self.keyword_at(1), Kw::Char | Kw::Character) {
            return None;
        }
        self.position += 2;
        Some(if self.eat(Kw::Varying) { "nvarchar" } else { "nchar" })
    }

    fn type_arguments(&mut self, name: &ObjectName) -> Result<TypeArguments> {
        if self.at(Kw::Max) {
            self.advance();
            return Ok(TypeArguments::Max);
        }
        if name.object.is("xml") {
            if !self.eat(Kw::Content) {
                self.eat(Kw::Document);
            }
            return Ok(TypeArguments::XmlSchema(Box::new(self.object_name()?)));
        }
        let first = self.small_integer()?;
        if !self.eat_kind(TokenKind::Comma) {
            return Ok(TypeArguments::One(first));
        }
        // `vector(3, float16)`
        if name.object.is("vector") && self.at_kind(TokenKind::Word) {
            return Err(self.not_supported("the type vector", self.start()));
        }
        Ok(TypeArguments::Two(first, self.small_integer()?))
    }

    /// Parses an unsigned integer that fits 32 bits.
    pub(super) fn small_integer(&mut self) -> Result<u32> {
        let token = self.token();
        match (token.kind, self.text_of(token).parse()) {
            (TokenKind::Integer, Ok(number)) => {
                self.advance();
                Ok(number)
            }
            _ => Err(self.unexpected()),
        }
    }
}

/// Returns the text between quotes, with each doubled quote made single.
pub(super) fn unquote(quoted: &str, doubled: &str, single: &str) -> Box<str> {
    let inner = &quoted[1..quoted.len() - 1];
    if inner.as_bytes().contains(&doubled.as_bytes()[0]) {
        inner.replace(doubled, single).into()
    } else {
        inner.into()
    }
}
