//! A deadlock graph as the lines that trace flag 1222 writes to the error log: an element is a line,
//! indented by its depth, with its attributes without quotes; text has separate lines.
//!
//! It reads only the graphs that `deadlock.rs` makes: no comments, no CDATA, no blanks in tags.

/// Calls `put` with each line of a graph.
pub(super) fn lines(graph: &str, mut put: impl FnMut(String)) {
    put("deadlock-list".to_owned());
    let mut depth = 0;
    let mut rest = graph;
    while let Some((text, tail)) = rest.split_once('<') {
        text.lines().filter(|line| !line.trim().is_empty()).for_each(|line| put(plain(line)));
        let Some((tag, tail)) = tail.split_once('>') else { return };
        rest = tail;
        if tag.starts_with('/') {
            depth -= 1;
            continue;
        }
        let is_empty = tag.ends_with('/');
        let shown = shown(tag.trim_end_matches('/'));
        if let Some(shown) = shown {
            put(format!("{:depth$}{shown}", "", depth = depth + 1));
        }
        if !is_empty {
            depth += 1;
        }
    }
}

/// Returns the line of an element; `None` for the list of victims, which is an attribute of the first
/// line.
fn shown(tag: &str) -> Option<String> {
    match tag.split_once(' ') {
        Some(("victimProcess", attributes)) => {
            Some(format!("deadlock victim={}", plain(&unquoted(attributes)).replacen("id=", "", 1)))
        }
        Some((name, attributes)) => Some(format!("{name} {}", plain(&unquoted(attributes)))),
        None if matches!(tag, "deadlock" | "victim-list") => None,
        None => Some(tag.to_owned()),
    }
}

fn unquoted(attributes: &str) -> String {
    attributes.replace('"', "")
}

/// Replaces the entities of XML by their characters.
fn plain(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#xd;", ""), ("&amp;", "&")];
    entities
        .into_iter()
        .fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn an_element_is_a_line_with_its_attributes_and_text_keeps_its_lines() {
        let graph = "<deadlock><victim-list><victimProcess id=\"process7\"/></victim-list>\
                     <process-list><process id=\"process7\" waitresource=\"KEY: 5:1 (&lt;)\">\
                     <executionStack/><inputbuf>\nSELECT '&amp;lt;'\nFROM t    </inputbuf></process>\
                     </process-list></deadlock>";
        let mut found = Vec::new();
        lines(graph, |line| found.push(line));
        let expected = [
            "deadlock-list",
            "   deadlock victim=process7",
            "  process-list",
            "   process id=process7 waitresource=KEY: 5:1 (<)",
            "    executionStack",
            "    inputbuf",
            "SELECT '&lt;'",
            "FROM t    ",
        ];
        assert_eq!(found, expected);
    }
}
