//! A program of its own that serves the tools of two tool files to clients of a Unix socket.
//!
//! `embedded DIRECTORY TOOLS SOCKET` confines commands to DIRECTORY, takes tools from `TOOLS/*.json`, and ends when its
//! first client is gone.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use ahma_core::{
    Scope, ScopeConfig, SharedConfig, SharedResources, StdioConnection, Streams,
    become_host_if_asked,
};
use tokio::net::UnixListener;

fn main() -> Result<(), Box<dyn Error>> {
    // Sandbox hosts are this program, started again.
    become_host_if_asked();
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let [directory, tools, socket] = [0; 3].map(|_| arguments.next().unwrap_or_default());
    let directory = directory.canonicalize()?;
    let environment = std::env::vars_os().collect();
    let shared = SharedResources::new(SharedConfig::new(environment, &[&directory]))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut config = ScopeConfig::new(&directory);
        config.tool_files.directories = vec![tools];
        config.no_shell = true;
        let scope = Scope::open(config, &shared).await?;
        let (stream, _) = UnixListener::bind(socket)?.accept().await?;
        let (input, output) = stream.into_split();
        let mut client = StdioConnection::serve(scope.service(), Streams::new(input, output));
        client.ended().await?;
        let grace = Duration::from_secs(3);
        scope.shutdown("the client is gone", grace).await;
        Ok(())
    })
}
