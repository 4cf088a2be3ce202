//! The events that DDL triggers can name, and the event groups that contain them, one line for
//! each.
//!
//! Events of statements that Clearway refuses are not listed: no trigger could fire for them.

/// A DDL event, or a group of events.
#[derive(Debug)]
pub struct DdlEvent {
    /// Name in upper case.
    pub name: &'static str,
    /// Its `type` in `sys.trigger_event_types`.
    pub number: i32,
    /// Name of the group that contains it; empty for DDL_EVENTS.
    pub group: &'static str,
}

const fn event(name: &'static str, number: i32, group: &'static str) -> DdlEvent {
    DdlEvent { name, number, group }
}

/// The group of all events within a database.
const OF_DATABASE: &str = "DDL_DATABASE_LEVEL_EVENTS";

/// All events and groups; a group comes before its members.
pub static DDL_EVENTS: &[DdlEvent] = &[
    event("DDL_EVENTS", 10_001, ""),
    event("DDL_SERVER_LEVEL_EVENTS", 10_002, "DDL_EVENTS"),
    event("CREATE_DATABASE", 201, "DDL_SERVER_LEVEL_EVENTS"),
    event("ALTER_DATABASE", 202, "DDL_SERVER_LEVEL_EVENTS"),
    event("DROP_DATABASE", 203, "DDL_SERVER_LEVEL_EVENTS"),
    event("DDL_SERVER_SECURITY_EVENTS", 10_005, "DDL_SERVER_LEVEL_EVENTS"),
    event("DDL_LOGIN_EVENTS", 10_006, "DDL_SERVER_SECURITY_EVENTS"),
    event("CREATE_LOGIN", 144, "DDL_LOGIN_EVENTS"),
    event("ALTER_LOGIN", 145, "DDL_LOGIN_EVENTS"),
    event("DROP_LOGIN", 146, "DDL_LOGIN_EVENTS"),
    event("DDL_GDR_SERVER_EVENTS", 10_007, "DDL_SERVER_SECURITY_EVENTS"),
    event("GRANT_SERVER", 167, "DDL_GDR_SERVER_EVENTS"),
    event("DENY_SERVER", 168, "DDL_GDR_SERVER_EVENTS"),
    event("REVOKE_SERVER", 169, "DDL_GDR_SERVER_EVENTS"),
    event(OF_DATABASE, 10_016, "DDL_EVENTS"),
    event("DDL_TABLE_VIEW_EVENTS", 10_017, OF_DATABASE),
    event("DDL_TABLE_EVENTS", 10_018, "DDL_TABLE_VIEW_EVENTS"),
    event("CREATE_TABLE", 21, "DDL_TABLE_EVENTS"),
    event("ALTER_TABLE", 22, "DDL_TABLE_EVENTS"),
    event("DROP_TABLE", 23, "DDL_TABLE_EVENTS"),
    event("DDL_VIEW_EVENTS", 10_019, "DDL_TABLE_VIEW_EVENTS"),
    event("CREATE_VIEW", 41, "DDL_VIEW_EVENTS"),
    event("ALTER_VIEW", 42, "DDL_VIEW_EVENTS"),
    event("DROP_VIEW", 43, "DDL_VIEW_EVENTS"),
    event("DDL_INDEX_EVENTS", 10_020, "DDL_TABLE_VIEW_EVENTS"),
    event("CREATE_INDEX", 24, "DDL_INDEX_EVENTS"),
    event("ALTER_INDEX", 25, "DDL_INDEX_EVENTS"),
    event("DROP_INDEX", 26, "DDL_INDEX_EVENTS"),
    event("DDL_STATISTICS_EVENTS", 10_021, "DDL_TABLE_VIEW_EVENTS"),
    event("CREATE_STATISTICS", 27, "DDL_STATISTICS_EVENTS"),
    event("UPDATE_STATISTICS", 28, "DDL_STATISTICS_EVENTS"),
    event("DROP_STATISTICS", 29, "DDL_STATISTICS_EVENTS"),
    event("DDL_SYNONYM_EVENTS", 10_022, OF_DATABASE),
    event("CREATE_SYNONYM", 34, "DDL_SYNONYM_EVENTS"),
    event("DROP_SYNONYM", 36, "DDL_SYNONYM_EVENTS"),
    event("DDL_FUNCTION_EVENTS", 10_023, OF_DATABASE),
    event("CREATE_FUNCTION", 61, "DDL_FUNCTION_EVENTS"),
    event("ALTER_FUNCTION", 62, "DDL_FUNCTION_EVENTS"),
    event("DROP_FUNCTION", 63, "DDL_FUNCTION_EVENTS"),
    event("DDL_PROCEDURE_EVENTS", 10_024, OF_DATABASE),
    event("CREATE_PROCEDURE", 51, "DDL_PROCEDURE_EVENTS"),
    event("ALTER_PROCEDURE", 52, "DDL_PROCEDURE_EVENTS"),
    event("DROP_PROCEDURE", 53, "DDL_PROCEDURE_EVENTS"),
    event("DDL_TRIGGER_EVENTS", 10_025, OF_DATABASE),
    event("CREATE_TRIGGER", 71, "DDL_TRIGGER_EVENTS"),
    event("ALTER_TRIGGER", 72, "DDL_TRIGGER_EVENTS"),
    event("DROP_TRIGGER", 73, "DDL_TRIGGER_EVENTS"),
    event("DDL_TYPE_EVENTS", 10_028, OF_DATABASE),
    event("CREATE_TYPE", 91, "DDL_TYPE_EVENTS"),
    event("DROP_TYPE", 93, "DDL_TYPE_EVENTS"),
    event("DDL_DATABASE_SECURITY_EVENTS", 10_029, OF_DATABASE),
    event("DDL_USER_EVENTS", 10_031, "DDL_DATABASE_SECURITY_EVENTS"),
    event("CREATE_USER", 131, "DDL_USER_EVENTS"),
    event("ALTER_USER", 132, "DDL_USER_EVENTS"),
    event("DROP_USER", 133, "DDL_USER_EVENTS"),
    event("DDL_ROLE_EVENTS", 10_032, "DDL_DATABASE_SECURITY_EVENTS"),
    event("CREATE_ROLE", 134, "DDL_ROLE_EVENTS"),
    event("ALTER_ROLE", 135, "DDL_ROLE_EVENTS"),
    event("DROP_ROLE", 136, "DDL_ROLE_EVENTS"),
    event("ADD_ROLE_MEMBER", 207, "DDL_ROLE_EVENTS"),
    event("DROP_ROLE_MEMBER", 208, "DDL_ROLE_EVENTS"),
    event("DDL_SCHEMA_EVENTS", 10_034, "DDL_DATABASE_SECURITY_EVENTS"),
    event("CREATE_SCHEMA", 141, "DDL_SCHEMA_EVENTS"),
    event("ALTER_SCHEMA", 142, "DDL_SCHEMA_EVENTS"),
    event("DROP_SCHEMA", 143, "DDL_SCHEMA_EVENTS"),
    event("DDL_GDR_DATABASE_EVENTS", 10_035, "DDL_DATABASE_SECURITY_EVENTS"),
    event("GRANT_DATABASE", 170, "DDL_GDR_DATABASE_EVENTS"),
    event("DENY_DATABASE", 171, "DDL_GDR_DATABASE_EVENTS"),
    event("REVOKE_DATABASE", 172, "DDL_GDR_DATABASE_EVENTS"),
    event("DDL_AUTHORIZATION_DATABASE_EVENTS", 10_036, "DDL_DATABASE_SECURITY_EVENTS"),
    event("ALTER_AUTHORIZATION_DATABASE", 205, "DDL_AUTHORIZATION_DATABASE_EVENTS"),
    event("DDL_PARTITION_EVENTS", 10_049, OF_DATABASE),
    event("DDL_PARTITION_FUNCTION_EVENTS", 10_050, "DDL_PARTITION_EVENTS"),
    event("CREATE_PARTITION_FUNCTION", 191, "DDL_PARTITION_FUNCTION_EVENTS"),
    event("ALTER_PARTITION_FUNCTION", 192, "DDL_PARTITION_FUNCTION_EVENTS"),
    event("DROP_PARTITION_FUNCTION", 193, "DDL_PARTITION_FUNCTION_EVENTS"),
    event("DDL_PARTITION_SCHEME_EVENTS", 10_051, "DDL_PARTITION_EVENTS"),
    event("CREATE_PARTITION_SCHEME", 194, "DDL_PARTITION_SCHEME_EVENTS"),
    event("ALTER_PARTITION_SCHEME", 195, "DDL_PARTITION_SCHEME_EVENTS"),
    event("DROP_PARTITION_SCHEME", 196, "DDL_PARTITION_SCHEME_EVENTS"),
    event("RENAME", 241, OF_DATABASE),
    event("DDL_SEQUENCE_EVENTS", 10_062, OF_DATABASE),
    event("CREATE_SEQUENCE", 286, "DDL_SEQUENCE_EVENTS"),
    event("ALTER_SEQUENCE", 287, "DDL_SEQUENCE_EVENTS"),
    event("DROP_SEQUENCE", 288, "DDL_SEQUENCE_EVENTS"),
];

