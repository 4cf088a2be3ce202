//! Functions about the server, the connection and the session: SERVERPROPERTY, CONNECTIONPROPERTY
//! and others.

use session::Transport;
use types::{DataType, Result, Value};

use crate::function::entry::{
    int, lookup, of, session, sysname, text, variant, wrap, wrap_int, wrap_text,
};
use crate::function::session::{frame_of, session_of};
use crate::function::{Call, Function};
use ::plan::function::Context;

/// Version of the SQL Server whose behaviour the server follows.
pub const PRODUCT_VERSION: &str = "16.0.1000.6";
/// `EngineEdition` and `EditionID` of Enterprise Edition.
const ENGINE_EDITION: i32 = 3;
const EDITION_ID: i64 = 1_804_890_536;
/// Folder that scripts build file names from; nothing is stored there.
const DATA_PATH: &str = "/var/opt/mssql/data/";

pub(super) static FUNCTIONS: &[Function] = &[
    lookup("SERVERPROPERTY", (1, 1), variant, server_property),
    lookup("CONNECTIONPROPERTY", (1, 1), variant, connection_property),
    lookup("SESSIONPROPERTY", (1, 1), variant, session_property),
    lookup("SESSION_CONTEXT", (1, 1), variant, session_context),
    lookup("SQL_VARIANT_PROPERTY", (2, 2), variant, variant_property),
    session("HOST_NAME", sysname, |cx| text_or_null(&session_of(cx).connection.client.host_name)),
    session(
        "HOST_ID",
        |_| Ok(of(DataType::Char(10))),
        |cx| {
            let id = format!("{:<10}", session_of(cx).connection.client.process_id);
            Value::VarChar(types::Bytes::copy_from(id.as_bytes()))
        },
    ),
    session("APP_NAME", sysname, |cx| text_or_null(&session_of(cx).connection.client.program_name)),
    session("@@SERVICENAME", sysname, |_| Value::nvarchar("MSSQLSERVER")),
    session(
        "@@LANGID",
        |_| Ok(of(DataType::SmallInt)),
        |cx| Value::SmallInt(i16::from(session_of(cx).options.language.id())),
    ),
    session("@@MICROSOFTVERSION", int, |_| Value::Int(0x1000_03E8)),
    session("@@PROCID", int, |cx| Value::Int(frame_of(cx).procedure_id)),
    session("@@CONNECTIONS", int, |cx| {
        let logins = session_of(cx).instance.sessions.totals().logins;
        Value::Int(i32::try_from(logins).unwrap_or(i32::MAX))
    }),
    session("@@MAX_CONNECTIONS", int, |_| Value::Int(32_767)),
];

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::nvarchar(text) }
}

/// Returns the machine's part of a server name `machine\instance`.
fn machine(name: &str) -> &str {
    name.split('\\').next().unwrap_or(name)
}

fn server_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(property) = text(call, values, 0)? else { return Ok(Value::Null) };
    let name = session_of(cx).instance.config.server_name.as_str();
    let collation = types::Collation::default();
    Ok(match property.to_ascii_lowercase().as_str() {
        "machinename" | "computernamephysicalnetbios" => wrap_text(machine(name)),
        "servername" => wrap_text(name),
        "instancename" => name.split_once('\\').map_or(Value::Null, |(_, i)| wrap_text(i)),
        "edition" => wrap_text("Enterprise Edition (64-bit)"),
        "editionid" => wrap(Value::BigInt(EDITION_ID), DataType::BigInt),
        "engineedition" => wrap_int(ENGINE_EDITION),
        "productversion" | "resourceversion" => wrap_text(PRODUCT_VERSION),
        "productlevel" => wrap_text("RTM"),
        "productmajorversion" => wrap_text("16"),
        "productminorversion" => wrap_text("0"),
        "productbuild" => wrap_text("1000"),
        "collation" => wrap_text(&collation.name()),
        "collationid" => wrap_int(i32::try_from(collation.lcid()).unwrap_or(0)),
        "lcid" => wrap_int(i32::try_from(collation.lcid()).unwrap_or(0)),
        "comparisonstyle" => wrap_int(i32::try_from(collation.comparison_style()).unwrap_or(0)),
        "sqlcharset" => wrap(Value::TinyInt(1), DataType::TinyInt),
        "sqlcharsetname" => wrap_text("iso_1"),
        "sqlsortorder" => wrap(Value::TinyInt(collation.sort_id()), DataType::TinyInt),
        "sqlsortordername" => wrap_text("nocase_iso"),
        "instancedefaultdatapath" | "instancedefaultlogpath" | "instancedefaultbackuppath" => {
            wrap_text(DATA_PATH)
        }
        "licensetype" => wrap_text("DISABLED"),
        "processid" => wrap_int(i32::try_from(std::process::id()).unwrap_or(0)),
        "pathseparator" => wrap_text("/"),
        "isxtpsupported" => wrap_int(1),
        "issingleuser"
        | "isclustered"
        | "ishadrenabled"
        | "isfulltextinstalled"
        | "isintegratedsecurityonly"
        | "islocaldb"
        | "isadvancedanalyticsinstalled"
        | "ispolybaseinstalled"
        | "istempdbmetadatamemoryoptimized"
        | "isbigdatacluster"
        | "filestreamconfiguredlevel"
        | "filestreameffectivelevel"
        | "isserversuspendedforsnapshotbackup"
        | "isexternalauthenticationonly"
        | "isexternalgovernanceenabled" => wrap_int(0),
        _ => Value::Null,
    })
}

