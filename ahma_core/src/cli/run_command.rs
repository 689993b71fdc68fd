//! `ahma_mcp run`: one command in the sandbox, without MCP. Shows what it writes as it comes, passes on its exit code, and says what was
//! refused. Must not grant anything that nobody has agreed to.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ahma_sandbox::keep_own_files_private;

use super::args::{Args, NetworkArg};
use super::offline::Offline;
use super::run_args::{RunArgs, script};
use super::run_streams::{Ran, run_and_show};
use super::startup_error::StartupError;
use super::warnings::warn_loudly;
use crate::denial::Denial;
use crate::scope::Scope;

/// The exit code when the command could not be run at all.
const EXIT_NOT_RUN: u8 = 125;
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Flags that allow what was refused.
const FLAGS: [&str; 4] = [
    "--sandbox-read",
    "--sandbox-write",
    "--unprotect",
    "--network",
];
/// Refusals that are asked about, one after the other.
const MOST_GRANTS: usize = 20;

/// Runs the command; its exit code.
pub(super) fn run(args: &Args, command: &RunArgs) -> ExitCode {
    keep_own_files_private();
    let done = match command.learn {
        false => once(args, command).map(|(ran, denial)| {
            if let Some(denial) = denial {
                say(&refused(&denial));
            }
            ran
        }),
        true => learn(args.clone(), command),
    };
    match done {
        Ok(ran) => ExitCode::from(ran.exit_code()),
        Err(error) => {
            error.report();
            ExitCode::from(EXIT_NOT_RUN)
        }
    }
}

/// Runs it once, as an agent's command would run.
fn once(args: &Args, command: &RunArgs) -> Result<(Ran, Option<Denial>), StartupError> {
    let offline = Offline::as_a_server(args)?;
    let (mut scope, shared) = (offline.settings.scope, offline.shared);
    scope.warm_shells = 0;
    if scope.unconfined {
        warn_loudly("the sandbox is switched off; the command can do what you can do");
    }
    let script = script(&command.words);
    let running = async {
        let scope = Scope::prepare(scope, &shared).await?;
        scope.ready().await?;
        for warning in scope.warnings().recent() {
            warn_loudly(&warning);
        }
        // The answers to our own questions are not for the command.
        let has_input = !(command.learn && io::stdin().is_terminal());
        let running = run_and_show(&scope, &script, has_input);
        let (ran, warnings) = scope.guarded(running).await;
        for warning in warnings {
            say(&format!("ahma_mcp: {warning}"));
        }
        let denial = match &ran {
            Ok(ran) => explained(&scope, &script, ran).await,
            Err(_) => None,
        };
        scope.shutdown("the command has ended", END_TIMEOUT).await;
        ran.map(|ran| (ran, denial))
    };
    let done = offline.runtime.block_on(running);
    // A thread may still wait for somebody to type.
    offline.runtime.shutdown_background();
    done
}

/// Why the sandbox was in the way, where it probably was.
async fn explained(scope: &Scope, script: &str, ran: &Ran) -> Option<Denial> {
    if ran.exit_code() == 0 {
        return None;
    }
    let explain = scope.explainer()?;
    let failed = scope.failed_script(script, ran.exit, (ran.output(), ran.is_cut()));
    let explaining = tokio::task::spawn_blocking(move || explain(&failed));
    explaining.await.ok().flatten()
}

fn refused(denial: &Denial) -> String {
    let allow = match flag_of(&denial.owner_can).filter(|it| is_taken(*it)) {
        Some((flag, value)) => format!("\nahma_mcp: to allow it: ahma_mcp run {flag} {value} -- …"),
        None => String::new(),
    };
    format!("ahma_mcp: {}{allow}", denial.text)
}

/// Whether a server takes the flag: the path is there, and it is not everything of the user.
fn is_taken((flag, value): (&str, &str)) -> bool {
    let path = Path::new(value);
    let home = std::env::home_dir().and_then(|it| it.canonicalize().ok());
    let is_wide = home.is_some_and(|it| it.starts_with(path));
    !flag.starts_with("--sandbox") || (path.exists() && !is_wide)
}

