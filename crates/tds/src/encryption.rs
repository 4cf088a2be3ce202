//! Negotiation of encryption: what the server answers to a client's ENCRYPTION option, and what
//! follows from the answer.
//!
//! [MS-TDS] 2.2.6.5 says which answers are allowed; the rest was measured with drivers. Over
//! loopback, a client that does not require encryption is answered NOT_SUP and stays in plain text,
//! which avoids TLS for the login alone. From another machine that would send the barely obfuscated
//! password in clear, so such a client gets TLS for the login only. Clients that ask for encryption
//! get it, unless the operator has switched it off.
//!
//! | client sends | off | optional, loopback | optional, remote | required | inside strict |
//! |---|---|---|---|---|---|
//! | NOT_SUP, none | NOT_SUP, plain | NOT_SUP, plain | NOT_SUP, plain | REQ, refuse | NOT_SUP, plain |
//! | OFF | NOT_SUP, plain | NOT_SUP, plain | OFF, login only | REQ, all | NOT_SUP, plain |
//! | ON, REQ | NOT_SUP, plain | ON, all | ON, all | ON, all | ON, plain |
//!
//! Inside strict (TDS 8.0) "plain" means no second TLS inside the first, and OFF is never answered:
//! the JDBC driver would close the TLS connection on it.

use crate::prelogin::Encryption;

/// The operator's setting for encryption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncryptionPolicy {
    /// No TLS at all.
    Off,
    /// TLS for clients that ask for it.
    #[default]
    Optional,
    /// TLS for every client; one that cannot is refused.
    Required,
}

/// Where the connection comes from, as far as it matters for encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The same machine: no network between.
    Loopback,
    /// Another machine, over a network.
    Remote,
    /// Inside TLS already (TDS 8.0).
    Strict,
}

/// How much of the connection is encrypted after the PRELOGIN answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsScope {
    /// No TLS (no further TLS, inside strict).
    None,
    /// A handshake, then TLS up to the end of LOGIN7, plain text after it.
    LoginOnly,
    /// A handshake, then TLS until the connection ends.
    Full,
    /// The connection ends: the client cannot encrypt as required.
    Refuse,
}

/// Decides the ENCRYPTION option to answer with and what follows, by the table above.
pub const fn decide(
    client: Option<Encryption>,
    policy: EncryptionPolicy,
    origin: Origin,
) -> (Encryption, TlsScope) {
    use Encryption::{NotSupported, Off, On, Required};
    let wants = matches!(client, Some(On | Required));
    let can = !matches!(client, None | Some(NotSupported));
    match (origin, policy) {
        (Origin::Strict, _) if wants => (On, TlsScope::None),
        (Origin::Strict, _) => (NotSupported, TlsScope::None),
        (_, EncryptionPolicy::Off) => (NotSupported, TlsScope::None),
        (_, EncryptionPolicy::Required) if wants => (On, TlsScope::Full),
        (_, EncryptionPolicy::Required) if can => (Required, TlsScope::Full),
        (_, EncryptionPolicy::Required) => (Required, TlsScope::Refuse),
        (_, EncryptionPolicy::Optional) if wants => (On, TlsScope::Full),
        (Origin::Remote, EncryptionPolicy::Optional) if can => (Off, TlsScope::LoginOnly),
        (_, EncryptionPolicy::Optional) => (NotSupported, TlsScope::None),
    }
}
