//! `ahma_mcp setup`: adds the server to clients, and takes it out again. Serves nobody, and starts nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahma_contract::UserDirectories;
use ahma_setup::{
    Action, Client, Level, Machine, Manner, PROGRAM, Plan, Platform, Records, Refusal, Wish, plan,
    plan_undo,
};
use clap::Parser as _;

use super::args::{Args, Mode};
use super::downstream_args::Format;
use super::home_paths::with_home_filled_in;
use super::output::say;
use super::reach::keep_state_out_of_reach;
use super::setup_args::SetupArgs;
use super::setup_report::{Report, UndoReport};
use super::startup_error::{EXIT_FAILURE, StartupError};
use crate::scope::real_as_far_as_it_exists;

/// How cargo marks the directories that it may empty.
const CACHE_MARK: &str = "CACHEDIR.TAG";

/// Does what is asked; the exit code.
pub(super) fn run(args: &SetupArgs) -> ExitCode {
    match with_machine(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => error.report(),
    }
}

fn with_machine(args: &SetupArgs) -> Result<u8, StartupError> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let user = UserDirectories::of_this_user();
    let machine = machine(&environment)?;
    let level = match args.project {
        true => Level::Project,
        false => Level::User,
    };
    if args.project && machine.is_in_no_project() {
        return Err(usage(format!(
            "{} is no project\nhint: run this in the directory of one",
            machine.project.display()
        )));
    }
    let flags = server_flags(args, &environment)?;
    let state = user.state.as_deref();
    let state = state.ok_or_else(|| usage("there is no home directory".to_owned()))?;
    let reachable = reachable(&flags, &machine);
    keep_state_out_of_reach(&user, reachable.iter()).map_err(|error| usage(error.to_string()))?;
    let records = Records::in_state_directory(state);
    // A look writes nothing.
    let lock = (!args.dry_run).then(|| records.lock());
    let _lock = lock.transpose().map_err(|refusal| failed(&refusal))?;
    let clients: Vec<Client> = args.clients.iter().map(|it| it.0).collect();
    match args.undo {
        true => undo(args, &machine, &records, &clients, level),
        false => set_up(args, &machine, &records, clients, level, &flags),
    }
}

fn set_up(
    args: &SetupArgs,
    machine: &Machine,
    records: &Records,
    mut clients: Vec<Client>,
    level: Level,
    flags: &Args,
) -> Result<u8, StartupError> {
    let are_named = !clients.is_empty();
    if !are_named {
        clients.extend(Client::ALL);
        clients.retain(|it| machine.sign(*it).is_some());
        // What has no files of projects was not asked for.
        clients.retain(|it| machine.entries(*it, level).is_some());
    }
    let (command, warnings) = program(machine)?;
    let wish = Wish {
        name: checked_name(&args.name)?,
        command,
        args: args.flags.clone(),
        args_with_project: with_project(&args.flags, flags, machine),
        level,
        only: args.only,
        manner: Manner {
            replace: args.replace,
            keep_args: args.flags.is_empty(),
        },
    };
    let mut report = Report::new(args, &wish, machine, &warnings);
    let mut code = 0;
    for client in clients {
        let plan = plan(client, &wish, machine);
        let failures = match args.dry_run {
            true => Vec::new(),
            false => written(&plan, records),
        };
        let is_refused = |it: &&ahma_setup::FilePlan| matches!(it.action, Action::Refuse(_));
        let has_failed = plan.files.iter().any(|it| is_refused(&it));
        if plan.refusal.is_some() || has_failed || failures.iter().any(Option::is_some) {
            code = EXIT_FAILURE;
        }
        report.add(&plan, &failures);
    }
    say(&match args.format {
        Format::Text => report.text(),
        Format::Json => format!("{:#}\n", report.document()),
    })?;
    Ok(code)
}

/// Writes what is planned; what went wrong with each file.
fn written(plan: &Plan, records: &Records) -> Vec<Option<Refusal>> {
    let files = plan.files.iter().map(|it| match &it.action {
        Action::Write(change) => change.make(records).err(),
        _ => None,
    });
    files.collect()
}

fn undo(
    args: &SetupArgs,
    machine: &Machine,
    records: &Records,
    clients: &[Client],
    level: Level,
) -> Result<u8, StartupError> {
    let plans = plan_undo(records, machine, clients, level).map_err(|it| failed(&it))?;
    let other = match level {
        Level::User => Level::Project,
        Level::Project => Level::User,
    };
    let elsewhere = plan_undo(records, machine, clients, other).map_err(|it| failed(&it))?;
    let mut report = UndoReport::new(args, level, !elsewhere.is_empty());
    let mut code = 0;
    for plan in &plans {
        let failure = match (&plan.action, args.dry_run) {
            (ahma_setup::UndoAction::Refuse(refusal), true) => Some(refusal.clone()),
            (_, true) => None,
            (_, false) => plan.make(records).err(),
        };
        if failure.is_some() {
            code = EXIT_FAILURE;
        }
        report.add(plan, failure.as_ref());
    }
    say(&match args.format {
        Format::Text => report.text(),
        Format::Json => format!("{:#}\n", report.document()),
    })?;
    Ok(code)
}

