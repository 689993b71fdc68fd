//! Names: which are allowed, which are taken, and how they are joined.

/// The longest tool name that common clients and model providers accept.
pub const MAX_NAME_LENGTH: usize = 64;

/// The subcommand that adds no word: the tool called without a subcommand.
pub(super) const DEFAULT_SUBCOMMAND: &str = "default";

/// The command that means "only the sequence".
pub(super) const SEQUENCE_COMMAND: &str = "sequence";

/// What is wrong with the name of a tool, if anything.
pub(super) fn tool_name_fault(name: &str) -> Option<String> {
    name_fault(name, |letter| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
    })
}

/// What is wrong with the name of a subcommand, if anything.
pub(super) fn subcommand_name_fault(name: &str) -> Option<String> {
    name_fault(name, |letter| {
        letter.is_ascii_alphanumeric() || letter == '-'
    })
}

fn name_fault(name: &str, allowed: impl Fn(char) -> bool) -> Option<String> {
    if name.is_empty() {
        return Some("the name is empty".to_owned());
    }
    let length = name.chars().count();
    if length > MAX_NAME_LENGTH {
        return Some(format!(
            "the name has {length} characters; at most {MAX_NAME_LENGTH} are allowed"
        ));
    }
    if let Some(odd) = name.chars().find(|letter| !allowed(*letter)) {
        return Some(format!("the name `{name}` holds the character {odd:?}"));
    }
    if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Some(format!("the name `{name}` does not begin with a letter"));
    }
    None
}

/// What is wrong with the name of an argument, if anything: the characters that model providers
/// accept as keys of a call.
pub(super) fn argument_name_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("the name is empty".to_owned());
    }
    if name.chars().count() > MAX_NAME_LENGTH {
        return Some(format!(
            "the name has more than {MAX_NAME_LENGTH} characters"
        ));
    }
    name.chars()
        .find(|letter| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '.' | '-'))
        .map(|odd| format!("the name `{name}` holds the character {odd:?}"))
}

/// The MCP name of a subcommand below `parent`.
pub(super) fn join(parent: &str, subcommand: &str) -> String {
    if subcommand == DEFAULT_SUBCOMMAND {
        parent.to_owned()
    } else {
        format!("{parent}_{subcommand}")
    }
}

/// Why a tool file may not set a variable of this name, and what to do; none when it may.
pub(super) fn variable_fault(name: &str) -> Option<(String, &'static str)> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins_well = name.starts_with(|first: char| is_letter(first) && !first.is_ascii_digit());
    if !begins_well || !name.chars().all(is_letter) {
        return Some((
            format!("`{name}` is not the name of a variable"),
            "use letters, digits and `_`, not beginning with a digit",
        ));
    }
    is_dangerous_variable(name).then(|| {
        (
            format!("a tool file may not set `{name}`"),
            "it decides which code programs load or where they find their files; pass what the tool needs as an \
             argument instead",
        )
    })
}

/// Whether a command could change which code a program loads by this variable, or which of the
/// server's own settings it sees. The kernel sandbox holds either way; this keeps surprises out.
pub(super) fn is_dangerous_variable(name: &str) -> bool {
    const PREFIXES: [&str; 10] = [
        "LD_",
        "DYLD_",
        "BASH_FUNC_",
        "GIT_CONFIG",
        "GIT_TRACE",
        "CARGO_BUILD_",
        "CARGO_ALIAS_",
        "AHMA_",
        "XDG_",
        "RUSTC",
    ];
    #[rustfmt::skip]
    const EXACT: &[&str] = &[
        // Shells
        "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "ZDOTDIR",
        "SHELL",
        // Where programs and private files are found: the server decides
        "PATH", "HOME", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "CARGO_HOME", "RUSTUP_HOME",
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
        // Interpreters
        "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONBREAKPOINT",
        "PYTHONINSPECT", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "PERL5LIB",
        "PERL5OPT", "PERLLIB", "PERL5DB", "RUBYLIB", "RUBYOPT", "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "LUA_INIT", "LUA_PATH", "LUA_CPATH",
        // Programs started on the side
        "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
        "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "EDITOR", "VISUAL", "PAGER",
        "MANPAGER", "GH_PAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "SSH_ASKPASS", "SUDO_ASKPASS",
        "RUSTDOC", "CC", "CXX", "LD", "AR",
        // Options, configuration and modules that name code
        "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "TAR_OPTIONS", "RUSTFLAGS", "RUSTDOCFLAGS",
        "CARGO_ENCODED_RUSTFLAGS", "CARGO_ENCODED_RUSTDOCFLAGS", "RIPGREP_CONFIG_PATH",
        "GCONV_PATH", "OPENSSL_CONF", "OPENSSL_ENGINES",
    ];
    EXACT.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        // npm reads its settings in any case.
        || name.to_ascii_lowercase().starts_with("npm_config_")
        || (name.starts_with("GIT_") && name.ends_with("_COMMAND"))
        || (name.starts_with("CARGO_TARGET_")
            && ["_RUNNER", "_LINKER", "_RUSTFLAGS"].iter().any(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: T15.
    #[test]
    fn variables_that_load_code_are_dangerous() {
        for name in [
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "GIT_PROXY_COMMAND",
            "GIT_CONFIG_GLOBAL",
            "RIPGREP_CONFIG_PATH",
            "MAKEFLAGS",
            "Npm_Config_script_shell",
            "RUSTFLAGS",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "PATH",
            "HOME",
        ] {
            assert!(is_dangerous_variable(name), "{name}");
        }
    }

    #[test]
    fn ordinary_variables_are_not_dangerous() {
        for name in [
            "RUST_BACKTRACE",
            "CI",
            "NO_COLOR",
            "GIT_AUTHOR_NAME",
            "LANG",
        ] {
            assert!(!is_dangerous_variable(name), "{name}");
        }
    }
}
