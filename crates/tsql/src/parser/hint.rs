//! Parses table hints and query hints.

use types::Result;

use super::Parser;
use crate::ast::{
    IndexRef, Literal, QueryHint, QueryHintKind, TableHint, TableHintKind, TableHintWord,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses `WITH (hints)` if it follows.
    pub(super) fn optional_hints(&mut self) -> Result<Vec<TableHint>> {
        if !self.at(Kw::With) || self.kind_at(1) != TokenKind::LeftParen {
            return Ok(Vec::new());
        }
        self.advance();
        self.hint_list()
    }

    /// Returns whether hints without WITH follow: `(NOLOCK)`.
    pub(super) fn at_old_hints(&self) -> bool {
        if !self.at_kind(TokenKind::LeftParen) {
            return false;
        }
        let behind = self.kind_at(2);
        match self.keyword_at(1) {
            Kw::Index => matches!(behind, TokenKind::Equal | TokenKind::LeftParen),
            word => {
                table_hint_word(word).is_some()
                    && (matches!(behind, TokenKind::RightParen | TokenKind::Comma)
                        || table_hint_word(self.keyword_at(2)).is_some())
            }
        }
    }

    /// Parses `(hint, hint ..)`; commas between them may be left out.
    pub(super) fn hint_list(&mut self) -> Result<Vec<TableHint>> {
        self.parens(|parser| {
            let mut hints = vec![parser.table_hint()?];
            loop {
                let comma = parser.eat_kind(TokenKind::Comma);
                if !comma && parser.at_kind(TokenKind::RightParen) {
                    return Ok(hints);
                }
                hints.push(parser.table_hint()?);
            }
        })
    }

    fn table_hint(&mut self) -> Result<TableHint> {
        let start = self.start();
        let kind = match self.keyword() {
            Kw::Index => self.index_hint()?,
            Kw::Forceseek => self.force_seek()?,
            Kw::SpatialWindowMaxCells => {
                self.advance();
                self.expect_kind(TokenKind::Equal)?;
                TableHintKind::SpatialWindowMaxCells(self.small_integer()?)
            }
            word => {
                let Some(word) = table_hint_word(word) else { return Err(self.unexpected()) };
                self.advance();
                TableHintKind::Word(word)
            }
        };
        Ok(TableHint { kind, span: self.span_from(start) })
    }

    fn index_hint(&mut self) -> Result<TableHintKind> {
        self.expect(Kw::Index)?;
        let equal = self.eat_kind(TokenKind::Equal);
        if equal && !self.at_kind(TokenKind::LeftParen) {
            return Ok(TableHintKind::Index(vec![self.index_ref()?]));
        }
        Ok(TableHintKind::Index(self.paren_list(Self::index_ref)?))
    }

    fn index_ref(&mut self) -> Result<IndexRef> {
        if self.at_kind(TokenKind::Integer) {
            return Ok(IndexRef::Number(self.small_integer()?));
        }
        Ok(IndexRef::Name(self.ident()?))
    }

    fn force_seek(&mut self) -> Result<TableHintKind> {
        self.expect(Kw::Forceseek)?;
        if !self.at_kind(TokenKind::LeftParen) {
            return Ok(TableHintKind::ForceSeek(None));
        }
        let seek = self.parens(|parser| {
            let index = parser.index_ref()?;
            Ok((index, parser.optional_paren_list(Self::ident)?))
        })?;
        Ok(TableHintKind::ForceSeek(Some(seek)))
    }

    /// Parses `OPTION (hint, ..)` if it follows.
    pub(super) fn options(&mut self) -> Result<Vec<QueryHint>> {
        if self.eat(Kw::Option) { self.paren_list(Self::query_hint) } else { Ok(Vec::new()) }
    }

    fn query_hint(&mut self) -> Result<QueryHint> {
        let start = self.start();
        let kind = match (self.keyword(), self.keyword_at(1)) {
            (Kw::Optimize, Kw::For) => self.optimize_for()?,
            (Kw::Use, Kw::Hint) => {
                self.position += 2;
                QueryHintKind::UseHint(self.paren_list(Self::string)?)
            }
            (Kw::Use, Kw::Plan) => {
                self.position += 2;
                QueryHintKind::Text("USE PLAN".into(), self.string()?)
            }
            (Kw::Table, Kw::Hint) => self.table_query_hint()?,
            _ => self.word_hint()?,
        };
        Ok(QueryHint { kind, span: self.span_from(start) })
    }

    fn optimize_for(&mut self) -> Result<QueryHintKind> {
        self.position += 2;
        if self.eat(Kw::Unknown) {
            return Ok(QueryHintKind::OptimizeForUnknown);
        }
        let variables = self.paren_list(|parser| {
            let variable = parser.variable()?;
            if parser.eat(Kw::Unknown) {
                return Ok((variable, None));
            }
            parser.expect_kind(TokenKind::Equal)?;
            Ok((variable, Some(parser.expr()?)))
        })?;
        Ok(QueryHintKind::OptimizeFor(variables))
    }

    fn table_query_hint(&mut self) -> Result<QueryHintKind> {
        self.position += 2;
        self.parens(|parser| {
            let table = parser.object_name()?;
            let mut hints = Vec::new();
            while parser.eat_kind(TokenKind::Comma) {
                hints.push(parser.table_hint()?);
            }
            Ok(QueryHintKind::TableHint(table, hints))
        })
    }

    /// Parses a hint of words, perhaps with a value: `RECOMPILE`, `HASH JOIN`, `MAXDOP 1`, `LABEL =
    /// 'x'`.
    fn word_hint(&mut self) -> Result<QueryHintKind> {
        let mut name = self.any_word()?.to_ascii_uppercase();
        while self.at_kind(TokenKind::Word) {
            name.push(' ');
            name.push_str(&self.any_word()?.to_ascii_uppercase());
        }
        let equal = self.eat_kind(TokenKind::Equal);
        match self.kind() {
            TokenKind::Comma | TokenKind::RightParen if !equal => {
                Ok(QueryHintKind::Plain(name.into()))
            }
            _ if self.is_string(self.token()) => {
                Ok(QueryHintKind::Text(name.into(), self.string()?))
            }
            _ => {
                let at = self.position;
                let number = match self.literal()? {
                    Literal::Int(number) => f64::from(number),
                    Literal::Float(number) => number,
                    Literal::Decimal(digits) => digits.parse().unwrap_or(f64::INFINITY),
                    _ => return Err(self.unexpected_at(at)),
                };
                Ok(QueryHintKind::Number(name.into(), number))
            }
        }
    }
}

