//! Extended events: code fires events, and sessions collect those that match their predicates.
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
//! Everything that can be collected is declared once, as statics: [`Event`], [`Action`],
//! [`PredicateSource`], [`Map`], [`Comparator`], [`Target`]. A session is a [`SessionSpec`] of
//! references to them; its state is a [`SessionReport`]. Nothing here knows SQL: the server
//! resolves names. docs/decisions/0120.

use crate::stack::{self, FRAMES_MAX, StackId};
use crate::symbols;

mod action;
mod comparator;
mod dispatch;
mod emitter;
mod error;
mod event;
pub mod events;
mod field;
mod filling;
mod hub;
mod layout;
pub(crate) mod machine_events;
pub mod map;
pub mod mixed;
mod moment;
mod package;
mod partition;
mod program;
mod record;
mod report;
mod session;
mod shape;
mod spec;
mod target;
mod text;
mod value;

pub use action::{
    ACTIONS, ATTACH_ACTIVITY_ID, ATTACH_ACTIVITY_ID_XFER, Action, ActionSource, CALLSTACK, Fact,
    PREDICATE_SOURCES, PredicateSource, Reader,
};
pub use comparator::{COMPARATORS, Comparator, Operand, Operation};
pub(crate) use emitter::Emitter;
pub use emitter::{Activity, fire, fire_at, goes_on_with, present_activity};
pub use error::XeError;
pub use event::{Blocking, Channel, Event, enabled};
pub use field::{FIELD_TYPES, Field, FieldType, Setting};
pub use hub::Hub;
pub use map::{Entries, MAPS, Map};
pub use moment::supplied_by;
pub use package::{PACKAGE0, PACKAGES, Package, SQLOS, SQLSERVER};
pub use report::{
    CounterData, Drops, EventRecord, EventReport, EventTotals, FileData, HistogramData,
    HistogramSlot, PairData, RecordField, RingData, SessionReport, TargetData, TargetReport,
};
pub use spec::{
    Comparison, EventSpec, MAX_DISPATCH_LATENCY_DEFAULT, MAX_MEMORY_DEFAULT, PartitionMode,
    Predicate, PredicateInput, Retention, SessionOptions, SessionSpec, TargetSpec,
};
pub use target::format::{EventFileReader, FileBlock, event_files};
pub use target::{Parameter, ParameterType, TARGETS, Target, TargetKind};
pub use value::{OwnedValue, Value, guid_text};

/// The bit in the number of a stack that is to be shown as addresses: action `callstack_rva`.
pub const STACK_AS_ADDRESSES: u32 = 1 << 31;

/// A call stack as text, one line per function, innermost first: `module!function+0x..`, or
/// addresses if its number has [`STACK_AS_ADDRESSES`]. Looks up names, which may take long.
#[must_use]
pub fn stack_text(number: u32) -> String {
    let id = StackId::of_number(number & !STACK_AS_ADDRESSES);
    if number & STACK_AS_ADDRESSES == 0 {
        return symbols::text(id);
    }
    let mut frames = [0; FRAMES_MAX];
    let count = stack::frames(id, &mut frames);
    let lines: Vec<String> = frames[..count].iter().map(|frame| format!("{frame:#018x}")).collect();
    lines.join("\n")
}
