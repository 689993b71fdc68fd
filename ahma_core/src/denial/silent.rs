//! Failures that name nothing: what the command itself names tells what was refused, if that is one thing only.
//!
//! The last judge. Must not speak where a complaint names something that commands can see.

use std::path::Path;

use super::case::Case;
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::intent::message_writes;
use super::phrases::Class;
use super::places::{Place, is_for_root_only, is_written_by_root_only};
use super::refused::{home_private, read_outside, toolchain, write_outside};
use super::script::{Mention, Simple};
use super::{credentials, programs, sockets};

/// Messages that are about a file and do not name it.
const ABOUT_FILES: [&str; 5] = [
    "error encountered when reading a file",
    "failure writing output",
    "failed writing",
    "error reading file",
    "couldn't connect to server",
];

pub(super) fn judge(case: &Case<'_>) -> Option<Denial> {
    if !case.failed() {
        return None;
    }
    if let Some(denial) = database(case).or_else(|| containers(case)) {
        return Some(denial);
    }
    let complaints = &case.output.complaints;
    let telling = complaints
        .iter()
        .find(|complaint| is_nameless(case, complaint));
    if let Some(complaint) = telling {
        return java(case)
            .or_else(|| managed(case, complaint))
            .or_else(|| by_command(case, Some(complaint), false));
    }
    if let Some(denial) = java(case) {
        return Some(denial);
    }
    // What is thrown away was said all the same.
    let text = case.script.text.replace("> ", ">");
    let is_silenced = ["2>/dev/null", "&>/dev/null", ">/dev/null 2>&1"]
        .iter()
        .any(|it| text.contains(it));
    let is_wordless = case.failure.output.trim().is_empty() || is_silenced;
    if !complaints.is_empty() {
        return is_one_program(case)
            .then(|| by_command(case, None, false))
            .flatten();
    }
    by_command(case, None, !is_wordless)
}

/// Whether one program that takes names, and no code, said one thing: then what it was given is what it is about.
fn is_one_program(case: &Case<'_>) -> bool {
    let code = [
        "python", "python3", "node", "perl", "ruby", "php", "make", "npm", "cargo", "go", "gcc",
        "cc", "bash", "sh",
    ];
    let ran: Vec<&str> = case
        .script
        .commands
        .iter()
        .map(Simple::name)
        .filter(|name| !matches!(*name, "" | "cd" | "export" | "set"))
        .collect();
    let lines = case
        .output
        .lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .count();
    let is_vague = case
        .output
        .complaints
        .iter()
        .all(|complaint| !complaint.is_clear());
    matches!(ran.as_slice(), [program] if !code.contains(program)) && lines <= 2 && is_vague
}

/// Whether a complaint is about a file that it does not name.
fn is_nameless(case: &Case<'_>, complaint: &Complaint) -> bool {
    let line = complaint.line.to_lowercase();
    let is_clear = complaint.says(Class::NotFound) || complaint.says(Class::ReadOnly);
    let is_about_file = is_clear || ABOUT_FILES.iter().any(|it| line.contains(it));
    // A word of the command that stands in the line is what it names.
    let names = complaint
        .names
        .iter()
        .filter(|name| !name.contains(' ') && name.len() > 1);
    let words = || case.script.commands.iter().flat_map(Simple::arguments);
    let names_something = names.clone().any(|name| {
        name.contains('/')
            || (looks_like_a_file(name) && words().any(|word| word.contains(name.as_str())))
    });
    is_about_file && !names_something
}

fn looks_like_a_file(name: &str) -> bool {
    name.contains('.') && !name.ends_with('.') && name.chars().any(char::is_alphabetic)
}

/// The only path outside that the command names, which is a guess.
fn by_command(case: &Case<'_>, complaint: Option<&Complaint>, only_probed: bool) -> Option<Denial> {
    let denial = named_by_command(case, complaint, only_probed)?;
    let text = format!(
        "The output does not say so, but this is probably why: {}",
        denial.text
    );
    Some(Denial { text, ..denial })
}

fn named_by_command(
    case: &Case<'_>,
    complaint: Option<&Complaint>,
    only_probed: bool,
) -> Option<Denial> {
    let is_meant = |mention: &&Mention| {
        let is_probe = !only_probed || mention.probed;
        is_probe
            && !mention.printed
            && !mention.runs
            && !mention.searched
            && case.is_hidden(&mention.path)
    };
    let mut meant: Vec<&Mention> = case.script.mentions.iter().filter(is_meant).collect();
    if meant.is_empty() && complaint.is_some() {
        meant = case
            .script
            .mentions
            .iter()
            .filter(|it| it.printed && case.is_hidden(&it.path))
            .collect();
    }
    let first = *meant.first()?;
    let is_same = |mention: &&Mention| {
        mention.path.starts_with(&first.path) || first.path.starts_with(&mention.path)
    };
    if !meant.iter().all(is_same) {
        return None;
    }
    let mut path: &Path = &first.path;
    let mut text = first.text.as_str();
    if text.contains(['*', '?']) {
        path = path.parent()?;
        text = text
            .rsplit_once('/')
            .map_or(text, |(directory, _)| directory);
    }
    let named = case.called(text, path);
    if sockets::is_socket(&named.path) {
        return Some(sockets::denied(&named));
    }
    if credentials::is_credential(&named.path, case.view.user_home) {
        return Some(credentials::missing(&named));
    }
    let is_home = matches!(case.place(path), Place::Home(_));
    let is_ordinary = !case.view.is_root
        && !case
            .view
            .user_home
            .is_some_and(|home| named.path.starts_with(home));
    let writes = first.writes
        || complaint.is_some_and(|it| it.says(Class::ReadOnly) || message_writes(&it.line));
    if writes && !is_home {
        return (!is_ordinary || !is_written_by_root_only(&named.path))
            .then(|| write_outside(case, named, first.whole));
    }
    if is_ordinary && is_for_root_only(&named.path) {
        return None;
    }
    if programs::is_program(case, path, Some(first)) {
        return Some(programs::hidden_path(&named));
    }
    Some(if is_home {
        home_private(&named)
    } else {
        read_outside(case, &named)
    })
}

