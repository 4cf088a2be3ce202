//! Tests of what the server reports about itself, by the crate's own functions.

mod folder_walk;
