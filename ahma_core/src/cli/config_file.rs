//! The user's `ahma.toml`, a file named by `--config`, and that of the project: which of them count, and what they say of this
//! start. A flag comes before a variable, a variable before `[scope]`, that before `[server]`. Must not decide what settings mean.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ahma_contract::UserDirectories;
use clap::parser::ValueSource;
use clap::{ArgMatches, Parser as _, ValueEnum as _};

use super::args::{Args, HomeArg, LayerArg, Mode, NetworkArg, OnOff};
use super::home_paths::filled;
use super::profiles::{self, Profiles};
use super::settings::asked_scope;
use super::startup_error::StartupError;
use crate::config::files::read_file;
use crate::config::settings::{Given, KEYS, Kind, SettingsFile, read};
use crate::config::{Fault, nearest};
use crate::scope::in_reach;
use crate::service::SettingOrigin;

/// The name of the file, in the user's configuration directory and below `.ahma` of a project.
const FILE: &str = "ahma.toml";

/// Variables that come before a file.
const VARIABLES: [(&str, &str); 5] = [
    ("http-token", "AHMA_HTTP_TOKEN"),
    ("network", "AHMA_NETWORK"),
    ("no-sandbox", "AHMA_NO_SANDBOX"),
    ("sandbox-scope", "AHMA_SANDBOX_SCOPE"),
    ("tools-dir", "AHMA_TOOLS_DIR"),
];

/// Settings that mean something over HTTP only. In a file they are for when it is.
const OVER_HTTP: [&str; 12] = [
    "allow-origin",
    "http-host",
    "http-port",
    "http-socket",
    "http-token",
    "max-sessions",
    "rate-burst",
    "rate-limit",
    "scope-root",
    "session-idle-minutes",
    "session-isolation",
    "workspace",
];

/// Settings of which one given by a flag takes the place of the others of a file.
const TOGETHER: [&[&str]; 2] = [
    &["debug", "log-level"],
    &["http-host", "http-port", "http-socket"],
];

/// What a start is made with.
pub(super) struct Start<'s> {
    pub(super) environment: &'s BTreeMap<OsString, OsString>,
    pub(super) user: &'s UserDirectories,
    /// The working directory.
    pub(super) directory: &'s Path,
    /// The arguments of the process, its own name first.
    pub(super) words: &'s [OsString],
}

/// The arguments, with what files add to them.
pub(super) fn with_files(
    args: Args,
    given: &ArgMatches,
    start: &Start<'_>,
) -> Result<Args, StartupError> {
    let scope = scope(&args, start);
    let named = args.config.as_ref().map(|it| start.directory.join(it));
    let is_named = named.is_some();
    let path = named.or_else(|| Some(start.user.config.as_ref()?.join(FILE)));
    let file = path.filter(|it| is_named || it.exists());
    let file = file.map(|path| {
        let is_of_project = in_reach(&path, std::slice::from_ref(&scope));
        load(path, is_of_project)
    });
    let file = file.transpose()?;
    let said = said(file.as_ref(), &scope, start);
    let (mut args, mut origins) = merged(args, given, &said, file.as_ref(), start)?;
    let profiles = profiles::all(file.as_ref());
    use_profiles(&mut args, &profiles, start)?;
    if let Some(file) = &file
        && in_reach(&file.path, &args.sandbox_write)
    {
        return Err(StartupError::Usage(format!(
            "commands could write {}, which says what they may do\nhint: narrow sandbox-write",
            file.path.display()
        )));
    }
    let own = scope.join(".ahma").join(FILE);
    let is_other = file.as_ref().is_none_or(|it| it.path != own);
    if is_other && std::fs::symlink_metadata(&own).is_ok() {
        let own = load(own, true)?;
        narrow(&mut args, &own, &mut origins);
    }
    args.origins = origins;
    Ok(args)
}

/// The scope, as far as flags and variables decide it.
fn scope(args: &Args, start: &Start<'_>) -> PathBuf {
    let asked = asked_scope(args, start.environment).unwrap_or(start.directory);
    let path = asked.to_str().and_then(|it| filled(it, start.environment));
    let path = start
        .directory
        .join(path.unwrap_or_else(|| asked.to_owned()));
    path.canonicalize().unwrap_or(path)
}

