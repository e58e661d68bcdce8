//! Publishes what no client library would send.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use puruto_fleet::dev::server::Server;

/// Publishes a subject, a header block and a body as they are, and waits until the server has read
/// them. Without a header block it is a message without headers.
pub(crate) fn publish(server: &Server, subject: &[u8], header_block: &[u8], body: &[u8]) {
    let url = server.url();
    let address = url.strip_prefix("nats://").expect("a plain url");
    let mut stream = TcpStream::connect(address).expect("connected");
    let mut message = b"CONNECT {\"verbose\":false,\"headers\":true}\r\n".to_vec();
    let (head, all) = (header_block.len(), header_block.len() + body.len());
    message.extend(if head == 0 { &b"PUB "[..] } else { b"HPUB " });
    message.extend(subject);
    message.extend(match head {
        0 => format!(" {all}\r\n").into_bytes(),
        head => format!(" {head} {all}\r\n").into_bytes(),
    });
    message.extend(header_block);
    message.extend(body);
    message.extend(b"\r\nPING\r\n");
    stream.write_all(&message).expect("sent");
    let mut answer = String::new();
    let mut buffer = [0; 4096];
    while !answer.contains("PONG") {
        let read = stream.read(&mut buffer).expect("an answer");
        assert!(read > 0 && !answer.contains("-ERR"), "{answer}");
        let bytes = buffer.get(..read).expect("what was read");
        answer.push_str(&String::from_utf8_lossy(bytes));
    }
}
