//! Whether code, or a message, is about writing.
//!
//! Looks at words. Must not decide whether writing is allowed.

/// Calls that write, make or remove what they are given.
const WRITING_CALLS: [&str; 33] = [
    "writefile",
    "mkdir",
    "makedirs",
    "copyfile",
    "createwritestream",
    "file.write",
    "file_put_contents",
    "write_text",
    "write_bytes",
    "shutil.copy",
    "shutil.move",
    "os.rename",
    "os.symlink",
    "os.link",
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "rmtree",
    "appendfile",
    "unlinksync",
    "rmsync",
    "renamesync",
    "fileutils.",
    "truncate(",
    "savefig",
    "to_csv",
    "os.create",
    "file::create",
    "fs::write",
    "create_dir",
    "symlinksync",
    ".touch(",
    "mkdtemp",
];

/// Words of messages that say that something was to be written.
const WRITING_WORDS: [&str; 48] = [
    "cannot create",
    "can't create",
    "could not create",
    "couldn't create",
    "failed to create",
    "unable to create",
    "error creating",
    "cannot touch",
    "for writing",
    "cannot write",
    "could not write",
    "unable to write",
    "failed to write",
    "failure writing",
    "error writing",
    "cannot mkdir",
    "mkdir",
    "mkstemp",
    "cannot remove",
    "failed to remove",
    "unable to unlink",
    "cannot move",
    "cannot unlink",
    "output file",
    "saving",
    "cannot utime",
    "via template",
    "changing permissions",
    "couldn't open file",
    "cannot open output",
    "copyfile",
    "rename",
    "kann nicht berührt",
    "nicht angelegt",
    "nicht anlegen",
    "nicht entfernt",
    "verschieben",
    "erzeugt werden",
    "impossible de faire un touch",
    "impossible de créer",
    "impossible de supprimer",
    "impossible de déplacer",
    "write_text",
    "unlink",
    "creating directory",
    "bad file descriptor",
    "lock file",
    "(re)create",
];

/// Whether a message says that something was to be written.
pub(super) fn message_writes(line: &str) -> bool {
    let line = line.to_lowercase();
    WRITING_WORDS.iter().any(|word| line.contains(word))
}

/// Whether code writes anything.
pub(super) fn code_writes(code: &str) -> bool {
    let code = code.to_lowercase();
    let opens = || {
        code.match_indices("open").any(|(at, _)| {
            has_writing_mode(
                code.get(at..code.floor_char_boundary(at + 60))
                    .unwrap_or(""),
            )
        })
    };
    WRITING_CALLS.iter().any(|call| code.contains(call)) || opens()
}

/// Whether code writes to what a string in it names.
pub(super) fn literal_is_written(code: &str, start: usize, length: usize) -> bool {
    let from = code.floor_char_boundary(start.saturating_sub(48));
    // Only the same statement counts.
    let before = code[from..start]
        .rsplit([';', '\n'])
        .next()
        .unwrap_or("")
        .to_lowercase();
    let after_end = code.floor_char_boundary((start + length + 14).min(code.len()));
    let after = code.get(start + length..after_end).unwrap_or("");
    let shell = before.trim_end().trim_end_matches(['"', '\'']).trim_end();
    WRITING_CALLS.iter().any(|call| before.contains(call))
        || (before.contains("open") && has_writing_mode(after))
        || (shell.ends_with('>') && !shell.ends_with("->") && !shell.ends_with("=>"))
        || after
            .trim_start_matches(['"', '\'', ')'])
            .starts_with(".write")
}

/// Whether code only asks whether what a string in it names is there.
pub(super) fn literal_is_probed(code: &str, start: usize, length: usize) -> bool {
    let end = code.floor_char_boundary((start + length + 16).min(code.len()));
    let after = code.get(start + length..end).unwrap_or("");
    if [").exists", ").is_file", ").is_dir", ").stat("]
        .iter()
        .any(|call| after.contains(call))
    {
        return true;
    }
    let from = code.floor_char_boundary(start.saturating_sub(40));
    let before = code[from..start]
        .rsplit([';', '\n'])
        .next()
        .unwrap_or("")
        .to_lowercase();
    let calls = [
        "exists",
        "glob",
        "isfile",
        "isdir",
        "access(",
        "stat(",
        "expanduser",
        "file?",
        "is_file",
        "is_dir",
    ];
    calls.iter().any(|call| before.contains(call))
}

/// Whether the arguments of a call that opens a file say that it is written.
fn has_writing_mode(arguments: &str) -> bool {
    let modes = [
        "'w", "\"w", "'a'", "\"a\"", "'ab", "\"ab", "'x'", "\"x\"", "'r+", "\"r+", "'>", "\">",
        "'+<", "\"+<", "mode='w", "'a+", "\"a+",
    ];
    modes.iter().any(|mode| arguments.contains(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_opened_to_write_is_told_from_one_that_is_read() {
        let writing = "open('/srv/x','w')";
        assert!(literal_is_written(writing, 6, 6));
        assert!(!literal_is_written("open('/srv/x')", 6, 6));
        let both = "a=open('/srv/x').read(); open('/srv/y','w')";
        assert!(!literal_is_written(both, 8, 6));
        assert!(literal_is_written(both, 31, 6));
        assert!(code_writes(both) && !code_writes("open('/srv/x').read()"));
    }

    #[test]
    fn positions_at_the_borders_of_a_text_are_safe() {
        for code in ["", "é", "ééé/x"] {
            literal_is_written(code, code.len(), 0);
            code_writes(code);
        }
    }
}
