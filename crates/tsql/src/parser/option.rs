//! Parses options of DDL statements: `NAME = value`, in lists.

use types::{Msg, Result};

use super::Parser;
use super::select::whole_number;
use crate::ast::{IndexOption, NamedOption, ObjectName, OptionValue};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// The unit words that may follow a number.
const UNITS: &[&str] = &[
    "KB", "MB", "GB", "TB", "SECOND", "SECONDS", "MINUTE", "MINUTES", "HOUR", "HOURS", "DAY",
    "DAYS", "WEEK", "WEEKS", "MONTH", "MONTHS", "YEAR", "YEARS",
];

/// How many options of a list are looked at for a second one of the same name.
const OPTIONS_SEEN_MAX: usize = 64;

impl Parser<'_> {
    /// Parses `option, option, ..`: each begins with its name and may be given once.
    pub(super) fn once_list<T>(
        &mut self,
        mut option: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut places: Vec<usize> = Vec::new();
        self.comma_list(|parser| {
            let place = parser.position;
            let name = parser.text_of(parser.token());
            let is_same =
                |&other: &usize| parser.text_of(parser.tokens[other]).eq_ignore_ascii_case(name);
            if places.iter().any(is_same) {
                let name = name.to_ascii_uppercase();
                return Err(parser.error_at(Msg::OptionTwice(&name), parser.start()));
            }
            if places.len() < OPTIONS_SEEN_MAX {
                places.push(place);
            }
            option(parser)
        })
    }

    /// Parses `NAME [= value]`, `NAME (list)`.
    pub(super) fn named_option(&mut self) -> Result<NamedOption> {
        let start = self.start();
        let written: Box<str> = self.any_word()?.as_str().into();
        let name: Box<str> = written.to_ascii_uppercase().into();
        if *name == *"REMOTE_DATA_ARCHIVE" {
            return Err(self.not_supported("REMOTE_DATA_ARCHIVE", start));
        }
        // `LEDGER_VIEW = name (columns)`
        if *name == *"LEDGER_VIEW" {
            return Err(self.not_supported("LEDGER_VIEW", start));
        }
        let value = if self.eat_kind(TokenKind::Equal) {
            self.option_value()?
        } else if self.at_kind(TokenKind::LeftParen) {
            OptionValue::List(self.paren_list(Self::named_option)?)
        } else {
            OptionValue::None
        };
        Ok(NamedOption { name, written, value, span: self.span_from(start) })
    }

    /// Parses the value of an option.
    pub(super) fn option_value(&mut self) -> Result<OptionValue> {
        if self.eat(Kw::On) {
            return self.on_value();
        }
        if self.eat(Kw::Off) {
            return Ok(OptionValue::Off);
        }
        match self.kind() {
            TokenKind::LeftParen => Ok(OptionValue::List(self.paren_list(Self::named_option)?)),
            TokenKind::Minus | TokenKind::Plus => Ok(OptionValue::Literal(self.signed_literal()?)),
            _ if self.at_literal() => self.literal_value(),
            _ => self.name_value(),
        }
    }

    fn on_value(&mut self) -> Result<OptionValue> {
        if self.at_kind(TokenKind::LeftParen) {
            return Ok(OptionValue::OnList(self.paren_list(Self::named_option)?));
        }
        Ok(OptionValue::On)
    }

    fn literal_value(&mut self) -> Result<OptionValue> {
        let literal = self.literal()?;
        let (Some(number), Some(unit)) = (whole_number(&literal), self.unit()) else {
            return Ok(OptionValue::Literal(literal));
        };
        self.advance();
        Ok(OptionValue::Quantity(number, unit))
    }

    /// Returns the unit word that follows, if one does.
    fn unit(&self) -> Option<Box<str>> {
        match self.kind() {
            TokenKind::Percent => Some("%".into()),
            TokenKind::Word => {
                let word = self.text_of(self.token()).to_ascii_uppercase();
                UNITS.contains(&word.as_str()).then(|| word.into())
            }
            _ => None,
        }
    }

    fn name_value(&mut self) -> Result<OptionValue> {
        if self.at_kind(TokenKind::Word) && self.kind_at(1) != TokenKind::Dot {
            return Ok(OptionValue::Name(ObjectName::simple(self.any_word()?)));
        }
        Ok(OptionValue::Name(self.object_name()?))
    }

    /// Parses `WITH (option, ..)`, also the older `WITH option, ..`, if it follows.
    pub(super) fn index_options(&mut self) -> Result<Vec<IndexOption>> {
        if !self.at(Kw::With) {
            return Ok(Vec::new());
        }
        self.advance();
        if self.at_kind(TokenKind::LeftParen) {
            return self.paren_list(Self::index_option);
        }
        self.comma_list(Self::index_option)
    }

    /// Parses `MOVE TO place` and `FILESTREAM_ON place` of DROP INDEX, if one follows.
    fn move_to(&mut self) -> Result<Option<NamedOption>> {
        let start = self.start();
        let name = if self.eat_all(&[Kw::Move, Kw::To]) {
            "MOVE TO"
        } else if self.at(Kw::FilestreamOn) && self.kind_at(1) != TokenKind::Equal {
            self.advance();
            "FILESTREAM_ON"
        } else {
            return Ok(None);
        };
        let place = self.filegroup()?;
        let value = OptionValue::Place(place, self.optional_paren_list(Self::ident)?);
        let span = self.span_from(start);
        Ok(Some(NamedOption { name: name.into(), written: name.into(), value, span }))
    }

    /// Parses an option of an index, with its partitions.
    pub(super) fn index_option(&mut self) -> Result<IndexOption> {
        let NamedOption { name, written, value, span } = match self.move_to()? {
            Some(option) => option,
            None => self.named_option()?,
        };
        let mut on_partitions = Vec::new();
        if self.eat_all(&[Kw::On, Kw::Partitions]) {
            on_partitions = self.paren_list(|parser| {
                let from = parser.small_integer()?;
                let to = if parser.eat(Kw::To) { parser.small_integer()? } else { from };
                Ok((from, to))
            })?;
        }
        let span = span.to(self.span_from(span.start));
        Ok(IndexOption { name, written, value, on_partitions, span })
    }
}
