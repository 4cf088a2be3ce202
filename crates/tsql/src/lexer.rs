//! The lexer: cuts the text of a batch into tokens.
//!
//! A token is 12 bytes and holds no text; the parser reads that from the batch at the token's
//! offsets. The whole batch is cut into tokens before it is parsed, so that looking ahead is an
//! index and finding a closing parenthesis a lookup. A lexical error (an unclosed string) is a
//! token too, so that a syntax error in front of it is reported first.

use types::pause::Watched;
use types::text::PIECE_BYTES;

use crate::keyword::Keyword;

/// The class of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word without quotes: a keyword or an identifier.
    Word,
    /// `[name]`: an identifier in brackets.
    Bracketed,
    /// `"text"`: an identifier or a string; QUOTED_IDENTIFIER decides when the parser reads it.
    DoubleQuoted,
    /// `@name` or `@@name`, a variable.
    Variable,
    /// `$name`: `$action`, `$IDENTITY`, `$ROWGUID`, `$PARTITION`
    Dollar,
    /// `'text'`: a string constant.
    String,
    /// `N'text'`: a Unicode string constant.
    NString,
    /// Digits only: an integer.
    Integer,
    /// Digits with a point.
    Decimal,
    /// Digits with an exponent.
    Float,
    /// `$1.5`: a money constant.
    Money,
    /// `0x1F`: a binary constant.
    Binary,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Comma,
    Dot,
    Semicolon,
    Colon,
    DoubleColon,
    Question,
    Bang,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Ampersand,
    Caret,
    Pipe,
    Tilde,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    PlusEqual,
    MinusEqual,
    StarEqual,
    SlashEqual,
    PercentEqual,
    AmpersandEqual,
    CaretEqual,
    PipeEqual,
    PipePipe,
    PipePipeEqual,
    /// A quote that nothing closes: error 105.
    UnclosedQuote,
    /// A comment that nothing closes: error 113.
    UnclosedComment,
    /// A character that no token starts with.
    Unknown,
    /// The end of the text.
    End,
}

/// A token: class, keyword and byte offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Which keyword a [`TokenKind::Word`] is; [`Keyword::None`] for all else.
    pub(crate) keyword: Keyword,
    /// Byte offset of its start.
    pub(crate) start: u32,
    /// Byte offset of its end; for a [`TokenKind::LeftParen`], whose length is known, the index of
    /// the token that closes it, or [`UNMATCHED`].
    end_or_match: u32,
}

/// The room that a list of open parentheses begins with.
const LIST_ROOM: usize = 8;

/// The value of `end_or_match` for a parenthesis that nothing closes.
pub(crate) const UNMATCHED: u32 = u32::MAX;

impl Token {
    /// Returns the byte offset behind the token.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        match self.kind {
            TokenKind::LeftParen => self.start + 1,
            _ => self.end_or_match,
        }
    }

    /// Returns the index of the token that closes this left parenthesis.
    pub(crate) fn matching(&self) -> usize {
        debug_assert_eq!(self.kind, TokenKind::LeftParen);
        self.end_or_match as usize
    }
}

/// Cuts `text` into tokens; the last one is [`TokenKind::End`]. `text` is shorter than 4 GB.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    tokenize_watched(text, &Watched::new(&|| true))
}

/// As [`tokenize`]; pauses, and ends early once the tokens are no longer wanted.
pub(crate) fn tokenize_watched(text: &str, watched: &Watched<'_>) -> Vec<Token> {
    // SQL has a token for every 4 to 5 bytes; too small a guess costs one copy.
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        position: 0,
        tokens: Vec::with_capacity(text.len() / 4 + 4),
        watched,
    };
    let mut open = Vec::new();
    loop {
        if lexer.tokens.len() == lexer.tokens.capacity() {
            grow(&mut lexer.tokens, watched);
        }
        if !watched.step() {
            lexer.give_up();
        }
        let kind = lexer.next();
        match kind {
            TokenKind::LeftParen => {
                if open.len() == open.capacity() {
                    grow(&mut open, watched);
                }
                open.push(lexer.tokens.len() - 1);
            }
            TokenKind::RightParen => {
                if let Some(left) = open.pop() {
                    lexer.tokens[left].end_or_match = narrow(lexer.tokens.len() - 1);
                }
            }
            TokenKind::End => return lexer.tokens,
            _ => {}
        }
    }
}

