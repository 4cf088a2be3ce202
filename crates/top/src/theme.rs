//! Colours. Text keeps the terminal's colours, so that light and dark terminals both work; the
//! colours of categories differ for the colour-blind too (after Okabe and Ito), and have middle
//! brightness. Without colours, categories are letters.

use ratatui::style::{Color, Modifier, Style};

use crate::time::Category;

/// Whether and how colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Colours of the 256-colour palette.
    Colour,
    /// Bold, dim and reversed text only: where `NO_COLOR` is set.
    Plain,
}

impl Theme {
    /// Returns the theme for a value of the environment variable `NO_COLOR`: no-color.org asks for
    /// no colour where it is set and not empty.
    #[must_use]
    pub fn from_no_color(value: Option<&std::ffi::OsStr>) -> Self {
        match value {
            Some(value) if !value.is_empty() => Self::Plain,
            Some(_) | None => Self::Colour,
        }
    }

    /// Returns the colour of a category, `None` without colours.
    pub(crate) const fn colour(self, category: Category) -> Option<Color> {
        match self {
            Self::Plain => None,
            Self::Colour => Some(Color::Indexed(match category {
                Category::User => 32,
                Category::Kernel => 74,
                Category::Spin => 166,
                Category::Observation => 66,
                Category::Dark => 90,
                Category::Runnable => 172,
                Category::Signal => 178,
                Category::Wait => 36,
                Category::UnexpectedBlocking => 132,
                Category::Foreign => 102,
                Category::Idle => 245,
            })),
        }
    }

    /// Returns the style of a category's name.
    pub(crate) fn category(self, category: Category) -> Style {
        self.colour(category).map_or_else(Style::new, |colour| Style::new().fg(colour))
    }

    /// Returns the style of what needs attention.
    pub(crate) fn alarm(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match self {
            Self::Plain => bold,
            Self::Colour => bold.fg(Color::Indexed(160)),
        }
    }
}

/// Returns the style of headings.
pub(crate) const fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// Returns the style of what matters less.
pub(crate) const fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Returns the style of the selected row.
pub(crate) const fn reversed() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_counts_if_it_is_not_empty() {
        assert_eq!(Theme::from_no_color(Some("1".as_ref())), Theme::Plain);
        assert_eq!(Theme::from_no_color(Some("".as_ref())), Theme::Colour);
        assert_eq!(Theme::from_no_color(None), Theme::Colour);
    }
}
