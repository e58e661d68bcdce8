//! What may take how long, and what is said when it takes longer.

use tokio::time::Instant;

use super::*;
use crate::runtime::fault::Phase;

fn late(phase: Phase, after: u64) -> Fault {
    Fault::Timeout {
        phase,
        after: seconds(after),
    }
}

/// The fault of one question, and after how many seconds it came.
async fn fails(client: &Client) -> (Fault, u64) {
    let before = Instant::now();
    let fault = client.ask().await.expect_err("late");
    client.assert_nothing_is_held();
    (fault, before.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_made_in_time_says_so() {
    let client = Client::of(Servers {
        takes: seconds(3_600),
        ..Servers::new([Act::answer("", "hi")])
    });
    assert_eq!(fails(&client).await, (late(Phase::Connect, 30), 30));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_has_as_long_as_its_model_takes_to_load() {
    let mut client = Client::to([Act::Read, Act::Hold]);
    assert_eq!(fails(&client).await, (late(Phase::FirstByte, 60), 60));
    client.limits.first_byte = Some(seconds(600));
    assert_eq!(fails(&client).await, (late(Phase::FirstByte, 600), 600));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_trickles_in_gains_no_time() {
    let trickle = "HTTP/1.1 200 OK\r\nX: ".bytes();
    let trickle = trickle.flat_map(|byte| [Act::write([byte]), Act::Wait(seconds(9))]);
    let client = Client::to([Act::Read].into_iter().chain(trickle).chain([Act::Hold]));
    assert_eq!(fails(&client).await, (late(Phase::FirstByte, 60), 60));
}

#[tokio::test(start_paused = true)]
async fn a_body_may_pause_between_bytes_and_not_longer() {
    let begun = Act::write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na");
    let pauses = [
        Act::Read,
        begun.clone(),
        Act::Wait(seconds(29)),
        Act::write("b"),
        Act::Wait(seconds(29)),
        Act::write("cd"),
        Act::Hold,
    ];
    let client = Client::to(pauses);
    assert_eq!(client.ask().await.expect("an answer"), b"abcd");

    let client = Client::to([Act::Read, begun, Act::Wait(seconds(31)), Act::Hold]);
    assert_eq!(fails(&client).await, (late(Phase::BetweenBytes, 30), 30));
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_that_then_answers_is_no_fault() {
    let slow = [
        Act::Read,
        Act::Wait(seconds(59)),
        Act::write(answer("", "hi")),
        Act::Hold,
    ];
    let client = Client::to(slow);
    assert_eq!(client.ask().await.expect("an answer"), b"hi");
}