fn load(path: PathBuf, is_of_project: bool) -> Result<SettingsFile, StartupError> {
    let is_link = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink());
    if is_of_project && is_link {
        return Err(StartupError::Usage(format!(
            "{} is a link, and what it leads to is not the project's\nhint: put the file itself there, or remove it",
            path.display()
        )));
    }
    let file = read(read_file(path), is_of_project);
    match file.faults.is_empty() {
        true => Ok(file),
        false => Err(StartupError::Usage(described(&file))),
    }
}

/// What is wrong with a file, a line for each fault and one for what to do.
pub(super) fn described(file: &SettingsFile) -> String {
    let path = file.path.display();
    let line = |fault: &Fault| {
        let (line, column, message) = (fault.line, fault.column, &fault.message);
        let hint = fault.hint.as_ref().map(|it| format!("\nhint: {it}"));
        format!(
            "{path}:{line}:{column}: {message}{}",
            hint.unwrap_or_default()
        )
    };
    let lines: Vec<String> = file.faults.iter().map(line).collect();
    lines.join("\n")
}

/// What the file says of this scope: each setting with its table, the nearer one where both have it.
fn said<'f>(
    file: Option<&'f SettingsFile>,
    scope: &Path,
    start: &Start<'_>,
) -> BTreeMap<&'static str, (&'f Given, String)> {
    let mut said = BTreeMap::new();
    let Some(file) = file else { return said };
    for given in &file.server {
        said.insert(given.key.name, (given, "[server]".to_owned()));
    }
    for (path, settings) in &file.scopes {
        let real = filled(path, start.environment).and_then(|it| it.canonicalize().ok());
        if real.as_deref() == Some(scope) {
            for given in settings {
                let table = format!("[scope.\"{path}\"]");
                said.insert(given.key.name, (given, table));
            }
        }
    }
    said
}

/// The arguments with those settings of the file that neither a flag nor a variable has decided.
fn merged(
    args: Args,
    given: &ArgMatches,
    said: &BTreeMap<&'static str, (&Given, String)>,
    file: Option<&SettingsFile>,
    start: &Start<'_>,
) -> Result<(Args, Vec<SettingOrigin>), StartupError> {
    let is_flag = |name: &str| {
        let id = name.replace('-', "_");
        given.value_source(&id) == Some(ValueSource::CommandLine)
    };
    let mode = said.get("mode").filter(|_| !is_flag("mode"));
    let mode = mode.map(|(given, _)| given.values.concat());
    let is_over_http = match mode.as_deref() {
        Some(mode) => mode != "stdio",
        None => matches!(args.mode, Mode::Http | Mode::Dual),
    };
    let (mut words, mut origins) = (Vec::new(), Vec::new());
    for key in KEYS {
        let name = key.name;
        let variable = VARIABLES.iter().find(|(it, _)| *it == name);
        let variable = variable.map(|(_, variable)| *variable);
        let value = variable.and_then(|it| start.environment.get(OsStr::new(it)));
        let instead = |others: &&&[&str]| others.contains(&name);
        let mut instead = TOGETHER.iter().filter(instead).copied().flatten();
        let (value, source) = if is_flag(name) {
            let id = name.replace('-', "_");
            let raw = given.get_raw(&id).into_iter().flatten();
            let raw: Vec<_> = raw.map(|it| it.to_string_lossy().into_owned()).collect();
            (raw.join(", "), "flag".to_owned())
        } else if let Some((value, variable)) = value.zip(variable) {
            let value = value.to_string_lossy().into_owned();
            (value, format!("variable {variable}"))
        } else if let (Some((given, table)), Some(file)) = (said.get(name), file) {
            let is_meant = is_over_http || !OVER_HTTP.contains(&name);
            if !is_meant || instead.any(|it| is_flag(it)) {
                continue;
            }
            words.extend(as_flags(given, start).map_err(|missing| {
                let (path, line) = (file.path.display(), given.line);
                StartupError::Usage(format!(
                    "{path}:{line}: `{missing}` begins with a variable that is not set\nhint: write the path itself"
                ))
            })?);
            let source = format!("{table} of {}:{}", file.path.display(), given.line);
            (given.values.join(", "), source)
        } else {
            continue;
        };
        let is_secret = name == "http-token" && !["auto", "off"].contains(&value.as_str());
        let value = match (is_secret, key.kind) {
            (true, _) => "(secret)".to_owned(),
            (false, Kind::Switch) if value.is_empty() => "true".to_owned(),
            (false, _) => value,
        };
        origins.push(SettingOrigin {
            name: name.to_owned(),
            value,
            source,
        });
    }
    if words.is_empty() {
        return Ok((args, origins));
    }
    let (program, rest) = match start.words.split_first() {
        Some((program, rest)) => (program.clone(), rest),
        None => (OsString::from("ahma_mcp"), &[][..]),
    };
    let words = [program]
        .into_iter()
        .chain(words)
        .chain(rest.iter().cloned());
    let args = Args::try_parse_from(words).map_err(|error| {
        let path = file
            .map(|it| it.path.display().to_string())
            .unwrap_or_default();
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default();
        StartupError::Usage(format!(
            "with the settings of {path}: {}",
            why.trim_start_matches("error: ")
        ))
    })?;
    Ok((args, origins))
}

