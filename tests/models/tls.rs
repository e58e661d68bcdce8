//! A server whose certificate nobody vouches for.

use std::{
    io::Read as _,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rustls::{
    ServerConfig, ServerConnection, Stream,
    crypto::ring,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};

use crate::asking::{ask, table};

/// For `localhost` and 127.0.0.1, good for a hundred years, signed by itself.
const CERTIFICATE: &str = "MIIBmzCCAUGgAwIBAgIUW/l+J44/R4wxgpsTASiPpkRF2CYwCgYIKoZIzj0EAwIwFDES\
    MBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDEwMzEzMVoYDzIxMjYxMTA2MTAzMTMxWjAUMRIwEAYDVQQDDAlsb2\
    NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ0rLkjipR9l632fEdUoM+3C3E+fq0seWVTO1YQUGbXjpw0\
    5WfpbmVYDpTunrEPhIA+/kCL76HLgj1OBEoURdCno28wbTAdBgNVHQ4EFgQUKq8JntUGApzL9SQEvRHkEcPhc8UwHw\
    YDVR0jBBgwFoAUKq8JntUGApzL9SQEvRHkEcPhc8UwDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhv\
    c3SHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIgB7nPwuqvlJDAPeTcHX2wtH9ojpoXswbk7VSTqrRGev8CIQCios3Edb\
    lePqgtL1T3xmwQS9uWp62sYFCt8MU+zQvO2Q==";
/// Protects nothing: it belongs to the certificate above alone.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkcL6qTQhgV0BDqz8GP2/JNcBMwXzPTK\
    MPaRSUhwh9IOhRANCAAQ0rLkjipR9l632fEdUoM+3C3E+fq0seWVTO1YQUGbXjpw05WfpbmVYDpTunrEPhIA+/kCL7\
    6HLgj1OBEoURdCn";

fn config() -> ServerConfig {
    let decoded = |text: &str| BASE64_STANDARD.decode(text).expect("base64");
    let certificate = CertificateDer::from(decoded(CERTIFICATE));
    let key = PrivatePkcs8KeyDer::from(decoded(KEY)).into();
    let provider = Arc::new(ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a certificate and its key")
}

/// Shakes hands with whoever comes, and counts who said anything afterwards.
fn server() -> (SocketAddr, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (came, spoke) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&came), Arc::clone(&spoke));
    let config = Arc::new(config());
    // Ends with the process: there is nobody to tell it to.
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            counts.0.fetch_add(1, Ordering::SeqCst);
            let session = ServerConnection::new(Arc::clone(&config));
            let mut session = session.expect("a session");
            let mut tls = Stream::new(&mut session, &mut stream);
            if tls.read(&mut [0; 1]).is_ok_and(|read| read > 0) {
                counts.1.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    (address, came, spoke)
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_final_and_told_no_key() {
    let (address, came, spoke) = server();

    let failed = ask(&table("openai", &format!("https://{address}/v1"), "")).await;

    let failed = failed.expect_err("not trusted");
    assert!(
        failed.to_string().contains("certificate not trusted"),
        "{failed}"
    );
    assert_eq!((failed.attempts, came.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(spoke.load(Ordering::SeqCst), 0, "nothing was sent");
}
