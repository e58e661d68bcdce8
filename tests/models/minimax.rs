//! MiniMax's ways to fail, whichever of its routes is asked.

use puruto_fleet::runtime::{CallFailed, ModelAnswer, retry::Stop};
use serde_json::json;

use crate::{
    asking::{ask, good, table},
    fault_server::{Deed, FaultServer},
};

const ROUTES: [&str; 2] = ["route = \"native\"", "route = \"openai\""];

fn base_resp(code: u32, headers: &str) -> Deed {
    let body = json!({"base_resp": {"status_code": code, "status_msg": "no"}, "choices": null});
    Deed::respond(200, headers, &body.to_string())
}

fn error(status: u16, message: &str) -> Deed {
    let error = json!({"http_code": status.to_string(), "message": message, "type": "api_error"});
    let body = json!({"type": "error", "error": error});
    Deed::respond(status, "", &body.to_string())
}

async fn asked(first: &[Deed], route: &str) -> (Result<ModelAnswer, CallFailed>, usize) {
    let server = FaultServer::start(first.to_vec(), Deed::json(&good())).await;
    let asked = ask(&table("minimax", &server.base_url(), route)).await;
    (asked, server.requests())
}

#[tokio::test]
async fn a_token_limit_is_waited_out_once_in_a_call_whenever_it_comes() {
    let (limited, down) = (|| base_resp(1039, ""), || error(500, "down"));
    for route in ROUTES {
        for (first, attempts) in [
            (vec![down(), limited()], Ok(3)),
            (vec![limited(), down()], Ok(3)),
            (vec![limited(), limited()], Err(2)),
            (vec![down(), limited(), limited()], Err(3)),
            (vec![limited(), down(), limited()], Err(3)),
        ] {
            let (asked, requests) = asked(&first, route).await;
            let ended = match asked {
                Ok(_) => Ok(requests),
                Err(failed) => {
                    assert_eq!(failed.fault.error_type(), "token_limited");
                    assert_eq!(failed.why, Stop::Final);
                    Err(requests)
                }
            };
            assert_eq!(ended, attempts, "{first:?}");
        }
    }
}

#[tokio::test]
async fn a_wish_beside_a_code_under_success_counts() {
    for route in ROUTES {
        let patient = [base_resp(1002, "Retry-After: 3600\r\n")];
        let (failed, requests) = asked(&patient, route).await;
        let failed = failed.expect_err("no time for that");
        let late = matches!(failed.why, Stop::DeadlineTooClose { .. });
        assert!(late && requests == 1, "{failed}");
    }
}

#[tokio::test]
async fn an_overload_is_waited_out_in_all_its_shapes() {
    for route in ROUTES {
        for overloaded in [
            base_resp(2064, ""),
            error(529, "the server cluster is under high load (2064)"),
            error(529, "overloaded_error"),
            error(500, "high load (2064)"),
            Deed::respond(529, "", ""),
        ] {
            let (asked, requests) = asked(&[overloaded], route).await;
            assert_eq!(asked.expect("an answer").content, "hi");
            assert_eq!(requests, 2);
        }
    }
}

#[tokio::test]
async fn an_empty_account_is_asked_once_under_any_status_on_either_route() {
    let message = "insufficient balance (1008)";
    for route in ROUTES {
        for empty in [
            base_resp(1008, ""),
            error(429, message),
            error(500, message),
        ] {
            let (asked, requests) = asked(&[empty], route).await;
            let failed = asked.expect_err("no balance");
            assert_eq!(
                (failed.fault.error_type(), requests),
                ("quota_exhausted", 1)
            );
        }
    }
}
