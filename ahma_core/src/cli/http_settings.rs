//! What the operator decided about HTTP.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahma_contract::{Token, TokenError, UserDirectories, isolated_token_file, token_file};
use ahma_http_bridge::{Limits, Origin, OriginError, RateLimit};
use ahma_sandbox::{Width, checked_scope};
use rustix::process::{Resource, getrlimit};

use super::args::Args;
use crate::scope::{in_reach, real_as_far_as_it_exists};

/// Connections beside those that sessions need: two each.
const OTHER_CONNECTIONS: usize = 500;

/// Of a workspace.
const MAX_NAME_LEN: usize = 64;

/// Where and for whom HTTP is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpSettings {
    pub(super) host: IpAddr,
    pub(super) port: Option<u16>,
    /// Instead of a port.
    pub(super) socket: Option<PathBuf>,
    pub(super) token: TokenSetting,
    pub(super) origins: Vec<Origin>,
    pub(super) limits: Limits,
    /// Projects that the operator has declared: name and directory.
    pub(super) workspaces: Vec<(String, PathBuf)>,
    /// What callers of each have to show.
    pub(super) workspace_tokens: Vec<TokenSetting>,
    /// Directories at or below which sessions have scopes of their own; none means that they share the server's.
    pub(super) scope_roots: Option<Vec<PathBuf>>,
}

/// What callers have to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenSetting {
    /// What this file holds; made when it is not there.
    File(PathBuf),
    /// What the operator says.
    Given(Token),
    /// Nothing.
    Off,
}

/// Why HTTP cannot be served as the operator says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HttpSettingsError {
    #[error(
        "`{0}` of --http-host is not an address of this machine\nhint: use 127.0.0.1, ::1 or localhost"
    )]
    Host(String),
    #[error(
        "the token of {place} cannot be used: {error}\nhint: use `auto`, and the server makes one"
    )]
    Token {
        place: &'static str,
        error: TokenError,
    },
    #[error("the origin of --allow-origin cannot be used: {0}")]
    Origin(#[from] OriginError),
    #[error(
        "`{0}` of --workspace is not NAME=PATH, with a name of letters, digits, `.`, `_` and `-` that no other has"
    )]
    Workspace(String),
    #[error("the directory {path} of {flag} cannot be used: {reason}")]
    Directory {
        flag: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error(
        "the state directory of the user is not known, so there is no place for a token\n\
         hint: set HOME, or choose a token with AHMA_HTTP_TOKEN"
    )]
    NoStateDirectory,
    #[error(
        "commands could read the token in {0} and use this server or another with it\n\
         hint: choose a narrower scope and grants, or a token of its own with AHMA_HTTP_TOKEN"
    )]
    TokenInReach(PathBuf),
    #[error(
        "commands could reach the socket {0}\n\
         hint: choose a path outside the scopes, the grants and --scope-root, such as one below your runtime directory"
    )]
    SocketInReach(PathBuf),
    #[error("the path {path} of --http-socket cannot be used: {reason}")]
    Socket { path: PathBuf, reason: String },
}

impl HttpSettings {
    /// A flag beats a variable, a variable beats the default. Commands can read these places.
    pub(super) fn resolve(
        args: &Args,
        environment: &BTreeMap<OsString, OsString>,
        user: &UserDirectories,
        home: Option<&Path>,
        scope: &Path,
        readable: &[PathBuf],
    ) -> Result<Self, HttpSettingsError> {
        let workspaces = workspaces(&args.workspace, home)?;
        let declared = workspaces.iter().map(|(_, scope)| scope.clone());
        let readable: Vec<PathBuf> = readable.iter().cloned().chain(declared).collect();
        let scope_roots = match args.session_isolation {
            true => Some(scope_roots(&args.scope_root)?),
            false => None,
        };
        // Sessions may have their scopes anywhere below these.
        let roots = scope_roots.iter().flatten().cloned();
        let in_reach_of_any: Vec<PathBuf> = readable.iter().cloned().chain(roots).collect();
        let origins = args.allow_origin.iter();
        let sessions = usize::try_from(args.max_sessions.unwrap_or(1000)).unwrap_or(usize::MAX);
        let connections = (2 * sessions + OTHER_CONNECTIONS).min(descriptors() / 2);
        let file_of = match args.session_isolation {
            true => isolated_token_file,
            false => token_file,
        };
        let token_of = |file_of: fn(&Path, &Path) -> PathBuf, scope: &Path| {
            token(args, environment, user, &readable, |state| {
                file_of(state, scope)
            })
        };
        let of_workspaces = workspaces.iter();
        let of_workspaces = of_workspaces.map(|(_, scope)| token_of(token_file, scope));
        Ok(HttpSettings {
            host: host(args.http_host.as_deref().unwrap_or("127.0.0.1"))?,
            port: args.http_port,
            socket: socket(args.http_socket.as_deref(), &in_reach_of_any)?,
            token: token_of(file_of, scope)?,
            workspace_tokens: of_workspaces.collect::<Result<_, _>>()?,
            origins: origins
                .map(|it| Origin::new(it))
                .collect::<Result<_, _>>()?,
            limits: Limits {
                sessions,
                idle: Duration::from_secs(u64::from(args.session_idle_minutes.unwrap_or(30)) * 60),
                rate: RateLimit::of(
                    args.rate_limit.unwrap_or(50),
                    args.rate_burst.unwrap_or(100),
                ),
                connections,
                strangers: connections / 4,
                ..Limits::default()
            },
            scope_roots,
            workspaces,
        })
    }
}

