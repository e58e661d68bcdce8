//! The description of this door: OpenAPI 3.1 for programs, and a page for people.

use axum::{
    Router,
    http::header,
    response::{Html, IntoResponse as _},
    routing::get,
};
use utoipa::openapi::{
    ComponentsBuilder, Info, OpenApi, OpenApiBuilder, Server,
    security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::{front::Front, page};

/// What is allowed on the page: its own style, and nothing else.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ABOUT: &str = "Invoke the skills of a fleet in three steps: start, ask, fetch. An execution \
                     goes on whatever becomes of the gateway, and is seen by whoever started it.";

/// The description without its routes.
pub(super) fn head(front: &Front) -> OpenApi {
    let mut info = Info::new("Puruto Fleet", env!("CARGO_PKG_VERSION"));
    info.description = Some(ABOUT.to_owned());
    let key = ApiKeyValue::with_description("X-API-Key", "One of the gateway's keys");
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some("A token of the configured issuer"))
        .build();
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new(front.public.as_str())]))
        .components(Some(
            ComponentsBuilder::new()
                .security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(key)))
                .security_scheme("oauth2", SecurityScheme::Http(bearer))
                .build(),
        ))
        .build()
}

/// Where the description is.
pub(super) fn routes(description: OpenApi) -> Router {
    let document = serde_json::to_value(&description)
        .expect("a description has only string keys and finite numbers");
    let page = page::of(&document);
    let json = document.to_string();
    let as_json = [(header::CONTENT_TYPE, "application/json")];
    let policy = [(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)];
    Router::new()
        .route(
            "/openapi.json",
            get(move || async move { (as_json, json).into_response() }),
        )
        .route(
            "/docs",
            get(move || async move { (policy, Html(page)).into_response() }),
        )
}
