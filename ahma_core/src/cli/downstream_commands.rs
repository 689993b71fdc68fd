//! `ahma_mcp downstream`: servers behind this one, looked at and approved by their owner. Serves nobody.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ahma_contract::UserDirectories;
use ahma_sandbox::keep_own_files_private;
use futures_util::future::join_all;

use super::args::Args;
use super::downstream::{DownstreamFile, Prepared, described, records};
use super::downstream_args::{DownstreamCommand, Format};
use super::downstream_import;
use super::downstream_report as report;
use super::offline::Offline;
use super::output::{say, show};
use super::settings::Settings;
use super::startup_error::{EXIT_USAGE, StartupError};
use super::warnings::warn_loudly;
use crate::config::downstream::ServerSpec;
use crate::downstream::{Difference, DownstreamServers, Inspected, differences, known, taken_over};
use crate::scope::{Scope, SharedResources};

/// The exit code when something is not as approved.
const EXIT_DIFFERS: u8 = 1;
/// The exit code when a server cannot be reached.
const EXIT_UNREACHABLE: u8 = 3;
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Does what is asked; the exit code.
pub(super) fn run(args: &Args, command: &DownstreamCommand) -> ExitCode {
    keep_own_files_private();
    let done = match command {
        DownstreamCommand::List { format } => list(args, *format),
        DownstreamCommand::Import(import) => downstream_import::run(args, import),
        DownstreamCommand::Check { .. }
        | DownstreamCommand::Diff { .. }
        | DownstreamCommand::Approve { .. }
        | DownstreamCommand::Refresh { .. } => with_servers(args, command),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => error.report(),
    }
}

fn list(args: &Args, format: Format) -> Result<u8, StartupError> {
    let user = UserDirectories::of_this_user();
    let directory = std::env::current_dir()?;
    let file = DownstreamFile::resolve(args, &user, &directory, &[]).ok_or_else(no_place)?;
    let home = std::env::home_dir();
    let Some(config) = file.read(home.as_deref()) else {
        let empty = serde_json::json!({ "file": null, "servers": [], "disabled": [] });
        say(&match format {
            Format::Text => report::no_file(file.path()),
            Format::Json => format!("{empty:#}\n"),
        })?;
        return Ok(0);
    };
    let faults = described(&config);
    for fault in &faults {
        warn_loudly(fault);
    }
    let records = records(&user).unwrap_or_default();
    let servers = config.servers.iter();
    let known: Vec<_> = servers.map(|it| known(&records, &it.name)).collect();
    say(&match format {
        Format::Text => report::list(&config, &known),
        Format::Json => format!("{:#}\n", report::document(&config, &known)),
    })?;
    Ok(if faults.is_empty() { 0 } else { EXIT_USAGE })
}

fn no_place() -> StartupError {
    StartupError::Usage(
        "there is no configuration directory of this user\nhint: name a file with --mcp-config"
            .to_owned(),
    )
}

/// Gets servers ready as a server of ours would, and does what is asked.
fn with_servers(args: &Args, command: &DownstreamCommand) -> Result<u8, StartupError> {
    let Offline {
        settings,
        environment,
        user,
        shared,
        runtime,
        nowhere: _nowhere,
    } = Offline::anywhere(args)?;
    let done = runtime.block_on(with_settings(
        settings,
        &shared,
        (&environment, &user),
        command,
    ));
    runtime.shutdown_background();
    done
}

async fn with_settings(
    settings: Settings,
    shared: &Arc<SharedResources>,
    (environment, user): (&BTreeMap<OsString, OsString>, &UserDirectories),
    command: &DownstreamCommand,
) -> Result<u8, StartupError> {
    let writable = settings.writable();
    let mut scope = settings.scope;
    let file = settings.downstream.ok_or_else(no_place)?;
    let path = file.path().to_owned();
    let prepared = file.prepare((&scope.directory, writable), user, environment, shared);
    // Its directory goes last.
    let prepared = prepared.await?;
    let prepared = prepared.filter(|it| !it.servers.specs().is_empty());
    let Some(Prepared {
        servers,
        private: _private,
        ..
    }) = prepared
    else {
        return Err(StartupError::Usage(format!(
            "no servers are named by {}",
            path.display()
        )));
    };
    let wanted = wanted(&servers, command, &path)?;
    let mut confining = None;
    if wanted.iter().any(|it| it.sandbox) {
        scope.warm_shells = 0;
        let scope = confining.insert(Scope::prepare(scope, shared).await?);
        scope.ready().await?;
        servers.confine(scope.confined());
    }
    let done = match command {
        DownstreamCommand::Diff { .. } => diff(&servers, &wanted).await,
        DownstreamCommand::Approve { tools, .. } => approve(&servers, &wanted, tools, user).await,
        DownstreamCommand::Refresh { .. } => refresh(&servers, &wanted, user).await,
        _ => check(&servers, &wanted).await,
    };
    if let Some(scope) = confining {
        scope.shutdown("looked at", END_TIMEOUT).await;
    }
    done
}

