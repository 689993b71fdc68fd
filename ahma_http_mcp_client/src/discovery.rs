//! The server of a project, found by the file that it leaves there.
//!
//! The file lies where commands of that server, and of others, may write. So nothing in it is believed: the server
//! it names has to be on this machine, and has to prove that it knows the token before it is shown the token.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Url;
use rustix::process::{Pid, geteuid, test_kill_process};
use serde::Deserialize;
use sha2::Sha256;
use tokio::io::AsyncReadExt as _;

use crate::config::UrlEntry;
use crate::error::DiscoveryError;
use crate::http;

/// Where a server leaves its file, below the directory it serves.
const STATE_FILE: &str = ".ahma/.mcp_server_state.json";
/// Neither the file nor a token is larger.
const LARGEST: u64 = 64 * 1024;

#[derive(Debug, Deserialize)]
struct State {
    url: String,
    pid: i32,
    token_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Health {
    proof: Option<String>,
}

/// The server of the project that a directory belongs to: the nearest file, in it or above it. A token that the
/// caller knows is used where the file names none.
pub async fn find_server(
    directory: &Path,
    known_token: Option<&str>,
    patience: Duration,
) -> Result<UrlEntry, DiscoveryError> {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let Some((file, text)) = nearest(&directory).await? else {
        return Err(DiscoveryError::None(directory));
    };
    let wrong = |what: String| DiscoveryError::Content {
        file: file.clone(),
        what,
    };
    let state: State = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if !is_alive(state.pid) {
        let (file, pid) = (file.clone(), state.pid);
        return Err(DiscoveryError::Stale { file, pid });
    }
    let url: Url = state
        .url
        .parse()
        .map_err(|_| wrong("`url` is no URL".to_owned()))?;
    let address = address(&url).ok_or_else(|| {
        wrong("`url` has to lead to an address of this machine, over http".to_owned())
    })?;
    let token = match &state.token_file {
        Some(path) => Some(read_token(path).await?),
        None => known_token.map(str::to_owned),
    };
    let mut headers = std::collections::BTreeMap::new();
    if let Some(token) = token {
        prove(&url, address, &token, patience)
            .await
            .map_err(|what| DiscoveryError::Unproven {
                file: file.clone(),
                address,
                what,
            })?;
        headers.insert("authorization".to_owned(), format!("Bearer {token}"));
    }
    Ok(UrlEntry::new(state.url, headers))
}

/// The nearest file at or above a directory, of the user's own.
async fn nearest(directory: &Path) -> Result<Option<(PathBuf, String)>, DiscoveryError> {
    for above in directory.ancestors() {
        let file = above.join(STATE_FILE);
        match read_own(&file).await {
            Ok(text) => return Ok(Some((file, text))),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(DiscoveryError::Read { file, error }),
        }
    }
    Ok(None)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

async fn read_token(path: &Path) -> Result<String, DiscoveryError> {
    let text = read_own(path).await.map_err(|error| DiscoveryError::Read {
        file: path.to_owned(),
        error,
    })?;
    Ok(text.trim().to_owned())
}

/// Reads a file of the user, and no one else's.
async fn read_own(path: &Path) -> io::Result<String> {
    let about = tokio::fs::metadata(path).await?;
    if !about.is_file() || about.uid() != geteuid().as_raw() {
        return Err(io::Error::other("it is no file of yours"));
    }
    let mut text = String::new();
    let file = tokio::fs::File::open(path).await?;
    file.take(LARGEST).read_to_string(&mut text).await?;
    Ok(text)
}

fn is_alive(pid: i32) -> bool {
    let pid = (pid > 0).then(|| Pid::from_raw(pid)).flatten();
    // That it may not be signalled is also an answer of a process.
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

/// Where a URL leads, if that is on this machine.
fn address(url: &Url) -> Option<SocketAddr> {
    if url.scheme() != "http" || !http::is_here(url) {
        return None;
    }
    let host = url.host_str()?.trim_matches(['[', ']']);
    Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, url.port()?))
}

/// Has a server prove that it knows the token.
async fn prove(
    url: &Url,
    address: SocketAddr,
    token: &str,
    patience: Duration,
) -> Result<(), String> {
    let challenge = uuid::Uuid::new_v4().simple().to_string();
    let health = format!("http://{address}/health?challenge={challenge}");
    let client = http::client(url).map_err(|error| error.to_string())?;
    let asked = client.get(health).timeout(patience).send().await;
    // The request, with its address, is named by who calls.
    let answer = asked.map_err(|error| error.without_url().to_string())?;
    let text = answer.bytes().await;
    let text = text.map_err(|error| error.without_url().to_string())?;
    let health: Result<Health, _> = serde_json::from_slice(&text);
    let proof = health.ok().and_then(|health| health.proof);
    let proof = proof.and_then(|proof| bytes(&proof));
    let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes())
        .map_err(|_| "the token cannot be used".to_owned())?;
    mac.update(format!("ahma_mcp {address} {challenge}").as_bytes());
    let is_right = proof.is_some_and(|proof| mac.verify_slice(&proof).is_ok());
    is_right
        .then_some(())
        .ok_or_else(|| "it cannot prove that it knows the token".to_owned())
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
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
        for text in [
            "https://127.0.0.1:4242/mcp",
            "http://localhost:4242/mcp",
            "http://evil.example:4242/mcp",
            "http://10.0.0.1:4242/mcp",
            "http://127.0.0.1/mcp",
            "file:///etc/passwd",
        ] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn a_process_that_is_gone_is_told_from_one_that_lives() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(is_alive(own));
        for none in [0, -1, i32::MIN, i32::MAX] {
            assert!(!is_alive(none), "{none}");
        }
    }
}
