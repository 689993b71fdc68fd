//! `ahma_mcp auth`: signing in to servers behind this one, by their owner. Serves nobody, and shows no token.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthError, SignIn, SignInStatus};
use ahma_sandbox::keep_own_files_private;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};
use tokio::task::spawn_blocking;

use super::args::Args;
use super::auth_args::AuthCommand;
use super::auth_report as report;
use super::downstream::Prepared;
use super::downstream_args::Format;
use super::offline::Offline;
use super::output::{say, show};
use super::startup_error::{EXIT_FAILURE, StartupError};
use crate::config::downstream::ServerSpec;
use crate::downstream::{DownstreamServers, LoginStart};

/// How long somebody may take to sign in.
const PATIENCE: Duration = Duration::from_secs(600);
/// A longer line is not what a browser shows.
const MAX_PASTED: usize = 16 * 1024;

/// Does what is asked; the exit code.
pub(super) fn run(args: &Args, command: &AuthCommand) -> ExitCode {
    keep_own_files_private();
    match with_servers(args, command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => error.report(),
    }
}

fn with_servers(args: &Args, command: &AuthCommand) -> Result<u8, StartupError> {
    let Offline {
        settings,
        environment,
        user,
        shared,
        runtime,
        nowhere: _nowhere,
    } = Offline::anywhere(args)?;
    let writable = settings.writable();
    let directory = settings.scope.directory.clone();
    let Some(file) = settings.downstream else {
        return Err(StartupError::Usage(
            "there is no configuration directory of this user\nhint: name a file with --mcp-config"
                .to_owned(),
        ));
    };
    let path = file.path().to_owned();
    let done = runtime.block_on(async {
        let prepared = file.prepare((&directory, writable), &user, &environment, &shared);
        // Its directory goes last.
        let prepared = prepared.await?;
        let servers = prepared.as_ref().map(|it: &Prepared| &it.servers);
        let specs = servers.map(|it| it.specs()).unwrap_or_default();
        let known = |name: &str| {
            if specs.iter().any(|it| it.name == name) {
                return Ok(());
            }
            let names: Vec<&str> = specs.iter().map(|it| it.name.as_str()).collect();
            Err(StartupError::Usage(format!(
                "there is no usable server `{name}` in {}\nhint: there are: {}",
                path.display(),
                match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                }
            )))
        };
        match (command, servers) {
            (AuthCommand::Status { format }, servers) => {
                status(servers.map(AsRef::as_ref), &specs, *format).await
            }
            (
                AuthCommand::Login {
                    server,
                    no_browser,
                    no_keyring,
                },
                Some(servers),
            ) => {
                known(server)?;
                let sign_in = servers.begin_login(server, !no_keyring).await;
                login(sign_in, server, *no_browser).await
            }
            (AuthCommand::Logout { server }, Some(servers)) => {
                known(server)?;
                logout(servers, server).await
            }
            (AuthCommand::Login { server, .. } | AuthCommand::Logout { server }, None) => {
                known(server).map(|()| EXIT_FAILURE)
            }
        }
    });
    // Somebody may still be asked for a line.
    runtime.shutdown_background();
    done
}

async fn login(
    begun: Result<LoginStart, String>,
    server: &str,
    no_browser: bool,
) -> Result<u8, StartupError> {
    let begun = begun.map_err(|why| StartupError::Other(format!("`{server}`: {why}")))?;
    let LoginStart::Begun(sign_in) = begun else {
        say(&format!("{server}: it asks nobody to sign in\n"))?;
        return Ok(0);
    };
    let url = sign_in.url().to_string();
    eprint_line(match no_browser {
        false => "opening the browser; if it shows nothing, open this URL in one:",
        true => "open this URL in a browser:",
    });
    // In one line, also for programs.
    show(&format!("{url}\n"))?;
    eprint_line(match sign_in.is_listening() {
        true => {
            "waiting for the answer; where the browser runs on another machine, paste the URL that it shows in the end:"
        }
        false => "paste the URL that the browser shows in the end:",
    });
    // A browser of a terminal ends only when the answer has been taken.
    let opening = async {
        if !no_browser && !opened(url).await {
            eprint_line("no browser could be opened");
        }
        std::future::pending().await
    };
    let done = tokio::select! {
        done = signed_in(&sign_in) => done,
        never = opening => never,
    };
    match done {
        Ok(status) => {
            say(&report::signed_in(server, &status))?;
            Ok(0)
        }
        Err(error) => {
            eprint_line(&format!(
                "error: `{server}`: {error}\nhint: {}",
                error.hint()
            ));
            Ok(EXIT_FAILURE)
        }
    }
}

/// Whether a browser could be opened. Which one, the user's desktop decides; no shell is involved.
async fn opened(url: String) -> bool {
    let opening = spawn_blocking(move || webbrowser::open(&url).is_ok());
    opening.await.unwrap_or_default()
}

/// Waits for the browser, or for somebody who pastes.
async fn signed_in(sign_in: &SignIn) -> Result<SignInStatus, AuthError> {
    let mut lines = BufReader::new(stdin()).lines();
    tokio::select! {
        done = sign_in.wait(PATIENCE) => done,
        done = pasted(sign_in, &mut lines) => done,
    }
}

async fn pasted(
    sign_in: &SignIn,
    lines: &mut Lines<BufReader<Stdin>>,
) -> Result<SignInStatus, AuthError> {
    loop {
        let line = match lines.next_line().await {
            Ok(Some(line)) if line.len() <= MAX_PASTED => line,
            Ok(Some(_)) => continue,
            // Nobody is there who could; the browser may come.
            Ok(None) | Err(_) => std::future::pending().await,
        };
        if line.trim().is_empty() {
            continue;
        }
        match sign_in.redirected(&line).await {
            // Another line may be the right one.
            Err(error @ AuthError::Redirect(_)) => {
                eprint_line(&format!("{error}\nhint: {}", error.hint()));
            }
            done => return done,
        }
    }
}

async fn status(
    servers: Option<&DownstreamServers>,
    specs: &[ServerSpec],
    format: Format,
) -> Result<u8, StartupError> {
    let mut rows = Vec::new();
    for spec in specs {
        let status = match servers {
            Some(servers) => servers.sign_in_status(&spec.name).await,
            None => Ok(None),
        };
        rows.extend(report::Row::of(spec, status));
    }
    say(&match format {
        Format::Text => report::rows(&rows),
        Format::Json => format!("{:#}\n", report::document(&rows)),
    })?;
    Ok(0)
}

async fn logout(servers: &DownstreamServers, server: &str) -> Result<u8, StartupError> {
    let was_there = servers.log_out(server).await.map_err(StartupError::Other)?;
    say(&match was_there {
        true => format!(
            "{server}: its tokens are forgotten; an `ahma_mcp` that runs uses the one it has until that has to be renewed\n"
        ),
        false => format!("{server}: nobody was signed in\n"),
    })?;
    Ok(0)
}

/// Says something to people; what programs read is on stdout.
fn eprint_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
