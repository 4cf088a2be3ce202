//! `IndexFilter`: the WHERE clause of a filtered index. Rows for which it is not true have no entry.

use types::compare::Truth;
use types::row::RowView;
use types::{Collation, Value};

use types::comparison::{CompareOp, compare};

/// A conjunction of tests of single columns against constants: all that SQL Server allows.
#[derive(Debug)]
pub struct IndexFilter {
    /// The clause as `sys.indexes.filter_definition` shows it.
    pub text: String,
    /// What a row must meet.
    pub tests: Vec<ColumnTest>,
}

/// A test of one column.
#[derive(Clone, Debug)]
pub struct ColumnTest {
    /// The column by ordinal.
    pub column: u16,
    /// What it must be.
    pub test: Test,
}

/// What a column must be.
#[derive(Clone, Debug)]
pub enum Test {
    /// IS NULL
    Null,
    /// IS NOT NULL
    NotNull,
    /// A comparison with a constant of the column's type.
    Compare(CompareOp, Value, Collation),
    /// IN a list of constants of the column's type.
    In(Vec<Value>, Collation),
}

impl IndexFilter {
    /// Returns whether the index has a row.
    pub fn admits(&self, row: &RowView<'_>) -> bool {
        self.tests.iter().all(|test| test.test.holds(&row.get(usize::from(test.column))))
    }

    /// Returns whether the clause reads a column.
    pub fn reads(&self, column: u16) -> bool {
        self.tests.iter().any(|test| test.column == column)
    }

    /// Returns it with other ordinals: those of columns behind one that has been dropped.
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
