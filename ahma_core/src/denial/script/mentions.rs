//! The paths that a command names, and whether it names them to write there.
//!
//! Knows how programs take the names of what they write. Must not decide whether a path may be used.

use std::path::{Path, PathBuf};

use super::commands::Simple;
use crate::denial::intent::{code_writes, literal_is_probed, literal_is_written};
use crate::denial::places::resolve;
use crate::denial::view::View;

/// How many are kept.
const MAX_MENTIONS: usize = 150;

/// A path that the command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// As it was written.
    pub(crate) text: String,
    pub(crate) path: PathBuf,
    /// Whether it is named to be written.
    pub(crate) writes: bool,
    /// Whether it is where other names are looked for.
    pub(crate) searched: bool,
    /// Whether it is the program.
    pub(crate) runs: bool,
    /// Whether it is an existing thing that is written as a whole, such as a repository.
    pub(crate) whole: bool,
    /// Whether it is only asked for whether it is there.
    pub(crate) probed: bool,
    /// Whether it stands in a text that is printed, or written to a file.
    pub(crate) printed: bool,
}

/// Programs all of whose words are written.
const WRITES_ALL: [&str; 12] = [
    "touch",
    "mkdir",
    "rmdir",
    "rm",
    "tee",
    "truncate",
    "mktemp",
    "fallocate",
    "mkfifo",
    "unlink",
    "shred",
    "mknod",
];
/// Programs the last of whose words is written.
const WRITES_LAST: [&str; 9] = [
    "cp", "mv", "ln", "install", "rsync", "scp", "objcopy", "link", "split",
];
/// Options before what is written.
const OUTPUT_OPTIONS: [&str; 18] = [
    "-o",
    "-O",
    "-out",
    "--out",
    "--output",
    "--output-document",
    "--output-dir",
    "--target-dir",
    "--out-dir",
    "--outdir",
    "--pack-destination",
    "--prefix",
    "--dest",
    "--destination",
    "--separate-git-dir",
    "--basetemp",
    "--directory-prefix",
    "-B",
];
/// Options before where names are looked for, and variables that say so.
const SEARCH_OPTIONS: [&str; 9] = [
    "-I",
    "-L",
    "-isystem",
    "-cp",
    "-classpath",
    "--class-path",
    "-iquote",
    "--include-dir",
    "--library-path",
];
const SEARCH_VARIABLES: [&str; 9] = [
    "PYTHONPATH",
    "NODE_PATH",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "C_INCLUDE_PATH",
    "CPATH",
    "LIBRARY_PATH",
    "PERL5LIB",
    "RUBYLIB",
];
/// Programs that take code as a word.
const INTERPRETERS: [&str; 16] = [
    "python", "python2", "python3", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua",
    "lua5.4", "awk", "gawk", "tclsh", "sed",
];

/// Whether a word can only be a path.
pub(crate) fn looks_like_path(word: &str) -> bool {
    let starts = [
        "/", "./", "../", "~/", "$HOME/", "${HOME}/", "file:///", "unix:///",
    ];
    word == ".." || word == "~" || starts.iter().any(|start| word.starts_with(start))
}

/// The paths of all commands.
pub(super) fn mentions(commands: &[Simple], view: &View<'_>) -> Vec<Mention> {
    let mut found = Finding {
        view,
        found: Vec::new(),
    };
    for command in commands {
        found.command(command);
    }
    found.found
}

struct Finding<'v> {
    view: &'v View<'v>,
    found: Vec<Mention>,
}

