//! A request that kills whoever runs it: it ends after as many deaths as configured, and takes no
//! other request with it.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    fleet::Fleet,
    records::Records,
    wire::{DEAD_LETTERS, RESULTS, Wire, header, json_of, request},
};

/// Kills its worker when it is told to, and else answers at once.
const BOMB: (&str, &str) = (
    "bomb",
    r#"
        kind = "command"
        [command]
        argv = ["sh", "-c", """
            request=$(cat)
            case $request in *BOOM*) kill -9 $PPID; sleep 600 ;; esac
            id=${request#*'"request_id":"'}
            chain=${request#*'"correlation_id":"'}
            printf '{"request_id":"%s","correlation_id":"%s","status":"ok","duration_ms":1,"result":{"summary":"fine"}}' \
                "${id%%'"'*}" "${chain%%'"'*}"
        """]
    "#,
);

/// So many workers may die with a request.
const MAX_ATTEMPTS: usize = 3;

/// For three deaths, each found out by the end of a session, on a machine that runs all the tests.
const LONG_ENOUGH: Duration = Duration::from_secs(240);

/// Puts a new worker in the place of each that dies; how many did, so far.
async fn keep_alive(fleet: &Fleet, name: &str, deaths: &mut Vec<String>) {
    for number in 1_u32.. {
        let mut worker = fleet.launch(&format!("{name}-{number}")).await;
        let status = worker.dies().await;
        assert!(!status.success(), "{status}");
        deaths.push(worker.name().to_owned());
    }
}

/// The two of them serve until every request has its result.
async fn serve_until_answered(fleet: &Fleet, wire: &Wire, requests: u64) -> Vec<String> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let answered = async {
        while wire.messages(RESULTS).await < requests {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        wire.until_all_is_done().await;
    };
    let served = async {
        tokio::select! {
            () = answered => {}
            () = keep_alive(fleet, "left", &mut left) => {}
            () = keep_alive(fleet, "right", &mut right) => {}
        }
    };
    let served = timeout(LONG_ENOUGH, served).await;
    served.unwrap_or_else(|_| panic!("not all answered within {LONG_ENOUGH:?}"));
    left.append(&mut right);
    left
}

#[tokio::test]
async fn a_request_that_kills_its_workers_ends_as_poisoned_and_the_others_finish() {
    let most = MAX_ATTEMPTS.to_string();
    let fleet = Fleet::of(&[BOMB]).await.with_quick_take_over();
    let fleet = fleet.with("PURUTO_WORKER__MAX_ATTEMPTS", &most);
    // Makes the streams.
    fleet.worker("first").await.kill().await;
    let wire = fleet.wire().await;
    let boom = request("boom", "bomb", "BOOM");
    wire.ask(&boom).await;
    let others: Vec<_> = (0..20)
        .map(|it| request(&format!("r-{it}"), "bomb", "Hello"))
        .collect();
    for other in &others {
        wire.ask(other).await;
    }

    let deaths = serve_until_answered(&fleet, &wire, 21).await;

    assert_eq!(deaths.len(), MAX_ATTEMPTS, "{deaths:?}");
    let stored = wire.result(&boom).await;
    let error = &json_of(&stored.payload)["error"];
    assert_eq!(error["code"], "IPC_ERROR", "{error}");
    assert_eq!(error["details"]["kind"], "poisoned", "{error}");
    assert_eq!(header(&stored.headers, "Puruto-Attempt"), Some(&*most));
    let message = error["message"].as_str().expect("a message");
    assert!(deaths.iter().any(|it| message.contains(it)), "{message}");
    assert_eq!(wire.messages(DEAD_LETTERS).await, 1);
    for other in &others {
        let result = json_of(&wire.result(other).await.payload);
        assert_eq!(result["result"]["summary"], "fine", "{result}");
    }
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    assert_eq!(records.attempts("bomb", "boom").await, 3);
}
