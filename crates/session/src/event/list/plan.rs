//! Events of plans and of the memory they use.

use sos::xe::FieldType::{Int32, Map, UInt32, UInt64, UnicodeString, Xml};
use sos::xe::{Channel, Event};

use super::{event, field, off};
use crate::event::map::OBJECT_TYPE;

/// A query that used a memory grant has ended.
pub static QUERY_MEMORY_GRANT_USAGE: Event = event(
    "query_memory_grant_usage",
    "Occurs at the end of query processing for queries with memory grant over 5MB",
    &[
        field("ideal_memory_kb", UInt64, "What its operators were expected to take"),
        field("granted_memory_kb", UInt64, "What it had at most"),
        field("used_memory_kb", UInt64, "What it had at most"),
        field("usage_percent", UInt32, "Used of granted"),
        field("dop", UInt32, "Threads: 1"),
        field("granted_percent", UInt32, "Granted of ideal"),
    ],
)
.found_under(Channel::Analytic, "execution");

/// A statement with a plan has ended.
pub static QUERY_POST_EXECUTION_SHOWPLAN: Event = event(
    "query_post_execution_showplan",
    "Occurs after a SQL statement is executed; the event has its plan, with what each operator did. It costs as much as SET STATISTICS XML",
    &[
        field("source_database_id", UInt32, "The database"),
        field("object_type", Map(&OBJECT_TYPE), "What the statement is in"),
        field("object_id", Int32, "The module"),
        field("nest_level", UInt32, "Modules that have called each other"),
        field("duration", UInt64, "Microseconds"),
        field("object_name", UnicodeString, "The module's name"),
        field("showplan_xml", Xml, "The plan"),
        field("database_name", UnicodeString, "The database's name"),
    ],
)
.found_under(Channel::Analytic, "execution")
.with_settings(&[off("collect_database_name", "database_name", "Collects the database's name")]);
