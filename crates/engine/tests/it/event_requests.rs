//! Fields of the events of requests and connections: calls with their arguments and OUTPUT values,
//! transaction manager requests, bulk loads, existing connections.

use engine::session::{
    BeginNext, Rpc, RpcParameter, RpcTarget, Session, TransactionRequest, wants_data_stream,
};
use engine::sink::{ColumnInfo, Traits};
use types::value::ColumnType;
use types::{Collation, DataType, Length, Value};

use crate::client::{Answer, batch, login, run};
use crate::events::{data, last, ring, watched};

fn ty(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}

fn output(name: &str, data_type: DataType, value: Value) -> RpcParameter {
    let (name, ty) = (name.to_owned(), ty(data_type));
    RpcParameter { name, ty, value, output: true, default: false, table: None }
}

/// Calls a procedure that returns two values.
fn call(session: &mut Session, stream: Option<&[u8]>) {
    let short = DataType::NVarChar(Length::Limited(10));
    let mut parameters =
        [output("@a", DataType::Int, Value::Int(7)), output("@b", short, Value::nvarchar("in"))];
    let target = RpcTarget::Name("dbo.q");
    let rpc = Rpc { target, parameters: &mut parameters, more: false, stream };
    session.rpc(rpc, &mut Answer::default()).unwrap();
}

#[test]
fn a_call_is_told_of_with_its_bytes_and_what_it_gave_back_if_a_session_asks() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.rpc_starting (SET collect_data_stream = 1),
         ADD EVENT sqlserver.rpc_completed (SET collect_data_stream = 1, collect_output_parameters = 1)
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(
        &mut other,
        "CREATE PROCEDURE dbo.q @a int OUTPUT, @b nvarchar(10) OUTPUT AS
         SELECT @a = @a + 1, @b = N'it''s' + @b",
    );
    assert!(wants_data_stream());
    call(&mut other, Some(&[1, 2, 0xFF]));
    let starting = ring(&mut watcher, "rpc_starting", &[&data("statement"), &data("data_stream")]);
    let text = "exec dbo.q @a=7 output,@b=N'in' output";
    assert_eq!(starting, [[text, "0102ff"]]);
    let fields = ["data_stream", "output_parameters", "object_name", "row_count"].map(data);
    let paths: Vec<&str> = fields.iter().map(String::as_str).collect();
    let completed = ring(&mut watcher, "rpc_completed", &paths);
    assert_eq!(completed, [["0102ff", "@a=8,@b=N'it''sin'", "dbo.q", "1"]]);
    // Without the settings, neither field is collected.
    run(
        &mut watcher,
        "DROP EVENT SESSION s ON SERVER
         CREATE EVENT SESSION s ON SERVER ADD EVENT sqlserver.rpc_completed ADD TARGET package0.ring_buffer
         ALTER EVENT SESSION s ON SERVER STATE = START",
    );
    call(&mut other, Some(&[1]));
    let plain = ring(&mut watcher, "rpc_completed", &paths[..2]);
    assert_eq!(plain, [["", ""]]);
}

#[test]
fn binary_parameters_are_digits_for_whoever_reads_and_for_predicates() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.rpc_completed (WHERE sqlserver.like_i_sql_unicode_string([statement], N'%@b=0x0FA5,%'))
         ADD TARGET package0.ring_buffer,
         ADD TARGET package0.histogram (SET source = N'statement', source_type = 0,
            filtering_event_name = N'sqlserver.rpc_completed')",
    );
    let mut other = login(&instance);
    run(&mut other, "CREATE PROCEDURE dbo.b @b varbinary(10), @n nvarchar(10) AS SELECT @b");
    for bytes in [&[0x0F, 0xA5][..], &[0x0F], &[0x0F, 0xA5]] {
        let binary = DataType::VarBinary(Length::Limited(10));
        let mut parameters = [
            output("@b", binary, Value::VarBinary(types::Bytes::from(bytes))),
            output("@n", DataType::NVarChar(Length::Limited(10)), Value::nvarchar("ä'")),
        ];
        parameters.iter_mut().for_each(|parameter| parameter.output = false);
        let target = RpcTarget::Name("dbo.b");
        let rpc = Rpc { target, parameters: &mut parameters, more: false, stream: None };
        other.rpc(rpc, &mut Answer::default()).unwrap();
    }
    let text = "exec dbo.b @b=0x0FA5,@n=N'ä'''";
    let told = ring(&mut watcher, "rpc_completed", &[&data("statement")]);
    assert_eq!(told, [[text], [text]]);
    let slots = last(
        &mut watcher,
        "SELECT n.value('@count', 'int'), n.value('(value)[1]', 'nvarchar(100)')
         FROM (SELECT CAST(target_data AS xml) AS x FROM sys.dm_xe_session_targets
               WHERE target_name = 'histogram') AS d
         CROSS APPLY d.x.nodes('/HistogramTarget/Slot') AS q(n)",
    );
    assert_eq!(slots, [["2", text]]);
}

#[test]
fn checkpoints_are_told_of_and_logs_that_do_not_exist_are_not() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.checkpoint_begin, ADD EVENT sqlserver.checkpoint_end,
         ADD EVENT sqlserver.log_flush_start, ADD EVENT sqlserver.log_flush_complete
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "USE tempdb; CREATE TABLE #t (a int); INSERT #t VALUES (1); CHECKPOINT");
    for (event, wanted) in [
        ("checkpoint_begin", &[["2"]][..]),
        ("checkpoint_end", &[["2"]]),
        ("log_flush_start", &[]),
        ("log_flush_complete", &[]),
    ] {
        assert_eq!(ring(&mut watcher, event, &[&data("database_id")]), wanted, "{event}");
    }
}