/// Doubles the room of a list. A list of megabytes is moved piece by piece.
#[cold]
fn grow<T: Copy>(list: &mut Vec<T>, watched: &Watched<'_>) {
    /// Items that are moved at once.
    const MANY: usize = 4_096;
    if list.len() <= MANY {
        list.reserve(list.len().max(LIST_ROOM));
        return;
    }
    let mut larger = Vec::with_capacity(2 * list.len());
    for piece in list.chunks(MANY) {
        larger.extend_from_slice(piece);
        watched.piece();
    }
    *list = larger;
}

/// Narrows an offset. It always fits: the parser refuses text of 4 GB and more.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(UNMATCHED)
}

/// ASCII bytes that may continue a name; other characters are decoded and tested as characters.
static IS_NAME_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = matches!(
            BYTES[byte],
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'@' | b'#' | b'$'
        );
        byte += 1;
    }
    table
};

/// The ASCII bytes, each at the index of its value.
const BYTES: [u8; 128] = {
    let mut bytes = [0; 128];
    let mut byte = 0u8;
    while byte < 128 {
        bytes[byte as usize] = byte;
        byte += 1;
    }
    bytes
};

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    tokens: Vec<Token>,
    watched: &'a Watched<'a>,
}

impl Lexer<'_> {
    /// Goes to the end of the text: its tokens are no longer wanted.
    #[cold]
    fn give_up(&mut self) {
        self.position = self.bytes.len();
    }

    /// Skips bytes of a kind. Others run in the middle of a long run of them.
    #[inline]
    fn skip_while(&mut self, is: impl Fn(u8) -> bool) {
        loop {
            let rest = &self.bytes[self.position..];
            let piece = &rest[..rest.len().min(PIECE_BYTES)];
            let length = piece.iter().position(|byte| !is(*byte)).unwrap_or(piece.len());
            self.position += length;
            if length < piece.len() || length == rest.len() {
                return;
            }
            if !self.watched.piece() {
                self.give_up();
            }
        }
    }

    /// Appends the next token, punctuation or longer, and returns its kind.
    fn next(&mut self) -> TokenKind {
        if let Some(start) = self.skip_blanks() {
            self.position = self.bytes.len();
            return self.push(TokenKind::UnclosedComment, start);
        }
        let start = self.position;
        let Some(&byte) = self.bytes.get(start) else {
            return self.push(TokenKind::End, start);
        };
        match byte {
            b'N' | b'n' if self.peek(1) == b'\'' => {
                self.position += 1;
                self.quoted(start, b'\'', TokenKind::NString)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'#' => self.word(start),
            // A point is the most frequent punctuation.
            b'.' if !self.peek(1).is_ascii_digit() => self.single(start, TokenKind::Dot),
            b',' => self.single(start, TokenKind::Comma),
            b'=' => self.single(start, TokenKind::Equal),
            b'@' => self.name_like(start, TokenKind::Variable),
            b'\'' => self.quoted(start, b'\'', TokenKind::String),
            b'"' => self.quoted(start, b'"', TokenKind::DoubleQuoted),
            b'[' => self.quoted(start, b']', TokenKind::Bracketed),
            b'0' if matches!(self.peek(1), b'x' | b'X') => self.binary(start),
            b'0'..=b'9' => self.number(start),
            b'.' if self.peek(1).is_ascii_digit() => self.number(start),
            b'$' => self.dollar(start),
            0x80.. => self.beyond_ascii(start),
            _ => self.punctuation(start, byte),
        }
    }

    #[inline]
    fn push(&mut self, kind: TokenKind, start: usize) -> TokenKind {
        self.push_keyword(kind, Keyword::None, start)
    }

    #[inline]
    fn push_keyword(&mut self, kind: TokenKind, keyword: Keyword, start: usize) -> TokenKind {
        let end_or_match =
            if kind == TokenKind::LeftParen { UNMATCHED } else { narrow(self.position) };
        self.tokens.push(Token { kind, keyword, start: narrow(start), end_or_match });
        kind
    }

    /// Returns the byte `ahead` bytes behind the position, or 0 past the end.
    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    fn char(&self) -> Option<char> {
        self.text[self.position..].chars().next()
    }

    /// Skips blanks and comments. Returns the offset of a comment that does not end.
    #[inline]
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            match self.peek(0) {
                // Most often there is one blank in front of a letter.
                1..=b' ' => {
                    self.position += 1;
                    if matches!(self.peek(0), 1..=b' ') {
                        self.skip_while(|byte| matches!(byte, 1..=b' '));
                    }
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => return None,
                b'-' if self.peek(1) == b'-' => self.skip_line(),
                b'/' if self.peek(1) == b'*' => {
                    let start = self.position;
                    if !self.skip_block_comment() {
                        return Some(start);
                    }
                }
                0x80.. => {
                    let blank = self
                        .char()
                        .filter(|&c| c.is_whitespace() || matches!(c, '\u{FEFF}' | '\u{200B}'));
                    self.position += blank?.len_utf8();
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    /// Skips a comment and the comments nested in it; returns whether it ends.
    fn skip_block_comment(&mut self) -> bool {
        let mut depth = 0usize;
        while self.position < self.bytes.len() {
            if !self.watched.step() {
                self.give_up();
            }
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.position += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.position += 2;
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.position += 1,
            }
        }
        self.position = self.bytes.len();
        false
    }

    /// Takes a token of one byte.
    #[inline]
    fn single(&mut self, start: usize, kind: TokenKind) -> TokenKind {
        self.position += 1;
        self.push(kind, start)
    }

    #[inline]
    fn word(&mut self, start: usize) -> TokenKind {
        self.skip_name();
        let word = &self.bytes[start..self.position];
        self.push_keyword(TokenKind::Word, Keyword::of(word), start)
    }

    /// Takes a token of one byte and the letters behind it.
    fn name_like(&mut self, start: usize, kind: TokenKind) -> TokenKind {
        self.position += 1;
        self.skip_name();
        self.push(kind, start)
    }

    #[inline]
    fn skip_name(&mut self) {
        while !self.skip_name_piece() {
            if !self.watched.piece() {
                self.give_up();
            }
        }
    }

    /// Skips what a name has within a piece of the text; returns whether it has ended there.
    #[inline]
    fn skip_name_piece(&mut self) -> bool {
        let mut at = self.position;
        let piece = self.bytes.len().min(at + PIECE_BYTES);
        while at < piece {
            let byte = self.bytes[at];
            if IS_NAME_BYTE[usize::from(byte)] {
                at += 1;
                continue;
            }
            if byte < 0x80 {
                break;
            }
            self.position = at;
            match self.char() {
                Some(c) if is_name_char(c) => at += c.len_utf8(),
                _ => return true,
            }
        }
        self.position = at;
        at < piece || at >= self.bytes.len()
    }

    /// Takes a token in quotes, in which a doubled closing quote is a quote.
    fn quoted(&mut self, start: usize, close: u8, kind: TokenKind) -> TokenKind {
        self.position += 1;
        loop {
            self.skip_while(|byte| byte != close);
            if self.position == self.bytes.len() || !self.watched.step() {
                self.give_up();
                return self.push(TokenKind::UnclosedQuote, start);
            }
            self.position += 1;
            if self.peek(0) != close {
                return self.push(kind, start);
            }
            self.position += 1;
        }
    }

    fn binary(&mut self, start: usize) -> TokenKind {
        self.position += 2;
        self.skip_while(|byte| byte.is_ascii_hexdigit());
        self.push(TokenKind::Binary, start)
    }

    fn number(&mut self, start: usize) -> TokenKind {
        let mut kind = TokenKind::Integer;
        self.skip_digits();
        if self.peek(0) == b'.' {
            kind = TokenKind::Decimal;
            self.position += 1;
            self.skip_digits();
        }
        // `1e` without digits is 1e0.
        if matches!(self.peek(0), b'e' | b'E') {
            kind = TokenKind::Float;
            self.position += 1;
            if matches!(self.peek(0), b'+' | b'-') {
                self.position += 1;
            }
            self.skip_digits();
        }
        self.push(kind, start)
    }

    fn skip_digits(&mut self) {
        self.skip_while(|byte| byte.is_ascii_digit());
    }

    fn dollar(&mut self, start: usize) -> TokenKind {
        if self.peek(1).is_ascii_alphabetic() {
            return self.name_like(start, TokenKind::Dollar);
        }
        self.position += 1;
        self.money(start)
    }

    /// Takes the amount behind a currency sign: blanks, a sign, digits, commas between them and one
    /// point.
    fn money(&mut self, start: usize) -> TokenKind {
        let sign = self.position;
        self.skip_while(|byte| byte == b' ');
        if matches!(self.peek(0), b'+' | b'-') {
            self.position += 1;
        }
        let fraction = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
        if !(self.peek(0).is_ascii_digit() || fraction) {
            // A currency sign without an amount is 0.
            self.position = sign;
            return self.push(TokenKind::Money, start);
        }
        self.skip_digits();
        while self.peek(0) == b',' && self.is_digit_group() && self.watched.step() {
            self.position += 4;
        }
        if self.peek(0) == b'.' {
            self.position += 1;
            self.skip_digits();
        }
        self.push(TokenKind::Money, start)
    }

    /// Returns whether `,ddd` follows without a fourth digit: part of `$1,000` and not of a list of
    /// numbers.
    fn is_digit_group(&self) -> bool {
        (1..4).all(|ahead| self.peek(ahead).is_ascii_digit()) && !self.peek(4).is_ascii_digit()
    }

    fn beyond_ascii(&mut self, start: usize) -> TokenKind {
        let Some(c) = self.char() else { return self.push(TokenKind::Unknown, start) };
        if is_name_char(c) {
            return self.word(start);
        }
        self.position += c.len_utf8();
        if is_currency(c) {
            return self.money(start);
        }
        self.push(TokenKind::Unknown, start)
    }

    fn punctuation(&mut self, start: usize, byte: u8) -> TokenKind {
        use TokenKind as T;
        let (kind, length) = match (byte, self.peek(1)) {
            (b'(', _) => (T::LeftParen, 1),
            (b')', _) => (T::RightParen, 1),
            (b'{', _) => (T::LeftBrace, 1),
            (b'}', _) => (T::RightBrace, 1),
            (b';', _) => (T::Semicolon, 1),
            (b':', b':') => (T::DoubleColon, 2),
            (b':', _) => (T::Colon, 1),
            (b'?', _) => (T::Question, 1),
            (b'~', _) => (T::Tilde, 1),
            (b'!', b'=') => (T::NotEqual, 2),
            (b'!', b'<') => (T::GreaterOrEqual, 2),
            (b'!', b'>') => (T::LessOrEqual, 2),
            (b'!', _) => (T::Bang, 1),
            (b'<', b'>') => (T::NotEqual, 2),
            (b'<', b'=') => (T::LessOrEqual, 2),
            (b'<', _) => (T::Less, 1),
            (b'>', b'=') => (T::GreaterOrEqual, 2),
            (b'>', _) => (T::Greater, 1),
            (b'+', b'=') => (T::PlusEqual, 2),
            (b'+', _) => (T::Plus, 1),
            (b'-', b'=') => (T::MinusEqual, 2),
            (b'-', _) => (T::Minus, 1),
            (b'*', b'=') => (T::StarEqual, 2),
            (b'*', _) => (T::Star, 1),
            (b'/', b'=') => (T::SlashEqual, 2),
            (b'/', _) => (T::Slash, 1),
            (b'%', b'=') => (T::PercentEqual, 2),
            (b'%', _) => (T::Percent, 1),
            (b'&', b'=') => (T::AmpersandEqual, 2),
            (b'&', _) => (T::Ampersand, 1),
            (b'^', b'=') => (T::CaretEqual, 2),
            (b'^', _) => (T::Caret, 1),
            (b'|', b'|') if self.peek(2) == b'=' => (T::PipePipeEqual, 3),
            (b'|', b'|') => (T::PipePipe, 2),
            (b'|', b'=') => (T::PipeEqual, 2),
            (b'|', _) => (T::Pipe, 1),
            _ => (T::Unknown, 1),
        };
        self.position += length;
        self.push(kind, start)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '\u{200C}' | '\u{200D}' | '\u{203F}' | '\u{2040}')
        // Names in many scripts contain combining marks.
        || matches!(c, '\u{0300}'..='\u{036F}' | '\u{0900}'..='\u{0DFF}' | '\u{20D0}'..='\u{20FF}')
}

/// The currency signs that T-SQL's money literals may start with.
fn is_currency(c: char) -> bool {
    matches!(
        c,
        '£' | '¤'
            | '¥'
            | '৲'
            | '৳'
            | '฿'
            | '៛'
            | '﷼'
            | '﹩'
            | '＄'
            | '￠'
            | '￡'
            | '￥'
            | '￦'
    ) || matches!(c, '\u{20A0}'..='\u{20C0}' | '¢')
}
