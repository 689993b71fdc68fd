//! The server of a project, found by the file that it leaves there.
//!
//! The file lies where commands of that server, and of others, may write. So nothing in it is believed: the server
//! it names has to be on this machine, and has to prove that it knows the token before it is shown the token.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahma_contract::{
    STATE_FILE, ServerAddress, ServerState, Token, isolated_token_file, random_hex, token_file,
};
use reqwest::Url;
use rustix::process::{Pid, geteuid, test_kill_process};
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;

use crate::config::UrlEntry;
use crate::error::DiscoveryError;
use crate::http;

/// Neither the file nor a token is larger.
const MAX_FILE_LEN: u64 = 64 * 1024;

#[derive(Debug, Deserialize)]
struct Health {
    proof: Option<String>,
}

/// What a user has that a server must know of.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// The user's state directory of `ahma_mcp`; tokens are below it.
    pub state_directory: Option<PathBuf>,
    /// A token that the user has chosen; it is tried before those.
    pub token: Option<String>,
}

/// The server of the project that a directory belongs to: the nearest one, in it or above it, that proves to be the
/// user's. Files that lead to no such server are passed over; the nearest of them is what is reported when there is no
/// other.
pub async fn find_server(
    directory: &Path,
    secrets: &Secrets,
    timeout: Duration,
) -> Result<UrlEntry, DiscoveryError> {
    let directory = tokio::fs::canonicalize(directory).await;
    let directory = directory.map_err(DiscoveryError::Directory)?;
    let mut nearest = None;
    for above in directory.ancestors() {
        let file = above.join(STATE_FILE);
        let Ok(text) = read_own(&file).await else {
            continue;
        };
        match server_of(above, &file, &text, secrets, timeout).await {
            Ok(entry) => return Ok(entry),
            Err(error) => nearest = nearest.or(Some(error)),
        }
    }
    Err(nearest.unwrap_or(DiscoveryError::None(directory)))
}

async fn server_of(
    root: &Path,
    file: &Path,
    text: &str,
    secrets: &Secrets,
    timeout: Duration,
) -> Result<UrlEntry, DiscoveryError> {
    let wrong = |what: &str| DiscoveryError::Content {
        file: file.to_owned(),
        what: what.to_owned(),
    };
    let state: ServerState =
        serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    if state.project.root != root {
        return Err(wrong(
            "`project.root` is not the directory that the file is in",
        ));
    }
    if !is_alive(state.pid) {
        let (file, pid) = (file.to_owned(), state.pid);
        return Err(DiscoveryError::Stale { file, pid });
    }
    let url: Url = state.url.parse().map_err(|_| wrong("`url` is not a URL"))?;
    let address =
        match &state.socket {
            Some(socket) if socket.is_absolute() => ServerAddress::Socket(socket.clone()),
            Some(_) => return Err(wrong("`socket` has to be an absolute path")),
            None => ServerAddress::Port(address(&url).ok_or_else(|| {
                wrong("`url` has to lead to an address of this machine, over http")
            })?),
        };
    // Not what the file names: whoever wrote it could name a file of their own.
    let mut texts = Vec::from_iter(secrets.token.clone());
    if let (true, Some(state)) = (texts.is_empty(), &secrets.state_directory) {
        // One whose sessions have scopes of their own has another.
        for of_server in [token_file(state, root), isolated_token_file(state, root)] {
            texts.extend(read_own(&of_server).await.ok());
        }
    }
    let tokens = texts.iter().filter_map(|it| Token::new(it.trim()).ok());
    let mut unproven = DiscoveryError::NoToken {
        file: file.to_owned(),
        url: state.url.clone(),
    };
    let mut proven = None;
    for token in tokens {
        match prove(&address, &token, timeout).await {
            Ok(()) => {
                proven = Some(token);
                break;
            }
            Err(what) => {
                unproven = DiscoveryError::Unproven {
                    file: file.to_owned(),
                    address: address.clone(),
                    what,
                };
            }
        }
    }
    let Some(token) = proven else {
        return Err(unproven);
    };
    let headers = [(
        "authorization".to_owned(),
        format!("Bearer {}", token.reveal()),
    )];
    // Not the URL that the file names, but where the proof came from.
    let entry = UrlEntry::new(address.url("/mcp"), headers.into());
    Ok(entry.through(state.socket))
}

/// Reads a file of the user, and no one else's.
async fn read_own(path: &Path) -> io::Result<String> {
    let about = tokio::fs::metadata(path).await?;
    if !about.is_file() || about.uid() != geteuid().as_raw() {
        return Err(io::Error::other("it is not a file of yours"));
    }
    let mut text = String::new();
    let file = tokio::fs::File::open(path).await?;
    file.take(MAX_FILE_LEN).read_to_string(&mut text).await?;
    Ok(text)
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // That it may not be signalled is also an answer of a process.
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

/// Where a URL leads, if that is on this machine.
fn address(url: &Url) -> Option<SocketAddr> {
    if url.scheme() != "http" || !http::is_here(url) {
        return None;
    }
    let host = url.host_str()?.trim_matches(['[', ']']);
    Some(SocketAddr::new(
        host.parse::<IpAddr>().ok()?,
        url.port_or_known_default()?,
    ))
}

/// Has a server prove that it knows the token.
async fn prove(address: &ServerAddress, token: &Token, timeout: Duration) -> Result<(), String> {
    let challenge = random_hex(16).map_err(|error| error.to_string())?;
    let health = address.url(&format!("/health?challenge={challenge}"));
    let url = health.parse().map_err(|_| "it has no URL".to_owned())?;
    let client = http::client(&url, address.socket()).map_err(|error| error.to_string())?;
    let asked = client.get(health).timeout(timeout).send().await;
    // The request, with its address, is named by who calls.
    let mut answer = asked.map_err(|error| match error.is_connect() {
        true => "nothing answers there".to_owned(),
        false => error.without_url().to_string(),
    })?;
    if matches!(answer.status().as_u16(), 429 | 503) {
        return Err("it is too busy to answer; try again".to_owned());
    }
    let mut text = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await
        && text.len() < MAX_FILE_LEN as usize
    {
        text.extend_from_slice(&piece);
    }
    let health: Result<Health, _> = serde_json::from_slice(&text);
    let proof = health.ok().and_then(|health| health.proof);
    let is_right = proof.is_some_and(|proof| token.is_proven(address, &challenge, &proof));
    is_right
        .then_some(())
        .ok_or_else(|| "it cannot prove that it knows the token".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_counts() {
        let address = |text: &str| address(&text.parse().unwrap());
        let here = SocketAddr::from(([127, 0, 0, 1], 4242));
        assert_eq!(address("http://127.0.0.1:4242/mcp"), Some(here));
        assert!(address("http://[::1]:4242/mcp").is_some());
        assert!(address("http://127.0.0.1/mcp").is_some_and(|it| it.port() == 80));
        for text in [
            "https://127.0.0.1:4242/mcp",
            "http://localhost:4242/mcp",
            "http://evil.example:4242/mcp",
            "http://10.0.0.1:4242/mcp",
            "file:///etc/passwd",
        ] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn a_process_that_is_gone_is_told_from_one_that_lives() {
        assert!(is_alive(std::process::id()));
        for none in [0, u32::MAX, i32::MAX.cast_unsigned()] {
            assert!(!is_alive(none), "{none}");
        }
    }
}
