//! What is said about paths that were refused: for each kind the remedy and the sentences.
//!
//! Must not decide which kind it is.

use std::path::Path;

use super::case::{Case, Named};
use super::denied::{Denial, DenialKind};
use super::places::{Place, is_raw_device, shown};

pub(super) fn read_outside(case: &Case<'_>, named: &Named) -> Denial {
    let Named { name, path } = named;
    if is_raw_device(path) {
        return device(DenialKind::ReadOutside, name);
    }
    let scope = case.view.scope.display();
    // What services keep there is not for others to read.
    let is_spool = path.starts_with("/var/spool");
    Denial {
        kind: DenialKind::ReadOutside,
        subject: name.clone(),
        owner_can: if is_spool {
            "none sensible: run it outside".to_owned()
        } else {
            format!("--sandbox-read {}", path.display())
        },
        text: format!(
            "{name} is outside of what commands may use (they work below {scope}), and the sandbox hides what is \
             outside, there or not: trying again will not help. The owner can {}.",
            if is_spool {
                "run the command outside the sandbox".to_owned()
            } else {
                format!("let commands read it with `--sandbox-read {}`", shown(path))
            }
        ),
    }
}

/// A device that commands do not get, whatever is granted.
fn device(kind: DenialKind, name: &str) -> Denial {
    Denial {
        kind,
        subject: name.to_owned(),
        owner_can: "none: run it outside".to_owned(),
        text: format!(
            "{name} is a device of the machine, and commands have only those that programs commonly need, such as \
             /dev/null: trying again will not help, and no option allows it. The owner can run the command outside \
             the sandbox."
        ),
    }
}

pub(super) fn home_private(named: &Named) -> Denial {
    let Named { name, path } = named;
    Denial {
        kind: DenialKind::HomePrivate,
        subject: name.clone(),
        owner_can: format!(
            "--sandbox-read {}, and use that absolute path",
            path.display()
        ),
        text: format!(
            "{name} was looked for in the private home directory that commands have instead of the user's, whose \
             files they do not see: trying again will not help. The owner can let commands read the user's with \
             `--sandbox-read {0}`; then use the absolute path {0}.",
            shown(path)
        ),
    }
}

pub(super) fn write_outside(case: &Case<'_>, named: Named, whole: bool) -> Denial {
    let Named { name, path } = named;
    if is_raw_device(&path) {
        return device(DenialKind::WriteOutside, &name);
    }
    let parent = path.parent().filter(|_| !whole).unwrap_or(&path);
    let scope = case.view.scope.display();
    let is_much = parent.parent().is_none() || Some(parent) == case.view.user_home;
    let caution = if is_much {
        ", though a directory of its own below it would open less"
    } else {
        ""
    };
    Denial {
        kind: DenialKind::WriteOutside,
        subject: name.clone(),
        owner_can: format!("--sandbox-write {}", parent.display()),
        text: format!(
            "{name} is outside of what commands may write, which is {scope} and temporary files: trying again will \
             not help. Write below {scope} instead; the owner can let commands write there with `--sandbox-write \
             {}`{caution}.",
            shown(parent)
        ),
    }
}

pub(super) fn protected_path(case: &Case<'_>, name: &str, path: &Path, protected: &Path) -> Denial {
    let relative = protected.strip_prefix(case.view.scope).unwrap_or(protected);
    // A program may complain about something below what it was given, or beside it.
    let mentions = case
        .script
        .mentions
        .iter()
        .filter(|it| it.path.starts_with(protected) && (it.writes || it.path == path));
    let near = mentions.filter(|it| {
        path.starts_with(&it.path) || (it.path.parent() == path.parent() && it.path != protected)
    });
    let nearest = near.max_by_key(|it| (it.path == path, it.path.as_os_str().len()));
    let named = case.called(nearest.map_or(name, |it| it.text.as_str()), path);
    if !protected.starts_with(case.view.scope) {
        return protected_outside(&named.name);
    }
    Denial {
        kind: DenialKind::ProtectedPath,
        subject: named.name.clone(),
        owner_can: format!("--unprotect {}", relative.display()),
        text: format!(
            "{} is protected: commands can read it and not change, move or remove it, and trying again will not \
             help. The owner can allow it with `--unprotect {}`.",
            named.name,
            shown(relative)
        ),
    }
}

/// What is protected in what was granted for writing, for which there is no flag.
fn protected_outside(name: &str) -> Denial {
    Denial {
        kind: DenialKind::ProtectedPath,
        subject: name.to_owned(),
        owner_can: "run that command outside".to_owned(),
        text: format!(
            "{name} is protected: commands can read it and not change, move or remove it, and trying again will not \
             help. The owner can run that command outside the sandbox."
        ),
    }
}

