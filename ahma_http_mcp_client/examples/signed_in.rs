//! Asks a server what it offers, as whoever has signed in: with the tokens that a directory keeps, renewed where they are due.
//! Whoever has not signed in is given a URL to open.
//!
//! `cargo run -p ahma_http_mcp_client --example signed_in -- https://mcp.example.com/mcp DIRECTORY`

use std::sync::Arc;
use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthOptions, SignIn, TokenSource, TokenStore};
use ahma_http_mcp_client::{Client, ClientOptions, RequestError, UrlEntry};

/// How long somebody may take to sign in.
const PATIENCE: Duration = Duration::from_secs(300);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(url), Some(directory)) = (words.next(), words.next()) else {
        return Err("which URL, and which directory?".into());
    };
    let options = AuthOptions::new(&url, TokenStore::new(directory))?;
    let source = Arc::new(TokenSource::new(options.clone()));
    let entry = UrlEntry::new(url, Default::default()).authorized_by(source);
    let client = match Client::at(&entry, ClientOptions::default()).await {
        Err(RequestError::Unauthorized { challenge }) => {
            let sign_in = SignIn::begin(options, challenge.as_deref()).await?;
            say(&format!("open {}", sign_in.url()));
            let status = sign_in.wait(PATIENCE).await?;
            say(&format!("signed in with {}", status.issuer));
            Client::at(&entry, ClientOptions::default()).await?
        }
        client => client?,
    };
    say(&format!("{} tools", client.tools().await?.items.len()));
    client.close().await;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn say(line: &str) {
    println!("{line}");
}
