//! Which connection a call gets: a kept one, or a fresh one.

use std::iter::repeat_n;

use super::*;
use crate::runtime::fault::ConnectionFault;

/// Answers `times` requests with these headers, then holds the connection open.
fn answers(headers: &str, times: usize) -> Vec<Act> {
    let answers = repeat_n(Act::answer(headers, "hi"), times).flatten();
    answers.chain([Act::Hold]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_used_again_and_the_latest_first() {
    let client = Client::to(answers("", 99));
    let at_once = (client.ask(), client.ask(), client.ask());
    let (a, b, c) = tokio::join!(at_once.0, at_once.1, at_once.2);
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(client.servers.dialled(), 3);
    // One at a time needs one of the three: the other two come to their end.
    for _ in 0..20 {
        sleep(seconds(5)).await;
        assert_eq!(client.ask().await.expect("an answer"), b"hi");
    }
    assert_eq!(client.servers.dialled(), 3);
    assert_eq!(client.servers.open.load(Ordering::SeqCst), 1);
    client.assert_nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_uses_is_closed_after_a_minute_unasked() {
    let client = Client::to(answers("", 99));
    client.ask().await.expect("an answer");
    sleep(seconds(59)).await;
    assert_eq!(client.servers.open.load(Ordering::SeqCst), 1);
    sleep(seconds(3)).await;
    assert_eq!(client.servers.open.load(Ordering::SeqCst), 0);
    client.ask().await.expect("an answer");
    assert_eq!(client.servers.dialled(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_after_five_seconds_is_never_raced() {
    let client = Client::to(answers("Keep-Alive: timeout=5, max=100\r\n", 99));
    client.ask().await.expect("an answer");
    sleep(Duration::from_millis(3_900)).await;
    client.ask().await.expect("an answer");
    assert_eq!(
        client.servers.dialled(),
        1,
        "it is kept for most of the time"
    );
    sleep(Duration::from_millis(4_000)).await;
    client.ask().await.expect("an answer");
    assert_eq!(
        client.servers.dialled(),
        2,
        "it is given up a second before"
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_used_as_often_as_its_server_says() {
    let client = Client::to(answers("Keep-Alive: max=3\r\n", 99));
    for _ in 0..7 {
        client.ask().await.expect("an answer");
    }
    assert_eq!(client.servers.dialled(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_its_server_closed_is_not_used() {
    for headers in ["", "Connection: close\r\n"] {
        let acts = Act::answer(headers, "hi");
        let client = Client::to(acts);
        for nth in 1..=3 {
            assert_eq!(client.ask().await.expect("an answer"), b"hi");
            sleep(seconds(1)).await;
            assert_eq!(client.servers.dialled(), nth);
        }
        client.assert_nothing_is_held();
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_dies_unanswered_costs_one_fresh_one_and_no_fault() {
    let dies = [&Act::answer("", "hi")[..], &[Act::Read]].concat();
    let client = Client::of(Servers::new([dies, answers("", 9)]));
    client.ask().await.expect("an answer");
    assert_eq!(client.ask().await.expect("an answer"), b"hi");
    assert_eq!(client.servers.dialled(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_fresh_connection_of_a_re_dial_gets_no_second_one() {
    let dies = [&Act::answer("", "hi")[..], &[Act::Read]].concat();
    let client = Client::of(Servers::new([dies, vec![Act::Read]]));
    client.ask().await.expect("an answer");
    let fault = client.ask().await.expect_err("both died");
    assert_reset(&fault);
    assert_eq!(client.servers.dialled(), 2);
    client.assert_nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_after_its_first_byte_is_no_free_re_dial() {
    let dies = [&Act::answer("", "hi")[..], &[Act::Read, Act::write("H")]].concat();
    let client = Client::of(Servers::new([dies, answers("", 9)]));
    client.ask().await.expect("an answer");
    assert_reset(&client.ask().await.expect_err("the server had begun"));
    assert_eq!(client.servers.dialled(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fresh_connection_that_dies_is_a_fault_at_once() {
    let client = Client::of(Servers::new([vec![Act::Read], answers("", 9)]));
    assert_reset(&client.ask().await.expect_err("it died"));
    assert_eq!(client.servers.dialled(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_answer_was_not_read_to_its_end_is_closed() {
    let client = Client::to(answers("", 99));
    drop(client.head().await.expect("a head"));
    client.assert_nothing_is_held();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(client.servers.open.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_twice_is_not_asked_again() {
    let twice = [Act::Read, Act::write(answer("", "hi").repeat(2)), Act::Hold];
    let client = Client::of(Servers::new([twice.to_vec(), answers("", 9)]));
    for _ in 0..2 {
        client.ask().await.expect("an answer");
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.servers.dialled(), 2);
}

#[track_caller]
fn assert_reset(fault: &Fault) {
    let Fault::Connection { what, .. } = fault else {
        panic!("{fault}");
    };
    assert_eq!(*what, ConnectionFault::Reset);
}