#[test]
fn transaction_manager_requests_are_told_of_with_what_they_ask() {
    let events = ["begin", "commit", "rollback", "save"].map(|verb| {
        format!(
            "ADD EVENT sqlserver.{verb}_tran_starting, ADD EVENT sqlserver.{verb}_tran_completed"
        )
    });
    let (instance, mut watcher) =
        watched(&format!("{} ADD TARGET package0.ring_buffer", events.join(", ")));
    let mut other = login(&instance);
    let next = |name| Some(BeginNext { isolation: None, name });
    let requests = [
        TransactionRequest::Begin(None, "outer"),
        TransactionRequest::Save("here"),
        TransactionRequest::Rollback("here", None),
        TransactionRequest::Commit(next("inner")),
        TransactionRequest::Rollback("", None),
    ];
    for request in requests {
        other.transaction(request, &mut Answer::default()).unwrap();
    }
    other.transaction(TransactionRequest::Save("nowhere"), &mut Answer::default()).unwrap();
    let mut told = |event: &str, fields: &[&str]| {
        let paths: Vec<String> = fields.iter().map(|field| data(field)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        ring(&mut watcher, event, &paths)
    };
    assert_eq!(told("begin_tran_starting", &["statement"]), [["BEGIN TRANSACTION outer"]]);
    assert_eq!(
        told("begin_tran_completed", &["statement", "result"]),
        [["BEGIN TRANSACTION outer", "0"]]
    );
    let next = ["statement", "new_transaction_started"];
    assert_eq!(told("commit_tran_starting", &next), [["COMMIT TRANSACTION", "true"]]);
    assert_eq!(told("commit_tran_completed", &next), [["COMMIT TRANSACTION", "true"]]);
    let back = [["ROLLBACK TRANSACTION here", "false"], ["ROLLBACK TRANSACTION", "false"]];
    assert_eq!(told("rollback_tran_starting", &next), back);
    assert_eq!(told("rollback_tran_completed", &next), back);
    // The last request is outside a transaction: error 628.
    assert_eq!(
        told("save_tran_completed", &["statement", "result"]),
        [["SAVE TRANSACTION here", "0"], ["SAVE TRANSACTION nowhere", "1"]]
    );
    assert_eq!(told("save_tran_starting", &["statement"]).len(), 2);
    let times = told("begin_tran_completed", &["duration"]);
    assert!(times[0][0].parse::<u64>().unwrap() < 60_000_000, "{times:?}");
}

const ANNOUNCED: &str = "INSERT BULK dbo.loaded (a int)";

#[test]
fn a_batch_that_announces_a_bulk_load_ends_with_the_load() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_batch_starting (WHERE batch_text LIKE N'INSERT BULK%'),
         ADD EVENT sqlserver.sql_batch_completed (ACTION (sqlserver.sql_text) WHERE batch_text LIKE N'INSERT BULK%')
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "CREATE TABLE dbo.loaded (a int NOT NULL PRIMARY KEY)");
    let columns = [ColumnInfo {
        name: "a".into(),
        column_type: ty(DataType::Int),
        traits: Traits::default(),
        updatable: true,
    }];
    let load = |session: &mut Session, values: &[i32]| {
        let mut rows = values.iter().map(|value| Ok(vec![Value::Int(*value)]));
        let mut answer = Answer::default();
        session.bulk_load(&columns, &mut rows, &mut answer).unwrap();
        answer.errors.len()
    };
    let fields = ["batch_text", "row_count", "result"].map(data);
    let mut paths: Vec<&str> = fields.iter().map(String::as_str).collect();
    paths.push("action[@name=\"sql_text\"]/value");
    let mut completed = || ring(&mut watcher, "sql_batch_completed", &paths);
    run(&mut other, ANNOUNCED);
    assert!(completed().is_empty(), "its rows have not come");
    assert_eq!(load(&mut other, &[1, 2, 3]), 0);
    assert_eq!(completed(), [[ANNOUNCED, "3", "0", ANNOUNCED]]);
    // A load that fails, and one whose rows never arrive.
    run(&mut other, ANNOUNCED);
    assert_eq!(load(&mut other, &[3]), 1);
    assert_eq!(completed().last().unwrap()[2], "1");
    run(&mut other, ANNOUNCED);
    run(&mut other, "SELECT 1");
    assert_eq!(completed().last().unwrap()[2], "2");
    assert_eq!(completed().len(), 3);
    assert_eq!(ring(&mut watcher, "sql_batch_starting", &[&data("batch_text")]).len(), 3);
}

#[test]
fn connections_that_are_there_are_told_to_the_session_that_starts_alone() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.existing_connection (SET collect_database_name = 1) ADD TARGET package0.ring_buffer",
    );
    let me = watcher.state().connection.id.to_string();
    let there = |watcher: &mut Session| {
        ring(watcher, "existing_connection", &[&data("session_id"), &data("database_name")])
    };
    assert_eq!(there(&mut watcher), [[me.as_str(), "master"]]);
    let mut other = login(&instance);
    run(
        &mut other,
        "CREATE EVENT SESSION later ON SERVER ADD EVENT sqlserver.existing_connection ADD TARGET package0.event_counter
         ALTER EVENT SESSION later ON SERVER STATE = START",
    );
    assert_eq!(there(&mut watcher).len(), 1, "the one that has started before is told nothing");
    let seen = last(
        &mut watcher,
        "SELECT session_name, published FROM sys.dm_xe_session_counts WHERE event_name = 'existing_connection' ORDER BY 1",
    );
    assert_eq!(seen, [["later", "2"], ["s", "1"]]);
    let refused = batch(&mut watcher, "ALTER EVENT SESSION later ON SERVER STATE = START");
    assert_eq!(refused.errors[0].number, 25705);
}
