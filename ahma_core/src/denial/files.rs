//! Files and directories that were refused: outside, read-only, or protected.
//!
//! Judges one complaint by the paths it names. Must not tell whether a path outside exists.

use std::path::{Path, PathBuf};

use super::case::{Case, Named};
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::intent::{code_writes, message_writes};
use super::phrases::Class;
use super::places::{Place, is_for_root_only, is_written_by_root_only};
use super::refused::{
    home_private, no_writes, own_process, protected_path, read_only_grant, read_outside,
    system_path, write_outside,
};
use super::view::Presence;
use super::{credentials, programs, sockets, temporary};

/// Names in messages that are about no refusal: where a log is.
const ASIDE: [&str; 4] = [
    "complete log of this run",
    "can be found in",
    "see the log",
    "full report see",
];

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    if ASIDE.iter().any(|aside| complaint.line.contains(aside)) {
        return None;
    }
    let resolved: Vec<(&String, PathBuf)> = complaint
        .names
        .iter()
        .filter_map(|name| Some((name, case.resolve(name, complaint)?)))
        .collect();
    // Of two names in a message about a link or a move, the second could not be made.
    let is_pair = complaint.says(Class::ReadOnly) && complaint.line.contains(" -> ");
    if let Some((name, path)) = resolved.first().filter(|_| is_pair) {
        return judge_name(case, complaint, name, path);
    }
    // A path that is refused by its place is meant rather than one beside it in the same line.
    let (refused, others): (Vec<_>, Vec<_>) = resolved.into_iter().partition(|(_, path)| {
        matches!(
            case.place(path),
            Place::Protected(_) | Place::Outside | Place::Home(_) | Place::Readable(_)
        )
    });
    let judged = refused.into_iter().chain(others);
    let said = judged
        .into_iter()
        .find_map(|(name, path)| judge_name(case, complaint, name, &path));
    said.or_else(|| in_place(case, complaint))
}

fn judge_name(case: &Case<'_>, complaint: &Complaint, name: &str, path: &Path) -> Option<Denial> {
    let says = |class| complaint.says(class);
    let is_path = name.contains(['/', '~']) || name == "..";
    match case.place(path) {
        Place::Protected(protected) => {
            let is_refused = says(Class::ReadOnly)
                || says(Class::Busy)
                || (says(Class::NotPermitted) && path.starts_with(&protected));
            is_refused.then(|| protected_path(case, name, path, &protected))
        }
        Place::Scope | Place::Writable | Place::System
            if says(Class::NotFound) || (is_path && !complaint.is_clear()) =>
        {
            match case.lookup.inside(path) {
                Presence::LeadsTo(target) => {
                    outside(case, complaint, &target.display().to_string(), &target)
                }
                _ => searched(case, complaint, name),
            }
        }
        Place::Scope | Place::Writable
            if says(Class::ReadOnly) && is_file_name(case, complaint, name) =>
        {
            let is_other = |name: &String| {
                name.starts_with('/') && !is_speaker(complaint, name) && !path.ends_with(name)
            };
            let has_other = complaint.names.iter().any(is_other) && !name.contains('/');
            let may_be = case.view.read_only || !(case.view.restrictions_known || has_other);
            may_be.then(|| no_writes(case, path))
        }
        Place::Scope | Place::Writable if says(Class::Denied) => {
            no_capabilities(case, complaint, name)
        }
        Place::Readable(grant) if says(Class::ReadOnly) => {
            Some(read_only_grant(case, name, path, &grant))
        }
        Place::Kernel
            if says(Class::ReadOnly)
                && path.starts_with("/proc")
                && !path.starts_with("/proc/sys") =>
        {
            Some(own_process(name))
        }
        Place::System | Place::Kernel
            if says(Class::ReadOnly) && case.view.is_root && !is_speaker(complaint, name) =>
        {
            system_path(case, name, path)
        }
        // Beside a scope that is itself among temporary files nothing can be written.
        Place::Way | Place::Temporary if says(Class::ReadOnly) && is_path => Some(write_outside(
            case,
            Named {
                name: name.to_owned(),
                path: path.to_owned(),
            },
            false,
        )),
        Place::Temporary if says(Class::NotFound) && is_path => temporary::missing(case, path),
        Place::Home(_) | Place::Outside if is_path && is_refusal(case, complaint, path) => {
            outside(case, complaint, name, path)
        }
        _ => None,
    }
}

/// A protected file that is in use as such, under the name that a program gave its successor.
fn in_place(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let mut mentions = case
        .script
        .mentions
        .iter()
        .filter(|it| it.writes && complaint.says(Class::Busy));
    mentions.find_map(|mention| match case.place(&mention.path) {
        Place::Protected(protected) => Some(protected_path(
            case,
            &mention.text,
            &mention.path,
            &protected,
        )),
        _ => None,
    })
}

/// Whether a word of a line is the name of a file rather than a word of the message.
fn is_file_name(case: &Case<'_>, complaint: &Complaint, name: &str) -> bool {
    let words = || {
        case.script.commands.iter().flat_map(|command| {
            command
                .arguments()
                .iter()
                .chain(command.redirections.iter().map(|it| &it.target))
        })
    };
    let is_quoted = || super::candidates::quoted(&complaint.line).contains(&name);
    !name.contains(": ")
        && (name.contains('/') && !name.contains(' ')
            || is_quoted()
            || words().any(|word| word == name))
}

/// Whether a name stands where a program says who speaks.
fn is_speaker(complaint: &Complaint, name: &str) -> bool {
    complaint
        .line
        .trim_start()
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(':'))
}

