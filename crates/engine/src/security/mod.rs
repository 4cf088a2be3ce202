//! What definitions and loads ask for before they are run, and the list of what everything asks for (`asked.rs`, which
//! docs/permissions.md is made from). What a login may do is `catalog::security`; what statements ask for while they
//! are bound is `binder::require`.

pub mod asked;
pub(crate) mod definition;
mod load;

pub(crate) use catalog::security::{
    DB_SECURITY_ADMIN, FIXED_ROLE_FIRST, Owner, Rights, SERVER_PUBLIC, Securable, State,
    VIEW_STATE, check_object, has_on_column, state_of,
};
pub(crate) use definition::grant::{controls, holds_option, is_denied};
pub(crate) use load::{Load, check_load};
