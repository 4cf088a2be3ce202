//! Extended Events of what only the wire brings: attentions while others work, a client's own activity, a
//! call's bytes.

use std::thread;

use tds::client::{self, Token};
use tds::{DoneStatus, utf16};
use types::Value;

use crate::client::{Client, error_numbers, evaluation, output_value};
use crate::server::{ServerProcess, pause};

/// Clients that cancel, and how often each does.
const CANCELLERS: usize = 3;
const CANCELS: usize = 4;

fn run(client: &mut Client, sql: &str) {
    let tokens = client.batch(sql);
    assert_eq!(error_numbers(&tokens), [], "{sql}");
}

fn started(client: &mut Client, definition: &str) {
    run(client, &format!("CREATE EVENT SESSION s ON SERVER {definition}"));
    run(client, "ALTER EVENT SESSION s ON SERVER STATE = START");
}

/// The text of the first row's first column.
fn text_of(client: &mut Client, sql: &str) -> String {
    let tokens = client.batch(sql);
    assert_eq!(error_numbers(&tokens), [], "{sql}");
    let row = tokens.iter().find_map(|token| match token {
        Token::Row(row) => Some(row),
        _ => None,
    });
    let value = &row.expect("a row")[0];
    value.as_text(types::Collation::default()).unwrap_or_else(|| panic!("{value:?} is no text"))
}

/// A value of the first event of this name in the ring buffer, by its path.
fn value_of(client: &mut Client, event: &str, path: &str) -> String {
    let sql = format!(
        "SELECT CAST(t.target_data AS xml).value('(//event[@name=\"{event}\"]/{path})[1]', 'nvarchar(max)') \
         FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address \
         WHERE s.name = 's' AND t.target_name = 'ring_buffer'"
    );
    text_of(client, &sql)
}

/// Sends a request that waits, takes it back, and reads to the acknowledgement.
fn cancel(client: &mut Client) {
    client.send(&client::batch("WAITFOR DELAY '00:01:00'", client.settings));
    (0..20).for_each(|_| pause());
    client.send(&client::attention());
    loop {
        let tokens = client.response();
        let Some(Token::Done(done)) = tokens.last() else { panic!("{tokens:?}") };
        if done.status.has(DoneStatus::ATTENTION) {
            return;
        }
    }
}

#[test]
fn attentions_are_counted_one_by_one_while_others_work() {
    let server = ServerProcess::start(&[]);
    let mut watcher = Client::log_in(server.address);
    started(
        &mut watcher,
        "ADD EVENT sqlserver.attention (ACTION (sqlserver.session_id)), \
         ADD EVENT sqlserver.sql_batch_completed (WHERE result = 'Abort') \
         ADD TARGET package0.event_counter, ADD TARGET package0.ring_buffer",
    );
    thread::scope(|scope| {
        for _ in 0..CANCELLERS {
            scope.spawn(|| {
                let mut client = Client::log_in(server.address);
                (0..CANCELS).for_each(|_| cancel(&mut client));
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let mut client = Client::log_in(server.address);
                for number in 0..200 {
                    assert_eq!(client.value_of(&number.to_string()), Value::Int(number));
                }
            });
        }
    });
    let counted = "SELECT STRING_AGG(CONCAT(event_name, '=', published), ' ') WITHIN GROUP (ORDER BY event_name) \
                   FROM sys.dm_xe_session_counts WHERE session_name = 's' AND event_name IS NOT NULL";
    let expected = format!("attention={0} sql_batch_completed={0}", CANCELLERS * CANCELS);
    assert_eq!(text_of(&mut watcher, counted), expected);
    let duration = value_of(&mut watcher, "attention", "data[@name=\"duration\"]/value");
    let duration: u64 = duration.parse().expect("microseconds");
    assert!(duration < 60_000_000, "{duration}");
    assert_eq!(value_of(&mut watcher, "attention", "data[@name=\"request_id\"]/value"), "0");
    let session = value_of(&mut watcher, "attention", "action[@name=\"session_id\"]/value");
    assert!(session.parse::<u32>().expect("a number") > 50, "{session}");
}

