//! Plans as a client may see them, and what their operators did.

mod profile;

pub(crate) use profile::Profile;
