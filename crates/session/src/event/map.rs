//! Maps of the engine's events: the names of numeric values.

use sos::xe::{Map, PACKAGE0, SQLSERVER};

/// How a request ended.
pub static RESULT: Map = Map::listed(
    &SQLSERVER,
    "rpc_return_result",
    "How a request ended",
    &[(0, "OK"), (1, "Error"), (2, "Abort"), (3, "Skipped")],
);

/// What a pooled connection was asked to reset before the request.
pub static CONNECTION_RESET: Map = Map::listed(
    &SQLSERVER,
    "connection_reset_option",
    "What a pooled connection was asked to forget before the request",
    &[(0, "None"), (1, "ResetConnection"), (2, "ResetConnectionKeepTransaction")],
);

/// Why a statement starts.
pub static STATEMENT_STATE: Map = Map::listed(
    &SQLSERVER,
    "statement_starting_state",
    "Why a statement starts",
    &[(0, "Normal"), (1, "Recompiled"), (2, "Execution Plan Flush")],
);

/// Types of modules, numbered by the catalog's two letters.
pub static OBJECT_TYPE: Map = Map::listed(
    &SQLSERVER,
    "object_type",
    "Types of objects",
    &[
        (8_272, "PROC"),
        (8_278, "VIEW"),
        (20_038, "FUNCTION"),
        (20_801, "ADHOC"),
        (20_816, "PREPARED"),
        (21_076, "TRIGGER"),
    ],
);

/// The receiver of a message.
pub static ERROR_DESTINATION: Map = Map::listed(
    &SQLSERVER,
    "error_reported_destination",
    "Where a message goes",
    &[(1, "EVENTLOG"), (2, "ERRORLOG"), (8, "USER"), (16, "NONE")],
);

/// The origin of a message.
pub static ERROR_CATEGORY: Map = Map::listed(
    &SQLSERVER,
    "error_category",
    "Where a message comes from",
    &[(2, "SERVER"), (3, "LOGON")],
);

/// Lock modes, such as S and X.
pub static LOCK_MODE: Map = Map::listed(
    &SQLSERVER,
    "lock_mode",
    "Modes of locks",
    &[
        (0, "NL"),
        (1, "SCH_S"),
        (2, "SCH_M"),
        (3, "S"),
        (4, "U"),
        (5, "X"),
        (6, "IS"),
        (7, "IU"),
        (8, "IX"),
        (9, "SIU"),
        (10, "SIX"),
        (11, "UIX"),
        (12, "BU"),
        (13, "RS_S"),
        (14, "RS_U"),
        (15, "RI_NL"),
        (16, "RI_S"),
        (17, "RI_U"),
        (18, "RI_X"),
        (19, "RX_S"),
        (20, "RX_U"),
        (21, "LAST_MODE"),
    ],
);

/// Types of locked resources.
pub static LOCK_RESOURCE_TYPE: Map = Map::listed(
    &SQLSERVER,
    "lock_resource_type",
    "What locks are on",
    &[(5, "OBJECT"), (9, "RID"), (10, "APPLICATION")],
);

/// Owners of locks: transaction or session.
pub static LOCK_OWNER_TYPE: Map = Map::listed(
    &SQLSERVER,
    "lock_owner_type",
    "Who owns locks",
    &[(1, "Transaction"), (2, "Cursor"), (3, "Session")],
);

/// What a waiting task waits for.
pub static RESOURCE_OWNER_TYPE: Map = Map::listed(
    &SQLSERVER,
    "resource_owner_type",
    "What a blocked task waits for",
    &[(1, "LOCK"), (4, "EXCHANGE")],
);

/// The intended audience of an event.
pub static ETW_CHANNEL: Map = Map::listed(
    &PACKAGE0,
    "etw_channel",
    "Whom events are for",
    &[(16, "Admin"), (17, "Operational"), (18, "Analytic"), (19, "Debug")],
);

/// The subject of an event.
pub static KEYWORD: Map = Map::listed(
    &PACKAGE0,
    "keyword_map",
    "What events are about",
    &[
        (1, "deadlock_monitor"),
        (2, "errors"),
        (3, "execution"),
        (4, "index"),
        (5, "latch"),
        (6, "lock"),
        (7, "memory"),
        (8, "scheduling"),
        (9, "session"),
        (10, "spinlock"),
        (11, "wait"),
        (12, "io"),
        (13, "transactions"),
    ],
);

/// All maps of the engine.
pub static MAPS: &[&Map] = &[
    &RESULT,
    &CONNECTION_RESET,
    &STATEMENT_STATE,
    &OBJECT_TYPE,
    &ERROR_DESTINATION,
    &ERROR_CATEGORY,
    &LOCK_MODE,
    &LOCK_RESOURCE_TYPE,
    &LOCK_OWNER_TYPE,
    &RESOURCE_OWNER_TYPE,
    &ETW_CHANNEL,
    &KEYWORD,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::registry;

    #[test]
    fn every_event_has_a_channel_and_a_keyword_of_the_maps() {
        for event in registry::events() {
            assert!(ETW_CHANNEL.key_of(event.channel.name()).is_some(), "{}", event.name);
            assert!(KEYWORD.key_of(event.keyword).is_some(), "{}: {}", event.name, event.keyword);
        }
    }
}
