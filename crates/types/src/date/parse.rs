//! Parses text to dates and times, in all forms that SQL Server documents, with the names of
//! months of a language.
//!
//! The text is cut into numbers, words and signs. A number before a colon begins the time, a
//! month's name decides the date, and otherwise the place of the year and SET DATEFORMAT give the
//! order of the three numbers.

use super::civil::days_of;
use super::{DAYS_1900, Moment, TICKS_PER_SECOND};
use crate::convert::DateFormat;
use crate::{DataType, Language};

/// Two-digit years up to this one are in this century, the others in the last (`two digit year
/// cutoff`).
const TWO_DIGIT_YEAR_MAX: i32 = 49;

/// Why a text is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It does not have the form of a date: message 241.
    Syntax,
    /// It has the form, but there is no such date or time: message 242 for `datetime` and
    /// `smalldatetime`.
    Range,
}

type Result<T> = std::result::Result<T, ParseError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Number(&'a str),
    Word(&'a str),
    Sign(char),
}

/// The parts found in the tokens so far.
#[derive(Default)]
struct Found<'a> {
    /// The language of the names of months.
    language: Language,
    numbers: Vec<&'a str>,
    month: Option<i32>,
    /// How many of the numbers came before the month's name.
    month_at: usize,
    time: Option<i64>,
    offset: Option<i16>,
    /// Whether `T` joined date and time, which makes the date ISO 8601 regardless of DATEFORMAT.
    iso: bool,
}

/// Parses a text for a type: `datetime` and `smalldatetime` accept fewer decimals and no offset,
/// and follow `order` even if the year comes first. Months are named in `language`. An empty text is
/// 1900-01-01.
///
/// # Errors
/// [`ParseError`]
pub fn parse(text: &str, of: &DataType, order: DateFormat, language: Language) -> Result<Moment> {
    let text = strip_odbc(text.trim());
    let is_old = matches!(of, DataType::DateTime | DataType::SmallDateTime);
    let tokens = tokens(text, language)?;
    let mut found = Found { language, ..Found::default() };
    let mut rest = tokens.as_slice();
    while !rest.is_empty() {
        rest = found.take(rest, is_old)?;
    }
    if is_old && found.offset.is_some_and(|offset| offset != 0 || !found.iso) {
        return Err(ParseError::Syntax);
    }
    let days = found.days(is_old, order)?;
    Ok(Moment { days, ticks: found.time.unwrap_or(0), offset: found.offset.unwrap_or(0) })
}

/// Parses an offset, `+hh:mm`, into minutes.
pub fn parse_offset(text: &str) -> Option<i32> {
    let tokens = tokens(text.trim(), Language::default()).ok()?;
    let (offset, rest) = offset(&tokens)?;
    rest.is_empty().then_some(i32::from(offset))
}

/// Cuts ODBC's braces off: `{d '2020-01-31'}`.
fn strip_odbc(text: &str) -> &str {
    let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let Some(inner) = inner.map(str::trim) else { return text };
    let body = inner.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim();
    body.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).unwrap_or(text)
}

fn tokens(text: &str, language: Language) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::with_capacity(12);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |is: fn(&char) -> bool| rest.find(|c| !is(&c)).unwrap_or(rest.len());
        let len = if first.is_ascii_digit() {
            let len = run(char::is_ascii_digit);
            tokens.push(Token::Number(&rest[..len]));
            len
        } else if first.is_alphabetic() {
            let len = match language == Language::default() {
                true => run(|c| c.is_alphabetic()),
                false => name_len(rest, language).unwrap_or_else(|| run(|c| c.is_alphabetic())),
            };
            tokens.push(Token::Word(&rest[..len]));
            len
        } else if matches!(first, '-' | '/' | '.' | ',' | ':' | '+') {
            tokens.push(Token::Sign(first));
            1
        } else if first.is_ascii_whitespace() {
            1
        } else {
            return Err(ParseError::Syntax);
        };
        rest = &rest[len..];
    }
    Ok(tokens)
}

/// Returns the length of the name of a month at the start of a text, if there is one. A name may
/// have characters that are no letters, such as `ม.ค.`.
fn name_len(text: &str, language: Language) -> Option<usize> {
    let names = language.month_names().iter().chain(language.month_names_short());
    let fits = |name: &&&str| {
        let head = text.get(..name.len()).filter(|head| is_same_name(head, name));
        head.is_some() && !text[name.len()..].starts_with(char::is_alphabetic)
    };
    names
        .filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()))
        .filter(fits)
        .map(|n| n.len())
        .max()
}