/// The servers that a command is about.
fn wanted(
    servers: &DownstreamServers,
    command: &DownstreamCommand,
    file: &Path,
) -> Result<Vec<ServerSpec>, StartupError> {
    let names = match command {
        DownstreamCommand::Check { servers } => servers.as_slice(),
        DownstreamCommand::Diff { server }
        | DownstreamCommand::Approve { server, .. }
        | DownstreamCommand::Refresh { server } => std::slice::from_ref(server),
        DownstreamCommand::List { .. } | DownstreamCommand::Import(_) => &[],
    };
    let all = servers.specs();
    for name in names {
        if !all.iter().any(|it| it.name == *name) {
            let known: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
            return Err(StartupError::Usage(format!(
                "there is no usable server `{name}` in {}\nhint: there are: {}",
                file.display(),
                known.join(", ")
            )));
        }
    }
    let is_wanted = |it: &&ServerSpec| names.is_empty() || names.contains(&it.name);
    Ok(all.iter().filter(is_wanted).cloned().collect())
}

async fn check(servers: &DownstreamServers, wanted: &[ServerSpec]) -> Result<u8, StartupError> {
    let all = wanted.iter().map(|it| servers.inspect(&it.name));
    let all = join_all(all).await;
    let (mut code, mut text) = (0, String::new());
    for (spec, inspected) in wanted.iter().zip(&all) {
        text.push_str(&report::state(spec, inspected));
        let own = match inspected {
            Err(_) => EXIT_UNREACHABLE,
            Ok(it) if found(it).is_empty() && it.approved.is_some() => 0,
            Ok(_) => EXIT_DIFFERS,
        };
        if own == EXIT_DIFFERS {
            text.push_str(&hint(spec));
        }
        // Whoever cannot be reached may differ too.
        code = code.max(own);
    }
    say(&text)?;
    Ok(code)
}

fn hint(spec: &ServerSpec) -> String {
    let name = &spec.name;
    let take_over = if spec.pin { "approve" } else { "refresh" };
    format!(
        "  hint: `ahma_mcp downstream diff {name}` shows it, `ahma_mcp downstream {take_over} {name}` takes it over\n"
    )
}

fn found(inspected: &Inspected) -> Vec<Difference> {
    let approved = inspected.approved.as_deref().unwrap_or_default();
    differences(approved, &inspected.now)
}

/// Looks at the only server that is wanted; none when it cannot be reached, which is said.
async fn look<'s>(
    servers: &DownstreamServers,
    wanted: &'s [ServerSpec],
) -> Result<Option<(&'s ServerSpec, Inspected)>, StartupError> {
    let Some(spec) = wanted.first() else {
        return Ok(None);
    };
    let inspected = servers.inspect(&spec.name).await;
    if let Ok(Inspected { cut: Some(cut), .. }) = &inspected {
        warn_loudly(cut);
    }
    match inspected {
        Ok(inspected) => Ok(Some((spec, inspected))),
        Err(_) => {
            let said = report::state(spec, &inspected);
            warn_loudly(said.trim_end());
            Ok(None)
        }
    }
}

async fn diff(servers: &DownstreamServers, wanted: &[ServerSpec]) -> Result<u8, StartupError> {
    let Some((spec, inspected)) = look(servers, wanted).await? else {
        return Ok(EXIT_UNREACHABLE);
    };
    let found = found(&inspected);
    if found.is_empty() {
        say(&format!("{}: everything is as approved\n", spec.name))?;
        return Ok(0);
    }
    say(&report::in_full(&found))?;
    say(&hint(spec))?;
    Ok(EXIT_DIFFERS)
}

async fn approve(
    servers: &DownstreamServers,
    wanted: &[ServerSpec],
    tools: &[String],
    user: &UserDirectories,
) -> Result<u8, StartupError> {
    let Some(records) = records(user) else {
        return Err(StartupError::Other(
            "this user has no state directory to keep what is approved in".to_owned(),
        ));
    };
    let Some((spec, inspected)) = look(servers, wanted).await? else {
        return Ok(EXIT_UNREACHABLE);
    };
    let name = &spec.name;
    let approved = inspected.approved.as_deref().unwrap_or_default();
    let is_there = |tool: &&String| {
        let mut all = approved.iter().chain(&inspected.now);
        all.any(|it| it["name"] == tool.as_str())
    };
    if let Some(unknown) = tools.iter().find(|it| !is_there(it)) {
        return Err(StartupError::Usage(format!(
            "the server `{name}` has no tool `{unknown}`\nhint: tools are named as the server names them, without prefix"
        )));
    }
    let is_taken =
        |it: &&Difference| tools.is_empty() || tools.iter().any(|tool| tool == it.tool());
    let found = found(&inspected);
    let taken: Vec<&Difference> = found.iter().filter(is_taken).collect();
    if taken.is_empty() && inspected.approved.is_some() {
        say(&format!("{name}: nothing changes, all of it is approved\n"))?;
        return Ok(0);
    }
    // What could not be shown is not approved.
    show(&report::in_full(taken.iter().copied()))?;
    let definitions = match tools.is_empty() {
        true => inspected.now.clone(),
        false => taken_over(approved, &inspected.now, tools),
    };
    servers.approve(name, definitions, &inspected.now).await?;
    let (count, records) = (taken.len(), records.display());
    say(&format!(
        "{name}: approved {count} changes; recorded in {records}\n"
    ))?;
    Ok(0)
}

async fn refresh(
    servers: &DownstreamServers,
    wanted: &[ServerSpec],
    user: &UserDirectories,
) -> Result<u8, StartupError> {
    if let Some(pinned) = wanted.iter().find(|it| it.pin) {
        let name = &pinned.name;
        return Err(StartupError::Usage(format!(
            "the definitions of `{name}` are pinned\nhint: look at them with `ahma_mcp downstream diff {name}` and approve \
             them with `ahma_mcp downstream approve {name}`, or set \"pin\": false in its entry"
        )));
    }
    approve(servers, wanted, &[], user).await
}
