//! Events of statements and modules.

use sos::xe::FieldType::{Int32, Int64, Map, UInt32, UInt64, UnicodeString};
use sos::xe::{Channel, Event};

use super::{event, field, on};
use crate::event::map::{OBJECT_TYPE, STATEMENT_STATE};

const DURATION: &str = "From its start to its end, in microseconds";
const CPU: &str = "CPU time, in microseconds";
const PAGES: &str = "Rows lie in memory: 0";
const READS: &str = "Row versions that were read or written";
const WRITES: &str = "Row versions that were written";
const START: &str = "Its first byte in the UTF-16 text";
const END: &str = "Its last byte in the UTF-16 text";

/// A statement of a batch begins.
pub static SQL_STATEMENT_STARTING: Event = event(
    "sql_statement_starting",
    "Occurs when a Transact-SQL statement has started",
    &[
        field("state", Map(&STATEMENT_STATE), "Why it starts"),
        field("line_number", Int32, "Its line in the batch"),
        field("offset", Int32, START),
        field("offset_end", Int32, END),
        field("statement", UnicodeString, "The statement"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[on("collect_statement", "statement", "Collects the statement")]);

/// A statement of a batch has ended.
pub static SQL_STATEMENT_COMPLETED: Event = event(
    "sql_statement_completed",
    "Occurs when a Transact-SQL statement has completed",
    &[
        field("duration", Int64, DURATION),
        field("cpu_time", UInt64, CPU),
        field("page_server_reads", UInt64, PAGES),
        field("physical_reads", UInt64, PAGES),
        field("logical_reads", UInt64, READS),
        field("writes", UInt64, WRITES),
        field("spills", UInt64, PAGES),
        field("row_count", UInt64, "Rows that it returned or changed"),
        field("last_row_count", UInt64, "Rows that it returned or changed"),
        field("line_number", Int32, "Its line in the batch"),
        field("offset", Int32, START),
        field("offset_end", Int32, END),
        field("statement", UnicodeString, "The statement"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[on("collect_statement", "statement", "Collects the statement")]);

/// A statement of a module begins.
pub static SP_STATEMENT_STARTING: Event = event(
    "sp_statement_starting",
    "Occurs when a statement inside a stored procedure has started",
    &[
        field("source_database_id", UInt32, "The module's database"),
        field("object_id", Int32, "The module"),
        field("object_type", Map(&OBJECT_TYPE), "What the module is"),
        field("state", Map(&STATEMENT_STATE), "Why it starts"),
        field("nest_level", UInt32, "Modules that have called each other"),
        field("line_number", Int32, "Its line in the module"),
        field("offset", Int32, START),
        field("offset_end", Int32, END),
        field("object_name", UnicodeString, "The module's name"),
        field("statement", UnicodeString, "The statement"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[
    on("collect_object_name", "object_name", "Collects the module's name"),
    on("collect_statement", "statement", "Collects the statement"),
]);

/// A statement of a module has ended.
pub static SP_STATEMENT_COMPLETED: Event = event(
    "sp_statement_completed",
    "Occurs when a statement inside a stored procedure has completed",
    &[
        field("source_database_id", UInt32, "The module's database"),
        field("object_id", Int32, "The module"),
        field("object_type", Map(&OBJECT_TYPE), "What the module is"),
        field("duration", Int64, DURATION),
        field("cpu_time", UInt64, CPU),
        field("page_server_reads", UInt64, PAGES),
        field("physical_reads", UInt64, PAGES),
        field("logical_reads", UInt64, READS),
        field("writes", UInt64, WRITES),
        field("spills", UInt64, PAGES),
        field("row_count", UInt64, "Rows that it returned or changed"),
        field("last_row_count", UInt64, "Rows that it returned or changed"),
        field("nest_level", UInt32, "Modules that have called each other"),
        field("line_number", Int32, "Its line in the module"),
        field("offset", Int32, START),
        field("offset_end", Int32, END),
        field("object_name", UnicodeString, "The module's name"),
        field("statement", UnicodeString, "The statement"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[
    on("collect_object_name", "object_name", "Collects the module's name"),
    on("collect_statement", "statement", "Collects the statement"),
]);

/// A procedure, trigger or function begins.
pub static MODULE_START: Event = event(
    "module_start",
    "Occurs when a module begins execution",
    &[
        field("source_database_id", UInt32, "The module's database"),
        field("object_id", Int32, "The module"),
        field("line_number", Int32, "The caller's line"),
        field("object_type", Map(&OBJECT_TYPE), "What the module is"),
        field("object_name", UnicodeString, "The module's name"),
    ],
)
.found_under(Channel::Analytic, "execution");

/// A module has ended.
pub static MODULE_END: Event = event(
    "module_end",
    "Occurs when a module has completed execution",
    &[
        field("source_database_id", UInt32, "The module's database"),
        field("object_id", Int32, "The module"),
        field("row_count", UInt64, "Rows of its last statement"),
        field("duration", UInt64, DURATION),
        field("line_number", Int32, "The caller's line"),
        field("object_type", Map(&OBJECT_TYPE), "What the module is"),
        field("object_name", UnicodeString, "The module's name"),
    ],
)
.found_under(Channel::Analytic, "execution");
