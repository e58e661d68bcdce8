//! TLS and proxies, over real sockets.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{
    clock::{Chance, Clock},
    runtime::{
        Shared,
        connector::{
            Payload,
            endpoint::{Endpoint, Response},
            network::Network,
            transport::{Permit, Pools, tls::Tls},
        },
        fault::{Again, ConnectionFault},
    },
};

/// A server behind TLS that could speak HTTP/2 as well, and the certificate to trust it by.
struct Secure {
    port: u16,
    certificate: CertificateDer<'static>,
    spoken: UnboundedReceiver<Option<Vec<u8>>>,
}

impl Secure {
    async fn start() -> Self {
        let made = generate_simple_self_signed(["localhost".to_owned()]);
        let CertifiedKey { cert, signing_key } = made.expect("a certificate");
        let certificate = cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of ring")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], PrivateKeyDer::Pkcs8(key))
            .expect("a certificate and its key");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (say, spoken) = unbounded_channel();
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), say));
        Self {
            port,
            certificate,
            spoken,
        }
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/v1", self.port)
    }
}

/// Tells of each connection which protocol was agreed on, and answers one request over it.
async fn serve(listener: TcpListener, tls: TlsAcceptor, say: UnboundedSender<Option<Vec<u8>>>) {
    while let Ok((tcp, _)) = listener.accept().await {
        let Ok(mut stream) = tls.accept(tcp).await else {
            continue;
        };
        let spoken = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        if say.send(spoken).is_err() {
            return;
        }
        drop(head(&mut stream).await);
        drop(stream.write_all(answer("", "hi").as_bytes()).await);
        drop(stream.shutdown().await);
    }
}

/// The head of a request.
async fn head(stream: &mut (impl Stream + ?Sized)) -> String {
    let mut read = Vec::new();
    while !read.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read_buf(&mut read).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// A proxy that wants a login; tells the head of each request to it. Tunnels where it is asked to,
/// and else answers itself.
async fn proxy() -> (String, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (say, said) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let asked = head(&mut stream).await;
            let tunnel = asked.strip_prefix("CONNECT ");
            let to = tunnel.and_then(|rest| rest.split(' ').next().map(str::to_owned));
            drop(say.send(asked));
            match to {
                Some(to) => tunnelled(stream, &to).await,
                None => drop(stream.write_all(answer("", "hi").as_bytes()).await),
            }
        }
    });
    (format!("http://me:sesame@127.0.0.1:{port}"), said)
}

async fn tunnelled(mut stream: TcpStream, to: &str) {
    let mut server = TcpStream::connect(to).await.expect("the server");
    let open = stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await;
    open.expect("the client waits");
    drop(copy_bidirectional(&mut stream, &mut server).await);
}

async fn post(url: &str, pools: Pools, proxy: Option<&str>) -> Result<Response, Fault> {
    let shared = Shared {
        pools,
        ..Shared::new(Clock::system(), Chance::seeded(1), Arc::new(()))
    };
    let network = Network::of(&shared, |name| match name {
        "HTTPS_PROXY" | "HTTP_PROXY" => proxy.map(str::to_owned),
        _ => None,
    });
    let url = url.parse().expect("an address");
    let endpoint = Endpoint::new("openai", url, None, LIMITS, &network).expect("an endpoint");
    assert!(!format!("{endpoint:?}").contains("sesame"));
    let payload = Payload(Bytes::from_static(QUESTION.as_bytes()));
    endpoint.post(&payload, Permit::unpooled()).await
}

fn trusting(certificate: &CertificateDer<'static>) -> Pools {
    Pools::trusting(PoolRules::default(), Tls::trusting(certificate.clone()))
}

#[tokio::test]
async fn a_server_that_could_speak_http_2_is_spoken_to_in_http_1_1() {
    let mut server = Secure::start().await;
    let response = post(&server.url(), trusting(&server.certificate), None).await;
    let reply = response.expect("an answer").read().await.expect("a body");
    assert_eq!(reply.body, b"hi");
    assert_eq!(server.spoken.recv().await, Some(Some(b"http/1.1".to_vec())));
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_final() {
    let (server, other) = (Secure::start().await, Secure::start().await);
    let outcome = post(&server.url(), trusting(&other.certificate), None).await;
    let fault = outcome.expect_err("not trusted");
    let Fault::Connection { what, .. } = &fault else {
        panic!("{fault}");
    };
    assert_eq!(*what, ConnectionFault::Certificate, "{fault}");
    assert_eq!(fault.again(), Again::Never);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_fault_of_the_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n").await);
            drop(head(&mut stream).await);
        }
    });
    let secure = Secure::start().await;
    let url = format!("https://localhost:{port}/v1");
    let outcome = post(&url, trusting(&secure.certificate), None).await;
    let fault = outcome.expect_err("no handshake");
    let Fault::Connection { what, .. } = &fault else {
        panic!("{fault}");
    };
    assert_eq!(*what, ConnectionFault::Tls, "{fault}");
}

#[tokio::test]
async fn a_name_without_address_says_so() {
    // Reserved never to exist.
    let outcome = post("http://nowhere.invalid/v1", Pools::default(), None).await;
    let fault = outcome.expect_err("no such name");
    let Fault::Connection { what, .. } = &fault else {
        panic!("{fault}");
    };
    assert_eq!(*what, ConnectionFault::Dns, "{fault}");
}

#[tokio::test]
async fn a_proxy_tunnels_tls_and_hears_no_more_than_where_to() {
    let mut server = Secure::start().await;
    let (proxy, mut heard) = proxy().await;
    let pools = trusting(&server.certificate);
    let response = post(&server.url(), pools, Some(&proxy)).await;
    let reply = response.expect("an answer").read().await.expect("a body");
    assert_eq!(reply.body, b"hi");
    let asked = heard.recv().await.expect("a request");
    let connect = format!("CONNECT localhost:{} HTTP/1.1\r\n", server.port);
    assert!(asked.starts_with(&connect), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic "), "{asked}");
    assert!(server.spoken.recv().await.is_some());
}

#[tokio::test]
async fn a_proxy_is_told_the_whole_address_of_what_is_not_encrypted() {
    let (proxy, mut heard) = proxy().await;
    let url = "http://model.invalid:8/v1";
    let response = post(url, Pools::default(), Some(&proxy)).await;
    assert!(response.expect("an answer").is_success());
    let asked = heard.recv().await.expect("a request").to_lowercase();
    assert!(
        asked.starts_with("post http://model.invalid:8/v1 http/1.1\r\n"),
        "{asked}"
    );
    assert!(asked.contains("\r\nhost: model.invalid:8\r\n"), "{asked}");
    assert!(asked.contains("\r\nproxy-authorization: basic "), "{asked}");
}
