//! Parses constants.

use types::text::{PIECE_BYTES, str_pieces};
use types::{Msg, Result};

use super::Parser;
use super::name::unquote;
use crate::ast::{Expr, ExprKind, Literal, OdbcKind};
use crate::keyword::Keyword as Kw;
use crate::lexer::{Token, TokenKind};

/// Most digits of a decimal constant.
const DECIMAL_DIGITS_MAX: usize = 38;

impl Parser<'_> {
    /// Returns whether a constant without a sign follows.
    pub(super) fn at_literal(&self) -> bool {
        match self.kind() {
            TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Money
            | TokenKind::Binary => true,
            TokenKind::LeftBrace => self.odbc_kind().is_some(),
            _ => self.at(Kw::Null) || self.is_string(self.token()),
        }
    }

    /// Parses a constant without a sign.
    #[inline(never)]
    pub(super) fn literal(&mut self) -> Result<Literal> {
        let token = self.token();
        if self.at_kind(TokenKind::LeftBrace) {
            return self.odbc_literal();
        }
        let literal = match token.kind {
            TokenKind::Integer => self.integer(token)?,
            TokenKind::Decimal => Literal::Decimal(self.decimal(token, self.text_of(token))?),
            TokenKind::Float => self.float(token)?,
            TokenKind::Money => self.money(token)?,
            TokenKind::Binary => Literal::Binary(binary(&self.text_of(token)[2..])),
            TokenKind::NString => Literal::NString(self.string_of(token)),
            _ if self.is_string(token) => Literal::String(self.string_of(token)),
            _ if token.keyword == Kw::Null => Literal::Null,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(literal)
    }

    /// Parses a constant that may have a sign, for parameters' defaults and options.
    pub(super) fn signed_literal(&mut self) -> Result<Literal> {
        let negative = match self.kind() {
            TokenKind::Minus => true,
            TokenKind::Plus => false,
            _ => return self.literal(),
        };
        let sign = self.position;
        self.advance();
        match (self.literal()?, negative) {
            (literal @ (Literal::Int(_) | Literal::Decimal(_)), false) => Ok(literal),
            (literal @ (Literal::Float(_) | Literal::Money(_)), false) => Ok(literal),
            (Literal::Int(value), true) => Ok(Literal::Int(-value)),
            (Literal::Decimal(digits), true) => Ok(Literal::Decimal(format!("-{digits}").into())),
            (Literal::Float(value), true) => Ok(Literal::Float(-value)),
            (Literal::Money(value), true) => Ok(Literal::Money(-value)),
            _ => Err(self.unexpected_at(sign)),
        }
    }

    /// Parses a variable, or a constant that may be negative, where a statement takes no expression.
    pub(super) fn constant_or_variable(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Variable => ExprKind::Variable(self.variable()?),
            TokenKind::Plus => return Err(self.unexpected()),
            _ => ExprKind::Literal(self.signed_literal()?),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// Parses a variable, or an integer that may be negative.
    pub(super) fn integer_or_variable(&mut self) -> Result<Expr> {
        let sign = usize::from(self.at_kind(TokenKind::Minus));
        match self.kind_at(sign) {
            TokenKind::Integer => self.constant_or_variable(),
            TokenKind::Variable if sign == 0 => self.constant_or_variable(),
            _ => Err(self.unexpected()),
        }
    }

    /// Parses a variable or a string.
    pub(super) fn string_or_variable(&mut self) -> Result<Expr> {
        match self.at_variable() || self.is_string(self.token()) {
            true => self.constant_or_variable(),
            false => Err(self.unexpected()),
        }
    }

    /// Parses a string constant of either kind.
    pub(super) fn string(&mut self) -> Result<Box<str>> {
        if !self.is_string(self.token()) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(self.string_of(token))
    }

    /// Returns the value of a string token.
    pub(super) fn string_of(&self, token: Token) -> Box<str> {
        let text = self.text_of(token);
        if text.len() > PIECE_BYTES {
            return self.long_string_of(token);
        }
        let value = match token.kind {
            TokenKind::NString => unquote(&text[1..], "''", "'"),
            TokenKind::DoubleQuoted => unquote(text, "\"\"", "\""),
            _ => unquote(text, "''", "'"),
        };
        if !value.as_bytes().contains(&b'\\') {
            return value;
        }
        // A backslash at the end of a line joins the line with the next one.
        if value.contains("\\\n") || value.contains("\\\r\n") {
            return value.replace("\\\r\n", "").replace("\\\n", "").into();
        }
        value
    }

    /// As [`Self::string_of`], with pauses.
    #[cold]
    fn long_string_of(&self, token: Token) -> Box<str> {
        let text = self.text_of(token);
        let text = if token.kind == TokenKind::NString { &text[1..] } else { text };
        let quote = if token.kind == TokenKind::DoubleQuoted { '"' } else { '\'' };
        let mut value = String::with_capacity(text.len());
        let mut parts = text[1..text.len() - 1].split_inclusive(quote);
        while let Some(part) = parts.next() {
            for piece in str_pieces(part) {
                value.push_str(piece);
                if part.len() > PIECE_BYTES {
                    self.watched.piece();
                }
            }
            if part.ends_with(quote) {
                // The second one of a pair.
                parts.next();
            }
            self.watched.step();
        }
        let joins_lines = value.match_indices('\\').any(|(at, _)| {
            self.watched.step();
            let rest = &value[at + 1..];
            rest.starts_with('\n') || rest.starts_with("\r\n")
        });
        match joins_lines {
            true => value.replace("\\\r\n", "").replace("\\\n", "").into(),
            false => value.into(),
        }
    }

    fn integer(&self, token: Token) -> Result<Literal> {
        let text = self.text_of(token);
        match text.parse() {
            Ok(number) => Ok(Literal::Int(number)),
            Err(_) => Ok(Literal::Decimal(self.decimal(token, text)?)),
        }
    }

    fn decimal(&self, token: Token, text: &str) -> Result<Box<str>> {
        let significant = text.trim_start_matches('0').bytes().filter(u8::is_ascii_digit).count();
        if significant > DECIMAL_DIGITS_MAX {
            let shown = super::shorten(text);
            return Err(self.error_at(Msg::NumericRange("number", shown), token.start));
        }
        Ok(text.into())
    }

    fn float(&self, token: Token) -> Result<Literal> {
        let text = self.text_of(token);
        // `1e` and `1e+` are 1e0.
        let digits = text.trim_end_matches(['e', 'E', '+', '-']);
        let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
        let out_of_range =
            || self.error_at(Msg::FloatLiteralOutOfRange(super::shorten(text), 8), token.start);
        value.map(Literal::Float).ok_or_else(out_of_range)
    }

    fn money(&self, token: Token) -> Result<Literal> {
        let text = self.text_of(token);
        let out_of_range =
            || self.error_at(Msg::NumericRange("number", super::shorten(text)), token.start);
        money(text).map(Literal::Money).ok_or_else(out_of_range)
    }

    /// Returns the kind of the ODBC literal that follows, if one does: `{d '..'}`.
    fn odbc_kind(&self) -> Option<OdbcKind> {
        if !self.is_string(self.token_at(2)) {
            return None;
        }
        match self.text_of(self.token_at(1)).to_ascii_lowercase().as_str() {
            "d" => Some(OdbcKind::Date),
            "t" => Some(OdbcKind::Time),
            "ts" => Some(OdbcKind::Timestamp),
            "guid" => Some(OdbcKind::Guid),
            _ => None,
        }
    }

    #[inline(never)]
    fn odbc_literal(&mut self) -> Result<Literal> {
        let Some(kind) = self.odbc_kind() else { return Err(self.unexpected()) };
        self.advance();
        self.advance();
        let value = self.string()?;
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(Literal::Odbc(kind, value))
    }
}

/// Returns the bytes of hexadecimal digits; an odd number of them gets a 0 in front.
fn binary(digits: &str) -> Box<[u8]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    };
    let (head, rest) = digits.as_bytes().split_at(digits.len() % 2);
    let pairs = rest.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1]));
    head.iter().map(|&digit| value(digit)).chain(pairs).collect()
}

/// Returns a money constant in 1/10,000, rounded half away from zero; `None` if it is out of range.
fn money(text: &str) -> Option<i64> {
    let amount =
        text.trim_start_matches(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '+' | '.'));
    let negative = amount.starts_with('-');
    let amount = amount.trim_start_matches(['-', '+']);
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let mut value: i128 = 0;
    for digit in whole.bytes().filter(u8::is_ascii_digit) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let fraction = fraction.as_bytes();
    for place in 0..4 {
        let digit = fraction.get(place).map_or(0, |digit| digit - b'0');
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    if fraction.get(4).is_some_and(|&digit| digit >= b'5') {
        value += 1;
    }
    i64::try_from(if negative { -value } else { value }).ok()
}
