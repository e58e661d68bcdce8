//! Tools behind TLS, and for bearers of an issuer's tokens, used by the official Python SDK.

use serde_json::{Value, json};

use crate::{
    certified::Certified,
    gateway::{Gateway, KEY},
    issuer::{AUDIENCE, Issuer, Signed},
    mcp::{Doors, MODES, execution_in},
};

/// A letter, with what else the client is told.
fn letter(more: &Value) -> Value {
    let mut told = json!({
        "do": "call", "tool": "clerk__write", "arguments": {"prompt": "Dear all"},
    });
    let more = more.as_object().expect("an object").clone();
    told.as_object_mut().expect("an object").extend(more);
    told
}

fn is_written(told: &Value) {
    let text = &told["result"]["content"][0]["text"];
    assert_eq!(text, "Written: Dear all", "{told}");
}

#[tokio::test]
async fn the_bearer_of_a_token_calls_a_tool_and_alone_sees_what_came_of_it() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let issuer = Issuer::start().await;
    let trusted = [
        ("PURUTO_GATEWAY__OAUTH_ISSUER", issuer.url()),
        ("PURUTO_GATEWAY__OAUTH_AUDIENCE", AUDIENCE.to_owned()),
    ];
    let trusted = trusted
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let gateway = Gateway::start("g1", &doors.fleet, &trusted).await;
    let bob = issuer.token(Signed::Rs256, &issuer.claims("bob"));
    for (mode, _) in MODES {
        let ann = issuer.token(Signed::Es256, &issuer.claims("ann"));
        let shown = json!({"headers": {"Authorization": format!("Bearer {ann}")}});
        let told = doors.told(&[&gateway], KEY, mode, letter(&shown)).await;

        is_written(&told);
        let execution = format!("/v1/executions/{}", execution_in(&told["progress"]));
        for (token, status) in [(&ann, 200), (&bob, 404)] {
            let bearer = format!("Authorization: Bearer {token}\r\n");
            let seen = gateway.ask("GET", &execution, &bearer, "").await;
            assert_eq!(seen.status, status, "{seen:?}");
        }
    }
    let mut narrow = issuer.claims("ann");
    narrow["scope"] = json!("skill:read");
    let narrow = issuer.token(Signed::Es256, &narrow);
    let head = format!("Content-Type: application/json\r\nAuthorization: Bearer {narrow}\r\n");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let refused = gateway.ask("POST", "/mcp", &head, &ping).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = refused.header("WWW-Authenticate").expect("a challenge");
    assert!(challenge.contains("insufficient_scope"), "{challenge}");
}

#[tokio::test]
async fn tools_are_used_over_tls_by_whoever_trusts_the_certificate() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let certified = Certified::made(doors.fleet.servers.folder());
    let gateway = Gateway::start_behind("g1", &doors.fleet, &certified).await;
    let authority = certified.authority.display().to_string();
    for (mode, _) in MODES {
        let trusting = letter(&json!({"authority": authority}));
        is_written(&doors.told(&[&gateway], KEY, mode, trusting).await);
    }

    let trusting_nobody = letter(&json!({}));
    let stranger = doors
        .ended(&[&gateway], KEY, "auto", &trusting_nobody)
        .await;
    let said = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert!(said.contains("CERTIFICATE_VERIFY_FAILED"), "{said}");
}
