//! Asks a server what it offers, and calls one of its tools.
//!
//! `cargo run -p ahma_http_mcp_client --example ask -- http://127.0.0.1:4242/mcp TOOL '{"text": "hello"}'`

use ahma_http_mcp_client::{Client, ClientOptions, Request, UrlEntry};
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(url), tool, arguments) = (words.next(), words.next(), words.next()) else {
        return Err("which URL?".into());
    };
    let client = Client::at(
        &UrlEntry::new(url, Default::default()),
        ClientOptions::default(),
    )
    .await?;
    let peer = client.peer();
    say(&format!("{} speaks {}", peer.server, peer.revision));
    let latency = client.health_check().await?;
    say(&format!("it answers within {latency:?}"));
    match tool {
        None => {
            for tool in client.tools().await?.items {
                say(tool.get());
            }
        }
        Some(tool) => {
            let arguments = arguments.unwrap_or_else(|| "{}".to_owned());
            let arguments = RawValue::from_string(arguments)?;
            let result = client.request(Request::call(&tool, &arguments)).await?;
            say(result.get());
        }
    }
    client.close().await;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn say(line: &str) {
    println!("{line}");
}
