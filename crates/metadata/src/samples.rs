//! Shared by the sampler's views: the columns that identify a sample's statement, and arguments
//! that are stack numbers.

use std::collections::HashMap;
use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Mode, Result, Value};

use super::column::{INT, bin, binary, int, nv, or_null, vb};
use crate::view::Scope;
use ::plan::stats::{ProgramBooks, StatementRow, statements_of};

/// Names and types of the columns that identify a statement.
pub const STATEMENT: [(&str, DataType); 4] = [
    ("sql_handle", vb(64)),
    ("statement_start_offset", INT),
    ("statement_end_offset", INT),
    ("query_hash", bin(8)),
];

/// Returns the columns: the sample's, the statement's, which may be NULL, and those of the caller.
pub fn shape(
    columns: &[(&'static str, DataType)],
    nullable: &[&str],
) -> Vec<(&'static str, ColumnType)> {
    let collation = types::Collation::default();
    let is_nullable =
        |name: &str| nullable.contains(&name) || STATEMENT.iter().any(|(known, _)| *known == name);
    let column = |&(name, data_type): &(&'static str, DataType)| {
        (name, ColumnType { data_type, collation, nullable: is_nullable(name) })
    };
    columns.iter().map(column).collect()
}

/// Finds the statements of samples by number: see [`::plan::stats::statement_number`].
pub struct Statements<'a> {
    scope: &'a Scope<'a>,
    programs: HashMap<u64, Program>,
}

/// A cached program and its statements.
struct Program {
    books: Arc<ProgramBooks>,
    statements: Vec<(u32, StatementRow)>,
}

impl<'a> Statements<'a> {
    /// Reads the programs whose statements the samples may name.
    pub fn new(scope: &'a Scope<'a>) -> Self {
        let programs = scope.session.instance.statistics.programs().into_iter();
        let programs =
            programs.map(|books| (books.serial, Program { statements: Vec::new(), books }));
        Self { scope, programs: programs.collect() }
    }

    /// Returns the values of [`STATEMENT`]; NULLs for no statement, and for one no longer cached.
    pub fn values(&mut self, number: u64) -> [Value; 4] {
        let (serial, id) = ::plan::stats::program_and_id(number);
        let Some(program) = self.programs.get_mut(&serial) else {
            return [const { Value::Null }; 4];
        };
        if program.statements.is_empty() {
            let statistics = &self.scope.session.instance.statistics;
            program.statements = statements_of(statistics, &program.books);
        }
        let found = program.statements.iter().find(|(known, _)| *known == id).map(|(_, row)| row);
        [
            binary(program.books.sql_handle().bytes()),
            or_null(found, |row| int(row.start)),
            or_null(found, |row| int(row.end)),
            or_null(found, |row| binary(&row.query_hash)),
        ]
    }
}

/// Returns a stack function's argument; `None` for NULL and for a number that no stack has.
pub fn stack_of(scope: &Scope<'_>) -> Result<Option<sos::stack::StackId>> {
    let value = scope.arguments.first().unwrap_or(&Value::Null);
    let plain =
        |data_type| ColumnType { data_type, collation: scope.session.collation(), nullable: true };
    let options = scope.session.convert_options();
    let from = plain(value.data_type());
    let value = types::convert(value, &from, &plain(INT), 0, Mode::Implicit, &options)?;
    Ok(match value {
        Value::Int(number) => u32::try_from(number).ok().map(sos::stack::StackId::of_number),
        _ => None,
    })
}

/// `nvarchar(60)`, the type of names of labels, states and wait types.
pub const NAME: DataType = nv(60);
