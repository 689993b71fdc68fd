//! The directory a call runs in.
//!
//! The server is not confined, so it must not tell what is outside: there is one answer for everything there, whether it
//! exists or not and wherever its links lead.

use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::call_error::CallError;
use super::context::ServiceContext;
use crate::lexical_path::normal;

/// Resolves the directory that a call asks for; the scope by default. Checked here for a helpful message; the kernel is
/// what holds a command back.
pub(super) async fn working_directory(
    context: &ServiceContext,
    asked: Option<&str>,
) -> Result<PathBuf, CallError> {
    let scope = &context.hosts.policy().scope;
    let Some(asked) = asked else {
        return Ok(scope.clone());
    };
    let (path, commands) = (scope.join(asked), &context.commands);
    let (roots, unconfined) = (commands.roots.clone(), commands.unconfined);
    let shown = super::respond::cut(asked).to_owned();
    let looking = spawn_blocking(move || match unconfined {
        true => path
            .canonicalize()
            .map_err(|error| Unusable::Inside(error.to_string())),
        false => resolve(&path, &roots),
    });
    let found = looking.await.unwrap_or(Err(Unusable::Outside));
    found.map_err(|why| match why {
        Unusable::Inside(why) => CallError::new(format!(
            "the working directory `{shown}` cannot be used: {why}"
        )),
        Unusable::Outside => CallError::refused(format!(
            "the working directory `{shown}` is outside the sandbox scope {}",
            scope.display()
        )),
    })
}

/// Why a directory cannot be used.
#[derive(Debug, PartialEq, Eq)]
enum Unusable {
    /// It is in what commands may use, and something is wrong with it.
    Inside(String),
    /// It is not.
    Outside,
}

fn resolve(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, Unusable> {
    let is_inside = |real: &Path| roots.iter().any(|root| real.starts_with(root));
    match path.canonicalize() {
        Ok(real) if is_inside(&real) => match real.is_dir() {
            true => Ok(real),
            false => Err(Unusable::Inside("it is not a directory".to_owned())),
        },
        Ok(_) => Err(Unusable::Outside),
        // Why it cannot be had is told only when that happens inside.
        Err(error) => {
            let mut above = path.ancestors().skip(1);
            let nearest = above.find_map(|it| it.canonicalize().ok());
            match nearest.is_some_and(|real| is_inside(&real)) && !leads_out(path, &is_inside) {
                true => Err(Unusable::Inside(error.to_string())),
                false => Err(Unusable::Outside),
            }
        }
    }
}

/// Whether a link that leads nowhere, or to where nothing may be looked at, leads outside.
fn leads_out(path: &Path, is_inside: &impl Fn(&Path) -> bool) -> bool {
    let mut at = path.to_owned();
    // More links than the kernel follows.
    for _ in 0..40 {
        let Some(link) = at
            .ancestors()
            .find(|it| it.is_symlink())
            .map(Path::to_owned)
        else {
            return false;
        };
        let Ok(target) = std::fs::read_link(&link) else {
            return true;
        };
        let directory = link.parent().unwrap_or(Path::new("/"));
        let rest = at.strip_prefix(&link).unwrap_or(Path::new(""));
        let target = normal(&directory.join(target));
        let real = target.ancestors().find_map(|it| it.canonicalize().ok());
        if !real.is_some_and(|real| is_inside(&real)) {
            return true;
        }
        at = target.join(rest);
    }
    true
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Proves: S55.
    #[test]
    fn there_is_one_answer_for_everything_outside() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let scope = base.join("scope");
        fs::create_dir_all(scope.join("sub")).unwrap();
        fs::write(scope.join("file"), "").unwrap();
        fs::create_dir(base.join("there")).unwrap();
        symlink(base.join("there"), scope.join("out")).unwrap();
        symlink(base.join("missing"), scope.join("nowhere")).unwrap();
        symlink("sub", scope.join("in")).unwrap();
        symlink("loop", scope.join("loop")).unwrap();
        let roots = [scope.clone()];
        for path in [
            "../there",
            "../missing",
            "../there/deeper",
            "out",
            "out/x",
            "nowhere",
            "nowhere/x",
            "/proc/self/cwd",
            "/proc/self/fd/0",
            "/no/such",
            "/etc",
            "sub/../../missing",
        ] {
            let found = resolve(&scope.join(path), &roots);
            assert_eq!(found, Err(Unusable::Outside), "{path}");
        }
        for path in ["missing", "sub/missing", "file", "file/x"] {
            let found = resolve(&scope.join(path), &roots);
            assert!(
                matches!(found, Err(Unusable::Inside(_))),
                "{path}: {found:?}"
            );
        }
        assert_eq!(resolve(&scope.join("in"), &roots), Ok(scope.join("sub")));
    }
}
