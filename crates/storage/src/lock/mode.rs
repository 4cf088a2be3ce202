//! `LockMode`: what a lock allows its holder, what it allows others, and what two of them make.

#[cfg(not(any(loom, shuttle)))]
use sos::wait::WaitType;

/// A mode, as the set of the modes that it includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// IS
    IntentShared = 0b00001,
    /// S
    Shared = 0b00011,
    /// U
    Update = 0b00111,
    /// IX
    IntentExclusive = 0b01001,
    /// SIX: what S and IX make.
    SharedIntentExclusive = 0b01011,
    /// UIX: what U and IX make.
    UpdateIntentExclusive = 0b01111,
    /// X
    Exclusive = 0b11111,
}

impl LockMode {
    /// Every mode.
    pub const ALL: [Self; 7] = [
        Self::IntentShared,
        Self::Shared,
        Self::Update,
        Self::IntentExclusive,
        Self::SharedIntentExclusive,
        Self::UpdateIntentExclusive,
        Self::Exclusive,
    ];

    /// Whether two sessions may hold these at once.
    #[must_use]
    pub const fn is_compatible_with(self, other: Self) -> bool {
        match self {
            Self::IntentShared => !matches!(other, Self::Exclusive),
            Self::Shared => matches!(other, Self::IntentShared | Self::Shared | Self::Update),
            Self::Update => matches!(other, Self::IntentShared | Self::Shared),
            Self::IntentExclusive => matches!(other, Self::IntentShared | Self::IntentExclusive),
            Self::SharedIntentExclusive | Self::UpdateIntentExclusive => {
                matches!(other, Self::IntentShared)
            }
            Self::Exclusive => false,
        }
    }

    /// The least mode that includes both: what a holder of one has who asks for the other.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let both = self as u8 | other as u8;
        let made = Self::ALL.into_iter().find(|mode| *mode as u8 == both);
        made.expect("the sets of modes are closed under union")
    }

    /// The name that `APPLOCK_MODE` gives.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntentShared => "IntentShared",
            Self::Shared => "Shared",
            Self::Update => "Update",
            Self::IntentExclusive => "IntentExclusive",
            Self::SharedIntentExclusive => "SharedIntentExclusive",
            Self::UpdateIntentExclusive => "UpdateIntentExclusive",
            Self::Exclusive => "Exclusive",
        }
    }

    /// The name that views show.
    #[must_use]
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::IntentShared => "IS",
            Self::Shared => "S",
            Self::Update => "U",
            Self::IntentExclusive => "IX",
            Self::SharedIntentExclusive => "SIX",
            Self::UpdateIntentExclusive => "UIX",
            Self::Exclusive => "X",
        }
    }

    /// How a wait for it is booked.
    #[cfg(not(any(loom, shuttle)))]
    #[must_use]
    pub const fn wait_type(self) -> WaitType {
        match self {
            Self::IntentShared => WaitType::LockIntentShared,
            Self::Shared => WaitType::LockShared,
            Self::Update => WaitType::LockUpdate,
            Self::IntentExclusive => WaitType::LockIntentExclusive,
            Self::SharedIntentExclusive => WaitType::LockSharedIntentExclusive,
            Self::UpdateIntentExclusive => WaitType::LockUpdateIntentExclusive,
            Self::Exclusive => WaitType::LockExclusive,
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::lock::mode::LockMode::{
        Exclusive, IntentExclusive, IntentShared, Shared, SharedIntentExclusive, Update,
        UpdateIntentExclusive,
    };

    #[test]
    fn compatibility_is_the_documented_matrix() {
        let order =
            [IntentShared, Shared, Update, IntentExclusive, SharedIntentExclusive, Exclusive];
        let documented = ["yyyyyn", "yyynnn", "yynnnn", "ynnynn", "ynnnnn", "nnnnnn"];
        for (held, row) in order.into_iter().zip(documented) {
            for (asked, answer) in order.into_iter().zip(row.chars()) {
                assert_eq!(asked.is_compatible_with(held), answer == 'y', "{held:?} {asked:?}");
            }
        }
    }

    #[test]
    fn compatibility_has_two_equal_sides_and_a_stronger_mode_allows_less() {
        for a in LockMode::ALL {
            for b in LockMode::ALL {
                assert_eq!(a.is_compatible_with(b), b.is_compatible_with(a));
                for c in LockMode::ALL {
                    assert!(!a.with(b).is_compatible_with(c) || a.is_compatible_with(c));
                }
            }
        }
    }

    #[test]
    fn two_modes_make_the_least_that_includes_both() {
        assert_eq!(Shared.with(IntentExclusive), SharedIntentExclusive);
        assert_eq!(Update.with(IntentExclusive), UpdateIntentExclusive);
        assert_eq!(Shared.with(Update), Update);
        assert_eq!(IntentShared.with(IntentExclusive), IntentExclusive);
        assert_eq!(UpdateIntentExclusive.with(Exclusive), Exclusive);
    }
}