/// Where things are on this machine.
pub(super) fn machine(environment: &BTreeMap<OsString, OsString>) -> Result<Machine, StartupError> {
    let home = std::env::home_dir().filter(|it| it.is_absolute());
    let home = home.ok_or_else(|| usage("there is no home directory".to_owned()))?;
    let absolute = |name: &str| {
        let path = environment.get(OsStr::new(name)).map(PathBuf::from);
        path.filter(|it| it.is_absolute())
    };
    let programs = environment.get(OsStr::new("PATH"));
    let programs = programs.into_iter().flat_map(std::env::split_paths);
    let project = std::env::current_dir()
        .map_err(|error| usage(format!("this directory cannot be used: {error}")))?;
    Ok(Machine {
        platform: match cfg!(target_os = "macos") {
            true => Platform::Macos,
            false => Platform::Linux,
        },
        home,
        config_home: absolute("XDG_CONFIG_HOME"),
        codex_home: absolute("CODEX_HOME"),
        claude_home: absolute("CLAUDE_CONFIG_DIR"),
        programs: programs.filter(|it| it.is_absolute()).collect(),
        project,
    })
}

/// The flags as a server would read them: one that it would refuse stands in no entry.
fn server_flags(
    args: &SetupArgs,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Args, StartupError> {
    let words = std::iter::once(PROGRAM).chain(args.flags.iter().map(String::as_str));
    let flags = Args::try_parse_from(words).map_err(|error| {
        let error = error.render().to_string();
        let what = error.trim_start_matches("error: ").trim_end();
        usage(format!("the server could not be started so: {what}"))
    })?;
    if flags.command.is_some() {
        return Err(usage(
            "what stands after `--` are flags of the server, not one of its commands".to_owned(),
        ));
    }
    if !matches!(flags.mode, Mode::Stdio | Mode::Dual) {
        return Err(usage(
            "clients talk to the server that they start on stdin and stdout\nhint: leave --mode out, or say --mode dual"
                .to_owned(),
        ));
    }
    Ok(with_home_filled_in(&flags, environment))
}

/// What commands of the server could write or read, and must not hold the backups.
fn reachable(flags: &Args, machine: &Machine) -> Vec<PathBuf> {
    let project = (!machine.is_in_no_project()).then_some(&machine.project);
    let granted = flags.sandbox_read.iter().chain(&flags.sandbox_write);
    let named = granted.chain(&flags.sandbox_scope).chain(project);
    let whole = named.map(|it| real_as_far_as_it_exists(&machine.project.join(it)));
    whole.collect()
}

/// The same flags for a client that starts servers in no project.
fn with_project(flags: &[String], parsed: &Args, machine: &Machine) -> Option<Vec<String>> {
    if parsed.sandbox_scope.is_some() {
        return Some(flags.to_vec());
    }
    if machine.is_in_no_project() {
        return None;
    }
    let project = machine.project.to_str()?;
    let scope = ["--sandbox-scope", project].map(str::to_owned);
    Some(scope.into_iter().chain(flags.iter().cloned()).collect())
}

/// The path of this program, and what could become of it.
fn program(machine: &Machine) -> Result<(String, Vec<String>), StartupError> {
    let program = std::env::current_exe()?;
    if !program.is_file() {
        return Err(StartupError::Other(format!(
            "this program is no longer at {}\nhint: start the one that is there now",
            program.display()
        )));
    }
    let Some(path) = program.to_str().map(str::to_owned) else {
        return Err(StartupError::Other(format!(
            "the path {} is not UTF-8, and clients' files are\nhint: install the program elsewhere",
            program.display()
        )));
    };
    let mut warnings = Vec::new();
    if program.ancestors().any(is_target_directory) {
        warnings.push(format!(
            "{path} is in a directory of cargo, which may be emptied; `cargo install --path ahma_core` puts it where it stays"
        ));
    }
    if !machine.is_in_no_project() && program.starts_with(&machine.project) {
        warnings.push(format!(
            "{path} is in this project, where commands can replace it; install it elsewhere"
        ));
    }
    if program.file_name().is_none_or(|it| it != PROGRAM) {
        warnings.push(format!(
            "this program is not called {PROGRAM}, so that another setup will not know its entry again"
        ));
    }
    Ok((path, warnings))
}

#[expect(clippy::disallowed_methods, reason = "no runtime runs")]
fn is_target_directory(directory: &Path) -> bool {
    let mark = std::fs::read_to_string(directory.join(CACHE_MARK));
    mark.is_ok_and(|it| it.contains("cargo"))
}

/// A name that every client takes, and that needs no quotes anywhere.
fn checked_name(name: &str) -> Result<String, StartupError> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    match (1..=64).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(name.to_owned()),
        false => Err(usage(format!(
            "`{name}` cannot be the name of an entry\nhint: up to 64 letters, digits, `_` and `-`"
        ))),
    }
}

fn usage(what: String) -> StartupError {
    StartupError::Usage(what)
}

fn failed(refusal: &Refusal) -> StartupError {
    StartupError::Other(super::setup_report::in_words(refusal))
}
