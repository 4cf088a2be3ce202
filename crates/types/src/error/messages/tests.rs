//! What holds of all messages.

use super::*;
use crate::Error;

#[test]
fn a_message_carries_its_number_severity_and_words() {
    let error = Error::from(Msg::Truncation("t", "c", "v")).at_line(3).at_line(9);
    assert_eq!((error.number, error.severity, error.state, error.line), (2628, 16, 1, 3));
    let text =
        "String or binary data would be truncated in table 't', column 'c'. Truncated value: 'v'.";
    assert_eq!(error.message, text);
}

#[test]
fn numbers_and_severities_are_possible_ones() {
    for (number, severity) in Msg::ALL {
        assert!((100..50_000).contains(number), "{number}");
        assert!(*severity <= 25, "{number}");
    }
}
