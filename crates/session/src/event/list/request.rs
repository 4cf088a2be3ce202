//! Events of requests: batches and remote procedure calls.

use sos::xe::FieldType::{BinaryData, Map, UInt64, UnicodeString};
use sos::xe::{Channel, Event};

use super::{event, field, off, on};
use crate::event::map::{CONNECTION_RESET, RESULT};

const CPU: &str = "CPU time of the request, in microseconds";
const DURATION: &str = "From its start to its end, in microseconds";
const PAGES: &str = "Rows lie in memory: 0";
const READS: &str = "Row versions that were read or written";
const WRITES: &str = "Row versions that were written";

/// A remote procedure call begins.
pub static RPC_STARTING: Event = event(
    "rpc_starting",
    "Occurs when a remote procedure call has started",
    &[
        field("connection_reset_option", Map(&CONNECTION_RESET), "What was reset before"),
        field("object_name", UnicodeString, "The procedure"),
        field("statement", UnicodeString, "The call as a statement"),
        field("data_stream", BinaryData, "The call's bytes, as the client has sent them"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[
    on("collect_statement", "statement", "Collects the call as a statement"),
    off("collect_data_stream", "data_stream", "Collects the call's bytes"),
]);

/// A remote procedure call has ended.
pub static RPC_COMPLETED: Event = event(
    "rpc_completed",
    "Occurs when a remote procedure call has completed",
    &[
        field("cpu_time", UInt64, CPU),
        field("duration", UInt64, DURATION),
        field("page_server_reads", UInt64, PAGES),
        field("physical_reads", UInt64, PAGES),
        field("logical_reads", UInt64, READS),
        field("writes", UInt64, WRITES),
        field("spills", UInt64, PAGES),
        field("result", Map(&RESULT), "How it ended"),
        field("row_count", UInt64, "Rows of its last statement"),
        field("connection_reset_option", Map(&CONNECTION_RESET), "What was reset before"),
        field("object_name", UnicodeString, "The procedure"),
        field("statement", UnicodeString, "The call as a statement"),
        field("data_stream", BinaryData, "The call's bytes, as the client has sent them"),
        field("output_parameters", UnicodeString, "What came back in OUTPUT parameters"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[
    on("collect_statement", "statement", "Collects the call as a statement"),
    off("collect_data_stream", "data_stream", "Collects the call's bytes"),
    off(
        "collect_output_parameters",
        "output_parameters",
        "Collects what came back in OUTPUT parameters",
    ),
]);

/// A batch of statements begins.
pub static SQL_BATCH_STARTING: Event = event(
    "sql_batch_starting",
    "Occurs when a Transact-SQL batch has started executing",
    &[field("batch_text", UnicodeString, "The batch")],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[on("collect_batch_text", "batch_text", "Collects the batch")]);

/// A batch has ended.
pub static SQL_BATCH_COMPLETED: Event = event(
    "sql_batch_completed",
    "Occurs when a Transact-SQL batch has finished executing",
    &[
        field("cpu_time", UInt64, CPU),
        field("duration", UInt64, DURATION),
        field("page_server_reads", UInt64, PAGES),
        field("physical_reads", UInt64, PAGES),
        field("logical_reads", UInt64, READS),
        field("writes", UInt64, WRITES),
        field("spills", UInt64, PAGES),
        field("row_count", UInt64, "Rows of its last statement"),
        field("result", Map(&RESULT), "How it ended"),
        field("batch_text", UnicodeString, "The batch"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[on("collect_batch_text", "batch_text", "Collects the batch")]);
