//! One failure with all that is known of it, as the judges see it.
//!
//! Resolves the names of complaints, and finds how the command itself called a path. Must not judge.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::complaints::{Complaint, Output};
use super::failure::{Ended, Failure};
use super::hosts::{Host, hosts_of};
use super::places::{Place, place, resolve};
use super::script::{Mention, Script};
use super::view::{Lookup, View};

/// A failure, read.
pub(super) struct Case<'a> {
    pub(super) failure: &'a Failure<'a>,
    pub(super) view: &'a View<'a>,
    pub(super) lookup: &'a dyn Lookup,
    pub(super) script: Script,
    pub(super) output: Output,
    hosts: OnceCell<Vec<Host>>,
    calls: OnceCell<HashSet<String>>,
}

/// A path with the name that it goes by.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    /// Where it is, for the owner.
    pub(super) path: PathBuf,
}

impl<'a> Case<'a> {
    pub(super) fn read(
        failure: &'a Failure<'a>,
        view: &'a View<'a>,
        lookup: &'a dyn Lookup,
    ) -> Self {
        let script = Script::read(failure.command, failure.directory, view);
        let output = Output::read(failure.output, &script);
        Self {
            failure,
            view,
            lookup,
            script,
            output,
            hosts: OnceCell::new(),
            calls: OnceCell::new(),
        }
    }

    /// The machines that the command names.
    pub(super) fn hosts(&self) -> &[Host] {
        self.hosts.get_or_init(|| hosts_of(&self.script))
    }

    /// Whether code in the command calls something, by its name in lower case.
    pub(super) fn calls(&self, name: &str) -> bool {
        self.calls
            .get_or_init(|| self.script.calls())
            .contains(name)
    }

    /// Whether the command did not do what it was meant to do.
    pub(super) fn failed(&self) -> bool {
        self.failure.ended != Ended::Completed
            || self.failure.exit_code.is_some_and(|code| code != 0)
    }

    pub(super) fn place(&self, path: &Path) -> Place {
        place(path, self.view)
    }

    /// What a name in a complaint means.
    pub(super) fn resolve(&self, name: &str, complaint: &Complaint) -> Option<PathBuf> {
        let mentions = &self.script.mentions;
        let same = mentions.iter().find(|mention| mention.text == name);
        // The beginning of a line may be cut off, and with it that of a name.
        let is_cut = |mention: &&Mention| {
            name.contains('/') && complaint.line.starts_with(name) && mention.text.ends_with(name)
        };
        let cut = || {
            mentions
                .iter()
                .find(|mention| is_cut(mention) && self.is_hidden(&mention.path))
        };
        if let Some(mention) = same.or_else(cut) {
            return Some(mention.path.clone());
        }
        resolve(name, self.directory_of(complaint), self.view)
    }

    /// The directory that who complains was in.
    fn directory_of(&self, complaint: &Complaint) -> &Path {
        let commands = &self.script.commands;
        let speaker = complaint.speaker();
        let command = commands
            .iter()
            .rev()
            .find(|command| command.name() == speaker);
        let command = command.or_else(|| {
            commands
                .iter()
                .rev()
                .find(|command| !command.words.is_empty())
        });
        command.map_or(self.failure.directory, |command| &command.directory)
    }

    /// How the command itself calls a path that a program complains about, which may have added to it or taken from it.
    pub(super) fn named(&self, said: &str, path: &Path) -> (Named, Option<&Mention>) {
        let is_meant = |it: &&Mention| {
            !it.searched && (related(&it.path, path) || (it.writes && begins_like(&it.path, path)))
        };
        let mut mentions: Vec<&Mention> = self.script.mentions.iter().filter(is_meant).collect();
        mentions.retain(|it| self.is_hidden(&it.path));
        let best = mentions
            .into_iter()
            .max_by_key(|it| (it.path == path, it.path.as_os_str().len(), it.writes));
        let (text, path) = best.map_or((said, path), |it| (it.text.as_str(), it.path.as_path()));
        // The letters of a pattern for temporary names are none of the name.
        let is_pattern = text.ends_with("XXX");
        let text = ["file://", "unix://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme))
            .unwrap_or(text);
        let text = if is_pattern {
            text.trim_end_matches('X').trim_end_matches('.')
        } else {
            text
        };
        (self.called(text, path), best)
    }

    /// A path by a name; one of the private home by where it would be in the user's.
    pub(super) fn called(&self, name: &str, path: &Path) -> Named {
        match self.place(path) {
            Place::Home(real) => {
                let below = path.strip_prefix(self.view.private_home).unwrap_or(path);
                Named {
                    name: format!("~/{}", below.display()),
                    path: real,
                }
            }
            _ => Named {
                name: name.to_owned(),
                path: path.to_owned(),
            },
        }
    }

    /// Whether commands cannot see a path.
    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        matches!(self.place(path), Place::Outside | Place::Home(_))
    }
}

/// Whether a program added to the name that it was given.
fn begins_like(mentioned: &Path, said: &Path) -> bool {
    let text = |path: &Path| path.display().to_string();
    mentioned.parent() == said.parent() && text(said).starts_with(&text(mentioned))
}

/// Whether what the command named is what the program complains about: the same, something above it, the same with an
/// ending, a temporary name beside it, or something below it that the program was still on its way to.
fn related(mentioned: &Path, said: &Path) -> bool {
    if said.starts_with(mentioned) || mentioned.starts_with(said) {
        return true;
    }
    let (Some(one), Some(other)) = (mentioned.file_name(), said.file_name()) else {
        return false;
    };
    let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
    let is_temporary = other
        .strip_prefix('.')
        .is_some_and(|it| it.starts_with(&*one));
    mentioned.parent() == said.parent()
        && (is_temporary
            || (other.starts_with(&*one) && other[one.len()..].starts_with(['.', '-', '~', '_'])))
}
