//! `Tls`: the server's certificate, and the two ways in which TLS is offered.
//!
//! Inside PRELOGIN packets (TDS 7.x) TLS is limited to 1.2, since drivers hang on 1.3 there; from
//! the first byte (TDS 8.0, ALPN `tds/8.0`) 1.3 is offered too. A self-signed certificate is made
//! when the first client needs one, so that it does not delay the start.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
use sos::sync::OnceLock;

use crate::options::Certificate;

/// The protocol name by which a TDS 8.0 client asks for strict encryption.
const ALPN: &[u8] = b"tds/8.0";
/// The protocol name of HTTP/1.1.
const ALPN_HTTP: &[u8] = b"http/1.1";
/// Years that a self-signed certificate is valid.
const SELF_SIGNED_YEARS: i32 = 10;
/// Days in 400 years of the Gregorian calendar.
const DAYS_PER_400_YEARS: u64 = 146_097;

/// How TLS begins on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The handshake is inside PRELOGIN packets.
    Wrapped,
    /// TLS begins with the first byte.
    Strict,
    /// HTTPS, for the console in the browser.
    Https,
}

/// A certificate chain and its key.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// The server's TLS; its configurations are made when first used.
pub(crate) struct Tls {
    identity: OnceLock<Result<Identity, String>>,
    machine_name: String,
    wrapped: OnceLock<Result<Arc<ServerConfig>, String>>,
    strict: OnceLock<Result<Arc<ServerConfig>, String>>,
    https: OnceLock<Result<Arc<ServerConfig>, String>>,
}

impl Tls {
    /// Returns TLS with the given certificate. Files are read and checked now; a self-signed
    /// certificate is made later.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the files.
    pub(crate) fn new(certificate: &Certificate, machine_name: &str) -> Result<Self, String> {
        let tls = Self {
            identity: OnceLock::new(),
            machine_name: machine_name.to_owned(),
            wrapped: OnceLock::new(),
            strict: OnceLock::new(),
            https: OnceLock::new(),
        };
        if let Certificate::Files { certificates, key } = certificate {
            let identity = Identity { chain: read_chain(certificates)?, key: read_key(key)? };
            let _ = tls.identity.set(Ok(identity));
            tls.config(Mode::Wrapped)?;
        }
        Ok(tls)
    }

    /// Returns the configuration for new TLS connections.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub(crate) fn config(&self, mode: Mode) -> Result<Arc<ServerConfig>, String> {
        let cell = match mode {
            Mode::Wrapped => &self.wrapped,
            Mode::Strict => &self.strict,
            Mode::Https => &self.https,
        };
        cell.get_or_init(|| self.make_config(mode)).clone()
    }

    fn make_config(&self, mode: Mode) -> Result<Arc<ServerConfig>, String> {
        let identity = self.identity.get_or_init(|| self_signed(&self.machine_name));
        let identity = identity.as_ref().map_err(Clone::clone)?;
        let versions: &[_] = match mode {
            Mode::Wrapped => &[&rustls::version::TLS12],
            Mode::Strict | Mode::Https => &[&rustls::version::TLS13, &rustls::version::TLS12],
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(versions)
            .and_then(|builder| {
                let key = identity.key.clone_key();
                builder.with_no_client_auth().with_single_cert(identity.chain.clone(), key)
            })
            .map_err(|error| format!("the certificate cannot be used: {error}"))?;
        // Connections are long-lived: resumption would cost memory and save nothing.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.alpn_protocols = match mode {
            Mode::Wrapped => Vec::new(),
            Mode::Strict => vec![ALPN.to_vec()],
            Mode::Https => vec![ALPN_HTTP.to_vec()],
        };
        Ok(Arc::new(config))
    }
}

/// Makes a random password of 24 letters and digits, which every client can quote.
///
/// # Errors
/// A sentence, if the operating system has no randomness.
pub fn random_password() -> Result<String, String> {
    const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyzABCDEFGH2";
    let mut random = [0; 20];
    provider()
        .secure_random
        .fill(&mut random)
        .map_err(|_| "the operating system gives no random numbers".to_owned())?;
    let letters = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    // SQL Server requires three kinds of characters; so do the forms of some clients.
    Ok(letters.chain("-Aa1".chars()).collect())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(&error))?;
    if chain.is_empty() { Err(wrong(&"no certificate in PEM form")) } else { Ok(chain) }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes a certificate for `localhost`, the loopback addresses and this machine's name. ECDSA on
/// P-256: its handshake costs a tenth of RSA's.
fn self_signed(machine_name: &str) -> Result<Identity, String> {
    let failed = |error: rcgen::Error| format!("no certificate could be made: {error}");
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !machine_name.is_empty() && machine_name != "localhost" {
        names.push(machine_name.to_owned());
    }
    let mut parameters = rcgen::CertificateParams::new(names).map_err(failed)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "localhost");
    let (year_first, year_last) = validity_years();
    parameters.not_before = rcgen::date_time_ymd(year_first, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(year_last, 1, 1);
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok(Identity { chain: vec![certificate.der().clone()], key })
}

/// Returns the first and last year of a self-signed certificate: starting last year, so that clocks
/// may differ.
fn validity_years() -> (i32, i32) {
    let (days, _) = sos::clock::utc_days_and_ticks();
    let year = u64::from(days) * 400 / DAYS_PER_400_YEARS + 1;
    let first = i32::try_from(year).unwrap_or(i32::MAX / 2) - 1;
    (first, first + SELF_SIGNED_YEARS)
}