fn scope_roots(named: &[PathBuf]) -> Result<Vec<PathBuf>, HttpSettingsError> {
    let real = |path: &PathBuf| {
        let real = checked_scope(path, None, Width::Any);
        real.map_err(|error| HttpSettingsError::Directory {
            flag: "--scope-root",
            path: path.clone(),
            reason: error.to_string(),
        })
    };
    named.iter().map(real).collect()
}

fn workspaces(
    named: &[String],
    home: Option<&Path>,
) -> Result<Vec<(String, PathBuf)>, HttpSettingsError> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for text in named {
        let wrong = || HttpSettingsError::Workspace(text.clone());
        let (name, path) = text.split_once('=').ok_or_else(wrong)?;
        let fits = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        let is_name = name.chars().all(fits) && (1..=MAX_NAME_LEN).contains(&name.len());
        let is_taken = found.iter().any(|(it, _)| it == name);
        if !is_name || is_taken || matches!(name, "." | "..") {
            return Err(wrong());
        }
        let scope = checked_scope(Path::new(path), home, Width::Project);
        let scope = scope.map_err(|error| HttpSettingsError::Directory {
            flag: "--workspace",
            path: PathBuf::from(path),
            reason: error.to_string(),
        })?;
        found.push((name.to_owned(), scope));
    }
    Ok(found)
}

/// How many files this process may open; commands need some of them.
fn descriptors() -> usize {
    let most = getrlimit(Resource::Nofile).current;
    most.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    })
}

fn host(text: &str) -> Result<IpAddr, HttpSettingsError> {
    if text == "localhost" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let address = text.trim_matches(['[', ']']).parse().ok();
    let address = address.filter(IpAddr::is_loopback);
    address.ok_or_else(|| HttpSettingsError::Host(text.to_owned()))
}

/// The socket, if there is to be one, out of reach of commands.
fn socket(
    asked: Option<&Path>,
    readable: &[PathBuf],
) -> Result<Option<PathBuf>, HttpSettingsError> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let wrong = |reason: String| HttpSettingsError::Socket {
        path: asked.to_owned(),
        reason,
    };
    let path = std::path::absolute(asked).map_err(|error| wrong(error.to_string()))?;
    let Some(name) = path.file_name() else {
        return Err(wrong("it names no file".to_owned()));
    };
    let directory = path.parent().unwrap_or(Path::new("/"));
    let path = real_as_far_as_it_exists(directory).join(name);
    match in_reach(&path, readable) {
        true => Err(HttpSettingsError::SocketInReach(path)),
        false => Ok(Some(path)),
    }
}

