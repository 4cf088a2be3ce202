//! Numbers by custom format strings: `0`, `#`, `.`, `,`, `%`, `‰`, `E0`, quoted text and sections.

use super::culture::Culture;
use super::number::Digits;

/// A part of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// `0`: a digit, or 0.
    Zero,
    /// `#`: a digit, if there is one.
    Digit,
    /// The first `.`: the decimal point.
    Point,
    /// Any other characters, copied.
    Text(String),
    /// `E+00`: an exponent with this minimum of digits; its sign is written always, or only if
    /// negative.
    Exponent { letter: char, plus: bool, digits: usize },
}

/// A parsed section of a format.
#[derive(Debug, Default)]
struct Section {
    pieces: Vec<Piece>,
    /// Digit places before and after the point.
    before: usize,
    behind: usize,
    /// Index of the first `0` before the point, from the left.
    first_zero: Option<usize>,
    /// Minimum of decimals: up to the last `0` after the point.
    decimals_least: usize,
    /// A comma between digit places: groups of three.
    grouped: bool,
    /// Powers of ten to multiply by: `%` 2, `‰` 3, a comma before the point -3.
    scale: i32,
}

/// Formats a number by its section for positive, negative or zero.
pub(crate) fn format(number: &Digits, format: &str, culture: &Culture) -> String {
    let sections = split(format);
    let pick = |place: usize| sections.get(place).filter(|s| !s.is_empty());
    let (text, negative_sign) = match sections.len() {
        0 | 1 => (format, true),
        _ if number.is_negative() && pick(1).is_some() => (sections[1].as_str(), false),
        _ => (sections[0].as_str(), true),
    };
    let mut section = Section::parse(text);
    if let Some(zero) = pick(2).filter(|_| shows_zero(number, &section)) {
        section = Section::parse(zero);
    }
    section.write(number, negative_sign, culture)
}

fn shows_zero(number: &Digits, section: &Section) -> bool {
    number.is_zero() || number.scaled_and_rounded(section.scale, section.behind).is_zero()
}

/// Splits a format at unquoted semicolons.
fn split(format: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut quote = None;
    let mut escaped = false;
    for c in format.chars() {
        let ends = c == ';' && quote.is_none() && !escaped;
        if ends {
            sections.push(String::new());
            continue;
        }
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && matches!(c, '\'' | '"') {
            quote = Some(c);
        }
        if let Some(last) = sections.last_mut() {
            last.push(c);
        }
    }
    sections
}

impl Section {
    fn parse(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let mut section = Self::default();
        let mut seen_point = false;
        let mut commas = 0;
        let mut at = 0;
        while let Some(&c) = characters.get(at) {
            at += 1;
            match c {
                '0' | '#' => {
                    section.grouped |= commas > 0 && !seen_point && section.before > 0;
                    commas = 0;
                    section.digit(c, seen_point);
                }
                '.' => {
                    if !seen_point {
                        section.scale -= 3 * commas;
                        commas = 0;
                        section.pieces.push(Piece::Point);
                    }
                    seen_point = true;
                }
                ',' => commas += i32::from(!seen_point && section.before > 0),
                '%' => {
                    section.scale += 2;
                    section.text('%');
                }
                '‰' => {
                    section.scale += 3;
                    section.text('‰');
                }
                '\'' | '"' => {
                    while let Some(&quoted) = characters.get(at) {
                        at += 1;
                        if quoted == c {
                            break;
                        }
                        section.text(quoted);
                    }
                }
                '\\' => {
                    if let Some(&escaped) = characters.get(at) {
                        at += 1;
                        section.text(escaped);
                    }
                }
                'E' | 'e' => match exponent(&characters[at..]) {
                    Some((plus, digits, used)) => {
                        at += used;
                        section.pieces.push(Piece::Exponent { letter: c, plus, digits });
                    }
                    None => section.text(c),
                },
                c => section.text(c),
            }
        }
        section.scale -= 3 * commas;
        section
    }

    fn digit(&mut self, c: char, behind: bool) {
        let zero = c == '0';
        self.pieces.push(if zero { Piece::Zero } else { Piece::Digit });
        if behind {
            self.behind += 1;
            if zero {
                self.decimals_least = self.behind;
            }
            return;
        }
        if zero && self.first_zero.is_none() {
            self.first_zero = Some(self.before);
        }
        self.before += 1;
    }

    fn text(&mut self, c: char) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(c),
            _ => self.pieces.push(Piece::Text(c.to_string())),
        }
    }

    fn write(&self, number: &Digits, with_sign: bool, culture: &Culture) -> String {
        let has_exponent = self.pieces.iter().any(|p| matches!(p, Piece::Exponent { .. }));
        let magnitude = number.magnitude();
        let (shown, exponent) = if has_exponent {
            let before = i32::try_from(self.before).unwrap_or(1);
            magnitude.with_exponent(before, self.behind)
        } else {
            (magnitude.scaled_and_rounded(self.scale, self.behind), 0)
        };
        let least = self.first_zero.map_or(0, |first| self.before - first);
        let whole = padded(&shown.before_point(), least);
        let decimals = shown.behind_point(self.decimals_least, self.behind);
        let mut out = String::new();
        if with_sign && number.is_negative() && !shown.is_zero() {
            out.push('-');
        }
        self.pieces_of(&whole, &decimals, exponent, culture, &mut out);
        out
    }

    /// Assigns the digits to the places from the right; the first place gets all remaining digits.
    fn pieces_of(
        &self,
        whole: &str,
        decimals: &str,
        exponent: i32,
        culture: &Culture,
        out: &mut String,
    ) {
        let mut whole_left: Vec<char> = whole.chars().rev().collect();
        let mut decimal_digits = decimals.chars();
        let (mut place, mut seen_point) = (0, false);
        for piece in &self.pieces {
            match piece {
                Piece::Zero | Piece::Digit if seen_point => out.extend(decimal_digits.next()),
                Piece::Zero | Piece::Digit => {
                    let places_left = self.before - place;
                    place += 1;
                    while whole_left.len() >= places_left {
                        let Some(digit) = whole_left.pop() else { break };
                        out.push(digit);
                        let rest = whole_left.len();
                        if self.grouped && rest > 0 && rest.is_multiple_of(3) {
                            out.push_str(culture.group);
                        }
                    }
                }
                Piece::Point => {
                    seen_point = true;
                    if self.before == 0 && whole_left.iter().any(|d| *d != '0') {
                        out.extend(whole_left.drain(..).rev());
                    }
                    if !decimals.is_empty() {
                        out.push_str(culture.point);
                    }
                }
                Piece::Text(text) => out.push_str(text),
                Piece::Exponent { letter, plus, digits } => {
                    out.push(*letter);
                    if exponent < 0 {
                        out.push('-');
                    } else if *plus {
                        out.push('+');
                    }
                    out.push_str(&padded(&exponent.abs().to_string(), *digits));
                }
            }
        }
    }
}

/// Writes digits with zeros before them, at least `least` in all.
fn padded(digits: &str, least: usize) -> String {
    let mut text = "0".repeat(least.saturating_sub(digits.len()));
    text.push_str(digits);
    text
}

/// Parses `+00`, `-00` or `00` after an E: whether a plus is written, digits, and characters used.
fn exponent(rest: &[char]) -> Option<(bool, usize, usize)> {
    let sign = usize::from(matches!(rest.first(), Some('+' | '-')));
    let digits = rest[sign..].iter().take_while(|c| **c == '0').count();
    (digits > 0).then_some((rest.first() == Some(&'+'), digits, sign + digits))
}
