//! Runs one command confined to a directory:
//! `confined [--no-network] [--fork] [--warm] [--standby] [--beside PROGRAM] DIRECTORY COMMAND [ARGUMENT…]`, and with
//! `--processes N` with a limit of processes, with `--no-seccomp` or `--first-landlock` as on weaker kernels. `--warm` has
//! a shell execute it that waited for it, `--standby` a host that waited for its policy, `--another-host` has the program beside it
//! in a host of its own. `--only-standby` has such a host wait,
//! prints its process, and ends with its standard input.
//!
//! Also the smallest program with a sandbox host inside; the tests start hosts from it.

#![expect(clippy::print_stderr, reason = "an example tells what it does")]

use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;

use ahma_sandbox::{
    CommandRequest, Input, Launch, Layer, Network, PrewarmSpec, PrivateDir, Sandbox, SandboxPolicy,
    become_host_if_asked, command_environment,
};
use tokio::io::AsyncReadExt as _;

const USAGE: &str = "usage: confined [--no-network] [--fork] [--warm] [--standby] [--beside PROGRAM] DIRECTORY COMMAND [ARGUMENT…]";

fn main() -> Result<(), Box<dyn Error>> {
    become_host_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let session = PrivateDir::create(&std::env::temp_dir())?;
    let mut policy = SandboxPolicy::new("", session.path());
    let mut beside = None;
    let (mut warm, mut standby, mut apart) = (false, None, false);
    let mut arguments = std::env::args_os().skip(1);
    loop {
        let argument = arguments.next().ok_or(USAGE)?;
        match argument.to_str() {
            Some("--no-network") => policy.network = Network::Off,
            Some("--fork") => policy.launch = Launch::Fork,
            Some("--warm") => warm = true,
            Some("--only-standby") => {
                let own = PrivateDir::create(&std::env::temp_dir())?;
                let sandbox = Sandbox::new(std::env::current_exe()?)?;
                let standby = wait_for_standby(&sandbox, &policy, &own).await?;
                writeln!(std::io::stdout(), "{standby}")?;
                std::io::stdin().read_line(&mut String::new())?;
                return Ok(());
            }
            Some("--standby") => standby = Some(PrivateDir::create(&std::env::temp_dir())?),
            Some("--processes") => {
                let most = arguments.next().and_then(|most| most.into_string().ok());
                policy.limits.processes = Some(most.ok_or(USAGE)?.parse()?);
            }
            Some("--beside") => beside = arguments.next(),
            Some("--another-host") => apart = true,
            Some("--no-seccomp") => policy.without.push(Layer::Seccomp),
            Some("--first-landlock") => policy.newest_landlock = Some(1),
            _ => {
                policy.scope = std::path::Path::new(&argument).canonicalize()?;
                break;
            }
        }
    }
    let sandbox = Sandbox::new(std::env::current_exe()?)?;
    let waiting = match &standby {
        Some(own) => Some(wait_for_standby(&sandbox, &policy, own).await?),
        None => None,
    };
    let host = sandbox.start(&policy).await?;
    if waiting.is_some_and(|pid| pid != host.pid()) {
        return Err("the standby did not become the host".into());
    }
    for layer in &host.report().layers {
        eprintln!("{layer:?}");
    }
    let server: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    let request = |arguments: Vec<OsString>| CommandRequest {
        arguments,
        environment: command_environment(&policy, &server, &[])
            .into_iter()
            .collect(),
        directory: policy.scope.clone(),
        input: Input::Nothing,
    };
    let another = match apart {
        true => Some(sandbox.start(&policy).await?),
        false => None,
    };
    let _other = match beside {
        Some(program) => {
            let host = another.as_ref().unwrap_or(&host);
            Some(host.spawn(request(vec![program])).await?)
        }
        None => None,
    };
    let arguments = if warm {
        let environment = request(Vec::new()).environment;
        host.keep_warm(1, "bash".into(), environment);
        while host.warm_shells() == 0 {
            tokio::task::yield_now().await;
        }
        script(arguments).map_err(|word| format!("{word:?} is no text"))?
    } else {
        arguments.collect()
    };
    let mut command = host.spawn(request(arguments)).await?;
    let mut output = Vec::new();
    if let Some(mut pipe) = command.take_output() {
        pipe.read_to_end(&mut output).await?;
    }
    std::io::stdout().write_all(&output)?;
    eprintln!("{:?}", command.exited().await?);
    Ok(())
}

/// Has a host wait, and returns its process.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing else goes on, and the kernel answers at once"
)]
async fn wait_for_standby(
    sandbox: &Sandbox,
    policy: &SandboxPolicy,
    own: &PrivateDir,
) -> Result<u32, Box<dyn Error>> {
    sandbox.prestart(PrewarmSpec {
        network: policy.network,
        private_dir: own.path().to_owned(),
    });
    loop {
        for thread in std::fs::read_dir("/proc/self/task")? {
            let children = std::fs::read_to_string(thread?.path().join("children"))?;
            if let Some(pid) = children.split_whitespace().next() {
                return Ok(pid.parse()?);
            }
        }
        tokio::task::yield_now().await;
    }
}

/// The command as a script; its words must be plain.
fn script(words: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, OsString> {
    let words: Result<Vec<String>, OsString> = words.map(OsString::into_string).collect();
    let script = format!("exec {}", words?.join(" "));
    Ok(["bash", "-c", "--", &script].map(OsString::from).to_vec())
}