/// Returns the number, from 0, of a month by its name or abbreviation.
fn month(word: &str, language: Language) -> Option<usize> {
    let of = |names: &[&str; 12]| names.iter().position(|name| is_same_name(name, word));
    of(language.month_names()).or_else(|| of(language.month_names_short()))
}

/// Returns whether two words are the same but for case.
fn is_same_name(a: &str, b: &str) -> bool {
    match a.is_ascii() && b.is_ascii() {
        true => a.eq_ignore_ascii_case(b),
        false => a.to_lowercase() == b.to_lowercase(),
    }
}

/// Reads a number of at most nine digits.
fn number(digits: &str) -> Result<i32> {
    if digits.len() > 9 {
        Err(ParseError::Syntax)
    } else {
        digits.parse().or(Err(ParseError::Syntax))
    }
}

fn is_half(word: &str) -> bool {
    word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")
}

impl<'a> Found<'a> {
    /// Takes one element from the front; returns the remaining tokens.
    fn take<'t>(&mut self, tokens: &'t [Token<'a>], is_old: bool) -> Result<&'t [Token<'a>]> {
        match tokens {
            [Token::Number(_), Token::Sign(':'), ..] => self.take_time(tokens, is_old),
            [Token::Number(_), Token::Word(word), ..] if is_half(word) => {
                self.take_time(tokens, is_old)
            }
            [Token::Number(digits), rest @ ..] => {
                if self.numbers.len() == 3 {
                    return Err(ParseError::Syntax);
                }
                self.numbers.push(digits);
                Ok(rest)
            }
            [Token::Word(word), rest @ ..] => {
                self.take_word(word, rest)?;
                Ok(rest)
            }
            [Token::Sign('+' | '-'), ..] if self.time.is_some() && self.offset.is_none() => {
                let (offset, rest) = offset(tokens).ok_or(ParseError::Syntax)?;
                self.offset = Some(offset);
                Ok(rest)
            }
            // A separator, between two parts of a date.
            [Token::Sign('-' | '/' | '.'), rest @ ..] => {
                let before = !self.numbers.is_empty() || self.month.is_some();
                let after = matches!(rest, [Token::Number(_) | Token::Word(_), ..]);
                if before && after { Ok(rest) } else { Err(ParseError::Syntax) }
            }
            [Token::Sign(','), rest @ ..] if self.month.is_some() => Ok(rest),
            _ => Err(ParseError::Syntax),
        }
    }

    fn take_word(&mut self, word: &str, rest: &[Token<'a>]) -> Result<()> {
        let before_time = matches!(rest, [Token::Number(_), Token::Sign(':'), ..]);
        if word.eq_ignore_ascii_case("t") && before_time && self.numbers.len() == 3 {
            self.iso = true;
            return Ok(());
        }
        if word.eq_ignore_ascii_case("z") && self.time.is_some() && rest.is_empty() {
            self.offset = Some(0);
            return Ok(());
        }
        let index = month(word, self.language).ok_or(ParseError::Syntax)?;
        if self.month.is_some() {
            return Err(ParseError::Syntax);
        }
        self.month = i32::try_from(index + 1).ok();
        self.month_at = self.numbers.len();
        Ok(())
    }

    /// Takes a time: `hh[:mm[:ss[.fraction]]] [AM|PM]`.
    fn take_time<'t>(&mut self, tokens: &'t [Token<'a>], is_old: bool) -> Result<&'t [Token<'a>]> {
        if self.time.is_some() {
            return Err(ParseError::Syntax);
        }
        let (mut fields, mut count, mut rest) = ([0; 3], 0, tokens);
        while let [Token::Number(digits), tail @ ..] = rest {
            if digits.len() > 2 {
                return Err(ParseError::Syntax);
            }
            fields[count] = number(digits)?;
            count += 1;
            rest = tail;
            match rest {
                [Token::Sign(':'), tail @ ..] if count < 3 => rest = tail,
                _ => break,
            }
        }
        let mut fraction = 0;
        if let [Token::Sign(sign @ ('.' | ':')), Token::Number(digits), tail @ ..] = rest
            && count >= 2
        {
            fraction = fraction_ticks(digits, *sign, is_old)?;
            rest = tail;
        }
        if let [Token::Word(word), tail @ ..] = rest
            && is_half(word)
        {
            fields[0] = hour_of(fields[0], word.eq_ignore_ascii_case("pm"))?;
            rest = tail;
        }
        let [hour, minute, second] = fields;
        if hour > 23 || minute > 59 || second > 59 {
            return Err(ParseError::Range);
        }
        let seconds = i64::from(hour * 3_600 + minute * 60 + second);
        self.time = Some(seconds * TICKS_PER_SECOND + fraction);
        Ok(rest)
    }

    fn days(&self, is_old: bool, order: DateFormat) -> Result<i32> {
        let (year, month, day) = match (self.month, self.numbers.as_slice()) {
            (None, []) => return Ok(DAYS_1900),
            (None, [single]) => unseparated(single)?,
            (None, [a, b, c]) => ordered([a, b, c], self.order(is_old, order))?,
            (Some(month), [year]) if year.len() == 4 => (number(year)?, month, 1),
            (Some(month), [a, b]) if a.len() == 4 => (number(a)?, month, number(b)?),
            // `20 Jan 15`, `Jan 20 15` and `Jan 20, 2015`: the day comes before the year.
            (Some(month), [a, b]) => (full_year(b)?, month, number(a)?),
            _ => return Err(ParseError::Syntax),
        };
        days_of(year, month, day).ok_or(ParseError::Range)
    }

    /// Returns the order of the three numbers.
    fn order(&self, is_old: bool, order: DateFormat) -> DateFormat {
        let year_first = self.numbers[0].len() == 4;
        match order {
            _ if self.iso => DateFormat::Ymd,
            // The newer types read a leading year as ISO does; the older ones follow DATEFORMAT.
            DateFormat::Dmy | DateFormat::Ydm if year_first && is_old => DateFormat::Ydm,
            _ if year_first => DateFormat::Ymd,
            DateFormat::Ymd if self.numbers[2].len() == 4 => DateFormat::Mdy,
            DateFormat::Ydm if self.numbers[2].len() == 4 => DateFormat::Dmy,
            other => other,
        }
    }
}

/// Reads three numbers in an order; only a year may have more than two digits.
fn ordered([a, b, c]: [&str; 3], order: DateFormat) -> Result<(i32, i32, i32)> {
    let (year, month, day) = match order {
        DateFormat::Mdy => (c, a, b),
        DateFormat::Dmy => (c, b, a),
        DateFormat::Ymd => (a, b, c),
        DateFormat::Ydm => (a, c, b),
        DateFormat::Myd => (b, a, c),
        DateFormat::Dym => (b, c, a),
    };
    if month.len() > 2 || day.len() > 2 {
        return Err(ParseError::Syntax);
    }
    Ok((full_year(year)?, number(month)?, number(day)?))
}

/// Reads `yyyymmdd`, `yymmdd` or `yyyy`.
fn unseparated(digits: &str) -> Result<(i32, i32, i32)> {
    match digits.len() {
        4 => Ok((number(digits)?, 1, 1)),
        len @ (6 | 8) => {
            let (year, rest) = digits.split_at(len - 4);
            Ok((full_year(year)?, number(&rest[..2])?, number(&rest[2..])?))
        }
        _ => Err(ParseError::Syntax),
    }
}

fn full_year(digits: &str) -> Result<i32> {
    let year = number(digits)?;
    match digits.len() {
        1 | 2 if year <= TWO_DIGIT_YEAR_MAX => Ok(2_000 + year),
        1 | 2 => Ok(1_900 + year),
        4 => Ok(year),
        _ => Err(ParseError::Syntax),
    }
}

fn hour_of(hour: i32, is_afternoon: bool) -> Result<i32> {
    match (hour, is_afternoon) {
        (0, true) => Err(ParseError::Range),
        (12, false) => Ok(0),
        (1..=11, true) => Ok(hour + 12),
        _ => Ok(hour),
    }
}

/// Reads a fraction of a second. After a colon it counts milliseconds. The older types accept at
/// most three digits, the newer ones any number, of which the eighth rounds.
fn fraction_ticks(digits: &str, sign: char, is_old: bool) -> Result<i64> {
    let len = digits.len();
    if is_old && len > 3 {
        return Err(ParseError::Syntax);
    }
    let (kept, dropped) = digits.split_at(len.min(7));
    let up = i64::from(dropped.as_bytes().first().is_some_and(|digit| *digit >= b'5'));
    let value = i64::from(number(kept)?) + up;
    if sign == ':' {
        return if len <= 3 { Ok(value * 10_000) } else { Err(ParseError::Syntax) };
    }
    Ok((len..7).fold(value, |ticks, _| ticks * 10))
}

/// Reads `+hh:mm` or `-hh:mm` from the front.
fn offset<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(i16, &'t [Token<'a>])> {
    let [
        Token::Sign(sign),
        Token::Number(hours),
        Token::Sign(':'),
        Token::Number(minutes),
        rest @ ..,
    ] = tokens
    else {
        return None;
    };
    let (hours, minutes): (i16, i16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours.checked_mul(60)?.checked_add(minutes)?;
    let valid = minutes < 60 && total <= 14 * 60;
    match sign {
        '+' if valid => Some((total, rest)),
        '-' if valid => Some((-total, rest)),
        _ => None,
    }
}
