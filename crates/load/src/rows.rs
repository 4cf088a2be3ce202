//! The rows of an answer as text, one list for each result.

use tds::client::Token;
use verdict::row::Row;

/// Splits the tokens of an answer into its results.
#[must_use]
pub fn results(tokens: &[Token]) -> Vec<Vec<Row>> {
    let mut results: Vec<Vec<Row>> = Vec::new();
    for token in tokens {
        match token {
            Token::Columns(columns) if !columns.is_empty() => results.push(Vec::new()),
            Token::Row(values) => {
                if let Some(rows) = results.last_mut() {
                    rows.push(Row::from_values(values));
                }
            }
            _ => {}
        }
    }
    results
}
