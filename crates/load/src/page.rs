//! Updates one section of a Markdown page whose sections are written by different runs.

use std::path::Path;

use crate::Result;

/// The line that separates the part that `make bench` writes from the sections of other runs.
pub const OTHERS: &str = "<!-- sections of other runs -->";

/// Replaces the section with this heading, or appends it behind all others.
///
/// # Errors
/// If the page cannot be written.
pub fn put_section(path: &Path, heading: &str, section: &str) -> Result<()> {
    let page = std::fs::read_to_string(path).unwrap_or_default();
    let page = if page.contains(OTHERS) { page } else { format!("{page}\n{OTHERS}\n") };
    let page = with_section(&page, heading, section);
    std::fs::write(path, page).map_err(|error| format!("{}: {error}", path.display()))
}

fn with_section(page: &str, heading: &str, section: &str) -> String {
    let section = format!("{heading}\n{section}");
    let Some(start) = page.find(&format!("\n{heading}\n")) else {
        return format!("{}\n\n{section}", page.trim_end());
    };
    let (before, rest) = page.split_at(start + 1);
    let after = rest[heading.len()..].find("\n## ").map_or("", |at| &rest[heading.len() + at..]);
    format!("{before}{section}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_replaces_the_one_of_its_name() {
        let page = with_section("# Page\n", "## One", "1\n");
        assert_eq!(page, "# Page\n\n## One\n1\n");
        let page = with_section(&page, "## Two", "2\n");
        let page = with_section(&page, "## One", "one\n");
        assert_eq!(page, "# Page\n\n## One\none\n\n## Two\n2\n");
        assert_eq!(with_section(&page, "## Two", "3\n"), page.replace('2', "3"));
    }
}
