//! What definitions and loads ask for before they are run, and the list of what everything asks for (`asked.rs`, which
//! docs/permissions.md is made from). What a login may do is `catalog::security`; what statements ask for while they
//! are bound is `binder::require`.

pub mod asked;

pub(crate) use catalog::security::{
    Owner, Rights, Securable, State, VIEW_STATE, check_object, has_on_column, state_of,
};
pub(crate) use ddl::require as definition;
pub(crate) use ddl::require::load::{Load, check_load};
