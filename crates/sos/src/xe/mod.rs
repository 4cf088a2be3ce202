//! Extended events: what happens, told by those to whom it happens, to sessions that ask for it.
//!
//! ```text
//!  probe: one load ──0──► nothing
//!         │1
//!         ▼
//!  predicate ──► actions ──► a partition of the session, claimed by one exchange
//!                              ├─ shards of histograms and counters: added up on the spot
//!                              └─ record ─► dispatcher ─► ring buffer, file, pairs
//! ```
//!
//! What can be collected is declared once, as statics: [`Event`], [`Action`], [`PredicateSource`],
//! [`Map`], [`Comparator`], [`Target`]. A session is a [`SessionSpec`] of references to them; what it has
//! come to is a [`SessionReport`]. Nothing here knows SQL: names are resolved above. docs/decisions/0120.

mod action;
mod comparator;
mod error;
mod event;
pub mod events;
mod field;
pub mod map;
mod package;
mod report;
mod spec;
mod target;
mod value;

pub use action::{
    ACTIONS, ATTACH_ACTIVITY_ID, ATTACH_ACTIVITY_ID_XFER, Action, ActionSource, CALLSTACK, Fact,
    PREDICATE_SOURCES, PredicateSource, Reader,
};
pub use comparator::{COMPARATORS, Comparator, Operand, Operation};
pub use error::XeError;
pub use event::{Blocking, Channel, Event, enabled};
pub use field::{FIELD_TYPES, Field, FieldType, Setting};
pub use map::{Entries, MAPS, Map};
pub use package::{PACKAGE0, PACKAGES, Package, SQLOS, SQLSERVER};
pub use report::{
    CounterData, Drops, EventRecord, EventReport, EventTotals, FileData, HistogramData,
    HistogramSlot, PairData, RecordField, RingData, SessionReport, TargetData, TargetReport,
};
pub use spec::{
    Comparison, EventSpec, MAX_DISPATCH_LATENCY_DEFAULT, MAX_MEMORY_DEFAULT, PartitionMode,
    Predicate, PredicateInput, Retention, SessionOptions, SessionSpec, TargetSpec,
};
pub use target::{Parameter, ParameterType, TARGETS, Target, TargetKind};
pub use value::{OwnedValue, Value, guid_text};
