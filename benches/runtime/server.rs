//! A model server: answers at once, or after a while; and a collector that takes every span.

use std::{convert::Infallible, io::Write as _, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, time::sleep};

use super::Outcome;

/// How long the slow model thinks: longer than ten thousand calls take to be on their way.
pub(super) const SLOW: Duration = Duration::from_secs(20);

/// The path of a model that answers at once.
pub(super) const FAST_PATH: &str = "/fast/v1";
/// The path of a model that answers after [`SLOW`].
pub(super) const SLOW_PATH: &str = "/slow/v1";

/// An answer as OpenAI's servers give it.
const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Invoice #123 is paid. The receipt is on its way to the address on file."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":31,"completion_tokens":17,"total_tokens":48},"system_fingerprint":"fp_1"}"#;

pub(super) async fn main() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", listener.local_addr()?)?;
    out.flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let serving =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // A caller that hangs up is part of the benchmark.
            drop(serving.await);
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    drop(request.into_body().collect().await);
    if path.starts_with(SLOW_PATH) {
        sleep(SLOW).await;
    }
    let (kind, body) = if path.contains("/v1/chat/completions") {
        ("application/json", ANSWER)
    } else {
        ("application/x-protobuf", "")
    };
    let mut response = Response::new(Full::from(body));
    let kind = hyper::header::HeaderValue::from_static(kind);
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, kind);
    Ok(response)
}
