//! Tests reading and writing XML, and errors for text that is not well formed.

use super::*;

fn round(text: &str) -> Result<String, (i32, String)> {
    let document = parse(text, Encoding::Wide, Whitespace::Strip)
        .map_err(|error| (error.number, error.message.clone()))?;
    let mut out = String::new();
    document.write(ROOT, &mut out);
    Ok(out)
}

#[test]
fn text_is_written_back_in_one_form() {
    for (text, expected) in [
        ("", ""),
        ("<a></a>", "<a/>"),
        ("<?xml version=\"1.0\"?>\n<a>\n  <b x='1'/>\n</a>\n", "<a><b x=\"1\"/></a>"),
        ("<a>x &lt; y &#65;&#x42; &amp; <![CDATA[<z>]]></a>", "<a>x &lt; y AB &amp; &lt;z&gt;</a>"),
        ("<a xml:space=\"preserve\"> <b/> </a>", "<a xml:space=\"preserve\"> <b/> </a>"),
        ("<a b='\"&#10;'/>", "<a b=\"&quot;&#x0A;\"/>"),
        ("one<b/>two", "one<b/>two"),
        ("<!-- c --><?p i?><a/>", "<!-- c --><?p i?><a/>"),
        ("<p:a xmlns:p=\"u\"><p:b p:c=\"1\"/></p:a>", "<p:a xmlns:p=\"u\"><p:b p:c=\"1\"/></p:a>"),
        ("<a>1\r\n2</a>", "<a>1\n2</a>"),
    ] {
        assert_eq!(round(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn faults_have_number_line_and_character() {
    for (text, number, place) in [
        ("<a>", 9400, "line 1, character 3, unexpected end of input"),
        ("<a><b></a>", 9436, "line 1, character 10, end tag does not match start tag"),
        ("<a>\n <b></a>", 9436, "line 2, character 8, end tag does not match start tag"),
        ("<a>M & S</a>", 9421, "line 1, character 7, illegal name character"),
        ("<a b=1/>", 9413, "line 1, character 6, A string literal was expected"),
        ("<a b/>", 9414, "line 1, character 5, equal expected"),
        ("<a b=\"<\"/>", 9415, "line 1, character 7, "),
        ("<a>&nbsp;</a>", 9448, "line 1, character 9, "),
        ("<p:a/>", 9459, "undeclared prefix"),
        ("<a b=\"1\" b=\"2\"/>", 9437, "duplicate attribute"),
        ("<a>\u{1}</a>", 9420, "line 1, character 4, illegal xml character"),
        ("<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>", 9402, "line 1, character 38, "),
        (" <?xml version=\"1.0\"?><a/>", 9438, "line 1, character 7, "),
        ("<!DOCTYPE a [<!ELEMENT a ANY>]><a/>", 6359, ""),
    ] {
        let (found, message) = round(text).expect_err(text);
        assert_eq!(found, number, "{text}: {message}");
        assert!(message.contains(place), "{text}: {message}");
    }
    assert_eq!(round(&("<a>".repeat(129) + &"</a>".repeat(129))).unwrap_err().0, 6335);
}

#[test]
fn a_part_declares_the_name_spaces_it_needs() {
    let text = "<p:a xmlns:p=\"u\" xmlns=\"d\"><b><p:c p:x=\"1\"/></b></p:a>";
    let document = parse(text, Encoding::Wide, Whitespace::Strip).unwrap();
    let outer = document.children(ROOT).next().unwrap();
    let b = document.children(outer).next().unwrap();
    let mut out = String::new();
    document.write(b, &mut out);
    assert_eq!(out, "<b xmlns=\"d\"><p:c xmlns:p=\"u\" p:x=\"1\"/></b>");
    assert_eq!(document.string_value(outer), "");
}

#[test]
fn no_prefix_of_a_text_panics() {
    let text = "<?xml version=\"1.0\"?><a b='1&lt;' xmlns:p=\"u\"><!-- c --><![CDATA[x]]><p:b>&#65;</p:b></a>";
    for end in 0..text.len() {
        let _ = parse(&text[..end], Encoding::Wide, Whitespace::Strip);
    }
}
