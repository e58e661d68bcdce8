//! The requests of one connection, on their way to the routes and back.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::ConnectInfo,
    http::{Request, Response},
};
use hyper::{
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    service::Service,
};

use super::activity::{Activity, UnderWay};

/// Hands each request to the routes, with its client's address, and counts it as under way until
/// its answer has ended.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    router: Router,
    peer: SocketAddr,
    activity: Activity,
}

impl Requests {
    pub(super) const fn new(router: Router, peer: SocketAddr, activity: Activity) -> Self {
        Self {
            router,
            peer,
            activity,
        }
    }
}

impl Service<Request<Incoming>> for Requests {
    type Response = Response<Answer>;
    type Error = Infallible;
    // Boxed: a connection holds a place for it also while nothing is asked.
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let under_way = self.activity.begin();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let answer = tower_service::Service::call(&mut self.router.clone(), request);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| Answer {
                body,
                _under_way: under_way,
            }))
        })
    }
}

/// The body of an answer, which is under way until it has ended.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