fn connection_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(property) = text(call, values, 0)? else { return Ok(Value::Null) };
    let client = &session_of(cx).connection.client;
    Ok(match property.to_ascii_lowercase().as_str() {
        "net_transport" | "physical_net_transport" => wrap_text(client.transport.name()),
        "protocol_type" => wrap_text("TSQL"),
        "auth_scheme" => wrap_text("SQL"),
        "local_net_address" if client.local_address.0.is_empty() => Value::Null,
        "local_net_address" => wrap_text(&client.local_address.0),
        "local_tcp_port" if client.local_address.0.is_empty() => Value::Null,
        "local_tcp_port" => wrap_int(i32::from(client.local_address.1)),
        "client_net_address" if client.transport == Transport::UnixSocket => {
            wrap_text("<local machine>")
        }
        "client_net_address" if client.address.0.is_empty() => Value::Null,
        "client_net_address" => wrap_text(&client.address.0),
        _ => Value::Null,
    })
}

fn session_property(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(property) = text(call, values, 0)? else { return Ok(Value::Null) };
    let options = &session_of(cx).options;
    let on = match property.to_ascii_uppercase().as_str() {
        "ANSI_NULLS" => options.ansi_nulls,
        "ANSI_PADDING" => options.ansi_padding,
        "ANSI_WARNINGS" => options.ansi_warnings,
        "ARITHABORT" => options.arith_abort,
        "CONCAT_NULL_YIELDS_NULL" => options.concat_null_yields_null,
        "NUMERIC_ROUNDABORT" => options.numeric_round_abort,
        "QUOTED_IDENTIFIER" => options.quoted_identifier,
        _ => return Ok(Value::Null),
    };
    Ok(wrap_int(i32::from(on)))
}

fn session_context(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(key) = text(call, values, 0)? else { return Ok(Value::Null) };
    let found = session_of(cx).held.session_context.get(key);
    Ok(found.map_or(Value::Null, |value| match value {
        Value::Variant(_) | Value::Null => value.clone(),
        other => wrap(other.clone(), other.data_type()),
    }))
}

fn variant_property(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(property) = text(call, values, 1)? else { return Ok(Value::Null) };
    let ty = match &values[0] {
        Value::Variant(inner) => inner.1,
        _ => call.arguments[0].ty,
    };
    let data_type = ty.data_type;
    Ok(match property.to_ascii_lowercase().as_str() {
        "basetype" => wrap_text(data_type.name()),
        "precision" => wrap_int(i32::from(data_type.precision())),
        "scale" => wrap_int(i32::from(data_type.scale())),
        "totalbytes" => {
            // The value plus 2 bytes for type and version, and 6 more for a string's collation and
            // length.
            let described = if data_type.is_string() { 8 } else { 2 };
            let length = match &values[0] {
                Value::Variant(inner) => inner.0.string_bytes().map(<[u8]>::len),
                other => other.string_bytes().map(<[u8]>::len),
            };
            let length = length.and_then(|n| i32::try_from(n).ok());
            wrap_int(described + length.unwrap_or_else(|| i32::from(data_type.max_length())))
        }
        "collation" if data_type.is_string() => wrap_text(&ty.collation.name()),
        "maxlength" => wrap_int(i32::from(data_type.max_length())),
        _ => Value::Null,
    })
}
