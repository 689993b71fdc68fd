//! Where programs of the user keep their files.

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy as _, Xdg};

const PROGRAM: &str = "ahma_mcp";

/// The directories of `ahma_mcp` for one user. One that is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserDirectories {
    /// What should last: tokens.
    pub state: Option<PathBuf>,
    /// What can be lost: logs.
    pub cache: Option<PathBuf>,
    /// What the user has written: which servers stand behind this one.
    pub config: Option<PathBuf>,
}

impl UserDirectories {
    /// Those of the user who runs this program: `XDG_STATE_HOME`, `XDG_CACHE_HOME` and `XDG_CONFIG_HOME` where they name absolute paths,
    /// else the usual places of the system below the home directory.
    ///
    /// Reads the environment, so only programs call it; libraries are told.
    pub fn of_this_user() -> Self {
        let Ok(xdg) = Xdg::new() else {
            return UserDirectories::default();
        };
        let (mut state, mut cache) = (xdg.state_dir(), Some(xdg.cache_dir()));
        if cfg!(target_os = "macos") {
            // Where the variables say nothing, the places that macOS has for it.
            let home = xdg.home_dir();
            let native = |found: Option<PathBuf>, usual: &str, native: &str| {
                let is_usual = found.as_deref() == Some(&home.join(usual));
                if is_usual {
                    Some(home.join(native))
                } else {
                    found
                }
            };
            state = native(state, ".local/state", "Library/Application Support");
            cache = native(cache, ".cache", "Library/Caches");
        }
        let of_program = |base: Option<PathBuf>| {
            let base = base.filter(|base| base.is_absolute());
            base.map(|base| base.join(PROGRAM))
        };
        UserDirectories {
            state: of_program(state),
            cache: of_program(cache),
            config: of_program(Some(xdg.config_dir())),
        }
    }
}