/// A batch with Trace Activity ([MS-TDS] 2.2.5.3.3) beside the transaction's header.
fn traced_batch(text: &str, guid: [u8; 16], sequence: u32) -> Vec<u8> {
    let mut payload = 48_u32.to_le_bytes().to_vec();
    payload.extend_from_slice(&[18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    payload.extend_from_slice(&[26, 0, 0, 0, 3, 0]);
    payload.extend_from_slice(&guid);
    payload.extend_from_slice(&sequence.to_le_bytes());
    payload.extend_from_slice(&utf16::from_str(text));
    let length = u16::try_from(payload.len() + 8).expect("it is short").to_be_bytes();
    [&[1, 1, length[0], length[1], 0, 0, 1, 0], payload.as_slice()].concat()
}

#[test]
fn activity_of_a_client_is_where_its_request_came_from() {
    let server = ServerProcess::start(&[]);
    let mut watcher = Client::log_in(server.address);
    started(
        &mut watcher,
        "ADD EVENT sqlserver.sql_batch_starting (WHERE batch_text LIKE N'%traced%'), \
         ADD EVENT sqlserver.sql_batch_completed (WHERE batch_text LIKE N'%traced%') \
         ADD TARGET package0.ring_buffer WITH (TRACK_CAUSALITY = ON)",
    );
    let mut client = Client::log_in(server.address);
    let guid = [0x78, 0x56, 0x34, 0x12, 0xBC, 0x9A, 0xF0, 0xDE, 1, 2, 3, 4, 5, 6, 7, 8];
    client.send(&traced_batch("SELECT 1 -- traced", guid, 77));
    assert_eq!(error_numbers(&client.response()), []);
    let from = "action[@name=\"attach_activity_id_xfer\"]/value";
    let own = "action[@name=\"attach_activity_id\"]/value";
    let sent = "12345678-9ABC-DEF0-0102-030405060708-77";
    assert_eq!(value_of(&mut watcher, "sql_batch_starting", from), sent);
    assert_eq!(value_of(&mut watcher, "sql_batch_completed", from), "", "the first has said so");
    let (first, last) = (
        value_of(&mut watcher, "sql_batch_starting", own),
        value_of(&mut watcher, "sql_batch_completed", own),
    );
    // One activity of the server's own, in which the two are numbered.
    assert_eq!(first[..36], last[..36]);
    assert!(first != last && !first.starts_with(&sent[..36]), "{first} {last}");
    // A request without one came from nowhere.
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = STOP");
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = START");
    run(&mut client, "SELECT 2 -- traced");
    assert_eq!(value_of(&mut watcher, "sql_batch_starting", from), "");
}

#[test]
fn a_call_is_kept_as_it_came_where_a_session_asks() {
    let server = ServerProcess::start(&[]);
    let mut watcher = Client::log_in(server.address);
    started(
        &mut watcher,
        "ADD EVENT sqlserver.rpc_completed (SET collect_data_stream = 1, collect_output_parameters = 1) \
         ADD TARGET package0.ring_buffer",
    );
    let mut client = Client::log_in(server.address);
    let packet = evaluation("40 + 2", client.settings);
    client.send(&packet);
    assert_eq!(output_value(&client.response()), Value::Int(42));
    // Behind the packet's header and those of the request.
    let bytes: Vec<String> = packet[8 + 22..].iter().map(|byte| format!("{byte:02x}")).collect();
    let stream = value_of(&mut watcher, "rpc_completed", "data[@name=\"data_stream\"]/value");
    assert_eq!(stream, bytes.concat());
    let outputs =
        value_of(&mut watcher, "rpc_completed", "data[@name=\"output_parameters\"]/value");
    assert_eq!(outputs, "@value=42");
}
