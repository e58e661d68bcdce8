//! TLS towards model servers: which certificates are trusted, which protocol is offered.
//!
//! The roots are this machine's own, `SSL_CERT_FILE` and `SSL_CERT_DIR` included. Only `http/1.1`
//! is offered: a server that could speak HTTP/2 as well then does not.

use std::{fmt, sync::Arc};

use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::Verifier;

const ALPN: &[u8] = b"http/1.1";

/// Makes ring this process's TLS provider, unless another one is installed already. Every
/// HTTP client of the process that is not ours needs one before it is built.
pub fn install() {
    if ring::default_provider().install_default().is_err() {
        tracing::debug!("a tls provider is installed already");
    }
}

/// One configuration for all connections, so that they share their sessions too.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// # Errors
    /// A machine that trusts no certificate.
    pub(super) fn of_this_machine() -> Result<Self, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new(Arc::clone(&provider))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            // The verifier is the platform's own; rustls calls any that is not its default so.
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self::with(config))
    }

    fn with(mut config: ClientConfig) -> Self {
        config.alpn_protocols = vec![ALPN.to_vec()];
        Self(Arc::new(config))
    }

    /// Trusts nothing but `root`.
    #[cfg(test)]
    pub(super) fn trusting(root: rustls::pki_types::CertificateDer<'static>) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(root).expect("a certificate");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.expect("versions of ring");
        Self::with(builder.with_root_certificates(roots).with_no_client_auth())
    }

    pub(super) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}
