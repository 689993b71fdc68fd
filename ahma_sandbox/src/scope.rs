//! Which directories can be a scope. Some clients start servers in `/` or in the home directory;
//! commands would then be confined to everything.

use std::path::{Path, PathBuf};

use crate::error::ScopeError;
use crate::policy::SandboxPolicy;

/// How wide a scope may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Not the root, not the home directory, nothing around it.
    Project,
    /// Anything; the operator said so.
    Any,
}

/// The real path of a scope, or why it cannot be one. `home` is the operator's home directory.
pub fn checked_scope(
    path: &Path,
    home: Option<&Path>,
    width: Width,
) -> Result<PathBuf, ScopeError> {
    let unusable = |error: std::io::Error| ScopeError::Unusable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let real = path.canonicalize().map_err(unusable)?;
    if !real.metadata().map_err(unusable)?.is_dir() {
        return Err(ScopeError::NotADirectory(real));
    }
    if width == Width::Any {
        return Ok(real);
    }
    if real.parent().is_none() {
        return Err(ScopeError::Root);
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    if home.is_some_and(|home| home.parent().is_some() && home.starts_with(&real)) {
        return Err(ScopeError::Home(real));
    }
    Ok(real)
}

/// Makes sure that commands cannot write to the private directories other than as they are meant to:
/// what they could move or link there would be trusted by the next host.
pub(crate) fn check_private_dir(policy: &SandboxPolicy) -> Result<(), ScopeError> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    for private_dir in [&policy.private_dir, &policy.home()].map(real) {
        let mut granted = policy.write.iter().chain([&policy.scope]);
        match granted.find(|granted| private_dir.starts_with(granted)) {
            // An operator who grants everything has said so.
            Some(granted) if granted.parent().is_some() => {
                return Err(ScopeError::HoldsPrivateDir {
                    private_dir,
                    granted: granted.clone(),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Which directory a path named at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectoryIdentity {
    path: PathBuf,
    device_and_number: (u64, u64),
}

impl DirectoryIdentity {
    /// Its real path when this was made.
    #[cfg(target_os = "linux")]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// That of a directory's real path. A path that meanwhile leads elsewhere is refused: following it
    /// would widen the scope.
    pub(crate) fn of(path: &Path) -> Result<Self, ScopeError> {
        let unusable = |reason: String| ScopeError::Unusable {
            path: path.to_owned(),
            reason,
        };
        let real = path
            .canonicalize()
            .map_err(|error| unusable(error.to_string()))?;
        if real != path {
            let reason = format!("it leads to {} now", real.display());
            return Err(unusable(reason));
        }
        match (path.is_dir(), device_and_number(path)) {
            (true, Some(device_and_number)) => Ok(DirectoryIdentity {
                path: path.to_owned(),
                device_and_number,
            }),
            _ => Err(ScopeError::NotADirectory(path.to_owned())),
        }
    }

    /// Whether the path still names the same directory.
    pub(crate) fn is_still_there(&self) -> bool {
        device_and_number(&self.path) == Some(self.device_and_number)
    }
}

fn device_and_number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let about = path.symlink_metadata().ok()?;
    Some((about.dev(), about.ino()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    /// Proves: S27.
    #[test]
    fn the_root_and_the_home_directory_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().join("home/me");
        let project = home.join("project");
        std::fs::create_dir_all(&project).unwrap();
        let judge = |path: &Path, width| checked_scope(path, Some(&home), width);

        assert_eq!(judge(Path::new("/"), Width::Project), Err(ScopeError::Root));
        let real_home = home.canonicalize().unwrap();
        assert_eq!(
            judge(&home, Width::Project),
            Err(ScopeError::Home(real_home.clone()))
        );
        let around = real_home.parent().unwrap();
        assert_eq!(
            judge(around, Width::Project),
            Err(ScopeError::Home(around.to_owned()))
        );
        assert_eq!(
            judge(&project, Width::Project),
            Ok(project.canonicalize().unwrap())
        );
        assert_eq!(judge(&home, Width::Any), Ok(real_home));
    }

    #[test]
    fn a_link_is_followed_to_the_real_directory() {
        let base = tempfile::tempdir().unwrap();
        let real = base.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let judged = checked_scope(&link, None, Width::Project);
        assert_eq!(judged, Ok(real.canonicalize().unwrap()));
        let root_link = base.path().join("root");
        std::os::unix::fs::symlink("/", &root_link).unwrap();
        assert_eq!(
            checked_scope(&root_link, None, Width::Project),
            Err(ScopeError::Root)
        );
    }

    #[test]
    fn a_file_and_a_missing_path_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        std::fs::File::create(&file).unwrap();
        let judged = checked_scope(&file, None, Width::Project);
        assert_eq!(
            judged,
            Err(ScopeError::NotADirectory(file.canonicalize().unwrap()))
        );
        let missing = checked_scope(&base.path().join("missing"), None, Width::Project);
        assert!(
            matches!(missing, Err(ScopeError::Unusable { .. })),
            "{missing:?}"
        );
    }
}
