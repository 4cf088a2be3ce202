//! `sys.dm_exec_describe_first_result_set` and `.._for_object`: the columns of the first result set
//! of a batch or a procedure. If it has an error, a single row contains the error.

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use crate::describe;
use crate::first_result::Browsing;
use ::catalog::Object;
use interpreter::{Stop, check_execute};
use metadata::{RowSet, Rows, Scope, SystemView};

/// Number of columns shared with sp_describe_first_result_set, which also has the TDS types.
const DESCRIBED: usize = 35;

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_describe_first_result_set",
    columns,
    rows: read,
    arity: 3,
};

pub(crate) static OF_OBJECT: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_describe_first_result_set_for_object",
    columns,
    rows: read_of_object,
    arity: 2,
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
    let Some(statement) = text(0) else { return Ok(RowSet::default()) };
    let declared = text(1).unwrap_or_default();
    let mode = scope.arguments.get(2).and_then(Value::as_whole);
    let described = Browsing::of(mode)
        .map_err(Stop::from)
        .and_then(|browsing| describe::rows_of(&statement, &declared, browsing, scope.session));
    described_or_error(described)
}

/// Describes the procedure of an `object_id` of the current database.
fn read_of_object(scope: &Scope<'_>) -> Rows {
    let session = scope.session;
    let Some(id) = scope.arguments.first().and_then(Value::as_whole) else {
        return Ok(RowSet::default());
    };
    let browsing = scope.arguments.get(1).and_then(Value::as_whole);
    let browsing = if browsing.is_some_and(|on| on != 0) { Browsing::Browse } else { Browsing::No };
    let database = session.catalog.database(&session.identity.database);
    let object = i32::try_from(id).ok().and_then(|id| database?.object_by_id(id));
    let described = match object {
        Some(Object::Procedure(procedure)) => check_execute(session, procedure, None)
            .map_err(Stop::from)
            .and_then(|()| describe::rows_of_procedure(procedure, browsing, session)),
        Some(_) => Err(Msg::DescribedNoProcedure(id).into()),
        None => Err(Msg::DescribedNoObject(id).into()),
    };
    described_or_error(described)
}

fn described_or_error(described: Result<Vec<Vec<Value>>, Stop>) -> Rows {
    let width = columns().len();
    match described {
        Ok(mut rows) => {
            for row in &mut rows {
                row.truncate(DESCRIBED);
                row.resize(width, Value::Null);
            }
            Ok(rows.into())
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
            Ok(vec![row].into())
        }
        // The client has sent an attention: the request ends without a row.
        Err(Stop::Cancelled | Stop::Disconnected) => Ok(RowSet::default()),
        Err(Stop::Batch | Stop::Scope) => Err(Msg::InternalError.into()),
    }
}

/// Returns `error_type` and `error_type_desc` of an error number.
fn kind_of(number: i32) -> (i32, &'static str) {
    match number {
        102 | 105 | 156 | 319 => (2, "SYNTAX"),
        11_509..=11_512 => (3, "CONFLICTING_RESULTS"),
        11_513 | 11_514 => (4, "DYNAMIC_SQL"),
        11_519 | 11_520 => (7, "EXTENDED_PROCEDURE"),
        11_523 | 11_524 => (9, "RECURSION"),
        11_525 | 11_526 => (10, "TEMPORARY_TABLE"),
        11_527 | 11_528 | 40_517 => (11, "UNSUPPORTED_STATEMENT"),
        11_531 => (12, "OBJECT_TYPE_NOT_SUPPORTED"),
        11_532 => (13, "OBJECT_DOES_NOT_EXIST"),
        _ => (1, "MISC"),
    }
}