impl DdlEvent {
    /// Finds an event or group by its upper-case name.
    pub fn find(name: &str) -> Option<&'static Self> {
        DDL_EVENTS.iter().find(|event| event.name == name)
    }

    /// Returns the groups that contain it, from the innermost outwards.
    fn groups(&self) -> impl Iterator<Item = &'static Self> {
        std::iter::successors(Self::find(self.group), |group| Self::find(group.group))
    }

    /// Returns whether a trigger for this event or group fires for `event`.
    pub fn covers(&self, event: &Self) -> bool {
        self.name == event.name || event.groups().any(|group| group.name == self.name)
    }

    /// Returns whether it is a group.
    pub fn is_group(&self) -> bool {
        DDL_EVENTS.iter().any(|event| event.group == self.name)
    }

    /// Returns whether it happens in a database, so that a trigger ON DATABASE can name it.
    pub fn is_of_database(&self) -> bool {
        self.name == OF_DATABASE || self.groups().any(|group| group.name == OF_DATABASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_there_before_what_is_in_it() {
        for (place, event) in DDL_EVENTS.iter().enumerate() {
            let group = DDL_EVENTS[..place].iter().any(|group| group.name == event.group);
            assert!(group || event.group.is_empty(), "{}", event.name);
            let twice = DDL_EVENTS[..place]
                .iter()
                .find(|other| other.name == event.name || other.number == event.number);
            assert!(twice.is_none(), "{}", event.name);
        }
    }
}
