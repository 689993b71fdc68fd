//! What commands can see and do, as the explanation needs to know it. Plain data, and the two questions that may be asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether commands have a network, and who decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// They have one.
    On,
    /// The owner started the server without.
    OffByOwner,
    /// The tool file says so.
    OffByToolFile,
}

/// Upper limits of a command. None: there is no such limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Memory of each process, in MiB. Only tool files set it.
    pub memory_mb: Option<u64>,
    /// Processes at the same time. Only tool files set it.
    pub processes: Option<u64>,
    /// The size of a single file, in bytes.
    pub file_bytes: Option<u64>,
    /// Files held open by one process.
    pub open_files: Option<u64>,
}

/// What a command has of the machine.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The directory commands work in.
    pub scope: &'a Path,
    /// The home that commands have of their own.
    pub private_home: &'a Path,
    /// Their directory for temporary files.
    pub private_tmp: &'a Path,
    /// The home of the user whom the server belongs to.
    pub user_home: Option<&'a Path>,
    /// Whether that user is root.
    pub is_root: bool,
    /// Whether there is a network.
    pub network: Network,
    /// Whether the tool file lets the command write nothing.
    pub read_only: bool,
    /// Whether `network`, `read_only` and `limits` are all there is: otherwise a tool file may restrict more than is known
    /// here, and the explanation infers it from what happened.
    pub restrictions_known: bool,
    /// Further paths that can be read.
    pub grants_read: &'a [PathBuf],
    /// Further paths that can be read and written.
    pub grants_write: &'a [PathBuf],
    /// Paths that can be read and not written, in what can be written otherwise.
    pub protected: &'a [PathBuf],
    /// What every command can read of the system, `/proc` and `/dev` aside.
    pub readable: &'a [PathBuf],
    /// Upper limits.
    pub limits: Limits,
    /// How long the command was allowed to take.
    pub deadline: Option<Duration>,
}

/// What is known of a path that commands can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Nobody looked.
    Unknown,
    /// It is there.
    There,
    /// It is not there.
    Missing,
    /// It is a link, or lies behind one, to a place that commands cannot see.
    LeadsTo(PathBuf),
}

/// What may be asked about the machine.
pub trait Lookup {
    /// Where the owner's own search path has a program. The one fact from outside that an explanation may depend on.
    fn program_on_operator_path(&self, name: &str) -> Option<PathBuf>;

    /// What is known of a path in the scope, in what was granted, or in what is readable of the system. It is never asked
    /// about other paths.
    fn inside(&self, path: &Path) -> Presence;
}
