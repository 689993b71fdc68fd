//! What `/health` costs when few and when many operations are remembered.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use super::caller::{Caller, many};
use super::{BATCH, ahma, middle, timed};

const ROUNDS: usize = 100;
const REMEMBERED: usize = 1000;

pub(crate) fn measure(scope: &Path, arguments: &[&str]) {
    let servers = [ahma(scope, arguments), ahma(scope, arguments)];
    for (server, calls) in servers.iter().zip([1, REMEMBERED]) {
        let mut callers: Vec<Caller> = (0..8.min(calls))
            .map(|_| Caller::new(&server.connect(), "sandboxed_shell"))
            .collect();
        many(&mut callers, "true", calls);
    }
    let mut connections = servers
        .each_ref()
        .map(|server| Connection::to(server.address));
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (connection, times) in connections.iter_mut().zip(&mut times) {
            connection.ask();
            times.extend((0..BATCH).map(|_| timed(|| connection.ask())));
        }
    }
    let [few, many] = times.map(middle);
    println!(
        "/health: with 1 remembered operation {few:.3} ms, with {REMEMBERED} {many:.3} ms, ratio {:.2}",
        many / few
    );
}

struct Connection {
    stream: TcpStream,
    request: String,
}

impl Connection {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let request = format!("GET /health HTTP/1.1\r\nhost: {address}\r\n\r\n");
        Connection { stream, request }
    }

    fn ask(&mut self) {
        self.stream.write_all(self.request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while !is_whole(&answer) {
            let length = self.stream.read(&mut piece).unwrap();
            assert!(length > 0, "the server closed the connection");
            answer.extend_from_slice(&piece[..length]);
        }
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    assert!(head.starts_with("HTTP/1.1 200"), "{text}");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.unwrap().parse().unwrap()
}
