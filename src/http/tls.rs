//! TLS of a server: its certificate and key, read again when their files change.
//!
//! Offers HTTP/2 and HTTP/1.1. Never: certificates of clients, a key in a message.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::sleep,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// What is offered, the better first.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// How often the files are looked at; a certificate is renewed days before the old one expires.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    /// A file cannot be read.
    #[error("{}: {error}", file.display())]
    Unreadable {
        /// Which one.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {why}; it has to hold {expected} in PEM", file.display())]
    NotPem {
        /// Which one.
        file: PathBuf,
        /// Why.
        why: pem::Error,
        /// What is expected there.
        expected: &'static str,
    },
    /// Certificate and key do not go together, or are of a kind that is not known.
    #[error("certificate {} with key {}: {error}", certificate.display(), key.display())]
    Unusable {
        /// The file of the certificate chain.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        error: rustls::Error,
    },
}

/// A certificate chain with its key; a clone follows the same files.
#[derive(Clone)]
pub struct Tls(Arc<Held>);

struct Held {
    certificate: PathBuf,
    key: PathBuf,
    now: Mutex<Now>,
}

struct Now {
    acceptor: TlsAcceptor,
    /// Of the files as they were seen last, in use or not.
    seen: Fingerprint,
}

type Fingerprint = [u8; 32];

struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({})", self.0.certificate.display())
    }
}

impl Tls {
    /// Reads a certificate chain and its key, both PEM.
    ///
    /// # Errors
    /// When a file cannot be read or does not hold what it should, or when they do not go together.
    pub async fn load(certificate: &Path, key: &Path) -> Result<Self, TlsFault> {
        let files = Files::read(certificate, key).await?;
        let now = Now {
            acceptor: files.acceptor(certificate, key)?,
            seen: files.fingerprint(),
        };
        Ok(Self(Arc::new(Held {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            now: Mutex::new(now),
        })))
    }

    /// Shakes hands with a client by the certificate as it is now.
    pub(super) async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = self.with_now(|now| now.acceptor.clone());
        acceptor.accept(stream).await
    }

    /// Takes what the files hold from time to time; never returns.
    pub(super) async fn follow_files(&self) {
        loop {
            sleep(LOOK_EVERY).await;
            match self.look().await {
                Ok(false) => {}
                Ok(true) => tracing::info!(?self, "tls_certificate_renewed"),
                Err(error) => tracing::warn!(%error, "tls_certificate_kept"),
            }
        }
    }

    /// Whether the files hold another certificate, which is then used.
    ///
    /// # Errors
    /// When they hold none; the old one is kept. Told once of the same files.
    async fn look(&self) -> Result<bool, TlsFault> {
        let held = &*self.0;
        let files = Files::read(&held.certificate, &held.key).await?;
        let fingerprint = files.fingerprint();
        if self.with_now(|now| std::mem::replace(&mut now.seen, fingerprint)) == fingerprint {
            return Ok(false);
        }
        let acceptor = files.acceptor(&held.certificate, &held.key)?;
        self.with_now(|now| now.acceptor = acceptor);
        Ok(true)
    }

    fn with_now<T>(&self, f: impl FnOnce(&mut Now) -> T) -> T {
        let now = self.0.now.lock();
        f(&mut now.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Files {
    async fn read(certificate: &Path, key: &Path) -> Result<Self, TlsFault> {
        Ok(Self {
            certificate: read(certificate).await?,
            key: read(key).await?,
        })
    }

    fn fingerprint(&self) -> Fingerprint {
        let mut digest = Sha256::new();
        digest.update(self.certificate.len().to_be_bytes());
        digest.update(&self.certificate);
        digest.update(&self.key);
        digest.finalize().into()
    }

    fn acceptor(&self, certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsFault> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .and_then(|chain: Vec<_>| match chain.is_empty() {
                true => Err(pem::Error::NoItemsFound),
                false => Ok(chain),
            })
            .map_err(not_pem(certificate, "a certificate chain"))?;
        let private = PrivateKeyDer::from_pem_slice(&self.key);
        let private = private.map_err(not_pem(key, "a private key"))?;
        let config = config(chain, private).map_err(|error| TlsFault::Unusable {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            error,
        })?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

async fn read(file: &Path) -> Result<Vec<u8>, TlsFault> {
    let read = tokio::fs::read(file).await;
    read.map_err(|error| TlsFault::Unreadable {
        file: file.to_owned(),
        error,
    })
}

fn not_pem(file: &Path, expected: &'static str) -> impl FnOnce(pem::Error) -> TlsFault {
    move |why| TlsFault::NotPem {
        file: file.to_owned(),
        why,
        expected,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use tempfile::TempDir;

    use super::*;

    /// A folder with a certificate for `localhost` and its key.
    pub(in crate::http) struct Certified {
        folder: TempDir,
        pub(in crate::http) certificate: CertificateDer<'static>,
    }

    impl Certified {
        pub(in crate::http) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let certificate = renew(folder.path());
            Self {
                folder,
                certificate,
            }
        }

        pub(in crate::http) async fn load(&self) -> Result<Tls, TlsFault> {
            Tls::load(&self.file("tls.crt"), &self.file("tls.key")).await
        }

        fn file(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }
    }

    fn renew(folder: &Path) -> CertificateDer<'static> {
        let made = generate_simple_self_signed(["localhost".to_owned()]);
        let CertifiedKey { cert, signing_key } = made.unwrap();
        let certificate = pem("CERTIFICATE", cert.der());
        std::fs::write(folder.join("tls.crt"), certificate).unwrap();
        let key = pem("PRIVATE KEY", &signing_key.serialize_der());
        std::fs::write(folder.join("tls.key"), key).unwrap();
        cert.der().clone()
    }

    fn pem(what: &str, der: &[u8]) -> String {
        let text = BASE64_STANDARD.encode(der);
        format!("-----BEGIN {what}-----\n{text}\n-----END {what}-----\n")
    }

    #[tokio::test]
    async fn a_renewed_certificate_is_taken_once_and_half_of_one_never() {
        let certified = Certified::new();
        let tls = certified.load().await.unwrap();
        assert!(!tls.look().await.unwrap());
        renew(certified.folder.path());
        assert!(tls.look().await.unwrap());
        assert!(!tls.look().await.unwrap());

        let other = Certified::new();
        std::fs::copy(other.file("tls.crt"), certified.file("tls.crt")).unwrap();
        let half = tls.look().await.unwrap_err();
        assert!(matches!(half, TlsFault::Unusable { .. }), "{half}");
        assert!(!tls.look().await.unwrap(), "told once");
        std::fs::copy(other.file("tls.key"), certified.file("tls.key")).unwrap();
        assert!(tls.look().await.unwrap());
    }

    #[tokio::test]
    async fn what_is_no_certificate_or_no_key_is_refused_by_its_file() {
        let certified = Certified::new();
        for (file, holds, says) in [
            ("tls.crt", "", "a certificate chain in PEM"),
            ("tls.key", "-----BEGIN PRIVATE", "a private key in PEM"),
        ] {
            let kept = std::fs::read(certified.file(file)).unwrap();
            std::fs::write(certified.file(file), holds).unwrap();
            let refused = certified.load().await.unwrap_err().to_string();
            assert!(
                refused.contains(file) && refused.contains(says),
                "{refused}"
            );
            std::fs::write(certified.file(file), kept).unwrap();
        }
        std::fs::remove_file(certified.file("tls.key")).unwrap();
        let refused = certified.load().await.unwrap_err();
        assert!(matches!(refused, TlsFault::Unreadable { .. }), "{refused}");
    }
}
