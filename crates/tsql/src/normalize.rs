//! Normalized text of a statement, without constants, blanks, comments and letter case; and
//! searches for names in a text.

use crate::keyword::Keyword as Kw;
use crate::lexer::{Token, TokenKind, tokenize};

/// Returns the text without the differences in constants, blanks, comments and case of words: the
/// input of `query_hash`. A list of constants becomes a single one.
pub fn normalized(text: &str) -> Vec<u8> {
    let mut form = Vec::with_capacity(text.len());
    for token in tokenize(text) {
        match token.kind {
            TokenKind::End | TokenKind::Semicolon => {}
            TokenKind::String
            | TokenKind::NString
            | TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Money
            | TokenKind::Binary => {
                if form.ends_with(b"? , ") {
                    form.truncate(form.len() - b", ".len());
                } else {
                    form.extend_from_slice(b"? ");
                }
            }
            _ => {
                let place = token.start as usize..token.end() as usize;
                let word = text.get(place).unwrap_or_default();
                form.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
                form.push(b' ');
            }
        }
    }
    form
}

/// Returns whether a name occurs in a text, in any case and quotes, outside of strings and
/// comments.
pub fn names_in(text: &str, name: &str) -> bool {
    tokenize(text).into_iter().any(|token| is_name(text, &token, name))
}

/// Returns whether `schema.object` occurs in a text, as [`names_in`] finds names.
pub fn names_object_in(text: &str, schema: &str, object: &str) -> bool {
    tokenize(text).windows(3).any(|tokens| {
        tokens[1].kind == TokenKind::Dot
            && is_name(text, &tokens[0], schema)
            && is_name(text, &tokens[2], object)
    })
}

/// Returns the variables that a text names, in order, each with whether it is used as a table. `@@`
/// functions are left out.
pub fn variables_in(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut before = Kw::None;
    for token in tokenize(text) {
        let name = text.get(token.start as usize..token.end() as usize).unwrap_or_default();
        if token.kind == TokenKind::Variable && !name.starts_with("@@") {
            let is_table =
                matches!(before, Kw::From | Kw::Join | Kw::Into | Kw::Update | Kw::Insert);
            found.push((name, is_table));
        }
        before = token.keyword;
    }
    found
}

fn is_name(text: &str, token: &Token, name: &str) -> bool {
    let word = text.get(token.start as usize..token.end() as usize).unwrap_or_default();
    let quoted = word.starts_with(['[', '"']) && word.len() > 1;
    let word = if quoted { &word[1..word.len() - 1] } else { word };
    token.kind != TokenKind::String && word.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_outside_of_strings_and_comments() {
        let text = "select @a, '@b', @@rowcount /* @c */ from @t where [@d] = @E -- @f";
        assert_eq!(variables_in(text), [("@a", false), ("@t", true), ("@E", false)]);
    }

    #[test]
    fn constants_blanks_comments_and_case_make_no_difference() {
        let form = normalized("SELECT a FROM t WHERE b = ? AND c IN (?)");
        for text in [
            "select A\n from T /* why */ where b = 17 and c in ('x')",
            "SELECT a FROM t WHERE b=N'it''s' AND c IN (1, 2,3);",
        ] {
            assert_eq!(normalized(text), form, "{text}");
        }
        for text in ["SELECT a FROM t WHERE b = @p AND c IN (1)", "SELECT b FROM t WHERE b = 1"] {
            assert_ne!(normalized(text), form, "{text}");
        }
    }
}