/// A manager of toolchains that wanted to change them.
fn managed(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let is_refused = complaint.says(Class::ReadOnly);
    let mut grants = case.view.grants_read.iter().filter(|_| is_refused);
    grants.find_map(|grant| {
        let manager = grant
            .file_name()?
            .to_string_lossy()
            .trim_start_matches('.')
            .to_owned();
        (!manager.is_empty() && case.script.runs(&manager)).then(|| toolchain(&manager, grant))
    })
}

/// Programs that find nothing because what they look into is outside: who speaks, what is said, where it is.
const DATABASES: [(&str, &str, &str); 6] = [
    ("dpkg-query", "no path found", "/var/lib/dpkg"),
    ("dpkg-query", "no packages found", "/var/lib/dpkg"),
    ("dpkg-query", "is not installed", "/var/lib/dpkg"),
    ("dpkg", "is not installed", "/var/lib/dpkg"),
    ("rpm", "is not installed", "/var/lib/rpm"),
    ("journalctl", "no journal files", "/var/log/journal"),
];

fn database(case: &Case<'_>) -> Option<Denial> {
    let complaints = case.output.complaints.iter();
    let mut found = complaints.flat_map(|complaint| {
        let is_meant = |(speaker, message, _): &&(&str, &str, &str)| {
            complaint.speaker() == *speaker && complaint.line.to_lowercase().contains(message)
        };
        DATABASES
            .iter()
            .filter(is_meant)
            .map(|(_, _, path)| Path::new(*path))
    });
    let path = found.find(|path| case.is_hidden(path))?;
    Some(read_outside(
        case,
        &case.called(&path.display().to_string(), path),
    ))
}

/// Engines that run containers for an ordinary user, which takes namespaces that commands do not get.
fn containers(case: &Case<'_>) -> Option<Denial> {
    let engine = ["podman", "buildah"]
        .into_iter()
        .find(|engine| case.script.runs(engine))?;
    let is_refused = |complaint: &Complaint| {
        complaint.is_clear()
            && !complaint.says(Class::NoCommand)
            && complaint.names.iter().all(|name| !name.contains('/'))
    };
    case.output.complaints.iter().any(is_refused).then(|| Denial {
        kind: DenialKind::Other,
        subject: engine.to_owned(),
        owner_can: format!("none known: {engine} in a sandbox is not supported"),
        text: format!("{engine} needs namespaces and mounts that commands in the sandbox do not get: trying again \
                       will not help. The owner can run it outside."),
    })
}

/// A Java whose settings are in `/etc`, as Debian has it: it does not start at all.
fn java(case: &Case<'_>) -> Option<Denial> {
    let lines = &case.output.lines;
    let is_java = lines.iter().any(|line| {
        line.contains("Error loading java.security file")
            || line.contains("java.security") && line.contains("InternalError")
    });
    let is_java = is_java
        || lines
            .iter()
            .any(|line| line.contains("ServiceConfigurationError"))
            && case.script.runs("jshell");
    if !is_java {
        return None;
    }
    let security = Path::new("/usr/lib/jvm/default-java/conf/security/java.security");
    let settings = match case.lookup.inside(security) {
        super::view::Presence::LeadsTo(target) => target
            .ancestors()
            .find(|it| it.parent() == Some(Path::new("/etc")))
            .map(Path::to_owned),
        _ => None,
    };
    let version = lines.iter().chain([&case.script.text]).find_map(|line| {
        let rest = line.split("java-").nth(1)?;
        let digits: String = rest
            .trim_start_matches("1.")
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        (!digits.is_empty() && rest.contains("openjdk")).then_some(digits)
    });
    let is_known = settings.is_some() || version.is_some();
    let version = version.as_deref().unwrap_or("VERSION");
    let path = settings.unwrap_or_else(|| format!("/etc/java-{version}-openjdk").into());
    let denial = read_outside(case, &case.called(&path.display().to_string(), &path));
    let hint = if is_known {
        ""
    } else {
        " VERSION stands for that of the JDK."
    };
    let text = format!(
        "Java does not start, probably because its settings are hidden: {}{hint}",
        denial.text
    );
    Some(Denial { text, ..denial })
}