/// Whether the words of a complaint are those with which a path outside is refused.
fn is_refusal(case: &Case<'_>, complaint: &Complaint, path: &Path) -> bool {
    // Who does not say what is wrong may name all kinds of paths; what the command names is meant.
    if !complaint.is_clear() && case.named("", path).1.is_none() && !is_of_user(case, path) {
        return false;
    }
    let other = [
        Class::NoSpace,
        Class::TooLarge,
        Class::TooManyFiles,
        Class::NoMemory,
    ];
    !other.iter().any(|class| complaint.says(*class))
}

/// Whether a path is in the user's home, or was looked for there.
fn is_of_user(case: &Case<'_>, path: &Path) -> bool {
    path.starts_with(case.view.private_home)
        || case
            .view
            .user_home
            .is_some_and(|home| path.starts_with(home))
}

/// Where several paths outside were refused one after the other that the command does not name: what they have in common.
pub(super) fn together(case: &Case<'_>) -> Option<Denial> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for complaint in case
        .output
        .complaints
        .iter()
        .filter(|it| it.says(Class::NotFound))
    {
        let resolved = complaint
            .names
            .iter()
            .filter(|name| name.starts_with('/'))
            .filter_map(|name| case.resolve(name, complaint));
        let first = resolved
            .into_iter()
            .find(|path| case.place(path) == Place::Outside && case.named("", path).1.is_none());
        paths.extend(first);
    }
    paths.sort();
    paths.dedup();
    let first = paths.first()?;
    let common = first
        .ancestors()
        .skip(1)
        .find(|above| paths.iter().all(|path| path.starts_with(above)))?;
    let is_one_thing =
        paths.len() >= 3 && common.components().count() > 2 && !is_for_root_only(common);
    is_one_thing.then(|| read_outside(case, &case.called(&common.display().to_string(), common)))
}

/// A path that commands cannot see.
fn outside(case: &Case<'_>, complaint: &Complaint, said: &str, path: &Path) -> Option<Denial> {
    if path
        .components()
        .any(|part| part.as_os_str() == "_logs" || part.as_os_str() == "_cacache")
    {
        return None;
    }
    if sockets::is_socket(path) {
        return Some(sockets::denied(&case.called(said, path)));
    }
    let (named, mention) = case.named(said, path);
    let is_home = matches!(case.place(path), Place::Home(_));
    if credentials::is_credential(&named.path, case.view.user_home) {
        return Some(credentials::missing(&named));
    }
    let by_command = mention.is_some_and(|it| it.writes && !it.runs);
    // A traceback shows the call.
    let above = case.output.lines[complaint.at.saturating_sub(4)..complaint.at].iter();
    let by_code =
        complaint.line.contains("Error") && above.into_iter().any(|line| code_writes(line));
    let writes =
        complaint.says(Class::ReadOnly) || message_writes(&complaint.line) || by_command || by_code;
    let is_ordinary = !case.view.is_root
        && !case
            .view
            .user_home
            .is_some_and(|home| named.path.starts_with(home));
    if writes && !is_home {
        let whole = mention.is_some_and(|it| it.whole);
        return (!is_ordinary || !is_written_by_root_only(&named.path))
            .then(|| write_outside(case, named, whole));
    }
    if is_ordinary && is_for_root_only(&named.path) {
        return None;
    }
    if programs::is_program(case, path, mention) {
        return Some(programs::hidden_path(&named));
    }
    Some(if is_home {
        home_private(&named)
    } else {
        read_outside(case, &named)
    })
}

/// A name that is looked for in a directory outside: a header, a module.
fn searched(case: &Case<'_>, complaint: &Complaint, name: &str) -> Option<Denial> {
    if !complaint.says(Class::NotFound)
        || name.starts_with(['/', '~', '.', '-'])
        || name.contains([' ', ':'])
    {
        return None;
    }
    let mut directories = case
        .script
        .mentions
        .iter()
        .filter(|it| it.searched && case.is_hidden(&it.path));
    let directory = directories.next()?;
    if directory.path.extension().is_some() {
        return Some(read_outside(
            case,
            &case.called(&directory.text, &directory.path),
        ));
    }
    let is_module = complaint.line.contains("No module named");
    let file = if is_module {
        format!("{}.py", name.replace('.', "/"))
    } else {
        name.to_owned()
    };
    let named = case.called(
        &format!("{}/{file}", directory.text.trim_end_matches('/')),
        &directory.path.join(&file),
    );
    Some(read_outside(case, &named))
}

/// Root reads files whatever their mode; root in a sandbox does not.
fn no_capabilities(case: &Case<'_>, complaint: &Complaint, name: &str) -> Option<Denial> {
    let starts = ["subprocess", "child_process", "spawn", "Popen"]
        .iter()
        .any(|it| case.output.holds(it));
    let is_run = case.failure.exit_code == Some(126)
        || starts
        || case
            .script
            .mentions
            .iter()
            .any(|it| it.runs && it.text == name);
    let is_name = case.script.text.contains(name.trim_end_matches('/')) || name.contains('/');
    // What could not be made is not closed itself.
    let name = name.trim_end_matches('/');
    let name = if message_writes(&complaint.line) {
        name.rsplit_once('/')
            .map_or(name, |(directory, _)| directory)
    } else {
        name
    };
    (case.view.is_root && !is_run && is_name).then(|| Denial {
        kind: DenialKind::Other,
        subject: name.to_owned(),
        owner_can: "chmod in the project: commands of root have no capabilities".to_owned(),
        text: format!(
            "{name} is closed by its mode, and commands of root have no right to pass over modes in the sandbox: \
             trying again will not help. `chmod` it, as the owner of the file may."
        ),
    })
}
