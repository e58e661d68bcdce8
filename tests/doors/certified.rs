//! A certificate for this machine, and the authority that vouches for it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};

/// Where the files are, all in PEM.
pub(crate) struct Certified {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certified {
    /// One for 127.0.0.1, in `folder`.
    pub(crate) fn made(folder: &Path) -> Self {
        let authority = CertifiedIssuer::self_signed(authority(), key()).expect("an authority");
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
        // Strict clients ask for it.
        params.use_authority_key_identifier_extension = true;
        let own = key();
        let certificate = params.signed_by(&own, &authority).expect("a certificate");
        let write = |name: &str, what: &str, der: &[u8]| {
            let file = folder.join(name);
            let text = STANDARD.encode(der);
            let pem = format!("-----BEGIN {what}-----\n{text}\n-----END {what}-----\n");
            fs::write(&file, pem).expect("a file");
            file
        };
        Self {
            authority: write("ca.crt", "CERTIFICATE", authority.as_ref().der()),
            certificate: write("tls.crt", "CERTIFICATE", certificate.der()),
            key: write("tls.key", "PRIVATE KEY", &own.serialize_der()),
        }
    }
}

fn authority() -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    // By the same name as the certificate's own, it would pass for the certificate.
    params
        .distinguished_name
        .push(DnType::CommonName, "authority of a test");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key")
}
