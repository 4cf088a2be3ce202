//! `PasswordPolicy`: the rules of CHECK_POLICY, CHECK_EXPIRATION and MUST_CHANGE for a login's
//! password.
//!
//! SQL Server asks Windows. The rules here are those of its page "Password Policy"; the maximum age
//! is Windows' default. No login is locked out: docs/decisions/0220 describes the alternative.

use types::{Msg, Value, date::Moment};

use super::Login;

/// Minimum number of characters in a password.
const LENGTH_MIN: usize = 8;
/// Minimum number of character classes, of the four.
const KINDS_MIN: usize = 3;
/// Login names shorter than this may occur in a password, as in Windows.
const NAME_LENGTH_MIN: usize = 3;
/// Maximum age of a password in days.
const AGE_MAX_DAYS: i32 = 42;

/// The password rules of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// CHECK_POLICY: new passwords are checked.
    pub checked: bool,
    /// CHECK_EXPIRATION: the password expires.
    pub expires: bool,
    /// MUST_CHANGE: the password must be changed at the next login.
    pub must_change: bool,
    /// When the password was set, UTC.
    pub set: Moment,
}

/// The reason why a password is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// It has too few characters.
    TooShort,
    /// It has too few character classes, or contains the login's name.
    TooSimple,
}

impl Weakness {
    /// Returns the error of CREATE LOGIN and ALTER LOGIN.
    pub fn message(self) -> Msg<'static> {
        match self {
            Self::TooShort => Msg::PasswordTooShort,
            Self::TooSimple => Msg::PasswordTooSimple,
        }
    }
}

impl PasswordPolicy {
    /// Returns a policy without any check, for a password that is set now.
    pub fn none() -> Self {
        let set = super::clock::clock();
        Self { checked: false, expires: false, must_change: false, set }
    }

    /// Returns the days until the password expires, 0 if it has; `None` if it never does.
    pub fn days_left(&self, today: i32) -> Option<i32> {
        let age = today.saturating_sub(self.set.days).max(0);
        self.expires.then(|| (AGE_MAX_DAYS - age).max(0))
    }

    /// Returns whether the password has expired.
    pub fn has_expired(&self, today: i32) -> bool {
        self.days_left(today) == Some(0)
    }
}

impl Login {
    /// Sets the login's password hash, and the time of the change.
    pub fn set_password(&mut self, hash: Vec<u8>) {
        self.password_hash = hash;
        self.policy.set = super::clock::clock();
        self.policy.must_change = false;
        self.touch();
    }

    /// Sets the time of the last change.
    pub fn touch(&mut self) {
        let now = super::clock::clock();
        self.modified = now.to_value(&types::DataType::DateTime).unwrap_or(Value::Null);
    }
}

/// Returns why a login may not have this password; `None` if it may.
pub fn weakness(login: &str, password: &str) -> Option<Weakness> {
    if password.chars().count() < LENGTH_MIN {
        return Some(Weakness::TooShort);
    }
    let kinds: [fn(char) -> bool; 4] =
        [char::is_uppercase, char::is_lowercase, char::is_numeric, |c: char| !c.is_alphanumeric()];
    let found = kinds.iter().filter(|is_of_kind| password.chars().any(is_of_kind)).count();
    let has_name = login.chars().count() >= NAME_LENGTH_MIN
        && password.to_lowercase().contains(&login.to_lowercase());
    (found < KINDS_MIN || has_name).then_some(Weakness::TooSimple)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Password Policy": eight characters, three of four kinds, not the name of the account.
    #[test]
    fn a_password_is_long_and_of_three_kinds_and_not_the_name() {
        for (password, wanted) in [
            ("Ab1!", Some(Weakness::TooShort)),
            ("Ab1!cd2", Some(Weakness::TooShort)),
            ("Ab1!cd23", None),
            ("abcdefgh", Some(Weakness::TooSimple)),
            ("Abcdefgh", Some(Weakness::TooSimple)),
            ("Abcdefg1", None),
            ("abcdef1!", None),
            ("My-CLERK-1", Some(Weakness::TooSimple)),
        ] {
            assert_eq!(weakness("clerk", password), wanted, "{password}");
        }
        assert_eq!(weakness("me", "Some-word-1"), None);
    }

    #[test]
    fn a_password_expires_after_its_days() {
        let set = Moment { days: 1_000, ticks: 0, offset: 0 };
        let policy = PasswordPolicy { checked: true, expires: true, must_change: false, set };
        assert_eq!(policy.days_left(1_000), Some(42));
        assert_eq!(policy.days_left(1_041), Some(1));
        assert!(!policy.has_expired(1_041));
        assert!(policy.has_expired(1_042) && policy.has_expired(9_000));
        assert_eq!(PasswordPolicy { expires: false, ..policy }.days_left(9_000), None);
    }
}