impl Finding<'_> {
    fn command(&mut self, command: &Simple) {
        let directory = &command.directory;
        for redirection in &command.redirections {
            self.add(
                &redirection.target,
                directory,
                redirection.writes,
                Role::Named,
            );
        }
        for (name, value) in &command.assignments {
            let role = if SEARCH_VARIABLES.contains(&name.as_str()) {
                Role::Searched
            } else {
                Role::Named
            };
            for part in value.split(':') {
                if looks_like_path(part) {
                    self.add(part, directory, false, role);
                }
            }
        }
        let name = command.name();
        if let Some(program) = command.words.first().filter(|it| it.contains('/')) {
            self.add(program, directory, false, Role::Run);
        }
        let arguments = command.arguments();
        let is_interpreter = INTERPRETERS.contains(&name);
        let all_code: Vec<&String> = arguments.iter().filter(|word| is_code(word)).collect();
        let code_writes = is_interpreter && all_code.iter().any(|code| code_writes(code));
        let last = arguments.iter().rposition(|word| !word.starts_with('-'));
        let is_printing = matches!(name, "echo" | "printf");
        let role_of_text = if is_printing {
            Role::Printed
        } else {
            Role::Named
        };
        let mut option = "";
        for (at, word) in arguments.iter().enumerate() {
            if is_code(word) {
                self.literals(word, directory, role_of_text);
                option = "";
                continue;
            }
            let is_plain =
                !word.starts_with('-') && !matches!(option, "-r" | "--reference" | "--template");
            let by_program = is_plain
                && (WRITES_ALL.contains(&name)
                    || (WRITES_LAST.contains(&name) && Some(at) == last)
                    || (name == "git" && git_writes(command, at, last))
                    || (name == "cargo" && matches!(command.action(), "new" | "init"))
                    || (name == "sqlite3" && arguments.iter().any(|it| changes_tables(it)))
                    || (name == "sed" && arguments.iter().any(|it| it.starts_with("-i")))
                    || (name == "zip" && at == first_plain(arguments)));
            let by_option = OUTPUT_OPTIONS.contains(&option)
                || (option == "-d" && matches!(name, "unzip" | "javac" | "tar"))
                || (option == "-C" && name == "tar" && packs(arguments, 'x'))
                || (name == "tar"
                    && packs(arguments, 'c')
                    && option.trim_start_matches('-').ends_with('f')
                    && !option.contains('/'))
                || (option == "-f"
                    && name == "ssh-keygen"
                    && !arguments
                        .iter()
                        .any(|it| it.contains('l') && it.starts_with('-') && it.len() < 4));
            let (option_name, value) = split_option(word);
            let writes = by_program
                || by_option
                || code_writes
                || OUTPUT_OPTIONS.contains(&option_name)
                || option_name == "of";
            let searched =
                SEARCH_OPTIONS.contains(&option_name) || SEARCH_OPTIONS.contains(&option);
            let is_repository =
                name == "git" && matches!(command.action(), "push" | "fetch" | "pull");
            let is_directory =
                (option == "-C" && name == "tar") || (writes && value.ends_with('/'));
            let whole = is_repository || is_directory;
            let role = if searched {
                Role::Searched
            } else if whole {
                Role::Whole
            } else if matches!(name, "test" | "[" | "[[") {
                Role::Probed
            } else if is_printing {
                Role::Printed
            } else {
                Role::Named
            };
            let is_hidden_file = value.len() > 1 && value.starts_with('.');
            if looks_like_path(value) || value.contains('/') || is_hidden_file {
                self.add(value, directory, writes, role);
            }
            option = word;
        }
        if !command.input.is_empty() {
            self.literals(&command.input, directory, Role::Named);
        }
    }

    /// The paths in a text that is code, or the contents of a file.
    fn literals(&mut self, text: &str, directory: &Path, role: Role) {
        let is_border =
            |letter: char| letter.is_whitespace() || "'\"`()<>,;[]{}|=".contains(letter);
        let mut at = 0;
        for piece in text.split(is_border) {
            let start = at;
            at += piece.len();
            at += text[at..].chars().next().map_or(0, char::len_utf8);
            if piece.len() < 2 {
                continue;
            }
            // A name in quotes may hold spaces.
            let quote = text[..start]
                .chars()
                .next_back()
                .filter(|it| "'\"`".contains(*it));
            let quoted = quote.and_then(|quote| text[start..].split(quote).next());
            let quoted = quoted.filter(|it| !it.contains('\n') && it.len() < 300);
            let name = quoted.unwrap_or(piece);
            let name = name.trim_end_matches("\\n").trim_end_matches([':', '\\']);
            if looks_like_path(name) && !name.starts_with("//") {
                let writes = literal_is_written(text, start, name.len());
                let is_probed = role == Role::Named && literal_is_probed(text, start, name.len());
                let role = if is_probed { Role::Probed } else { role };
                self.add(name, directory, writes, role);
            }
        }
    }

    fn add(&mut self, text: &str, directory: &Path, writes: bool, role: Role) {
        if self.found.len() >= MAX_MENTIONS || text.contains('$') && !text.starts_with("$HOME") {
            return;
        }
        let Some(path) = resolve(text, directory, self.view) else {
            return;
        };
        let mention = Mention {
            text: text.to_owned(),
            path,
            writes,
            searched: role == Role::Searched,
            runs: role == Role::Run,
            whole: role == Role::Whole,
            probed: role == Role::Probed,
            printed: role == Role::Printed,
        };
        if !self.found.contains(&mention) {
            self.found.push(mention);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Named,
    Searched,
    Run,
    Whole,
    Probed,
    Printed,
}

/// Whether a word is more than a name: code, or a text with several names.
fn is_code(word: &str) -> bool {
    let is_name = looks_like_path(word) && !word.contains(['\n', '(', '"', ';']);
    !is_name && (word.contains(char::is_whitespace) || word.contains(['(', '\'', '"']))
}

/// `--option=value`, `if=value`, `-Ivalue`, `@value`, or a plain word as the value.
fn split_option(word: &str) -> (&str, &str) {
    let is_option =
        |(option, value): &(&str, &str)| !option.contains('/') && looks_like_path(value);
    if let Some(pair) = word.split_once('=').filter(is_option) {
        return pair;
    }
    let attached = SEARCH_OPTIONS
        .iter()
        .find_map(|it| Some((*it, word.strip_prefix(it)?)));
    if let Some((option, value)) = attached.filter(|(_, value)| !value.is_empty()) {
        return (option, value);
    }
    if word.starts_with('-') {
        let path = word.find("../").or_else(|| word.find('/'));
        return path.map_or((word, ""), |at| (&word[..at], &word[at..]));
    }
    ("", word.trim_start_matches('@'))
}

/// Whether a word is a statement that changes a database.
fn changes_tables(word: &str) -> bool {
    let statement = word.trim_start().to_lowercase();
    [
        "create ",
        "insert ",
        "update ",
        "delete ",
        "drop ",
        "alter ",
        "vacuum",
        "pragma journal",
    ]
    .iter()
    .any(|verb| statement.starts_with(verb))
}

/// The first word that is no option.
fn first_plain(arguments: &[String]) -> usize {
    arguments
        .iter()
        .position(|word| !word.starts_with('-'))
        .unwrap_or(usize::MAX)
}

/// Whether the arguments of tar ask to pack, or to unpack.
fn packs(arguments: &[String], letter: char) -> bool {
    let mut bundles = arguments
        .iter()
        .enumerate()
        .filter(|(at, it)| *at == 0 || it.starts_with('-'));
    let long = if letter == 'c' {
        "--create"
    } else {
        "--extract"
    };
    bundles.any(|(_, it)| {
        it == long
            || (it.trim_start_matches('-').contains(letter)
                && !it.starts_with("--")
                && it.len() < 7)
    })
}

/// Whether git writes to a word.
fn git_writes(command: &Simple, at: usize, last: Option<usize>) -> bool {
    let has = |word: &str| command.words.iter().any(|it| it == word);
    match command.action() {
        "clone" => {
            Some(at) == last
                && command
                    .arguments()
                    .iter()
                    .filter(|it| !it.starts_with('-'))
                    .count()
                    > 2
        }
        "worktree" => has("add"),
        "bundle" => has("create"),
        "init" | "push" => true,
        _ => false,
    }
}
