//! The bridge as programs see it: real connections, and a handler whose every step is visible.

#![expect(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod browsers;
mod connections;
mod equal_ids;
mod handler;
mod looking;
mod mistakes;
mod negotiation;
mod refusals;
mod sessions;
mod stopping;
mod streams;
mod vanishing;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ahma_contract::Token;
use ahma_http_bridge::{BridgeConfig, HttpServer, Limits, bind};
use ahma_tests::http::Client;
use tokio::runtime::Runtime;

use self::handler::{Handler, Seen};

const SECRET: &str = "0123456789abcdef";

/// A server in this process.
struct Served {
    address: SocketAddr,
    token: Option<&'static str>,
    seen: Arc<Seen>,
    server: Option<HttpServer>,
    runtime: Runtime,
}

impl Served {
    fn new() -> Self {
        Self::with(BridgeConfig::default())
    }

    fn limited(limits: Limits) -> Self {
        Self::with(BridgeConfig {
            limits,
            ..BridgeConfig::default()
        })
    }

    fn with_token() -> Self {
        Self::with(BridgeConfig {
            token: Some(Token::new(SECRET).unwrap()),
            ..BridgeConfig::default()
        })
    }

    fn with(config: BridgeConfig) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let token = config.token.as_ref().map(|_| SECRET);
        let listener = bind(Ipv4Addr::LOCALHOST.into(), Some(0)).unwrap();
        let seen = Arc::new(Seen::default());
        let of_handlers = Arc::clone(&seen);
        let server = {
            let _entered = runtime.enter();
            HttpServer::start(listener, config, move |_| Handler::new(&of_handlers)).unwrap()
        };
        Served {
            address: server.address().port().unwrap(),
            token,
            seen,
            server: Some(server),
            runtime,
        }
    }

    fn connect(&self) -> Client {
        Client::connect(self.address, self.token)
    }

    fn stateless(&self) -> Client {
        Client::stateless(self.address, self.token)
    }

    fn sessions(&self) -> usize {
        self.server.as_ref().unwrap().session_count()(None)
    }

    /// Both kinds of clients.
    fn clients(&self) -> [Client; 2] {
        [self.connect(), self.stateless()]
    }
}
