//! What commands may do: plain data, decided by the operator before anything runs.
//!
//! Nothing here reads the file system; [`scope`](crate::scope) judges paths.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Everything a sandbox host needs to know. A host never changes its policy: another policy means
/// another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// The directory commands work in: they read, write and execute below it.
    pub scope: PathBuf,
    /// A private directory of this host, outside every scope, with `home` and `tmp` in it.
    pub private_dir: PathBuf,
    /// Where commands have their home, when that is not in the private directory: it is theirs like the one there, and outlives it.
    pub kept_home: Option<PathBuf>,
    /// Further paths commands may read and execute.
    pub read: Vec<PathBuf>,
    /// Further paths commands may read, write and execute.
    pub write: Vec<PathBuf>,
    /// Those of them in which nothing but files and directories can be made: programs outside would follow a link there.
    pub without_links: Vec<PathBuf>,
    /// Those of them that hold what has to be protected: where no path can be, they can only be read.
    pub write_in_view: Vec<PathBuf>,
    /// Paths in the scope, or in what is granted for writing, that commands may not write. Those that
    /// do not exist when a host starts are not protected by it.
    pub protect: Vec<PathBuf>,
    /// Further such paths, without the directories on the way to them: those can be moved, and what is put in their place
    /// is not protected. Meant for many that lie deep.
    pub protect_in_place: Vec<PathBuf>,
    /// Caches in the private home that begin with what the user's hold. Where that is not possible they
    /// begin empty.
    pub seeds: Vec<Seed>,
    /// Whether commands may write nothing but temporary files, whatever is granted above.
    pub read_only: bool,
    /// Whether commands have a network.
    pub network: Network,
    /// Upper limits of each command.
    pub limits: Limits,
    /// What keeps those of memory and processes. Found out when a host starts, whatever is said here.
    pub limited_by: LimitedBy,
    /// How commands are started. It changes their speed, not what they may do.
    pub launch: Launch,
    /// Layers that are left out on purpose, to see what the others do alone.
    pub without: Vec<Layer>,
    /// The newest version of Landlock that is used, to see what an older kernel would do.
    pub newest_landlock: Option<u32>,
}

impl SandboxPolicy {
    /// The usual policy for a scope: network, no further grants, every layer.
    pub fn new(scope: impl Into<PathBuf>, private_dir: impl Into<PathBuf>) -> Self {
        SandboxPolicy {
            scope: scope.into(),
            private_dir: private_dir.into(),
            kept_home: None,
            read: Vec::new(),
            write: Vec::new(),
            without_links: Vec::new(),
            write_in_view: Vec::new(),
            protect: Vec::new(),
            protect_in_place: Vec::new(),
            seeds: Vec::new(),
            read_only: false,
            network: Network::On,
            limits: Limits::default(),
            limited_by: LimitedBy::default(),
            launch: Launch::Cells,
            without: Vec::new(),
            newest_landlock: None,
        }
    }

    /// The same without the kernel's confinement: what runs is still ended as a whole.
    #[must_use]
    pub fn unconfined(mut self) -> Self {
        self.without = vec![
            Layer::Landlock,
            Layer::Seccomp,
            Layer::Namespaces,
            Layer::PidNamespace,
            Layer::Seatbelt,
        ];
        self
    }

    /// Where commands have their home directory.
    pub fn home(&self) -> PathBuf {
        let own = || self.private_dir.join("home");
        self.kept_home.clone().unwrap_or_else(own)
    }

    /// What commands may write: granted paths, the scope, and private directories.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        let all = self.write.iter().chain([&self.scope]).cloned();
        let all = all.chain([self.home()]).filter(|_| !self.read_only);
        all.chain([self.temporary()]).collect()
    }

    /// Where commands put temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.private_dir.join("tmp")
    }
}

/// A cache of the user's, and the private one that begins with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// The user's: a real path, out of reach of commands.
    pub from: PathBuf,
    /// The private one, in the home of commands.
    pub to: PathBuf,
}

/// How commands are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Launch {
    /// From prepared cells: pid namespaces in which a confined process already waits for its program.
    /// Where they are not to be had (no namespaces, not x86-64) the same as `Fork`.
    Cells,
    /// By forking the host for every command.
    Fork,
}

/// Whether commands have a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// That of the machine.
    On,
    /// None at all.
    Off,
}

/// What keeps the limits of memory and processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitedBy {
    /// Limits of each process, and the kernel's count of processes in a pid namespace.
    #[default]
    Process,
    /// A cgroup of each command's own, for everything in it together.
    Cgroup,
    /// As `Process`, because there are no cgroups to be had; with the reason.
    ProcessOnly(String),
}

/// Upper limits of one command and everything it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Open files of each process.
    pub open_files: u64,
    /// Size of each file written, in bytes.
    pub file_bytes: u64,
    /// Memory, in bytes; none means no limit. Of all processes together where there are cgroups, else the address space of each
    /// of them, and the report says so.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at the same time; none means no limit. Exact where there are cgroups, or where the kernel counts
    /// them for each pid namespace (Linux 6.14); elsewhere the report says so.
    pub processes: Option<u32>,
}

impl Limits {
    /// Whether a command gets less than others.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "there are no cgroups elsewhere")
    )]
    pub(crate) fn are_unusual(&self) -> bool {
        self.memory_bytes.is_some() || self.processes != Limits::default().processes
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            open_files: 4096,
            file_bytes: 8 << 30,
            memory_bytes: None,
            processes: Some(4096),
        }
    }
}

/// One layer of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// L1: a Landlock domain of its own for every command.
    Landlock,
    /// L2: clean environment, closed descriptors, own session, no capabilities, resource limits.
    Hygiene,
    /// L3: a seccomp filter.
    Seccomp,
    /// L4: a view of the file system in which outside paths do not exist, and other namespaces.
    Namespaces,
    /// L5: a pid namespace of its own for every command.
    PidNamespace,
    /// On macOS, in place of L1 and L3 to L5: a Seatbelt profile.
    Seatbelt,
}
