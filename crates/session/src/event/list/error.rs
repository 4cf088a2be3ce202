//! Events of messages and attentions.

use sos::xe::FieldType::{Boolean, Int32, Map, UInt32, UInt64, UnicodeString};
use sos::xe::{Channel, Event};

use super::{event, field};
use crate::event::map::{ERROR_CATEGORY, ERROR_DESTINATION};

/// A message is sent to a client or passed to a CATCH block.
pub static ERROR_REPORTED: Event = event(
    "error_reported",
    "Occurs when an error is reported",
    &[
        field("error_number", Int32, "Its number"),
        field("severity", Int32, "Its severity"),
        field("state", Int32, "Its state"),
        field("user_defined", Boolean, "Whether RAISERROR or THROW made it"),
        field("category", Map(&ERROR_CATEGORY), "Where it comes from"),
        field("destination", Map(&ERROR_DESTINATION), "Where it goes"),
        field("is_intercepted", Boolean, "Whether a CATCH block gets it"),
        field("message", UnicodeString, "Its text"),
    ],
)
.found_under(Channel::Admin, "errors");

/// A client has cancelled its request.
pub static ATTENTION: Event = event(
    "attention",
    "Indicates that a cancel operation, client-interrupt request or broken client connection has occurred",
    &[
        field("duration", UInt64, "Since the request began, in microseconds"),
        field("request_id", UInt32, "The request"),
    ],
)
.found_under(Channel::Analytic, "execution");
