//! Runs one command confined to a directory: `confined DIRECTORY COMMAND [ARGUMENT…]`.
//!
//! Also the smallest program with a sandbox host inside; the tests start hosts from it.

#![expect(clippy::print_stderr, reason = "an example tells what it does")]

use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;

use ahma_sandbox::{
    CommandRequest, Input, Sandbox, SandboxPolicy, SessionDirectory, become_host_if_asked,
    command_environment,
};
use tokio::io::AsyncReadExt as _;

fn main() -> Result<(), Box<dyn Error>> {
    become_host_if_asked();
    let mut arguments = std::env::args_os().skip(1);
    let scope = arguments
        .next()
        .ok_or("usage: confined DIRECTORY COMMAND [ARGUMENT…]")?;
    let command: Vec<OsString> = arguments.collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(scope, command))
}

async fn run(scope: OsString, arguments: Vec<OsString>) -> Result<(), Box<dyn Error>> {
    let session = SessionDirectory::create(&std::env::temp_dir())?;
    let policy = SandboxPolicy::new(std::path::Path::new(&scope).canonicalize()?, session.path());
    let sandbox = Sandbox::new(std::env::current_exe()?)?;
    let host = sandbox.start(&policy).await?;
    for layer in &host.report().layers {
        eprintln!("{layer:?}");
    }
    let server: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    let request = CommandRequest {
        arguments,
        environment: command_environment(&policy, &server, &[])
            .into_iter()
            .collect(),
        directory: policy.scope.clone(),
        input: Input::Nothing,
    };
    let mut command = host.spawn(request).await?;
    let mut output = Vec::new();
    if let Some(mut pipe) = command.take_output() {
        pipe.read_to_end(&mut output).await?;
    }
    std::io::stdout().write_all(&output)?;
    eprintln!("{:?}", command.exited().await?);
    Ok(())
}
