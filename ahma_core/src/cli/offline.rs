//! What subcommands need that open a scope as a server would, and serve nobody: settings, what scopes share, a runtime. Must not
//! open the scope.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahma_contract::UserDirectories;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::args::Args;
use super::settings::Settings;
use super::startup_error::StartupError;
use crate::scope::{SharedConfig, SharedResources, in_reach, real_as_far_as_it_exists};

/// What such a subcommand works with.
pub(super) struct Offline {
    pub(super) settings: Settings,
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) user: UserDirectories,
    pub(super) shared: Arc<SharedResources>,
    pub(super) runtime: Runtime,
    /// The scope of who is in no project; removed at the end.
    pub(super) nowhere: Option<TempDir>,
}

impl Offline {
    /// For the project that whoever starts it is in.
    pub(super) fn in_a_project(args: &Args) -> Result<Self, StartupError> {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let user = UserDirectories::of_this_user();
        let directory = std::env::current_dir().map_err(|error| usage(&error))?;
        let settings = Settings::resolve(args, &environment, &user, &directory, None);
        let settings = settings.map_err(|error| usage(&error))?;
        Self::of(settings, environment, user, (None, None))
    }

    /// The same, with the homes that commands of a server have.
    pub(super) fn as_a_server(args: &Args) -> Result<Self, StartupError> {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let user = UserDirectories::of_this_user();
        let directory = std::env::current_dir().map_err(|error| usage(&error))?;
        let settings = Settings::resolve(args, &environment, &user, &directory, None);
        let settings = settings.map_err(|error| usage(&error))?;
        let homes = user.cache.clone().map(|it| it.join("homes"));
        let homes = homes.filter(|it| !in_reach(it, &settings.writable()));
        Self::of(settings, environment, user, (None, homes))
    }

    /// The same, or in an empty directory for who is at home, in no project.
    pub(super) fn anywhere(args: &Args) -> Result<Self, StartupError> {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let user = UserDirectories::of_this_user();
        let (settings, nowhere) = settings_anywhere(args, &environment, &user)?;
        Self::of(settings, environment, user, (nowhere, None))
    }

    fn of(
        settings: Settings,
        environment: BTreeMap<OsString, OsString>,
        user: UserDirectories,
        (nowhere, homes): (Option<TempDir>, Option<PathBuf>),
    ) -> Result<Self, StartupError> {
        // Without the results of earlier servers: every check is made.
        let mut config = SharedConfig::new(environment.clone(), &[]);
        config.reachable = settings.reachable();
        let secret = [&user.state, &user.cache].into_iter().flatten();
        config.secret = secret.map(|it| real_as_far_as_it_exists(it)).collect();
        config.homes = homes;
        let shared = SharedResources::new(config)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| {
            StartupError::Other(format!("the runtime cannot be started: {error}"))
        })?;
        Ok(Offline {
            settings,
            environment,
            user,
            shared,
            runtime,
            nowhere,
        })
    }
}

/// Settings for the project that this is started in, or for an empty directory where it is started in none.
pub(super) fn settings_anywhere(
    args: &Args,
    environment: &BTreeMap<OsString, OsString>,
    user: &UserDirectories,
) -> Result<(Settings, Option<TempDir>), StartupError> {
    let directory = std::env::current_dir().map_err(|error| usage(&error))?;
    let resolve =
        |nowhere: Option<&Path>| Settings::resolve(args, environment, user, &directory, nowhere);
    let (settings, nowhere) = match resolve(None) {
        Err(error) if error.is_about_width() => {
            let empty = tempfile::Builder::new().prefix("ahma-nowhere-").tempdir();
            let empty = empty.map_err(|error| usage(&error))?;
            let real = empty.path().canonicalize().map_err(|error| usage(&error))?;
            (resolve(Some(&real)), Some(empty))
        }
        settings => (settings, None),
    };
    let settings = settings.map_err(|error| usage(&error))?;
    Ok((settings, nowhere))
}

fn usage(error: &dyn std::error::Error) -> StartupError {
    StartupError::Usage(error.to_string())
}
