//! Limits that a command ran into: time, memory, processes, files.
//!
//! Must not blame a limit that the command set itself.

use std::path::Path;

use super::case::Case;
use super::complaints::Complaint;
use super::denied::{Denial, DenialKind};
use super::failure::ReachedLimit;
use super::phrases::Class;
use super::places::Place;

/// Killed for writing a file that is too large, as a signal and as an exit code of a shell.
const SIGXFSZ: i32 = 25;

/// A command that took too long.
pub(super) fn deadline(case: &Case<'_>) -> Denial {
    let deadline = case
        .view
        .deadline
        .map(|it| format!("{} s", it.as_secs_f64()));
    let after = deadline
        .as_ref()
        .map_or_else(|| "at its deadline".to_owned(), |it| format!("after {it}"));
    Denial {
        kind: DenialKind::Deadline,
        subject: deadline.unwrap_or_else(|| "deadline".to_owned()),
        owner_can: "--timeout SECONDS or timeout_seconds of the call".to_owned(),
        text: format!(
            "The command was still running and was stopped {after}; run again as it is, it will be stopped again. \
             Give the call more time with `timeout_seconds`, run it in the background, or have it do less; the \
             owner can raise the default with `--timeout SECONDS`."
        ),
    }
}

pub(super) fn judge(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let limits = &case.view.limits;
    let may_be = |limit: Option<u64>| limit.is_some() || !case.view.restrictions_known;
    let own = [
        "ulimit",
        "RLIMIT_",
        "prlimit",
        "max-old-space-size",
        "-Xmx",
        "memory_limit",
        "GOMEMLIMIT",
        "setrlimit",
    ];
    let limits_itself = own.iter().any(|it| case.script.text.contains(it));
    if complaint.line.contains("ulimit: core file size") {
        return Some(core_dumps());
    }
    if complaint.says(Class::NoSpace) {
        return temporary(case, complaint);
    }
    if limits_itself {
        return None;
    }
    if complaint.says(Class::TooLarge) && complaint.line.len() < 2000 {
        return Some(file_size(case, complaint));
    }
    if complaint.says(Class::TooManyFiles) {
        return Some(open_files(case));
    }
    if complaint.says(Class::NoProcess)
        && is_about_processes(case, complaint)
        && may_be(limits.processes)
    {
        return Some(processes(limits.processes));
    }
    (complaint.says(Class::NoMemory) && may_be(limits.memory_mb)).then(|| memory(limits.memory_mb))
}

/// A limit that the kernel says was reached.
pub(super) fn reached(reached: ReachedLimit) -> Denial {
    match reached {
        ReachedLimit::Memory { limit, peak } => {
            let peak = peak.map_or_else(String::new, |peak| {
                format!(", peak {:.1} MiB", peak as f64 / f64::from(1 << 20))
            });
            let limit = size(limit);
            Denial {
                kind: DenialKind::LimitMemory,
                text: format!(
                    "The command was killed with everything it had started: memory limit {limit}{peak}; trying again will \
                     not help unless it needs less. The owner can raise `limits.memory_mb` in the tool file."
                ),
                subject: limit,
                owner_can: "raise limits.memory_mb in the tool file".to_owned(),
            }
        }
        ReachedLimit::Processes { limit } => processes(Some(u64::from(limit))),
    }
}

/// A file that grew too large, by the way the command ended.
pub(super) fn by_signal(case: &Case<'_>) -> Option<Denial> {
    let is_size =
        case.failure.signal == Some(SIGXFSZ) || case.failure.exit_code == Some(128 + SIGXFSZ);
    let limits_itself = case.script.text.contains("ulimit");
    let file = written_file(case, None).unwrap_or_else(|| "a file".to_owned());
    (is_size && !limits_itself).then(|| too_large(case, file))
}

/// Whether it was a process or a thread that there was no room for: the same words are said of other things.
fn is_about_processes(case: &Case<'_>, complaint: &Complaint) -> bool {
    let words = [
        "fork", "thread", "spawn", "process", "clone", "verzweig", "popen",
    ];
    let mut near = case.output.lines[complaint.at.saturating_sub(6)..=complaint.at].iter();
    near.any(|line| words.iter().any(|word| line.to_lowercase().contains(word)))
}

fn file_size(case: &Case<'_>, complaint: &Complaint) -> Denial {
    let file = written_file(case, Some(&complaint.line))
        .or_else(|| written_file(case, None))
        .or_else(|| {
            complaint
                .names
                .iter()
                .find(|name| name.contains('.') && !name.contains(' '))
                .cloned()
        });
    too_large(case, file.unwrap_or_else(|| "a file".to_owned()))
}

fn too_large(case: &Case<'_>, file: String) -> Denial {
    let limit = case.view.limits.file_bytes.map(size);
    let limited = limit.map_or_else(
        || "single files are limited in size".to_owned(),
        |limit| format!("single files are limited to {limit}"),
    );
    Denial {
        kind: DenialKind::LimitFiles,
        owner_can: format!("none: {limited}"),
        text: format!(
            "{file} would have become too large: {limited} for every command, and trying again will not help. Write \
             several smaller files."
        ),
        subject: file,
    }
}

