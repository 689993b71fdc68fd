//! The server beside other gateways, over HTTP, in front of the same server on stdio.
//!
//! ```text
//! npm install --prefix DIR supergateway@4.0.0
//! python3 -m venv DIR && DIR/bin/pip install mcp-proxy==0.13.0
//! GATEWAYS=DIR cargo bench -p ahma_core --bench downstream -- gateways
//! ```

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use ahma_tests::http::Client;
use ahma_tests::http_process::HttpProcess;
use serde_json::json;

use super::{AHMA_MCP, BATCH, ROUNDS, TEXT, Upstream, middle, timed};

/// Calls of one measurement of throughput.
const CALLS: usize = 300;
const THROUGHPUTS: usize = 15;

/// One that is measured.
struct Gateway {
    name: &'static str,
    callers: Vec<Caller>,
}

/// A gateway of others. It is killed when this is dropped, with what it started.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures all of them in turn.
pub(super) fn measure(upstream: &Upstream) {
    let Some(place) = std::env::var_os("GATEWAYS").map(PathBuf::from) else {
        println!("other gateways: not measured; GATEWAYS names no directory with them");
        return;
    };
    let (scope, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (ours, client) = ours(scope.path(), own.path(), upstream);
    let mut gateways = vec![Gateway::new("ours", &client, "up_echo")];
    let mut running = Vec::new();
    for (name, command) in others(&place, upstream) {
        let (process, client) = started(command);
        running.push(process);
        gateways.push(Gateway::new(name, &client, "echo"));
    }
    latency(upstream.name, &mut gateways);
    throughput(upstream.name, &mut gateways);
    drop((ours, running));
}

fn ours(scope: &Path, own: &Path, upstream: &Upstream) -> (HttpProcess, Client) {
    let entry = json!({ "command": upstream.command, "args": upstream.args });
    let config = own.join("mcp.json");
    let servers = json!({ "servers": { "up": entry } });
    std::fs::write(&config, servers.to_string()).unwrap();
    let config = config.to_str().unwrap().to_owned();
    let arguments = [
        "--audit-log",
        "off",
        "--rate-limit",
        "0",
        "--mcp-config",
        &config,
    ];
    let process = HttpProcess::start(AHMA_MCP, &arguments, scope);
    let client = process.connect();
    (process, client)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn others(place: &Path, upstream: &Upstream) -> Vec<(&'static str, (Command, u16))> {
    let words = [&upstream.command].into_iter().chain(&upstream.args);
    let words: Vec<String> = words.cloned().collect();
    let port = free_port();
    let mut supergateway = Command::new(place.join("node_modules/.bin/supergateway"));
    supergateway
        .args(["--stdio", &words.join(" "), "--outputTransport"])
        .args(["streamableHttp", "--stateful", "--logLevel", "none"])
        .args(["--port", &port.to_string()]);
    let first = ("supergateway", (supergateway, port));
    let port = free_port();
    let mut proxy = Command::new(place.join("bin/mcp-proxy"));
    proxy
        .args(["--port", &port.to_string(), "--pass-environment"])
        .args(["--log-level", "ERROR", "--"])
        .args(words);
    vec![first, ("mcp-proxy", (proxy, port))]
}

fn started((mut command, port): (Command, u16)) -> (Running, Client) {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let running = Running(child.unwrap());
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    while TcpStream::connect(address).is_err() {
        thread::sleep(Duration::from_millis(50));
    }
    let client = Client::connect_with(address, None, "2025-06-18");
    (running, client)
}

impl Gateway {
    fn new(name: &'static str, client: &Client, tool: &'static str) -> Self {
        let callers = (0..32).map(|_| Caller::new(client, tool)).collect();
        Gateway { name, callers }
    }
}

fn latency(upstream: &str, gateways: &mut [Gateway]) {
    let mut times = vec![Vec::new(); gateways.len()];
    for _ in 0..ROUNDS {
        for (gateway, times) in gateways.iter_mut().zip(&mut times) {
            let caller = &mut gateway.callers[0];
            caller.reconnect();
            caller.call();
            times.extend((0..BATCH).map(|_| timed(|| caller.call())));
        }
    }
    let times: Vec<f64> = times.into_iter().map(middle).collect();
    for (gateway, time) in gateways.iter().zip(&times) {
        println!(
            "{upstream} behind {} over HTTP, 1 caller: p50 {time:.3} ms, {:.2} times ours",
            gateway.name,
            time / times[0]
        );
    }
}

fn throughput(upstream: &str, gateways: &mut [Gateway]) {
    for callers in [8, 32] {
        let mut times = vec![Vec::new(); gateways.len()];
        for _ in 0..THROUGHPUTS {
            for (gateway, times) in gateways.iter_mut().zip(&mut times) {
                let callers = &mut gateway.callers[..callers];
                callers.iter_mut().for_each(Caller::reconnect);
                times.push(timed(|| many(callers)));
            }
        }
        let rates = times
            .into_iter()
            .map(|it| CALLS as f64 / middle(it) * 1000.0);
        let rates: Vec<f64> = rates.collect();
        for (gateway, rate) in gateways.iter().zip(&rates) {
            println!(
                "{upstream} behind {} over HTTP, {callers} callers: {rate:.0} calls per second; ours ÷ it {:.2}",
                gateway.name,
                rates[0] / rate
            );
        }
    }
}

fn many(callers: &mut [Caller]) {
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for caller in callers {
            let done = &done;
            scope.spawn(move || {
                while done.fetch_add(1, Ordering::Relaxed) < CALLS {
                    caller.call();
                }
            });
        }
    });
}

/// One connection, one request after the other.
struct Caller {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Caller {
    fn new(client: &Client, tool: &str) -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(1000);
        let stream = TcpStream::connect(client.address).unwrap();
        stream.set_nodelay(true).unwrap();
        // Equal ids cannot be told apart by some.
        let id = json!(LAST.fetch_add(1, Ordering::Relaxed));
        let params = json!({ "name": tool, "arguments": { "text": TEXT } });
        let request = client.message(&id, "tools/call", &params);
        Caller {
            stream,
            request: request.bytes(client.address),
            answer: Vec::new(),
        }
    }

    /// Connections that are not used for seconds are closed by some.
    fn reconnect(&mut self) {
        let address = self.stream.peer_addr();
        self.stream = TcpStream::connect(address.unwrap()).unwrap();
        self.stream.set_nodelay(true).unwrap();
    }

    fn call(&mut self) {
        self.stream.write_all(&self.request).unwrap();
        self.answer.clear();
        let mut piece = [0; 16384];
        while !is_whole(&self.answer) {
            let length = self.stream.read(&mut piece).unwrap();
            assert!(length > 0, "the server closed the connection");
            self.answer.extend_from_slice(&piece[..length]);
        }
        let said = self
            .answer
            .windows(TEXT.len())
            .any(|it| it == TEXT.as_bytes());
        assert!(said, "{}", String::from_utf8_lossy(&self.answer));
    }
}

/// Whether an answer of HTTP has come to its end.
fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|it| it == b"\r\n\r\n") else {
        return false;
    };
    let text = String::from_utf8_lossy(&answer[..head]).to_lowercase();
    let length = text
        .lines()
        .find_map(|it| it.strip_prefix("content-length:"));
    match length {
        Some(length) => answer.len() >= head + 4 + length.trim().parse::<usize>().unwrap(),
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    }
}
