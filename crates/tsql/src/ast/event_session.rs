//! Extended events: CREATE, ALTER and DROP EVENT SESSION.

use super::{CompareOp, Ident, Literal, NamedOption, Span};

/// Whether an event session belongs to the server or to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventScope {
    /// `ON SERVER`: events of every session.
    Server,
    /// `ON DATABASE`: events of one database's sessions.
    Database,
}

/// `CREATE EVENT SESSION name ON SERVER ADD EVENT .. ADD TARGET .. WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEventSession {
    /// Name of the event session.
    pub name: Ident,
    /// `ON SERVER` or `ON DATABASE`.
    pub scope: EventScope,
    /// The events of `ADD EVENT`, in order.
    pub events: Vec<EventDefinition>,
    /// The targets of `ADD TARGET`, in order.
    pub targets: Vec<TargetDefinition>,
    /// WITH; the names in upper case.
    pub options: Vec<NamedOption>,
}

/// `ALTER EVENT SESSION name ON SERVER actions`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEventSession {
    /// Name of the event session.
    pub name: Ident,
    /// `ON SERVER` or `ON DATABASE`.
    pub scope: EventScope,
    /// The changes, in the order written.
    pub actions: Vec<AlterEventAction>,
    /// The options of `WITH (..)`.
    pub options: Vec<NamedOption>,
}

/// What ALTER EVENT SESSION changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterEventAction {
    /// `ADD EVENT ..`: adds an event.
    AddEvent(Box<EventDefinition>),
    /// `DROP EVENT package.event`: removes an event.
    DropEvent(EventName),
    /// `ADD TARGET ..`: adds a target.
    AddTarget(TargetDefinition),
    /// `DROP TARGET package.target`: removes a target.
    DropTarget(EventName),
    /// `STATE = START`: starts the session.
    Start,
    /// `STATE = STOP`: stops the session.
    Stop,
}

/// `DROP EVENT SESSION name ON SERVER`
#[derive(Clone, Debug, PartialEq)]
pub struct DropEventSession {
    /// Whether `IF EXISTS` was written.
    pub if_exists: bool,
    /// Name of the event session.
    pub name: Ident,
    /// `ON SERVER` or `ON DATABASE`.
    pub scope: EventScope,
}

/// `[module guid.]package.name` of an event, action, target, predicate source or comparator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    /// GUID of the module; `None` if left out.
    pub module: Option<Ident>,
    /// The package; may be left out of a predicate's field.
    pub package: Option<Ident>,
    /// Name of the object in its package.
    pub name: Ident,
    /// Source range of all parts.
    pub span: Span,
}

/// `ADD EVENT package.event (SET .. ACTION (..) WHERE ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct EventDefinition {
    /// The event that is collected.
    pub name: EventName,
    /// `SET name = value, ..`: the event's customizable columns.
    pub settings: Vec<(Ident, Literal)>,
    /// The actions that run when the event fires.
    pub actions: Vec<EventName>,
    /// `WHERE ..`; `None` collects every occurrence.
    pub predicate: Option<EventPredicate>,
}

/// `ADD TARGET package.target (SET ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct TargetDefinition {
    /// The target that stores events.
    pub name: EventName,
    /// `SET name = value, ..`: the target's parameters.
    pub settings: Vec<(Ident, Literal)>,
}

/// The WHERE of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventPredicate {
    /// `a AND b AND ..`; at least two predicates.
    And(Vec<EventPredicate>),
    /// `a OR b OR ..`; at least two predicates.
    Or(Vec<EventPredicate>),
    /// `NOT x`: negates a predicate.
    Not(Box<EventPredicate>),
    /// `source op value`: compares with a constant.
    Compare {
        /// A field of the event or a predicate source.
        source: EventName,
        /// The comparison, as `=` or `<>`.
        op: CompareOp,
        /// A number or a string.
        value: Literal,
    },
    /// `source LIKE pattern`: matches a string.
    Like {
        /// A field of the event or a predicate source.
        source: EventName,
        /// The pattern, a string constant.
        pattern: Literal,
    },
    /// `package.comparator(source, value)`: calls a comparator.
    Comparator {
        /// The comparator (`pred_compare`) that is called.
        comparator: EventName,
        /// A field of the event or a predicate source.
        source: EventName,
        /// A number or a string.
        value: Literal,
    },
}
