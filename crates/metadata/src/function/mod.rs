//! Functions that read the calling session, the catalog or the server; one list per file.
#![expect(
    clippy::ptr_arg,
    reason = "one signature for all functions: some change the number of arguments"
)]

mod activity;
pub mod app_lock;
mod caught;
mod cursor;
mod files;
mod message;
mod metadata;
mod partition;
pub mod permission;
mod pointer;
pub mod principal;
mod property;
mod server;
mod session;
pub mod system;

use functions::{Call, Collating, Evaluate, Function, entry};

pub use server::PRODUCT_VERSION;

/// The lists of functions about the session, one per file.
pub static OF_SESSION: &[&[Function]] = &[
    activity::FUNCTIONS,
    app_lock::FUNCTIONS,
    caught::FUNCTIONS,
    cursor::FUNCTIONS,
    files::FUNCTIONS,
    message::FUNCTIONS,
    metadata::FUNCTIONS,
    partition::FUNCTIONS,
    permission::FUNCTIONS,
    pointer::FUNCTIONS,
    principal::FUNCTIONS,
    property::FUNCTIONS,
    server::FUNCTIONS,
    system::FUNCTIONS,
];
