//! Extended events: CREATE, ALTER and DROP EVENT SESSION.

use super::{CompareOp, Ident, Literal, NamedOption, Span};

/// Where an event session lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventScope {
    /// ON SERVER
    Server,
    /// ON DATABASE
    Database,
}

/// `CREATE EVENT SESSION name ON SERVER ADD EVENT .. ADD TARGET .. WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEventSession {
    /// Its name.
    pub name: Ident,
    /// Where it lives.
    pub scope: EventScope,
    /// ADD EVENT.
    pub events: Vec<EventDefinition>,
    /// ADD TARGET.
    pub targets: Vec<TargetDefinition>,
    /// WITH; the names in upper case.
    pub options: Vec<NamedOption>,
}

/// `ALTER EVENT SESSION name ON SERVER actions`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEventSession {
    /// Its name.
    pub name: Ident,
    /// Where it lives.
    pub scope: EventScope,
    /// What is changed, in order.
    pub actions: Vec<AlterEventAction>,
    /// WITH.
    pub options: Vec<NamedOption>,
}

/// What ALTER EVENT SESSION changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterEventAction {
    /// ADD EVENT
    AddEvent(Box<EventDefinition>),
    /// DROP EVENT
    DropEvent(EventName),
    /// ADD TARGET
    AddTarget(TargetDefinition),
    /// DROP TARGET
    DropTarget(EventName),
    /// STATE = START
    Start,
    /// STATE = STOP
    Stop,
}

/// `DROP EVENT SESSION name ON SERVER`
#[derive(Clone, Debug, PartialEq)]
pub struct DropEventSession {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub name: Ident,
    /// Where it lives.
    pub scope: EventScope,
}

/// `[module guid.]package.name` of an event, action, target, predicate source or comparator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    /// The module's GUID.
    pub module: Option<Ident>,
    /// The package; may be left out of a predicate's field.
    pub package: Option<Ident>,
    /// The name.
    pub name: Ident,
    /// Where.
    pub span: Span,
}

/// `ADD EVENT package.event (SET .. ACTION (..) WHERE ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct EventDefinition {
    /// The event.
    pub name: EventName,
    /// SET: customizable columns.
    pub settings: Vec<(Ident, Literal)>,
    /// ACTION.
    pub actions: Vec<EventName>,
    /// WHERE.
    pub predicate: Option<EventPredicate>,
}

/// `ADD TARGET package.target (SET ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct TargetDefinition {
    /// The target.
    pub name: EventName,
    /// SET: parameters.
    pub settings: Vec<(Ident, Literal)>,
}

/// The WHERE of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventPredicate {
    /// All of them; two and more.
    And(Vec<EventPredicate>),
    /// Any of them; two and more.
    Or(Vec<EventPredicate>),
    /// NOT
    Not(Box<EventPredicate>),
    /// `source op value`
    Compare {
        /// A field of the event or a predicate source.
        source: EventName,
        /// The operator.
        op: CompareOp,
        /// The value.
        value: Literal,
    },
    /// `[NOT] LIKE`
    Like {
        /// A field of the event or a predicate source.
        source: EventName,
        /// The pattern.
        pattern: Literal,
    },
    /// `package.comparator(source, value)`
    Comparator {
        /// The comparator.
        comparator: EventName,
        /// A field of the event or a predicate source.
        source: EventName,
        /// The value.
        value: Literal,
    },
}
