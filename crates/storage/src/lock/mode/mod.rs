//! `LockMode`: the modes of a lock, their compatibility, and their combination.

#[cfg(not(any(loom, shuttle)))]
use sos::wait::WaitType;

/// A lock mode, as the set of the modes that it includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// IS: intent shared, for reading parts.
    IntentShared = 0b00001,
    /// S: shared, for reading.
    Shared = 0b00011,
    /// U: update, a read that may become a write.
    Update = 0b00111,
    /// IX: intent exclusive, for writing parts.
    IntentExclusive = 0b01001,
    /// SIX: the combination of S and IX.
    SharedIntentExclusive = 0b01011,
    /// UIX: the combination of U and IX.
    UpdateIntentExclusive = 0b01111,
    /// X: exclusive, for writing.
    Exclusive = 0b11111,
}

impl LockMode {
    /// All modes, weakest first.
    pub const ALL: [Self; 7] = [
        Self::IntentShared,
        Self::Shared,
        Self::Update,
        Self::IntentExclusive,
        Self::SharedIntentExclusive,
        Self::UpdateIntentExclusive,
        Self::Exclusive,
    ];

    /// Returns whether two sessions may hold a lock in these modes at once.
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

    /// Returns the weakest mode that includes both: a holder of one who asks for the other gets it.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let both = self as u8 | other as u8;
        let made = Self::ALL.into_iter().find(|mode| *mode as u8 == both);
        made.expect("the sets of modes are closed under union")
    }

    /// Returns the name that `APPLOCK_MODE` returns.
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

    /// Returns the name that `sys.dm_tran_locks` shows.
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

    /// Returns the wait type of a wait for this mode.
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
mod tests;
