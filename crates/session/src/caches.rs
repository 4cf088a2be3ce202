//! `Caches`: what a session keeps only to be faster.

use crate::plan_cache::ProgramCache;
use crate::scratch::SessionScratch;
use catalog::security::Copies;

/// The caches of a session. They last as long as the connection, through its resets. Entries may be
/// dropped at any time: then they are made again.
#[derive(Default)]
pub struct Caches {
    /// Programs that ran recently.
    pub programs: ProgramCache,
    /// Buffers that are reused from request to request.
    pub scratch: SessionScratch,
    /// Copies of databases without the items that the login may not see.
    pub copies: Copies,
}