/// The file that a command writes which a line names, or the last command that writes any.
fn written_file(case: &Case<'_>, line: Option<&str>) -> Option<String> {
    let commands = case.script.commands.iter();
    let mut told = commands.filter(|command| {
        line.is_none_or(|line| {
            command
                .words
                .first()
                .is_some_and(|word| line.contains(word.as_str()))
        })
    });
    told.find_map(|command| {
        let words = command.arguments();
        let output = words
            .iter()
            .find_map(|word| word.strip_prefix("of="))
            .map(str::to_owned);
        let redirected = || {
            command
                .redirections
                .iter()
                .find(|it| it.writes)
                .map(|it| it.target.clone())
        };
        let in_code = || {
            let code = words.iter().find(|word| word.contains('('))?;
            let mut strings = super::candidates::quoted(code)
                .into_iter()
                .filter(|it| it.contains('.') && !it.contains([' ', '(']));
            strings.next().map(str::to_owned)
        };
        let writers = [
            "fallocate",
            "truncate",
            "dd",
            "split",
            "cp",
            "mkfile",
            "qemu-img",
        ];
        let last = || {
            words
                .iter()
                .rev()
                .find(|word| !word.starts_with('-'))
                .filter(|_| writers.contains(&command.name()))
                .cloned()
        };
        output.or_else(redirected).or_else(in_code).or_else(last)
    })
}

fn open_files(case: &Case<'_>) -> Denial {
    let limit = case
        .view
        .limits
        .open_files
        .map_or_else(String::new, |limit| format!(" to {limit}"));
    Denial {
        kind: DenialKind::LimitFiles,
        subject: "open files".to_owned(),
        owner_can: format!("none: open files are limited{limit}"),
        text: format!(
            "The command has too many files open at once: each process is limited{limit}, and trying again will not \
             help. Close files, or open fewer at once."
        ),
    }
}

fn processes(limit: Option<u64>) -> Denial {
    let most = limit.map_or_else(String::new, |limit| format!(" ({limit})"));
    let probably = if limit.is_some() { "" } else { "probably " };
    Denial {
        kind: DenialKind::LimitProcesses,
        subject: limit.map_or_else(|| "processes".to_owned(), |limit| limit.to_string()),
        owner_can: "raise limits.processes in the tool file".to_owned(),
        text: format!(
            "The command {probably}reached the number of processes and threads that its tool file allows{most}; \
             trying again will not help unless it starts fewer (such as `-j 1`). The owner can raise \
             `limits.processes` in the tool file."
        ),
    }
}

fn memory(limit: Option<u64>) -> Denial {
    let most = limit.map_or_else(String::new, |limit| format!(" ({limit} MiB)"));
    let probably = if limit.is_some() { "" } else { "probably " };
    Denial {
        kind: DenialKind::LimitMemory,
        subject: limit.map_or_else(|| "memory".to_owned(), |limit| format!("{limit} MiB")),
        owner_can: "raise limits.memory_mb in the tool file".to_owned(),
        text: format!(
            "The command {probably}needed more memory than its tool file allows{most}; trying again will not help \
             unless it needs less. The owner can raise `limits.memory_mb` in the tool file."
        ),
    }
}

fn temporary(case: &Case<'_>, complaint: &Complaint) -> Option<Denial> {
    let of_complaint = complaint
        .names
        .iter()
        .filter_map(|name| case.resolve(name, complaint));
    let of_command = case.script.mentions.iter().map(|it| it.path.clone());
    let is_device = |path: &Path| path.starts_with("/dev") && !path.starts_with("/dev/shm");
    let mut all: Vec<_> = of_complaint.chain(of_command).collect();
    if all
        .iter()
        .any(|path| is_device(path) && path.ends_with("full"))
    {
        return None;
    }
    all.retain(|path| {
        case.place(path) == Place::Temporary && !path.starts_with(case.view.private_tmp)
    });
    let path = all.first()?;
    let top = if path.starts_with("/dev/shm") {
        "/dev/shm"
    } else if path.starts_with("/var/tmp") {
        "/var/tmp"
    } else {
        "/tmp"
    };
    Some(Denial {
        kind: DenialKind::Other,
        subject: top.to_owned(),
        owner_can: "write to the project or to $TMPDIR".to_owned(),
        text: format!(
            "{top} is private to commands and kept in memory, so it is small, and it is full: trying again will not \
             help. Write large files to the project or to $TMPDIR."
        ),
    })
}

fn core_dumps() -> Denial {
    Denial {
        kind: DenialKind::Other,
        subject: "core".to_owned(),
        owner_can: String::new(),
        text: "Commands in the sandbox never leave core dumps, because they could hold secrets: the limit cannot be \
               changed, and trying again will not help. A debugger works: run the program under `gdb`."
            .to_owned(),
    }
}

fn size(bytes: u64) -> String {
    let gib = 1 << 30;
    if bytes.is_multiple_of(gib) {
        format!("{} GiB", bytes / gib)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}
