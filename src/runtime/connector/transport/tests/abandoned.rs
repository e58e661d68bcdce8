//! Calls that nobody waits for any more, at any point of their way.

use tokio::task::JoinSet;

use super::*;

/// A thousand calls at a server that acts so, each dropped after a time of its own.
async fn a_thousand_dropped(acts: &[Act], takes: Duration) {
    let client = Arc::new(Client::with(
        PoolRules {
            connections: limit(60),
            connections_per_host: limit(50),
            ..PoolRules::default()
        },
        Servers {
            takes,
            ..Servers::new([acts.to_vec()])
        },
    ));
    let mut calls = JoinSet::new();
    for nth in 0..1_000_u64 {
        let client = Arc::clone(&client);
        calls.spawn(async move {
            let patience = Duration::from_millis(nth % 97);
            // Answered or dropped: what it leaves behind is the subject.
            drop(tokio::time::timeout(patience, client.ask()).await);
        });
    }
    while calls.join_next().await.is_some() {}
    client.assert_nothing_is_held();
    // Whatever was kept comes to its end; whatever was dropped is closed already.
    sleep(seconds(70)).await;
    assert_eq!(client.servers.open.load(Ordering::SeqCst), 0, "connections");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_abandoned_calls_leave_no_permit_and_no_connection_behind() {
    let pause = Act::Wait(Duration::from_millis(20));
    let head = Act::write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
    let silent = [Act::Read, Act::Hold];
    let stuck = [Act::Read, pause.clone(), head.clone(), Act::Hold];
    let slow = [Act::Read, pause.clone(), head, pause, Act::write("cd")];
    for acts in [&silent[..], &stuck, &slow] {
        for takes in [0, 15] {
            a_thousand_dropped(acts, Duration::from_millis(takes)).await;
        }
    }
}
