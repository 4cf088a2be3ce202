//! Actions and predicate sources: facts about the moment of an event that event sessions may
//! collect or compare.

use sos::xe::{Action, FieldType, PredicateSource, Reader, SQLSERVER};

/// Declares [`Known`], with an action and optionally a predicate source for each variant.
macro_rules! known {
    ($( $(#[doc = $doc:literal])+ $variant:ident $name:literal $type:ident $source:ident, )+) => {
        /// A fact that the engine knows of its thread.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Known {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl Known {
            const ALL: &[Self] = &[$( Self::$variant, )+];
        }

        static ALL_ACTIONS: &[Action] = &[
            $( Action::new(
                &SQLSERVER,
                $name,
                FieldType::$type,
                Reader::Caller(Known::$variant as u16),
                concat!($($doc),+),
            ), )+
        ];

        static ALL_SOURCES: &[(bool, PredicateSource)] = &[
            $( (known!(@ $source), PredicateSource::new(
                &SQLSERVER,
                $name,
                FieldType::$type,
                Reader::Caller(Known::$variant as u16),
                concat!($($doc),+),
            )), )+
        ];
    };
    (@ compared) => { true };
    (@ collected) => { false };
}

known! {
    /// Collect session ID
    SessionId "session_id" UInt16 compared,
    /// Collect current request ID
    RequestId "request_id" UInt32 compared,
    /// Collect SQL text: what the client sent, or the text of the procedure that it called
    SqlText "sql_text" UnicodeString compared,
    /// Collect Transact-SQL stack: the statement and those that have called it
    TsqlStack "tsql_stack" Xml collected,
    /// Collect Transact-SQL frame: the statement
    TsqlFrame "tsql_frame" Xml collected,
    /// Collect plan handle
    PlanHandle "plan_handle" BinaryData collected,
    /// Collect query hash
    QueryHash "query_hash" UInt64 compared,
    /// Collect query hash, as a signed number: the form of the Query Store's views
    QueryHashSigned "query_hash_signed" Int64 compared,
    /// Collect query plan hash
    QueryPlanHash "query_plan_hash" UInt64 compared,
    /// Collect query plan hash, as a signed number
    QueryPlanHashSigned "query_plan_hash_signed" Int64 compared,
    /// Collect database ID
    DatabaseId "database_id" UInt16 compared,
    /// Collect current database name
    DatabaseName "database_name" UnicodeString compared,
    /// Collect client application name
    ClientAppName "client_app_name" UnicodeString compared,
    /// Collect client hostname
    ClientHostname "client_hostname" UnicodeString compared,
    /// Collect client process ID
    ClientPid "client_pid" UInt32 compared,
    /// Collect username
    Username "username" UnicodeString compared,
    /// Collect NT username: empty, since logins are SQL Server's own
    NtUsername "nt_username" UnicodeString compared,
    /// Collect the name of the server principal in whose context the event is being fired
    ServerPrincipalName "server_principal_name" UnicodeString compared,
    /// Collect the name of the server principal that originated the session
    SessionServerPrincipalName "session_server_principal_name" UnicodeString compared,
    /// Collect the NT username that originated the session: empty
    SessionNtUsername "session_nt_username" UnicodeString compared,
    /// Collect whether current session is system
    IsSystem "is_system" Boolean compared,
    /// Collect transaction ID
    TransactionId "transaction_id" Int64 compared,
    /// Collect the name of the server instance
    ServerInstanceName "server_instance_name" UnicodeString compared,
    /// Collect CONTEXT_INFO
    ContextInfo "context_info" BinaryData collected,
    /// Collect the trace of sp_set_session_context N'traceparent', in W3C form
    Traceparent "traceparent" UnicodeString compared,
}

/// Actions of the package `sqlserver`.
pub static ACTIONS: &[Action] = ALL_ACTIONS;

/// Returns the predicate sources of the package `sqlserver`.
pub fn sources() -> impl Iterator<Item = &'static PredicateSource> {
    ALL_SOURCES.iter().filter(|(compared, _)| *compared).map(|(_, source)| source)
}

impl Known {
    /// Returns whether the fact is known for every thread, even if no request has published its
    /// context.
    pub fn is_free(self) -> bool {
        matches!(self, Self::SessionId | Self::RequestId | Self::IsSystem)
    }

    /// Returns whether the fact is about the running statement.
    pub fn is_of_statement(self) -> bool {
        matches!(
            self,
            Self::TsqlStack
                | Self::TsqlFrame
                | Self::PlanHandle
                | Self::QueryHash
                | Self::QueryHashSigned
                | Self::QueryPlanHashSigned
                | Self::QueryPlanHash
        )
    }

    /// Returns the fact with this number.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
