//! Views of Extended Events: the events and objects that exist (`dm_xe_objects` and others), the
//! definitions of sessions (`server_event_sessions` and others), and the data of running sessions
//! (`dm_xe_sessions` and others).

pub(crate) mod dm_xe_map_values;
pub(crate) mod dm_xe_object_columns;
pub(crate) mod dm_xe_objects;
pub(crate) mod dm_xe_packages;
pub(crate) mod dm_xe_session_counts;
pub(crate) mod dm_xe_session_event_actions;
pub(crate) mod dm_xe_session_events;
pub(crate) mod dm_xe_session_object_columns;
pub(crate) mod dm_xe_session_targets;
pub(crate) mod dm_xe_sessions;
pub(crate) mod fn_xe_file_target_read_file;
pub(crate) mod server_event_session_actions;
pub(crate) mod server_event_session_events;
pub(crate) mod server_event_session_fields;
pub(crate) mod server_event_session_targets;
pub(crate) mod server_event_sessions;

use sos::xe::Package;
use types::Value;

use metadata::column::binary;

/// `package_guid`: the package's fixed GUID.
fn guid(package: &Package) -> Value {
    guid_of(package.guid)
}

/// Parses a GUID. Its first three groups are little-endian numbers.
fn guid_of(text: &str) -> Value {
    let mut bytes = [0; 16];
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).filter_map(|d| u8::try_from(d).ok()).collect();
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    Value::UniqueIdentifier(bytes)
}

/// Returns an address as a big-endian `varbinary(8)`.
fn address(address: usize) -> Value {
    binary(&(address as u64).to_be_bytes())
}