/// Returns the table hint that a keyword names.
fn table_hint_word(word: Kw) -> Option<TableHintWord> {
    Some(match word {
        Kw::Forcescan => TableHintWord::ForceScan,
        Kw::Holdlock => TableHintWord::HoldLock,
        Kw::IgnoreConstraints => TableHintWord::IgnoreConstraints,
        Kw::IgnoreTriggers => TableHintWord::IgnoreTriggers,
        Kw::Keepdefaults => TableHintWord::KeepDefaults,
        Kw::Keepidentity => TableHintWord::KeepIdentity,
        Kw::Noexpand => TableHintWord::NoExpand,
        Kw::Nolock => TableHintWord::NoLock,
        Kw::Nowait => TableHintWord::NoWait,
        Kw::Paglock => TableHintWord::PagLock,
        Kw::Readcommitted => TableHintWord::ReadCommitted,
        Kw::Readcommittedlock => TableHintWord::ReadCommittedLock,
        Kw::Readpast => TableHintWord::ReadPast,
        Kw::Readuncommitted => TableHintWord::ReadUncommitted,
        Kw::Repeatableread => TableHintWord::RepeatableRead,
        Kw::Rowlock => TableHintWord::RowLock,
        Kw::Serializable => TableHintWord::Serializable,
        Kw::Snapshot => TableHintWord::Snapshot,
        Kw::Tablock => TableHintWord::TabLock,
        Kw::Tablockx => TableHintWord::TabLockX,
        Kw::Updlock => TableHintWord::UpdLock,
        Kw::Xlock => TableHintWord::XLock,
        _ => return None,
    })
}