pub(super) fn no_writes(case: &Case<'_>, path: &Path) -> Denial {
    let probably = if case.view.read_only { "" } else { "probably " };
    Denial {
        kind: DenialKind::ReadOnlyPath,
        subject: path.display().to_string(),
        owner_can: "writes: true in the tool file".to_owned(),
        text: format!(
            "{} could not be written: this tool {probably}may write nothing but temporary files (`writes: false` in \
             its tool file), and trying again will not help. The owner can set `writes: true` there.",
            path.display()
        ),
    }
}

pub(super) fn read_only_grant(case: &Case<'_>, name: &str, path: &Path, grant: &Path) -> Denial {
    let is_toolchain = [".rustup", ".cargo", ".pyenv", ".nvm", ".volta", ".sdkman"]
        .iter()
        .find(|it| grant.components().any(|part| part.as_os_str() == **it));
    let manager = is_toolchain
        .map(|it| it.trim_start_matches('.'))
        .filter(|it| case.script.runs(it));
    if let Some(manager) = manager {
        return toolchain(manager, grant);
    }
    if is_repository_of_worktree(case, grant) {
        return repository(path, grant);
    }
    let parent = if path == grant {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    let name = if is_toolchain.is_some() {
        path.display().to_string()
    } else {
        name.to_owned()
    };
    Denial {
        kind: DenialKind::ReadOnlyPath,
        subject: name.clone(),
        owner_can: format!("--sandbox-write {}", parent.display()),
        text: format!(
            "{name} can only be read: {} was granted for reading, so trying again will not help. The owner can let \
             commands write there with `--sandbox-write {}`.",
            grant.display(),
            shown(parent)
        ),
    }
}

/// Whether what can be read is a repository of which parts can be written, as in a linked worktree or a submodule.
fn is_repository_of_worktree(case: &Case<'_>, grant: &Path) -> bool {
    let objects = grant.join("objects");
    case.view.grants_write.contains(&objects)
}

/// What Git writes in a repository beside objects, references and logs.
fn repository(path: &Path, repository: &Path) -> Denial {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let removes = name.starts_with("packed-refs");
    let what = if removes {
        "Git removes references (branches, tags, a stash, a state such as CHERRY_PICK_HEAD) under a lock in the repository"
    } else {
        "Git keeps this in the repository"
    };
    // What a rebase or a cherry-pick leaves lies where commands can write.
    let left = if removes {
        " A rebase or a cherry-pick that seems to go on for no other reason ends with \
         `rm \"$(git rev-parse --git-path CHERRY_PICK_HEAD)\"`."
    } else {
        ""
    };
    Denial {
        kind: DenialKind::ReadOnlyPath,
        subject: path.display().to_string(),
        owner_can: "run that git command outside".to_owned(),
        text: format!(
            "{} can only be read: {what} that this directory belongs to, {}, of which commands write objects, \
             references and logs and nothing else, so trying again will not help.{left} The owner can run that git \
             command outside the sandbox; `--sandbox-write {}` would open the hooks and settings of the repository too.",
            path.display(),
            repository.display(),
            shown(repository)
        ),
    }
}

/// A toolchain of the user, which commands use and do not change.
pub(super) fn toolchain(manager: &str, grant: &Path) -> Denial {
    Denial {
        kind: DenialKind::ReadOnlyPath,
        subject: grant.display().to_string(),
        owner_can: format!("run {manager} outside"),
        text: format!(
            "{manager} keeps its toolchains in {}, which commands can use and not change: trying again will not \
             help. The owner can run {manager} outside the sandbox; what it installs is there for commands then.",
            grant.display()
        ),
    }
}

pub(super) fn system_path(case: &Case<'_>, name: &str, path: &Path) -> Option<Denial> {
    if path.starts_with("/dev") {
        return None;
    }
    let parent = path.parent().unwrap_or(path).to_owned();
    let is_kernel = matches!(case.place(path), Place::Kernel);
    let owner_can = if is_kernel {
        "none: run it outside".to_owned()
    } else {
        format!("--sandbox-write {}", parent.display())
    };
    let remedy = if is_kernel {
        "The owner can run the command outside the sandbox.".to_owned()
    } else {
        format!(
            "The owner can let commands write there with `--sandbox-write {}`.",
            shown(&parent)
        )
    };
    Some(Denial {
        kind: DenialKind::ReadOnlyPath,
        subject: name.to_owned(),
        owner_can,
        text: format!(
            "{name} belongs to the system, which commands can read and not change, also those of root: trying again \
             will not help. {remedy}"
        ),
    })
}

/// What the kernel tells of processes cannot be written, not even a command's own.
pub(super) fn own_process(name: &str) -> Denial {
    Denial {
        kind: DenialKind::SyscallDenied,
        subject: name.to_owned(),
        owner_can: "none: run it outside".to_owned(),
        text: format!(
            "{name} can only be read in the sandbox, by every command: trying again will not help. The owner can \
             run the command outside."
        ),
    }
}
