//! When a service counts as started. Waits for it. Must not start or end anything.

use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::call_error::CallError;
use super::caller_pattern;
use super::context::ServiceContext;
use crate::listening::listening_address;
use crate::operation::OperationHandle;

/// Without a condition, a service has started when it has lived for this long.
const ALIVE: Duration = Duration::from_secs(1);
/// The kernel tells nobody when a port is listened on; this is how often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Processes whose networks are looked at.
const MAX_PROCESSES: usize = 32;

/// What a caller may wait for. The arguments have been checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReadyWhen {
    /// Something listens on this port of the loopback addresses.
    Port(#[serde(deserialize_with = "whole_port")] u16),
    /// A line of the output matches this regular expression.
    Pattern(String),
}

/// A port, perhaps written as `80.0`: JSON knows one kind of number.
fn whole_port<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a port"
    )]
    f64::deserialize(deserializer).map(|port| port as u16)
}

/// The same, ready to be waited for.
#[derive(Debug, Clone)]
pub(super) enum Readiness {
    Port(u16),
    Pattern(Regex),
    Alive,
}

impl Readiness {
    /// What a caller asked for.
    pub(super) async fn new(
        asked: Option<&ReadyWhen>,
        context: &ServiceContext,
    ) -> Result<Self, CallError> {
        match asked {
            None => Ok(Readiness::Alive),
            Some(ReadyWhen::Pattern(pattern)) => {
                caller_pattern::pattern("ready", pattern).map(Readiness::Pattern)
            }
            Some(ReadyWhen::Port(port)) => {
                if is_listened_on(*port, tables(context).await).await {
                    let why = format!("ready: something listens on port {port} already");
                    let hint = "use another port, or stop what has it";
                    return Err(CallError::refused(why).with_hint(hint));
                }
                Ok(Readiness::Port(*port))
            }
        }
    }

    /// Waits until it holds; for ever when it never does.
    pub(super) async fn holds(&self, operation: &OperationHandle, context: &ServiceContext) {
        match self {
            Readiness::Alive => {
                operation.runs().await;
                sleep(ALIVE).await;
            }
            Readiness::Pattern(pattern) => operation.output().line_matches(pattern).await,
            Readiness::Port(port) => {
                while !is_listened_on(*port, tables(context).await).await {
                    sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    /// What is said of it when it holds.
    pub(super) fn reason(&self) -> String {
        match self {
            Readiness::Alive => "it has been running for a second".to_owned(),
            Readiness::Pattern(pattern) => format!("its output matches {:?}", pattern.as_str()),
            Readiness::Port(port) => format!("it listens on port {port}"),
        }
    }
}

impl Readiness {
    /// What is said of it while it does not hold.
    pub(super) fn missing(&self) -> String {
        match self {
            Readiness::Alive => "it has not been running for a second".to_owned(),
            Readiness::Pattern(pattern) => format!("no line matches {:?}", pattern.as_str()),
            Readiness::Port(port) => format!("nothing listens on port {port}"),
        }
    }
}

/// The kernel's tables of the networks that commands of this scope have: each host may have its own.
async fn tables(context: &ServiceContext) -> Vec<PathBuf> {
    let hosts = context.hosts.alive().await;
    let mut pids: Vec<u32> = hosts.iter().map(|host| host.pid()).collect();
    // A private network is that of the processes inside, not of the one around them.
    let mut at = 0;
    while let Some(pid) = pids.get(at).copied().filter(|_| at < MAX_PROCESSES) {
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = tokio::fs::read_to_string(children)
            .await
            .unwrap_or_default();
        pids.extend(
            children
                .split_whitespace()
                .filter_map(|it| it.parse::<u32>().ok()),
        );
        at += 1;
    }
    let pids = pids.into_iter().take(MAX_PROCESSES);
    let tables = pids.flat_map(|pid| ["tcp", "tcp6"].map(|it| format!("/proc/{pid}/net/{it}")));
    tables.map(PathBuf::from).collect()
}

async fn is_listened_on(port: u16, tables: Vec<PathBuf>) -> bool {
    // How long the tables are, others decide.
    #[expect(clippy::disallowed_methods, reason = "beside the runtime")]
    let looking = spawn_blocking(move || {
        let mut tables = tables
            .iter()
            .filter_map(|it| std::fs::read_to_string(it).ok());
        tables.any(|table| {
            table
                .lines()
                .skip(1)
                .any(|line| listening_address(line, port).is_some())
        })
    });
    looking.await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listens(line: &str, port: u16) -> bool {
        listening_address(line, port).is_some()
    }

    #[test]
    fn a_port_is_the_same_however_the_number_is_written() {
        for written in [r#"{"port": 80}"#, r#"{"port": 80.0}"#] {
            let read = serde_json::from_str::<ReadyWhen>(written);
            assert!(matches!(read, Ok(ReadyWhen::Port(80))), "{written}");
        }
    }

    #[test]
    fn a_listening_socket_is_told_from_others() {
        let line = "   0: 0100007F:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 0 0 1 1 0 100 0 0 10 0";
        assert!(listens(line, 4000));
        assert!(!listens(line, 4001));
        assert!(!listens(&line.replace(" 0A ", " 01 "), 4000));
        let six = "   0: 00000000000000000000000001000000:0FA0 00000000000000000000000000000000:0000 0A 0";
        assert!(listens(six, 4000));
        assert!(!listens("sl local_address rem_address st", 4000));
    }
}
