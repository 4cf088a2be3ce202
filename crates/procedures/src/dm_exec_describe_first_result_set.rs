//! `sys.dm_exec_describe_first_result_set`: the columns of a batch's first result set. If the batch
//! has an error, a single row contains the error.

use types::value::ColumnType;
use types::{DataType, Length, Value};

use crate::describe;
use interpreter::Stop;
use metadata::{Rows, Scope, SystemView};

/// Number of columns shared with sp_describe_first_result_set, which also has the TDS types.
const DESCRIBED: usize = 35;

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_describe_first_result_set",
    columns,
    rows: read,
    arity: 3,
};

fn columns() -> Vec<(&'static str, ColumnType)> {
    let mut columns = describe::columns();
    columns.truncate(DESCRIBED);
    // The view has the length of ORDER BY before the direction, the procedure after it.
    columns.swap(DESCRIBED - 2, DESCRIBED - 1);
    columns.extend(
        [
            ("error_number", DataType::Int),
            ("error_severity", DataType::Int),
            ("error_state", DataType::Int),
            ("error_message", DataType::NVarChar(Length::Limited(4_000))),
            ("error_type", DataType::Int),
            ("error_type_desc", DataType::NVarChar(Length::Limited(60))),
        ]
        .map(|(name, data_type)| (name, ColumnType::nullable(data_type))),
    );
    columns
}

fn read(scope: &Scope<'_>) -> Rows {
    let collation = scope.session.collation();
    let text = |place: usize| scope.arguments.get(place).and_then(|a| a.as_text(collation));
    let Some(statement) = text(0) else { return Ok(Vec::new()) };
    let declared = text(1).unwrap_or_default();
    let width = columns().len();
    match describe::first_result_of(&statement, &declared, scope.session) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(shape)) => {
            let rows = (1..).zip(&shape.columns).map(|(ordinal, column)| {
                let mut row = describe::row(ordinal, column);
                row.truncate(DESCRIBED);
                row.resize(width, Value::Null);
                row
            });
            Ok(rows.collect())
        }
        Err(Stop::Error(error) | Stop::Thrown(error) | Stop::Unbound(error)) => {
            let mut row = vec![Value::Null; width - 6];
            row.push(Value::Int(error.number));
            row.push(Value::Int(i32::from(error.severity)));
            row.push(Value::Int(i32::from(error.state)));
            row.push(Value::nvarchar(&error.message));
            let (kind, description) = kind_of(error.number);
            row.push(Value::Int(kind));
            row.push(Value::nvarchar(description));
            Ok(vec![row])
        }
        Err(_) => Err(types::Msg::InternalError.into()),
    }
}

/// Returns `error_type` and `error_type_desc` of an error number.
fn kind_of(number: i32) -> (i32, &'static str) {
    match number {
        102 | 105 | 156 | 319 => (2, "SYNTAX"),
        11_526 => (10, "TEMPORARY_TABLE"),
        11_509 | 40_517 => (11, "UNSUPPORTED_STATEMENT"),
        _ => (1, "MISC"),
    }
}