/// A setting as it would be given on the command line; the value whose variable is missing, where one is.
fn as_flags(given: &Given, start: &Start<'_>) -> Result<Vec<OsString>, String> {
    let name = given.key.name;
    if given.key.kind == Kind::Switch {
        let is_on = given.values.iter().any(|it| it == "true");
        return Ok(is_on
            .then(|| OsString::from(format!("--{name}")))
            .into_iter()
            .collect());
    }
    let flag = |value: &String| {
        let mut word = OsString::from(format!("--{name}="));
        match given.key.kind {
            Kind::Path | Kind::Paths => {
                word.push(filled(value, start.environment).ok_or_else(|| value.clone())?);
            }
            _ => word.push(value),
        }
        Ok(word)
    };
    given.values.iter().map(flag).collect()
}

fn use_profiles(
    args: &mut Args,
    profiles: &Profiles,
    start: &Start<'_>,
) -> Result<(), StartupError> {
    for name in args.profile.clone() {
        let Some(profile) = profiles.get(&name) else {
            let hint = match nearest(&name, profiles.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "`ahma_mcp doctor --profiles` shows those that there are".to_owned(),
            };
            return Err(StartupError::Usage(format!(
                "there is no profile `{name}`\nhint: {hint}"
            )));
        };
        profiles::grant(profile, args, start.environment);
    }
    Ok(())
}

/// Takes away what the file of the project takes away, whatever else is said.
fn narrow(args: &mut Args, file: &SettingsFile, origins: &mut Vec<SettingOrigin>) {
    for given in &file.server {
        let number = given.values.first().and_then(|it| it.parse::<u32>().ok());
        let less = |current: &mut u32| {
            let is_less = number.is_some_and(|it| it < *current);
            *current = number.unwrap_or(*current).min(*current);
            is_less
        };
        let has_effect = match given.key.name {
            "network" => args.network.replace(NetworkArg::Off) != Some(NetworkArg::Off),
            "no-shell" => !std::mem::replace(&mut args.no_shell, true),
            "no-shipped-tools" => !std::mem::replace(&mut args.no_shipped_tools, true),
            "home" => std::mem::replace(&mut args.home, HomeArg::Fresh) != HomeArg::Fresh,
            "user-path" => std::mem::replace(&mut args.user_path, OnOff::Off) != OnOff::Off,
            "tools" => {
                let is_open = args.tools.is_empty();
                if is_open {
                    args.tools.clone_from(&given.values);
                }
                is_open
            }
            "protect" => {
                args.protect.extend(given.values.iter().map(PathBuf::from));
                true
            }
            "require" => {
                let layers = given.values.iter();
                let layers = layers.filter_map(|it| LayerArg::from_str(it, false).ok());
                args.require.extend(layers);
                true
            }
            "timeout" => less(&mut args.timeout),
            "max-operations" => less(&mut args.max_operations),
            "max-queue" => less(&mut args.max_queue),
            "keep-operations" => less(&mut args.keep_operations),
            "keep-minutes" => less(&mut args.keep_minutes),
            "warm-shells" => less(&mut args.warm_shells),
            "spool-mb" => less(&mut args.spool_mb),
            _ => false,
        };
        if has_effect {
            origins.retain(|it| it.name != given.key.name);
            origins.push(SettingOrigin {
                name: given.key.name.to_owned(),
                value: given.values.join(", "),
                source: format!("{}:{}", file.path.display(), given.line),
            });
        }
    }
}

#[cfg(test)]
#[path = "config_file_tests.rs"]
mod tests;
