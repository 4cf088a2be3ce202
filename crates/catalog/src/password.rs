//! Password hashes: `0x0200`, 4 bytes of salt, SHA2-512 of the password in UTF-16LE and the salt,
//! the format of SQL Server's `sys.sql_logins.password_hash` since 2012.

use sha2::{Digest, Sha512};

/// Version of the hash format.
const HEADER: [u8; 2] = [0x02, 0x00];
/// Length of the salt in bytes.
const SALT_LENGTH: usize = 4;

/// Hashes a password with a random salt.
pub fn hash(password: &str) -> Vec<u8> {
    let salt = sos::sys::random_bytes::<SALT_LENGTH>();
    with_salt(password, &salt)
}

/// Length of a SHA2-512 in bytes.
const DIGEST_LENGTH: usize = 64;

/// Returns whether these bytes have the form of a hash.
pub fn is_hash(bytes: &[u8]) -> bool {
    bytes.starts_with(&HEADER) && bytes.len() == HEADER.len() + SALT_LENGTH + DIGEST_LENGTH
}

/// Returns whether a password matches a hash. Takes the same time for a wrong password.
pub fn matches(hash: &[u8], password: &str) -> bool {
    let Some(salt) = hash.get(HEADER.len()..HEADER.len() + SALT_LENGTH) else { return false };
    let computed = with_salt(password, salt);
    let difference = computed.iter().zip(hash).fold(0, |sum, (a, b)| sum | (a ^ b));
    computed.len() == hash.len() && difference == 0
}

fn with_salt(password: &str, salt: &[u8]) -> Vec<u8> {
    let mut digest = Sha512::new();
    let mut pace = sos::sched::Pace::new();
    for unit in password.encode_utf16() {
        pace.tick();
        digest.update(unit.to_le_bytes());
    }
    digest.update(salt);
    let mut hash = HEADER.to_vec();
    hash.extend_from_slice(salt);
    hash.extend_from_slice(&digest.finalize());
    hash
}

#[cfg(test)]
mod tests {
    use super::{hash, matches};

    #[test]
    fn only_the_password_matches_its_hash() {
        let stored = hash("P@ssw0rd");
        assert!(matches(&stored, "P@ssw0rd"));
        assert!(!matches(&stored, "p@ssw0rd"));
        assert!(!matches(&stored, ""));
        assert!(!matches(b"", "P@ssw0rd"));
    }

    #[test]
    fn equal_passwords_have_different_hashes() {
        assert_ne!(hash("same"), hash("same"));
    }
}
