//! The fleet driven from Python with `nats-py`, as a program of somebody else's would.

use serde_json::json;

use crate::{
    fleet::Fleet,
    support::foreign::{need, python::NATS_PY, python_with},
    wire::json_of,
};

/// Asks a target and prints what comes under the request's chain, and what stands there later.
const CALLER: &str = r#"
import asyncio, json, sys
import nats

async def main():
    url, request = sys.argv[1], json.loads(sys.argv[2])
    connection = await nats.connect(url)
    stream = connection.jetstream()
    place = f"puruto.result.{request['correlation_id']}.{request['request_id']}"
    results = await connection.subscribe(f"puruto.result.{request['correlation_id']}.*")
    stored = await stream.publish(
        f"puruto.invoke.{request['target']}",
        sys.argv[2].encode(),
        headers={"traceparent": sys.argv[3], "Nats-Msg-Id": request["request_id"]},
    )
    heard = await results.next_msg(timeout=20)
    kept = await stream.get_last_msg("PURUTO_RESULTS", place)
    print(json.dumps({
        "stream": stored.stream,
        "subject": heard.subject,
        "result": json.loads(heard.data),
        "headers": dict(heard.headers),
        "kept": kept.data == heard.data,
    }))
    await connection.close()

asyncio.run(main())
"#;

#[tokio::test]
async fn a_python_program_asks_and_gets_its_result_with_its_trace() {
    let fleet = Fleet::shipped().await;
    let Some(python) = need(python_with(&NATS_PY).await) else {
        return;
    };
    let _worker = fleet.worker("w1").await;
    let request = json!({
        "request_id": "py-1", "correlation_id": "chain-py", "caller": "puruto-cli",
        "target": "puruto-echo", "action": "say", "prompt": "¡Hola, señor!", "tenant": 7,
    });
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");

    let url = fleet.servers.nats.url();
    let printed = python
        .run(&["-c", CALLER, &url, &request.to_string(), &parent])
        .await;
    let told = json_of(printed.expect("an answer").as_bytes());

    assert_eq!(told["stream"], "PURUTO_INVOKE");
    assert_eq!(told["subject"], "puruto.result.chain-py.py-1");
    assert_eq!(told["result"]["status"], "ok");
    assert_eq!(
        told["result"]["result"]["output"]["content"],
        "¡Hola, señor!"
    );
    assert_eq!(told["kept"], true);
    let headers = &told["headers"];
    assert_eq!(headers["Puruto-Status"], "ok");
    assert_eq!(headers["Puruto-Target"], "puruto-echo");
    assert_eq!(
        (&headers["Puruto-Attempt"], &headers["Puruto-Worker"]),
        (&"1".into(), &"w1".into())
    );
    let passed_on = headers["traceparent"].as_str().expect("a trace");
    assert!(
        passed_on.starts_with(&format!("00-{trace}-")),
        "{passed_on}"
    );
}
