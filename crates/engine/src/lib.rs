//! The engine: the operations of a session ([`session`]), and the crates below combined.
//!
//! Does not know wire formats: requests come in as values, results go out through
//! [`sink::ResultSink`]. The life of a statement: parse (`tsql`), compile (`compile`), bind
//! (`binder`), run (`interpreter`, `executor`, `vectorized`). `library.rs` finds functions, views
//! and procedures by name, `host.rs` answers the executor's calls to the layers above it,
//! `permissions.rs` lists the permissions for docs/permissions.md, `log_lines/` shows the log of a
//! folder.
#![forbid(unsafe_code)]

pub use ::binder as bind;
pub use ::catalog;
#[cfg(test)]
mod differential;
mod host;
pub mod library;
mod log_lines;
pub mod permissions;
pub use ::optimizer as opt;
pub use ::plan;
pub use ::session::{event, instance};
pub mod session;
pub use ::plan::sink;
pub use ::plan::stats;

pub use ::executor::move_tuples;
pub use log_lines::log_lines;

use std::sync::Arc;

use instance::{Built, Config, Instance, Plans};

/// Starts an engine with all built-in functions, views and procedures.
pub fn start(
    config: Config,
    machine: Arc<sos::sched::Machine>,
    store: Arc<storage::Store>,
) -> Arc<Instance> {
    let event_session = ::ddl::event_session::system_health::definition();
    let plans = Plans {
        version: ::metadata::function::PRODUCT_VERSION,
        document: ::explain::cached_document,
    };
    let library = library::LIBRARY;
    let describer = compile::binding::DESCRIBER;
    let built = Built { library, describer, event_session, plans };
    Instance::new(config, built, machine, store)
}
