//! Dates and times by .NET's standard and custom format strings.

use types::date::{Civil, Moment, TICKS_PER_MINUTE, TICKS_PER_SECOND, civil_of, weekday};

use super::culture::{self, Culture};

/// What is formatted: a `time` is a TimeSpan in .NET, with stricter formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MomentKind {
    /// A date with or without a time.
    Date,
    /// A date with its offset from UTC.
    Offset,
    /// A time of day.
    Time,
}

/// A date and time with its parts.
struct Parts<'c> {
    moment: Moment,
    civil: Civil,
    kind: MomentKind,
    culture: &'c Culture,
}

/// Formats a date or time; `None` for an invalid format.
pub(crate) fn format(
    moment: Moment,
    kind: MomentKind,
    format: &str,
    culture: &Culture,
) -> Option<String> {
    let parts = Parts { moment, civil: civil_of(moment.days), kind, culture };
    if kind == MomentKind::Time {
        return parts.span(format);
    }
    let mut characters = format.chars();
    match (characters.next(), characters.next()) {
        (None, _) => parts.custom(&standard('G', &parts)?),
        (Some(letter), None) => {
            let pattern = standard(letter, &parts)?;
            if letter == 'U' {
                let (days, ticks) = moment.to_utc();
                let utc = Moment { days, ticks, offset: 0 };
                return Parts { moment: utc, civil: civil_of(days), ..parts }.custom(&pattern);
            }
            if matches!(letter, 'r' | 'R' | 'u') && kind == MomentKind::Offset {
                let (days, ticks) = moment.to_utc();
                let utc = Moment { days, ticks, offset: 0 };
                return Parts { moment: utc, civil: civil_of(days), ..parts }.custom(&pattern);
            }
            let invariant = matches!(letter, 'o' | 'O' | 'r' | 'R' | 's' | 'u');
            let culture = if invariant { culture::default() } else { culture };
            Parts { culture, ..parts }.custom(&pattern)
        }
        _ => parts.custom(format),
    }
}

/// Returns the custom pattern of a standard format.
fn standard(letter: char, parts: &Parts<'_>) -> Option<String> {
    let [d, long, t, time, month, year] = parts.culture.dates;
    Some(match letter {
        'd' => d.to_owned(),
        'D' => long.to_owned(),
        'f' => format!("{long} {t}"),
        'F' | 'U' => {
            if letter == 'U' && parts.kind == MomentKind::Offset {
                return None;
            }
            format!("{long} {time}")
        }
        'g' => format!("{d} {t}"),
        'G' if parts.kind == MomentKind::Offset => format!("{d} {time} zzz"),
        'G' => format!("{d} {time}"),
        'm' | 'M' => month.to_owned(),
        'y' | 'Y' => year.to_owned(),
        'o' | 'O' => "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK".to_owned(),
        'r' | 'R' => "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'".to_owned(),
        's' => "yyyy'-'MM'-'dd'T'HH':'mm':'ss".to_owned(),
        't' => t.to_owned(),
        'T' => time.to_owned(),
        'u' => "yyyy'-'MM'-'dd HH':'mm':'ss'Z'".to_owned(),
        _ => return None,
    })
}

/// Reads quoted text after the opening quote; returns it and the number of characters read.
fn quoted(rest: &[char], quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut at = 0;
    loop {
        match *rest.get(at)? {
            c if c == quote => return Some((text, at + 1)),
            '\\' => {
                text.push(*rest.get(at + 1)?);
                at += 2;
            }
            c => {
                text.push(c);
                at += 1;
            }
        }
    }
}