/// The flag that would allow what was refused, where there is one that needs no further word.
fn flag_of(owner_can: &str) -> Option<(&'static str, &str)> {
    let of = |flag: &'static str| {
        let start = owner_can.find(flag)? + flag.len();
        let value = owner_can.get(start..)?.strip_prefix(' ')?;
        let value = value.split(", ").next().unwrap_or_default();
        let is_clear = match flag {
            "--network" => value == "on",
            _ => value.starts_with('/') || flag == "--unprotect",
        };
        (is_clear && !value.is_empty()).then_some((flag, value))
    };
    FLAGS.into_iter().find_map(of)
}

/// Runs it again and again, with what somebody agrees to each time.
fn learn(mut args: Args, command: &RunArgs) -> Result<Ran, StartupError> {
    let mut granted: Vec<String> = Vec::new();
    loop {
        let (ran, denial) = once(&args, command)?;
        let denial = denial.inspect(|it| say(&refused(it)));
        let flag = denial.as_ref().and_then(|it| flag_of(&it.owner_can));
        let flag = flag.filter(|it| is_taken(*it));
        let words = flag.map(|(flag, value)| format!("{flag} {value}"));
        let is_new = |it: &String| !granted.contains(it) && granted.len() < MOST_GRANTS;
        match (flag, words.filter(is_new)) {
            (Some((flag, value)), Some(words)) if agreed(&words) => {
                grant(&mut args, flag, value);
                granted.push(words);
            }
            _ => {
                say(&learned(&granted, ran.exit_code()));
                return Ok(ran);
            }
        }
    }
}

fn grant(args: &mut Args, flag: &str, value: &str) {
    match flag {
        "--sandbox-read" => args.sandbox_read.push(value.into()),
        "--sandbox-write" => args.sandbox_write.push(value.into()),
        "--unprotect" => args.unprotect.push(value.into()),
        _ => args.network = Some(NetworkArg::On),
    }
}

/// Asks whoever sits at the terminal. Nobody there agrees to nothing.
fn agreed(flag: &str) -> bool {
    let (mut stderr, stdin) = (io::stderr(), io::stdin());
    if !stdin.is_terminal() {
        return false;
    }
    let _ = write!(stderr, "ahma_mcp: try again with {flag}? [y/N] ");
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

fn learned(granted: &[String], code: u8) -> String {
    let flags = granted.join(" ");
    match (granted.is_empty(), code) {
        (true, 0) => "ahma_mcp: it needs no flags".to_owned(),
        (true, _) => "ahma_mcp: no flag was agreed to".to_owned(),
        (false, 0) => format!("ahma_mcp: it works with: {flags}"),
        (false, code) => format!("ahma_mcp: with {flags} it still ends with {code}"),
    }
}

fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::flag_of;

    #[test]
    fn the_flag_is_taken_out_of_what_the_owner_can_do() {
        for (owner_can, flag) in [
            ("--sandbox-read /a/b", Some(("--sandbox-read", "/a/b"))),
            (
                "--sandbox-write /a b/c",
                Some(("--sandbox-write", "/a b/c")),
            ),
            (
                "--pass-env of a token, or --sandbox-read /a",
                Some(("--sandbox-read", "/a")),
            ),
            (
                "--sandbox-read /a, and use that absolute path",
                Some(("--sandbox-read", "/a")),
            ),
            (
                "--unprotect .git/hooks",
                Some(("--unprotect", ".git/hooks")),
            ),
            ("--network on", Some(("--network", "on"))),
            ("--pass-env of a token", None),
            ("none: run it outside", None),
            ("--timeout SECONDS or timeout_seconds of the call", None),
        ] {
            assert_eq!(flag_of(owner_can), flag, "{owner_can}");
        }
    }
}
