//! The plain server over HTTP: the SDK's own service and sessions, no more.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ahma_tests::http::Client;
use axum::serve::ListenerExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::plain::{ARGUMENT, Plain};

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        // Else every answer waits for an acknowledgement.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let sessions = Arc::<LocalSessionManager>::default();
        let config = StreamableHttpServerConfig::default();
        let service = StreamableHttpService::new(|| Ok(Plain), sessions, config);
        let router = axum::Router::new().route_service("/mcp", service);
        axum::serve(listener, router).await.unwrap();
    });
}

/// The plain server as a process. It is killed when this is dropped.
pub(crate) struct PlainServer {
    child: Child,
    address: SocketAddr,
}

impl PlainServer {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(ARGUMENT)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap();
        PlainServer { child, address }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address, None)
    }

    pub(crate) fn stateless(&self) -> Client {
        Client::stateless(self.address, None)
    }
}

impl Drop for PlainServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
