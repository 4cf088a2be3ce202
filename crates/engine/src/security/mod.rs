//! What definitions ask for before they are run, and the list of what everything asks for (`asked.rs`, which
//! docs/permissions.md is made from). What a login may do is `catalog::security`; what statements ask for while they
//! are bound is `bind/require.rs`.

pub mod asked;
pub(crate) mod definition;

pub(crate) use catalog::security::{
    DB_SECURITY_ADMIN, Owner, Rights, SERVER_PUBLIC, Securable, check_object, check_references,
    has_on_column, has_on_object,
};
pub(crate) use definition::grant::{controls, holds_option};