fn token(
    args: &Args,
    environment: &BTreeMap<OsString, OsString>,
    user: &UserDirectories,
    readable: &[PathBuf],
    file_of: impl Fn(&Path) -> PathBuf,
) -> Result<TokenSetting, HttpSettingsError> {
    let variable = environment.get(OsStr::new("AHMA_HTTP_TOKEN"));
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let variable = variable.filter(|value| !value.is_empty());
    let (place, asked) = match (&args.http_token, variable) {
        (Some(flag), _) => ("--http-token", flag.clone()),
        (None, Some(variable)) => ("AHMA_HTTP_TOKEN", variable),
        (None, None) => ("--http-token", "auto".to_owned()),
    };
    match asked.as_str() {
        "off" => Ok(TokenSetting::Off),
        "auto" => {
            let directory = user.state.as_ref();
            let directory = directory.ok_or(HttpSettingsError::NoStateDirectory)?;
            let file = file_of(directory);
            if in_reach(&file, readable) {
                return Err(HttpSettingsError::TokenInReach(file));
            }
            Ok(TokenSetting::File(file))
        }
        text => {
            let token = Token::new(text);
            let token = token.map_err(|error| HttpSettingsError::Token { place, error })?;
            Ok(TokenSetting::Given(token))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    const SECRET: &str = "0123456789abcdef";
    const STATE: &str = "/nowhere/state";

    fn resolved(
        arguments: &[&str],
        variables: &[(&str, &str)],
        readable: &[&str],
    ) -> Result<HttpSettings, HttpSettingsError> {
        let words = ["ahma_mcp"].iter().chain(arguments);
        let args = Args::try_parse_from(words).unwrap();
        let variables = variables.iter();
        let environment = variables.map(|(name, value)| (name.into(), value.into()));
        let readable: Vec<PathBuf> = readable.iter().map(PathBuf::from).collect();
        let environment = environment.collect();
        let user = UserDirectories {
            config: None,
            state: Some(STATE.into()),
            cache: None,
        };
        HttpSettings::resolve(&args, &environment, &user, None, Path::new("/p"), &readable)
    }

    /// Proves: I6.
    #[test]
    fn a_flag_beats_the_variable_and_that_the_default() {
        let token = |arguments: &[&str], variables: &[(&str, &str)]| {
            resolved(arguments, variables, &[]).unwrap().token
        };
        let given = TokenSetting::Given(Token::new(SECRET).unwrap());
        let flag = ["--http-token", SECRET];
        assert_eq!(token(&flag, &[("AHMA_HTTP_TOKEN", "off")]), given);
        assert_eq!(token(&[], &[("AHMA_HTTP_TOKEN", SECRET)]), given);
        assert_eq!(token(&["--http-token", "off"], &[]), TokenSetting::Off);
        let usual = token_file(Path::new(STATE), Path::new("/p"));
        assert_eq!(token(&[], &[]), TokenSetting::File(usual));
    }

    /// Proves: I6.
    #[test]
    fn a_token_that_commands_can_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let user = UserDirectories {
            config: None,
            state: Some(home.join("state")),
            cache: None,
        };
        let refused = |arguments: &[&str]| {
            let args = Args::parse_from([&["ahma_mcp"], arguments].concat());
            let (none, here) = (BTreeMap::new(), Path::new("/p"));
            HttpSettings::resolve(&args, &none, &user, None, here, std::slice::from_ref(&home))
        };
        let in_reach = refused(&[]);
        assert!(
            matches!(in_reach, Err(HttpSettingsError::TokenInReach(_))),
            "{in_reach:?}"
        );
        assert!(refused(&["--http-token", SECRET]).is_ok());
        let args = Args::parse_from(["ahma_mcp"]);
        let nobody = UserDirectories::default();
        let here = Path::new("/p");
        let homeless = HttpSettings::resolve(&args, &BTreeMap::new(), &nobody, None, here, &[]);
        assert_eq!(homeless, Err(HttpSettingsError::NoStateDirectory));
    }

    #[test]
    fn only_addresses_of_this_machine_are_served() {
        let host = |text: &str| resolved(&["--http-token", "off", "--http-host", text], &[], &[]);
        for (text, address) in [
            ("127.0.0.1", "127.0.0.1"),
            ("localhost", "127.0.0.1"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("127.0.0.9", "127.0.0.9"),
        ] {
            assert_eq!(host(text).unwrap().host, address.parse::<IpAddr>().unwrap());
        }
        for text in ["0.0.0.0", "::", "192.168.0.1", "example.com", ""] {
            assert_eq!(host(text), Err(HttpSettingsError::Host(text.to_owned())));
        }
    }

    #[test]
    fn what_cannot_be_a_token_is_refused_without_being_shown() {
        let refused = resolved(&["--http-token", "short"], &[], &[])
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("--http-token") && !refused.contains("short"),
            "{refused}"
        );
        let refused = resolved(&[], &[("AHMA_HTTP_TOKEN", "short")], &[]).unwrap_err();
        assert!(refused.to_string().contains("AHMA_HTTP_TOKEN"));
    }

    /// Proves: P9.
    #[test]
    fn a_rate_of_zero_is_none() {
        let rate = |arguments: &[&str]| {
            let arguments: Vec<_> = ["--http-token", "off"]
                .iter()
                .chain(arguments)
                .copied()
                .collect();
            resolved(&arguments, &[], &[]).unwrap().limits.rate
        };
        assert_eq!(rate(&[]), RateLimit::of(50, 100));
        assert_eq!(rate(&["--rate-limit", "0"]), None);
    }
}
