//! `Table`: which rows and columns of a list are shown: order, filter, selection, scrolling.

use std::cmp::Ordering;

use crate::format::clean;

/// What rows are ordered by.
#[derive(Clone, Debug, PartialEq)]
pub enum Rank {
    /// Largest first, unless reversed.
    Number(f64),
    /// In alphabetical order, unless reversed.
    Text(String),
}

/// A column of a list of `T`.
#[derive(Debug)]
pub struct Column<T: 'static> {
    /// The text of its heading.
    pub name: &'static str,
    /// Its width in cells; 0 takes what is left of the line.
    pub width: u16,
    /// Whether it is shown on a narrow screen too.
    pub is_core: bool,
    /// Whether its values end at its right edge.
    pub is_right: bool,
    /// The text of a row's cell.
    pub cell: fn(&T) -> String,
    /// What rows are ordered by.
    pub rank: fn(&T) -> Rank,
}

/// A row that keeps its identity from one refresh to the next.
pub trait Keyed {
    /// Returns the row's identity.
    fn key(&self) -> String;
}

/// The state of one list on the screen.
#[derive(Clone, Debug)]
pub struct Table {
    /// Index of the column that orders the rows.
    pub sort: usize,
    /// Whether the order is reversed.
    pub is_reversed: bool,
    /// Rows are shown only if a cell contains this text.
    pub filter: String,
    /// Identity of the selected row.
    selected: Option<String>,
    /// Index of the first row on the screen.
    pub first: usize,
    /// How many columns behind the first are skipped.
    pub skipped: usize,
}

impl Table {
    /// Makes the state of a list that is ordered by this column.
    #[must_use]
    pub const fn new(sort: usize) -> Self {
        let filter = String::new();
        Self { sort, is_reversed: false, filter, selected: None, first: 0, skipped: 0 }
    }

    /// Returns the rows that pass the filter, in order.
    #[must_use]
    pub fn rows<'r, T>(&self, rows: &'r [T], columns: &[Column<T>]) -> Vec<&'r T> {
        let wanted = self.filter.to_lowercase();
        let has = |row: &&T| {
            let contains = |column: &Column<T>| (column.cell)(row).to_lowercase().contains(&wanted);
            wanted.is_empty() || columns.iter().any(contains)
        };
        let mut rows: Vec<&T> = rows.iter().filter(has).collect();
        let Some(column) = columns.get(self.sort) else { return rows };
        rows.sort_by(|a, b| {
            let order = compare(&(column.rank)(a), &(column.rank)(b));
            if self.is_reversed { order.reverse() } else { order }
        });
        rows
    }

    /// Returns the index of the selected row among those shown: the first if the selected one is
    /// gone.
    #[must_use]
    pub fn selected<T: Keyed>(&self, rows: &[&T]) -> usize {
        let is_it = |row: &&T| self.selected.as_ref() == Some(&row.key());
        rows.iter().position(is_it).unwrap_or(0)
    }

    /// Moves the selection by some rows.
    pub fn step<T: Keyed>(&mut self, rows: &[&T], by: isize) {
        let last = rows.len().saturating_sub(1);
        let index = self.selected(rows).saturating_add_signed(by).min(last);
        self.selected = rows.get(index).map(|row| row.key());
    }

    /// Returns the range of rows that fit into some lines with the selected one among them.
    pub fn window(
        &mut self,
        selected: usize,
        count: usize,
        lines: usize,
    ) -> std::ops::Range<usize> {
        let lines = lines.max(1);
        self.first = self.first.min(selected).max((selected + 1).saturating_sub(lines));
        self.first = self.first.min(count.saturating_sub(lines));
        self.first..count.min(self.first + lines)
    }

    /// Orders by the column that is `by` places further.
    pub fn sort_by_next(&mut self, by: isize, columns: usize) {
        let columns = isize::try_from(columns.max(1)).unwrap_or(1);
        let sort = isize::try_from(self.sort).unwrap_or(0) + by;
        self.sort = usize::try_from(sort.rem_euclid(columns)).unwrap_or(0);
        self.is_reversed = false;
    }

    /// Returns the indexes and widths of the columns that fit, the last one as wide as is left.
    #[must_use]
    pub fn layout<T>(&self, columns: &[Column<T>], width: u16) -> Vec<(usize, u16)> {
        /// The least width that is worth showing of the last column.
        const REST_MIN: u16 = 16;
        let needed: u16 = columns.iter().map(|column| column.width + 1).sum();
        let is_whole = needed + REST_MIN <= width;
        let behind = |(index, _): &(usize, &Column<T>)| *index == 0 || *index > self.skipped;
        let fits = |(_, column): &(usize, &Column<T>)| {
            is_whole || self.skipped > 0 || column.is_core || column.width == 0
        };
        let mut left = width;
        let mut layout = Vec::new();
        for (index, column) in columns.iter().enumerate().filter(behind).filter(fits) {
            let taken = if column.width == 0 { left } else { column.width };
            if taken == 0 || taken > left {
                break;
            }
            layout.push((index, taken));
            left = left.saturating_sub(taken + 1);
        }
        layout
    }
}

