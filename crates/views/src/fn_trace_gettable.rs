//! `sys.fn_trace_gettable(file, files)`: the events of a trace file. There are no traces here, only
//! event sessions: no file is one, which is SQL Server's error 567.

use types::{DataType, Error, Length};

use super::absent::none;
use super::dm_sql_referenced_entities::text_of;
use metadata::column::{BIGINT, Column, DATETIME, GUID, INT, nv, shape, unknown};
use metadata::{RowSet, Rows, Scope, SystemView};

const NTEXT: DataType = DataType::NVarChar(Length::Max);
const IMAGE: DataType = DataType::VarBinary(Length::Max);

const COLUMNS: &[Column<()>] = &[
    unknown("TextData", NTEXT),
    unknown("BinaryData", IMAGE),
    unknown("DatabaseID", INT),
    unknown("TransactionID", BIGINT),
    unknown("LineNumber", INT),
    unknown("NTUserName", nv(256)),
    unknown("NTDomainName", nv(256)),
    unknown("HostName", nv(256)),
    unknown("ClientProcessID", INT),
    unknown("ApplicationName", nv(256)),
    unknown("LoginName", nv(256)),
    unknown("SPID", INT),
    unknown("Duration", BIGINT),
    unknown("StartTime", DATETIME),
    unknown("EndTime", DATETIME),
    unknown("Reads", BIGINT),
    unknown("Writes", BIGINT),
    unknown("CPU", INT),
    unknown("Permissions", BIGINT),
    unknown("Severity", INT),
    unknown("EventSubClass", INT),
    unknown("ObjectID", INT),
    unknown("Success", INT),
    unknown("IndexID", INT),
    unknown("IntegerData", INT),
    unknown("ServerName", nv(256)),
    none("EventClass", INT),
    unknown("ObjectType", INT),
    unknown("NestLevel", INT),
    unknown("State", INT),
    unknown("Error", INT),
    unknown("Mode", INT),
    unknown("Handle", INT),
    unknown("ObjectName", nv(256)),
    unknown("DatabaseName", nv(256)),
    unknown("FileName", nv(256)),
    unknown("OwnerName", nv(256)),
    unknown("RoleName", nv(256)),
    unknown("TargetUserName", nv(256)),
    unknown("DBUserName", nv(256)),
    unknown("LoginSid", IMAGE),
    unknown("TargetLoginName", nv(256)),
    unknown("TargetLoginSid", IMAGE),
    unknown("ColumnPermissions", INT),
    unknown("LinkedServerName", nv(256)),
    unknown("ProviderName", nv(256)),
    unknown("MethodName", nv(256)),
    unknown("RowCounts", BIGINT),
    unknown("RequestID", INT),
    unknown("XactSequence", BIGINT),
    unknown("EventSequence", BIGINT),
    unknown("BigintData1", BIGINT),
    unknown("BigintData2", BIGINT),
    unknown("GUID", GUID),
    unknown("IntegerData2", INT),
    unknown("ObjectID2", BIGINT),
    unknown("Type", INT),
    unknown("OwnerID", INT),
    unknown("ParentName", nv(256)),
    unknown("IsSystem", INT),
    unknown("Offset", INT),
    unknown("SourceDatabaseID", INT),
    unknown("SqlHandle", IMAGE),
    unknown("SessionLoginName", nv(256)),
    unknown("PlanHandle", IMAGE),
    unknown("GroupID", INT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_trace_gettable",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn read(scope: &Scope<'_>) -> Rows {
    let Some(file) = scope.arguments.first().and_then(text_of) else {
        return Ok(RowSet::default());
    };
    let text = format!(
        "File '{file}' either does not exist or is not a recognizable trace file. Or there was an \
         error opening the file."
    );
    Err(Error::custom(567, 16, 5, &text))
}