impl Parts<'_> {
    fn hour(&self) -> i64 {
        self.moment.ticks / (60 * TICKS_PER_MINUTE)
    }

    fn minute(&self) -> i64 {
        self.moment.ticks / TICKS_PER_MINUTE % 60
    }

    fn second(&self) -> i64 {
        self.moment.ticks / TICKS_PER_SECOND % 60
    }

    fn hour_of_twelve(&self) -> i64 {
        match self.hour() % 12 {
            0 => 12,
            hour => hour,
        }
    }

    /// Returns this many digits of the fraction of a second; without trailing zeros if `trimmed`.
    fn fraction(&self, digits: usize, trimmed: bool) -> Option<String> {
        let text = format!("{:07}", self.moment.ticks % TICKS_PER_SECOND);
        let text = text.get(..digits)?;
        Some(if trimmed { text.trim_end_matches('0').to_owned() } else { text.to_owned() })
    }

    fn custom(&self, pattern: &str) -> Option<String> {
        let characters: Vec<char> = pattern.chars().collect();
        let mut out = String::new();
        let mut at = 0;
        while let Some(&c) = characters.get(at) {
            let rest = &characters[at + 1..];
            let count = 1 + rest.iter().take_while(|other| **other == c).count();
            match c {
                '\'' | '"' => {
                    let (text, used) = quoted(rest, c)?;
                    out.push_str(&text);
                    at += 1 + used;
                }
                '\\' => {
                    out.push(*rest.first()?);
                    at += 2;
                }
                '%' => {
                    // `%` makes the next character a pattern by itself.
                    let next = rest.first().filter(|next| **next != '%')?;
                    out.push_str(&self.custom(&next.to_string())?);
                    at += 2;
                }
                ':' => {
                    out.push(':');
                    at += 1;
                }
                '/' => {
                    out.push_str(self.culture.date_separator);
                    at += 1;
                }
                '.' if rest.first() == Some(&'F') => {
                    // The point is omitted together with an empty fraction.
                    let count = rest.iter().take_while(|other| **other == 'F').count();
                    let fraction = self.fraction(count, true)?;
                    if !fraction.is_empty() {
                        out.push('.');
                        out.push_str(&fraction);
                    }
                    at += 1 + count;
                }
                'd' | 'f' | 'F' | 'g' | 'h' | 'H' | 'K' | 'm' | 'M' | 's' | 't' | 'y' | 'z' => {
                    out.push_str(&self.field(c, count)?);
                    at += count;
                }
                c => {
                    out.push(c);
                    at += 1;
                }
            }
        }
        Some(out)
    }

    /// Formats a field of a custom pattern: a letter and the number of its repetitions.
    fn field(&self, letter: char, count: usize) -> Option<String> {
        let culture = self.culture;
        let two = |n: i64| if count == 1 { n.to_string() } else { format!("{n:02}") };
        let day = usize::try_from(weekday(self.moment.days)).unwrap_or(0);
        let month = usize::from(self.civil.month) - 1;
        let half = culture.noon[usize::from(self.hour() >= 12)];
        Some(match (letter, count) {
            ('d', 1 | 2) => two(i64::from(self.civil.day)),
            ('d', 3) => culture.days_short[day].to_owned(),
            ('d', _) => culture.days[day].to_owned(),
            ('f', digits) => self.fraction(digits, false)?,
            ('F', digits) => self.fraction(digits, true)?,
            ('g', _) => "A.D.".to_owned(),
            ('h', _) => two(self.hour_of_twelve()),
            ('H', _) => two(self.hour()),
            ('K', 1) if self.kind == MomentKind::Offset => self.offset(3),
            ('K', _) => String::new(),
            ('m', _) => two(self.minute()),
            ('M', 1 | 2) => two(i64::from(self.civil.month)),
            ('M', 3) => culture.months_short[month].to_owned(),
            ('M', _) => culture.months[month].to_owned(),
            ('s', _) => two(self.second()),
            ('t', 1) => half.chars().take(1).collect(),
            ('t', _) => half.to_owned(),
            ('y', 1 | 2) => two(i64::from(self.civil.year % 100)),
            ('y', digits) => format!("{:0digits$}", self.civil.year),
            ('z', digits) => self.offset(digits),
            _ => return None,
        })
    }

    fn offset(&self, digits: usize) -> String {
        let sign = if self.moment.offset < 0 { '-' } else { '+' };
        let minutes = self.moment.offset.unsigned_abs();
        match digits {
            1 => format!("{sign}{}", minutes / 60),
            2 => format!("{sign}{:02}", minutes / 60),
            _ => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
        }
    }

    /// Formats a TimeSpan: everything but its fields must be quoted or escaped.
    fn span(&self, pattern: &str) -> Option<String> {
        let fraction = self.moment.ticks % TICKS_PER_SECOND;
        let clock = format!("{:02}:{:02}:{:02}", self.hour(), self.minute(), self.second());
        match pattern {
            "" | "c" | "t" | "T" if fraction == 0 => return Some(clock),
            "" | "c" | "t" | "T" => return Some(format!("{clock}.{fraction:07}")),
            "G" => return Some(format!("0:{clock}.{fraction:07}")),
            "g" => {
                let mut text = format!("{}:{:02}:{:02}", self.hour(), self.minute(), self.second());
                if fraction != 0 {
                    text.push('.');
                    text.push_str(&self.fraction(7, true)?);
                }
                return Some(text);
            }
            _ if pattern.chars().count() == 1 => return None,
            _ => {}
        }
        let characters: Vec<char> = pattern.chars().collect();
        let mut out = String::new();
        let mut at = 0;
        while let Some(&c) = characters.get(at) {
            let rest = &characters[at + 1..];
            let count = 1 + rest.iter().take_while(|other| **other == c).count();
            let number = |n: i64| match count {
                1 => Some(n.to_string()),
                2 => Some(format!("{n:02}")),
                _ => None,
            };
            at += count;
            match c {
                'd' => out.push_str(&format!("{:0count$}", 0)),
                'h' => out.push_str(&number(self.hour())?),
                'm' => out.push_str(&number(self.minute())?),
                's' => out.push_str(&number(self.second())?),
                'f' => out.push_str(&self.fraction(count, false)?),
                'F' => out.push_str(&self.fraction(count, true)?),
                '\'' | '"' => {
                    at -= count - 1;
                    let (text, used) = quoted(&characters[at..], c)?;
                    out.push_str(&text);
                    at += used;
                }
                '\\' => {
                    at -= count - 1;
                    out.push(*characters.get(at)?);
                    at += 1;
                }
                '%' => {
                    at -= count - 1;
                    if !matches!(characters.get(at), Some('d' | 'h' | 'm' | 's' | 'f' | 'F')) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }
}