/// Compares two ranks: larger numbers first, texts by the alphabet.
fn compare(a: &Rank, b: &Rank) -> Ordering {
    match (a, b) {
        (Rank::Number(a), Rank::Number(b)) => b.total_cmp(a),
        (Rank::Text(a), Rank::Text(b)) => a.to_lowercase().cmp(&b.to_lowercase()),
        (Rank::Number(_), Rank::Text(_)) => Ordering::Less,
        (Rank::Text(_), Rank::Number(_)) => Ordering::Greater,
    }
}

/// Returns a cell's text in one line of a width.
#[must_use]
pub fn fit(text: &str, width: u16, is_right: bool) -> String {
    use unicode_width::UnicodeWidthChar as _;
    let width = usize::from(width);
    let (mut fitted, mut used) = (String::new(), 0);
    for character in clean(text).chars() {
        let cells = character.width().unwrap_or(0);
        if used + cells > width {
            break;
        }
        used += cells;
        fitted.push(character);
    }
    let blanks = " ".repeat(width - used);
    if is_right { blanks + &fitted } else { fitted + &blanks }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Item(i32, &'static str);

    impl Keyed for Item {
        fn key(&self) -> String {
            self.1.to_owned()
        }
    }

    const fn column(name: &'static str, width: u16, is_core: bool) -> Column<Item> {
        let cell: fn(&Item) -> String = |item| item.1.to_owned();
        let rank: fn(&Item) -> Rank = |item| Rank::Number(f64::from(item.0));
        Column { name, width, is_core, is_right: false, cell, rank }
    }

    const COLUMNS: &[Column<Item>] =
        &[column("a", 4, true), column("b", 10, false), column("c", 4, true), column("d", 0, true)];

    fn shown(table: &Table, items: &[Item]) -> String {
        table.rows(items, COLUMNS).iter().map(|item| item.1).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_are_filtered_and_ordered() {
        let items = [Item(1, "Low"), Item(9, "high"), Item(5, "middle")];
        let mut table = Table::new(0);
        assert_eq!(shown(&table, &items), "high middle Low");
        table.is_reversed = true;
        assert_eq!(shown(&table, &items), "Low middle high");
        "lO".clone_into(&mut table.filter);
        assert_eq!(shown(&table, &items), "Low");
    }

    #[test]
    fn selection_follows_its_row() {
        let (before, after) = ([Item(3, "x"), Item(2, "y")], [Item(3, "x"), Item(8, "y")]);
        let mut table = Table::new(0);
        table.step(&table.clone().rows(&before, COLUMNS), 1);
        assert_eq!(table.selected(&table.rows(&before, COLUMNS)), 1);
        assert_eq!(table.selected(&table.rows(&after, COLUMNS)), 0, "y is first now");
        table.step(&table.clone().rows(&after, COLUMNS), 99);
        assert_eq!(table.selected(&table.rows(&after, COLUMNS)), 1, "x is last");
        assert_eq!(table.selected(&table.rows(&[], COLUMNS)), 0);
    }

    #[test]
    fn window_contains_the_selected_row() {
        let mut table = Table::new(0);
        assert_eq!(table.window(0, 3, 10), 0..3);
        assert_eq!(table.window(25, 30, 10), 16..26);
        assert_eq!(table.window(20, 30, 10), 16..26, "it need not move");
        assert_eq!(table.window(2, 5, 10), 0..5);
    }

    #[test]
    fn narrow_screen_has_the_core_columns_and_scrolls_to_others() {
        let mut table = Table::new(0);
        assert_eq!(table.layout(COLUMNS, 60), [(0, 4), (1, 10), (2, 4), (3, 39)]);
        assert_eq!(table.layout(COLUMNS, 30), [(0, 4), (2, 4), (3, 20)]);
        table.skipped = 1;
        assert_eq!(table.layout(COLUMNS, 30), [(0, 4), (2, 4), (3, 20)]);
        table.skipped = 2;
        assert_eq!(table.layout(COLUMNS, 30), [(0, 4), (3, 25)]);
        assert_eq!(table.layout(COLUMNS, 3), []);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("日本", 5, false), "日本 ");
        assert_eq!(fit("日本", 3, true), " 日");
        assert_eq!(fit("a\tb\n  c", 9, false), "a b c    ");
    }
}
