//! Numbers and texts as the screens show them.

/// Formats milliseconds as a duration of at most eight cells.
#[must_use]
pub fn duration(ms: i64) -> String {
    let (seconds, ms) = (ms.max(0) / 1_000, ms.max(0) % 1_000);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}.{ms:03}"),
        (0, 0, _) => format!("{minutes}:{:02}.{}", seconds % 60, ms / 100),
        (0, _, _) => format!("{hours}:{:02}:{:02}", minutes % 60, seconds % 60),
        _ => format!("{days}d {:02}:{:02}", hours % 24, minutes % 60),
    }
}

/// Formats a count of at most seven cells, in thousands or millions where it is large.
#[must_use]
pub fn count(number: f64) -> String {
    let number = number.max(0.0);
    match number {
        _ if number < 10.0 && number.fract() > 0.004 => format!("{number:.2}"),
        _ if number < 100_000.0 => format!("{number:.0}"),
        _ if number < 100_000_000.0 => format!("{:.0}k", number / 1e3),
        _ if number < 1e11 => format!("{:.0}M", number / 1e6),
        _ => format!("{:.0}G", number / 1e9),
    }
}

/// Returns a text in one line: each run of white space is one blank, and characters that would
/// steer the terminal are left out.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !clean.is_empty() {
            clean.push(' ');
        }
        clean.extend(word.chars().filter(|character| !character.is_control()));
    }
    clean
}

/// Returns a text in lines without characters that would steer the terminal.
#[must_use]
pub fn lines(text: &str) -> Vec<String> {
    let line = |line: &str| {
        line.replace('\t', "    ").chars().filter(|character| !character.is_control()).collect()
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fit_into_eight_cells() {
        for (ms, expected) in [
            (-5, "0.000"),
            (1_234, "1.234"),
            (62_345, "1:02.3"),
            (3_723_000, "1:02:03"),
            (90_061_000, "1d 01:01"),
        ] {
            assert_eq!(duration(ms), expected);
        }
    }

    #[test]
    fn counts_fit_into_seven_cells() {
        for (number, expected) in
            [(0.0, "0"), (0.25, "0.25"), (12.6, "13"), (123_456.0, "123k"), (2.5e9, "2500M")]
        {
            assert_eq!(count(number), expected);
        }
    }

    #[test]
    fn text_cannot_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[2J\r\n\tb"), "a[2J b");
        assert_eq!(lines("a\tb\u{7}\nc"), ["a    b", "c"]);
    }
}
