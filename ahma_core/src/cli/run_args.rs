//! The command line of `ahma_mcp run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command as ClapCommand};

use super::args::{NetworkArg, OnOff};

const HELP: &str = "\
Examples:
  ahma_mcp run -- cargo build
          in the sandbox that an agent's commands have in this project
  ahma_mcp run -- 'ls ~ | wc -l'
          one word with blanks is a script
  ahma_mcp run --network off -- npm test
          with less; flags as in the entry of your client
  ahma_mcp run --learn -- make
          asks what to allow, one refusal after the other, and prints the flags in the end

The exit code is that of the command; 128 and the number of a signal that ended it; 125 when it could not be run at all.";

/// Runs a command as an agent's would run, and says what the sandbox refused.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct RunArgs {
    /// When something is refused, ask whether to try again with it allowed; in the end, print the flags that were needed. Nothing is
    /// kept.
    #[arg(long)]
    pub(super) learn: bool,

    /// The directory the command is confined to. Default: as for the server.
    #[arg(long, value_name = "PATH")]
    sandbox_scope: Option<PathBuf>,

    /// Bundles of grants by their names.
    #[arg(long, value_name = "NAME,…")]
    profile: Vec<String>,

    /// One more path that it may read.
    #[arg(long, value_name = "PATH")]
    sandbox_read: Vec<PathBuf>,

    /// One more path that it may read and write.
    #[arg(long, value_name = "PATH")]
    sandbox_write: Vec<PathBuf>,

    /// One more path in the scope that it may not write.
    #[arg(long, value_name = "PATH")]
    protect: Vec<PathBuf>,

    /// A path that it may write although it is protected by default.
    #[arg(long, value_name = "PATH")]
    unprotect: Vec<PathBuf>,

    /// Whether it has a network.
    #[arg(long, value_enum)]
    network: Option<NetworkArg>,

    /// Whether it may run the programs in directories of your PATH below the home directory.
    #[arg(long, value_enum, value_name = "on|off")]
    user_path: Option<OnOff>,

    /// One more variable of your environment that it gets.
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<OsString>,

    /// The command: a program with its arguments, or one word that is a script.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) words: Vec<OsString>,
}

/// The words of a process that runs a command, with the flags of the server where those of the server are.
pub(super) fn with_flags_of_the_server(words: &[OsString], given: &ArgMatches) -> Vec<OsString> {
    let Some(("run", own)) = given.subcommand() else {
        return words.to_vec();
    };
    let Some((program, rest)) = words.split_first() else {
        return Vec::new();
    };
    let here = RunArgs::augment_args(ClapCommand::new("run"));
    let mut all = vec![program.clone()];
    for argument in here.get_arguments() {
        let id = argument.get_id().as_str();
        let is_given = own.value_source(id) == Some(ValueSource::CommandLine);
        let Some(flag) = argument.get_long().filter(|it| is_given && *it != "learn") else {
            continue;
        };
        for value in own.get_raw(id).into_iter().flatten() {
            let mut word = OsString::from(format!("--{flag}="));
            word.push(value);
            all.push(word);
        }
    }
    all.extend(rest.iter().cloned());
    all
}

/// The command as the script that a shell runs.
pub(super) fn script(words: &[OsString]) -> String {
    match words {
        [one] => one.to_string_lossy().into_owned(),
        words => shell_words::join(words.iter().map(|it| it.to_string_lossy())),
    }
}
