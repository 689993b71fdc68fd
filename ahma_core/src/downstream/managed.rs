//! Servers that are started to listen on a port of ours: started, waited for, and checked to be reachable from here only.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahma_http_mcp_client::{Client, ClientOptions, RequestError, UrlEntry};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::listener::{self, Listener};
use super::ports::{LeasedPort, PortRegistry};
use super::process::{Process, ProcessSpec};
use super::stderr_tail::StderrTail;
use crate::executor::HostPool;
use crate::listening::listening_address;

/// Ports that are tried.
const TRIES: usize = 10;
/// How long a server has to answer for the first time.
const READY_TIMEOUT: Duration = Duration::from_secs(5);
/// The kernel tells nobody when a port is listened on; this is how often it is tried.
const TRY_EVERY: Duration = Duration::from_millis(25);
/// Where our requests come from. Servers that want a port too are told theirs.
const ORIGIN: &str = "http://localhost";
/// What a server says by this exit code: somebody else has the port.
const PORT_TAKEN: i32 = 2;

/// A server that listens.
pub(super) struct Managed {
    pub(super) client: Client,
    pub(super) process: Process,
    pub(super) port: Arc<LeasedPort>,
}

/// Starts a server on one port after the other until it has one of its own.
pub(super) async fn start<F>(
    ports: &PortRegistry,
    hosts: &Arc<HostPool>,
    (server, stderr): (&str, &StderrTail),
    options: &ClientOptions,
    spec: impl Fn(Arc<LeasedPort>) -> F,
) -> Result<Managed, String>
where
    F: Future<Output = Result<ProcessSpec, String>>,
{
    for _ in 0..TRIES {
        let port = Arc::new(free_port(ports).await?);
        let spec = spec(Arc::clone(&port)).await?;
        let (process, pipes) = Process::start(hosts, spec, server, stderr).await?;
        // What it says there is for people.
        tokio::spawn(stderr.clone().read(server.to_owned(), pipes.output));
        match answer(&process, port.number, options).await {
            Ok(client) => {
                return Ok(Managed {
                    client,
                    process,
                    port,
                });
            }
            Err(Fault::PortTaken) => {
                process.stop().await;
                port.is_dead();
            }
            Err(Fault::Other(why)) => {
                process.stop().await;
                return Err(why);
            }
        }
    }
    Err(format!("it found none of {TRIES} ports free"))
}

/// A port on which nobody listens: a server that would find it taken need not be started.
async fn free_port(ports: &PortRegistry) -> Result<LeasedPort, String> {
    loop {
        let port = ports.take();
        let port = port.ok_or("every port from 50000 to 51000 is used")?;
        let address = (Ipv4Addr::LOCALHOST, port.number);
        if TcpListener::bind(address).await.is_ok() {
            return Ok(port);
        }
        port.is_dead();
    }
}

enum Fault {
    PortTaken,
    Other(String),
}

/// Waits until the server answers.
async fn answer(process: &Process, port: u16, options: &ClientOptions) -> Result<Client, Fault> {
    let entry = |origin: &str| {
        let headers = BTreeMap::from([("origin".to_owned(), origin.to_owned())]);
        UrlEntry::new(format!("http://127.0.0.1:{port}/mcp"), headers)
    };
    let (mut origin, mut other) = (ORIGIN.to_owned(), Some(format!("{ORIGIN}:{port}")));
    let began = Instant::now();
    let trying = async {
        loop {
            let left = READY_TIMEOUT.saturating_sub(began.elapsed());
            match (whose(port, process.pipe()).await, left.is_zero()) {
                (Listener::Own | Listener::Unknown, _) => {}
                (Listener::Other, true) => return Err(Fault::PortTaken),
                (Listener::Nobody, true) => return Err(silent(port)),
                (Listener::Nobody | Listener::Other, false) => {
                    sleep(TRY_EVERY).await;
                    continue;
                }
            }
            let mut options = options.clone();
            options.connect_timeout = left;
            match Client::at(&entry(&origin), options).await {
                Ok(client) => return Ok(client),
                Err(RequestError::Unauthorized { .. } | RequestError::Forbidden(_)) => {
                    match other.take() {
                        Some(other) => origin = other,
                        None => {
                            let why = format!(
                                "it refuses our requests; it has to accept those with the origin {ORIGIN}, or with {origin}"
                            );
                            return Err(Fault::Other(why));
                        }
                    }
                }
                Err(error) if error.has_not_run() && !left.is_zero() => sleep(TRY_EVERY).await,
                Err(error) if error.has_not_run() || matches!(error, RequestError::Timeout(_)) => {
                    return Err(silent(port));
                }
                Err(error) => return Err(Fault::Other(error.to_string())),
            }
        }
    };
    let client = tokio::select! {
        client = trying => client?,
        ended = process.ended() => {
            return Err(match ended.code {
                Some(PORT_TAKEN) => Fault::PortTaken,
                _ => Fault::Other(ended.words),
            });
        }
    };
    match is_for_others(port).await {
        false => Ok(client),
        true => Err(Fault::Other(format!(
            "it listens on port {port} for other machines too; it has to listen on 127.0.0.1 only"
        ))),
    }
}

fn silent(port: u16) -> Fault {
    let seconds = READY_TIMEOUT.as_secs();
    Fault::Other(format!(
        "it did not answer on port {port} within {seconds} s"
    ))
}

/// Who listens on a port. How many processes there are, others decide.
async fn whose(port: u16, pipe: u64) -> Listener {
    let looking = spawn_blocking(move || listener::look(port, pipe));
    looking.await.unwrap_or(Listener::Other)
}

/// Whether a port can be reached from other machines.
async fn is_for_others(port: u16) -> bool {
    // How long the tables are, others decide.
    #[expect(clippy::disallowed_methods, reason = "beside the runtime")]
    let looking = spawn_blocking(move || {
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let tables = tables.map(|it| std::fs::read_to_string(it).unwrap_or_default());
        let mut lines = tables.iter().flat_map(|table| table.lines().skip(1));
        lines.any(|line| listens_for_others(line, port))
    });
    looking.await.unwrap_or(true)
}

/// Whether a line of such a table is of a socket that listens on a port, and not on this machine's own address.
fn listens_for_others(line: &str, port: u16) -> bool {
    let loopback = ["0100007F", "00000000000000000000000001000000"];
    listening_address(line, port).is_some_and(|address| !loopback.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_from_everywhere() {
        let line = |address: &str, state: &str| format!("   0: {address} 00000000:0000 {state} 0");
        assert!(!listens_for_others(&line("0100007F:C350", "0A"), 50_000));
        assert!(listens_for_others(&line("00000000:C350", "0A"), 50_000));
        assert!(!listens_for_others(&line("00000000:C350", "01"), 50_000));
        assert!(!listens_for_others(&line("00000000:C351", "0A"), 50_000));
        let six = "00000000000000000000000000000000:C350";
        assert!(listens_for_others(&line(six, "0A"), 50_000));
    }
}
