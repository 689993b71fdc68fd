//! The subcommand: has every check made, and shows what they found.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use ahma_contract::UserDirectories;

use super::finding::Finding;
use super::{clients, files, ports, project, report, sandbox};
use crate::cli::args::Args;
use crate::cli::client_entries;
use crate::cli::output::say;
use crate::cli::profiles;
use crate::cli::startup_error::{EXIT_FAILURE, StartupError};

/// The exit code when something has to be repaired.
const EXIT_TO_FIX: u8 = 1;

const HELP: &str = "\
Exit codes: 0 nothing has to be repaired, 1 something has, 2 bad usage";

/// What is wanted to know.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub(in crate::cli) struct DoctorArgs {
    /// Print one JSON document, for programs.
    #[arg(long)]
    json: bool,

    /// Print the profiles that there are, to be read and copied, and check nothing.
    #[arg(long, conflicts_with = "json")]
    profiles: bool,
}

/// Makes every check; the exit code. `args` has what settings files add, or why they add nothing.
pub(in crate::cli) fn run(doctor: &DoctorArgs, args: Result<Args, StartupError>) -> ExitCode {
    if doctor.profiles {
        return exit_code(say(profiles::TEXT), 0);
    }
    let findings = findings(args);
    let is_coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = match doctor.json {
        true => report::document(&findings),
        false => report::text(&findings, is_coloured),
    };
    exit_code(say(&text), report::to_fix(&findings))
}

fn exit_code(said: io::Result<()>, to_fix: usize) -> ExitCode {
    match (said, to_fix) {
        (Err(_), _) => ExitCode::from(EXIT_FAILURE),
        (Ok(()), 0) => ExitCode::SUCCESS,
        (Ok(()), _) => ExitCode::from(EXIT_TO_FIX),
    }
}

fn findings(args: Result<Args, StartupError>) -> Vec<Finding> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let user = UserDirectories::of_this_user();
    let mut findings = match off_by(&args, &environment) {
        Some(source) => vec![Finding::fix(
            "sandbox",
            format!("the sandbox is switched off ({source}): commands can do what you can do"),
            "remove that setting; `ahma_mcp doctor` says then what the machine can enforce",
        )],
        None => layers(),
    };
    let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
    findings.extend(files::check(&user, home.as_deref()));
    let path = environment
        .get(OsStr::new("PATH"))
        .cloned()
        .unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    findings.extend(clients::check(&client_entries::ours(&environment), &path));
    match args {
        Err(error) => findings.push(Finding::of_error("settings", &error)),
        Ok(args) => {
            let number = args.origins.len();
            let message = match number {
                0 => "all settings are the default".to_owned(),
                _ => {
                    let origins = args.origins.iter();
                    let lines =
                        origins.map(|it| format!("{} = {} ({})", it.name, it.value, it.source));
                    lines.collect::<Vec<_>>().join("; ")
                }
            };
            findings.push(Finding::ok("settings", message));
            findings.push(ports::check(args.http_port));
            findings.extend(project::check(&args));
        }
    }
    findings
}

/// What has switched the sandbox off, if anything has.
fn off_by(
    args: &Result<Args, StartupError>,
    environment: &BTreeMap<OsString, OsString>,
) -> Option<String> {
    let by_args = args.as_ref().ok().filter(|it| it.no_sandbox);
    if let Some(args) = by_args {
        let mut origins = args.origins.iter();
        let origin = origins.find(|it| it.name == "no-sandbox");
        return Some(origin.map_or_else(|| "a flag".to_owned(), |it| it.source.clone()));
    }
    let variable = environment.get(OsStr::new("AHMA_NO_SANDBOX"));
    (variable? == "1").then(|| "variable AHMA_NO_SANDBOX".to_owned())
}

/// What the machine allows, in a directory of its own.
fn layers() -> Vec<Finding> {
    let failed = |error: &io::Error| vec![Finding::of_error("sandbox", error)];
    let base = match tempfile::Builder::new().prefix("ahma-doctor-").tempdir() {
        Ok(base) => base,
        Err(error) => return failed(&error),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(sandbox::check(base.path())),
        Err(error) => failed(&error),
    }
}
