//! The page itself and the way in.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, Query, Request, State},
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Redirect, Response},
};
use axum_extra::extract::{
    CookieJar,
    cookie::{Cookie, SameSite},
};
use bytes::Bytes;
use serde::Deserialize;
use url::form_urlencoded;

use super::{
    Dashboard,
    failure::Failure,
    gate::{Refused, SESSION_LIVES},
    guard::{COOKIE, is_same_origin, logged_in},
};

const HTML: &str = "text/html; charset=utf-8";

const PAGE: &str = include_str!("page/index.html");
const LOGIN: &str = include_str!("page/login.html");

/// Where the reason stands why somebody was not let in.
const REASON: &str = "<!--reason-->";

/// Files of the page: name, media type, text.
const ASSETS: [(&str, &str, &str); 9] = [
    ("app.css", CSS, include_str!("page/app.css")),
    ("app.js", JS, include_str!("page/app.js")),
    ("dom.js", JS, include_str!("page/dom.js")),
    ("fetch.js", JS, include_str!("page/fetch.js")),
    ("fleet.js", JS, include_str!("page/fleet.js")),
    ("icon.svg", SVG, include_str!("page/icon.svg")),
    ("letters.js", JS, include_str!("page/letters.js")),
    ("request.js", JS, include_str!("page/request.js")),
    ("requests.js", JS, include_str!("page/requests.js")),
];

const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const JS: &str = "text/javascript; charset=utf-8";

/// What the address of the page may bring along.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Brought {
    token: Option<String>,
}

/// The page for whoever is logged in, else the way in. A token in the address is exchanged for a
/// session at once, so that it stands in no history and no bookmark.
pub(super) async fn page(
    State(dashboard): State<Arc<Dashboard>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(brought): Query<Brought>,
    headers: HeaderMap,
) -> Response {
    match brought.token {
        Some(token) => dashboard.enter(&token, peer.ip()),
        None if logged_in(&dashboard, &headers).is_some() => html(StatusCode::OK, PAGE.to_owned()),
        None => way_in(StatusCode::OK, ""),
    }
}

/// Lets in whoever typed the token into the form of the way in.
pub(super) async fn login(
    State(dashboard): State<Arc<Dashboard>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    uri: Uri,
    headers: HeaderMap,
    typed: Bytes,
) -> Response {
    if !is_same_origin(&headers, &uri) {
        return Failure::foreign().into_response();
    }
    let mut fields = form_urlencoded::parse(&typed);
    match fields.find(|(name, _)| name == "token") {
        Some((_, token)) => dashboard.enter(token.trim(), peer.ip()),
        None => way_in(StatusCode::UNPROCESSABLE_ENTITY, "Type the token."),
    }
}

/// Ends the session in this browser.
pub(super) async fn logout(State(dashboard): State<Arc<Dashboard>>) -> Response {
    let mut cookie = dashboard.cookie(String::new());
    cookie.make_removal();
    (CookieJar::new().add(cookie), StatusCode::NO_CONTENT).into_response()
}

/// A file of the page.
pub(super) async fn asset(request: Request) -> Response {
    let name = request.uri().path().rsplit('/').next().unwrap_or_default();
    match ASSETS.iter().find(|(known, _, _)| *known == name) {
        Some((_, kind, text)) => ([(header::CONTENT_TYPE, *kind)], *text).into_response(),
        None => Failure::not_found("there is no such file").into_response(),
    }
}

impl Dashboard {
    fn enter(&self, token: &str, peer: IpAddr) -> Response {
        match self.gate.enter(token, peer) {
            Ok(session) => {
                let jar = CookieJar::new().add(self.cookie(session));
                (jar, Redirect::to("/")).into_response()
            }
            Err(Refused::Wrong) => way_in(
                StatusCode::UNAUTHORIZED,
                "That is not the token. The gateway prints it when it starts, unless \
                 gateway.dashboard_token is set.",
            ),
            Err(Refused::TooMany(left)) => {
                let seconds = left.as_secs() + 1;
                let reason = format!("Too many wrong tokens: try again in {seconds} seconds.");
                let again = [(header::RETRY_AFTER, seconds.to_string())];
                (again, way_in(StatusCode::TOO_MANY_REQUESTS, &reason)).into_response()
            }
        }
    }

    fn cookie(&self, session: String) -> Cookie<'static> {
        let lives = i64::try_from(SESSION_LIVES.as_secs()).unwrap_or(i64::MAX);
        Cookie::build((COOKIE, session))
            .path("/")
            .http_only(true)
            .secure(self.secure)
            .same_site(SameSite::Strict)
            .max_age(time::Duration::seconds(lives))
            .build()
    }
}

/// The way in, with a reason of our own words.
fn way_in(status: StatusCode, reason: &str) -> Response {
    html(status, LOGIN.replace(REASON, reason))
}

fn html(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, HTML)], text).into_response()
}
