//! TLS for load generators: encrypts, but accepts any server certificate.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

use crate::link::Encrypt;

/// The protocol name by which a TDS 8.0 client asks for strict encryption.
const ALPN: &[u8] = b"tds/8.0";

/// Returns the settings for TLS inside TDS, or around it.
pub(crate) fn config(encrypt: Encrypt) -> &'static Arc<ClientConfig> {
    static INNER: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    static OUTER: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    match encrypt {
        // TLS 1.3 must not be offered there: its last flight crosses the boundary.
        Encrypt::Off | Encrypt::On => {
            INNER.get_or_init(|| trusting(&[&rustls::version::TLS12], &[]))
        }
        Encrypt::Strict => OUTER.get_or_init(|| trusting(rustls::ALL_VERSIONS, &[ALPN])),
    }
}

/// Returns settings of a client that trusts any certificate, with these versions of TLS and these
/// names of protocols (ALPN).
///
/// # Panics
/// If the list of versions is empty.
#[must_use]
pub fn trusting(
    versions: &[&'static rustls::SupportedProtocolVersion],
    alpn: &[&[u8]],
) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .expect("the provider has these versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// Trusts any certificate, as `TrustServerCertificate=yes` does.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
