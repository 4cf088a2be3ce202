//! `IndexFilter`: the WHERE clause of a filtered index. Rows for which it is not true have no
//! entry.

use types::compare::Truth;
use types::row::RowView;
use types::{Collation, Value};

use types::comparison::{CompareOp, compare};

/// A conjunction of tests of single columns against constants, which is all that SQL Server allows.
#[derive(Debug)]
pub struct IndexFilter {
    /// The clause as `filter_definition` of `sys.indexes` shows it.
    pub text: String,
    /// Tests that a row must all pass.
    pub tests: Vec<ColumnTest>,
}

/// A test of one column.
#[derive(Clone, Debug)]
pub struct ColumnTest {
    /// Ordinal of the column.
    pub column: u16,
    /// Test that its value must pass.
    pub test: Test,
}

/// The test of a column's value.
#[derive(Clone, Debug)]
pub enum Test {
    /// `column IS NULL`; true for NULL only.
    Null,
    /// `column IS NOT NULL`; false for NULL only.
    NotNull,
    /// A comparison with a constant of the column's type.
    Compare(CompareOp, Value, Collation),
    /// IN a list of constants of the column's type.
    In(Vec<Value>, Collation),
}

impl IndexFilter {
    /// Returns whether the index has an entry for a row.
    pub fn admits(&self, row: &RowView<'_>) -> bool {
        self.tests.iter().all(|test| test.test.holds(&row.get(usize::from(test.column))))
    }

    /// Returns whether the clause reads a column.
    pub fn reads(&self, column: u16) -> bool {
        self.tests.iter().any(|test| test.column == column)
    }

    /// Returns the filter with other ordinals, after a column has been dropped.
    #[must_use]
    pub fn renumbered(&self, number: impl Fn(u16) -> u16) -> Self {
        let tests = self.tests.iter();
        let tests = tests.map(|test| ColumnTest { column: number(test.column), ..test.clone() });
        Self { text: self.text.clone(), tests: tests.collect() }
    }
}

impl Test {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::NotNull => !value.is_null(),
            Self::Compare(op, constant, collation) => {
                compare(*op, value, constant, *collation) == Truth::True
            }
            Self::In(list, collation) => list
                .iter()
                .any(|item| compare(CompareOp::Equal, value, item, *collation) == Truth::True),
        }
    }
}
