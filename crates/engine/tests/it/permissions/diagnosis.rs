//! Permission cases of looking for what is wrong, and of intervening.

use super::cases::{Case, STATE, VIEW_STATE, case};

pub(super) static DIAGNOSIS: &[Case] = &[
    case("sp_diagnose", "EXEC sp_diagnose 1", &[300, 297], &[(VIEW_STATE, &[])]),
    case("sp_inject_delay", "EXEC sp_inject_delay", &[300, 297], &[(STATE, &[])]),
];
