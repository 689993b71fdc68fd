//! Putting the layers together, and saying honestly which of them hold.

use std::os::fd::OwnedFd;

use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_no_new_privs};

use super::inherited;
use super::launch::counts_processes;
use super::namespaces::{self, Origin, Owner, SharedNetwork};
use super::ruleset::{self, Surroundings};
use super::seccomp::{self, Cover};
use super::sys;
use super::view::{self, ViewError, WaitingFrame};
use crate::error::{SetupFailure, SetupStep};
use crate::policy::{Layer, LimitedBy, Limits, Network, SandboxPolicy};
use crate::prewarm::PrewarmSpec;
use crate::public_etc::PublicPath;
use crate::report::{LayerReport, NetworkReach, SandboxReport};

/// A host that is ready to be confined.
pub(super) struct Setup {
    pub(super) ruleset: Option<OwnedFd>,
    pub(super) pid_namespaces: bool,
    /// Whether the kernel counts the processes of each command for itself.
    pub(super) counts_processes: bool,
    pub(super) report: SandboxReport,
    /// The network that this host made and others may enter.
    pub(super) made_network: Option<SharedNetwork>,
    cover: Option<Cover>,
    attempt: Option<LandlockAttempt>,
}

const NAMESPACE_GAP: &str = "commands can see which files exist outside the scope and change times, \
     modes and attributes of the operator's own files there; temporary directories and shared \
     memory are not separate; protected paths in the scope can be written";
const READ_ONLY_GAP: &str = "; modes, times and attributes of files can be changed although nothing may be \
     written";
const PID_GAP: &str = "processes of a command are found by walking /proc, without a guarantee of the \
     kernel";

/// Why a host does not live in namespaces.
pub(super) enum NoNamespaces {
    /// The machine does not allow it; the caller goes on without.
    NotAllowed(String),
    /// Something went wrong that must not be worked around: a command could have caused it.
    Failed(SetupFailure),
}

/// Inside fresh namespaces: ids, view, ruleset.
pub(super) fn in_namespaces(
    policy: &SandboxPolicy,
    etc: &[PublicPath],
    origin: Origin,
) -> Result<Setup, NoNamespaces> {
    let network = arrive(origin)?;
    let outcome = view::enter(policy, etc)?;
    in_view(policy, outcome, network)
}

/// Inside fresh namespaces: ids, and the part of the view that does not depend on a policy.
pub(super) fn prepare(
    prewarm: &PrewarmSpec,
    etc: &[PublicPath],
    owner: Owner,
) -> Result<(WaitingFrame, NetworkOfHost), NoNamespaces> {
    let network = arrive(Origin::New(owner, prewarm.network))?;
    let frame = WaitingFrame::prepare(&prewarm.private_dir, etc)?;
    Ok((frame, network))
}

/// The rest: view, ruleset.
pub(super) fn in_frame(
    policy: &SandboxPolicy,
    (frame, network): (WaitingFrame, NetworkOfHost),
) -> Result<Setup, NoNamespaces> {
    let outcome = frame.enter(policy)?;
    in_view(policy, outcome, network)
}

/// The network that the commands of a host in namespaces have.
pub(super) enum NetworkOfHost {
    /// That of the machine.
    Machine,
    /// A private one, with a loopback. With what others need to enter it, where this host made it.
    Private(Option<SharedNetwork>),
    /// A private one whose loopback does not work.
    Useless,
}

/// Makes fresh namespaces a place to be.
fn arrive(origin: Origin) -> Result<NetworkOfHost, NoNamespaces> {
    let not_allowed = |error: std::io::Error| NoNamespaces::NotAllowed(error.to_string());
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| not_allowed(error.into()))?;
    if let Origin::New(owner, _) = origin {
        namespaces::map_ids(owner).map_err(not_allowed)?;
    }
    namespaces::forbid_nesting().map_err(not_allowed)?;
    namespaces::bound_counters().map_err(not_allowed)?;
    Ok(match origin {
        Origin::New(_, Network::On) => NetworkOfHost::Machine,
        Origin::Joined => NetworkOfHost::Private(None),
        Origin::New(_, Network::Off) => {
            let made = namespaces::start_loopback();
            match made.and_then(|()| SharedNetwork::of_this_process()) {
                Ok(network) => NetworkOfHost::Private(Some(network)),
                Err(_) => NetworkOfHost::Useless,
            }
        }
    })
}

impl From<ViewError> for NoNamespaces {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::NotAllowed(why) => NoNamespaces::NotAllowed(why),
            ViewError::Broken(why) => NoNamespaces::Failed(SetupFailure::new(SetupStep::View, why)),
        }
    }
}

fn in_view(
    policy: &SandboxPolicy,
    outcome: view::Outcome,
    network: NetworkOfHost,
) -> Result<Setup, NoNamespaces> {
    let view::Outcome {
        missing,
        protected,
        seeded,
    } = outcome;
    let mut gaps: Vec<String> = Vec::new();
    let counting = match (&missing.proc, counts_processes()) {
        (None, true) => Ok(()),
        (None, false) => Err("Linux counts them for each command only since 6.14"),
        (Some(_), _) => Err("commands have no /proc of their own, where they are counted"),
    };
    if let Some(error) = missing.proc {
        gaps.push(format!("commands have no /proc of their own ({error})"));
    }
    if let Some(error) = missing.pseudo_terminals {
        gaps.push(format!("commands have no pseudo-terminals ({error})"));
    }
    let reach = match &network {
        NetworkOfHost::Machine => NetworkReach::Machine,
        NetworkOfHost::Private(_) => NetworkReach::Loopback,
        NetworkOfHost::Useless => NetworkReach::Nothing,
    };
    let namespaces = match gaps.as_slice() {
        [] => LayerReport::enforced(Layer::Namespaces),
        gaps => LayerReport::with_gap(Layer::Namespaces, true, gaps.join("; ")),
    };
    let pid_namespace = LayerReport::enforced(Layer::PidNamespace);
    let layers = vec![namespaces, pid_namespace];
    let mut setup = assemble(policy, Surroundings::View(reach), layers, counting)
        .map_err(NoNamespaces::Failed)?;
    if let NetworkOfHost::Private(made) = network {
        setup.made_network = made;
    }
    setup.report.protected = protected;
    setup.report.seeded = seeded;
    Ok(setup)
}

/// On the machine's own file system: Landlock, filter and hygiene only.
pub(super) fn without_namespaces(
    policy: &SandboxPolicy,
    etc: &[PublicPath],
    why: &str,
) -> Result<Setup, SetupFailure> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| SetupFailure::new(SetupStep::Process, error))?;
    let read_only = if policy.read_only { READ_ONLY_GAP } else { "" };
    let gap = format!("{NAMESPACE_GAP}{read_only} ({why})");
    let layers = vec![
        LayerReport::with_gap(Layer::Namespaces, false, gap),
        LayerReport::with_gap(Layer::PidNamespace, false, format!("{PID_GAP} ({why})")),
    ];
    let counting = Err("there are no pid namespaces to count them in");
    assemble(policy, Surroundings::Machine(etc), layers, counting)
}

fn assemble(
    policy: &SandboxPolicy,
    surroundings: Surroundings<'_>,
    namespaces: Vec<LayerReport>,
    counting: Result<(), &str>,
) -> Result<Setup, SetupFailure> {
    let in_view = matches!(surroundings, Surroundings::View(_));
    let is_filtered = !policy.without.contains(&Layer::Seccomp);
    let network = match surroundings.network(policy) {
        // Nothing else would refuse it.
        NetworkReach::Nothing if !in_view && !is_filtered => NetworkReach::Machine,
        network => network,
    };
    let mut layers = Vec::new();
    let mut abi = None;
    let mut attempt = None;
    let ruleset = if policy.without.contains(&Layer::Landlock) {
        layers.push(LayerReport::with_gap(
            Layer::Landlock,
            false,
            "left out by the policy",
        ));
        None
    } else {
        let known =
            sys::landlock_abi().map_err(|error| SetupFailure::new(SetupStep::Landlock, error))?;
        let known = policy
            .newest_landlock
            .map_or(known, |newest| known.min(newest));
        abi = Some(known);
        let ruleset = ruleset::build(policy, surroundings)
            .map_err(|error| SetupFailure::new(SetupStep::Landlock, error))?;
        attempt = Some(LandlockAttempt::begin(&ruleset)?);
        layers.push(landlock_report(known, in_view, policy));
        Some(ruleset)
    };
    layers.push(hygiene_report(policy, counting));
    let cover = is_filtered.then_some(Cover {
        internet: network != NetworkReach::Nothing,
        namespaces: in_view,
        landlock_truncates: abi.is_some_and(|abi| abi >= 3),
    });
    layers.push(match cover {
        Some(_) => LayerReport::enforced(Layer::Seccomp),
        None => LayerReport::with_gap(Layer::Seccomp, false, "left out by the policy"),
    });
    layers.extend(namespaces);
    Ok(Setup {
        ruleset,
        pid_namespaces: in_view,
        counts_processes: counting.is_ok(),
        report: SandboxReport {
            backend: "landlock".to_owned(),
            landlock_abi: abi,
            layers,
            protected: Vec::new(),
            seeded: Vec::new(),
            network,
        },
        made_network: None,
        cover,
        attempt,
    })
}

/// What the limits leave open. `counting` is why the processes of a command cannot be counted, if so.
fn hygiene_report(policy: &SandboxPolicy, counting: Result<(), &str>) -> LayerReport {
    let LimitedBy::ProcessOnly(reason) = &policy.limited_by else {
        return LayerReport::enforced(Layer::Hygiene);
    };
    let mut gaps = Vec::new();
    if let Some(bytes) = policy.limits.memory_bytes {
        let most = bytes >> 20;
        gaps.push(format!(
            "the limit of {most} MiB memory is that of each process, not of all together: {reason}"
        ));
    }
    let most = policy.limits.processes;
    let unusual = most.filter(|_| most != Limits::default().processes);
    if let (Some(most), Err(why)) = (unusual, counting) {
        gaps.push(format!(
            "the limit of {most} processes is not enforced: {why}, and {reason}"
        ));
    }
    match gaps.as_slice() {
        [] => LayerReport::enforced(Layer::Hygiene),
        gaps => LayerReport::with_gap(Layer::Hygiene, true, gaps.join("; ")),
    }
}

/// A child that enters the domain: only that shows whether commands will be able to. It does so while the host goes on.
struct LandlockAttempt(rustix::process::Pid);

impl LandlockAttempt {
    fn begin(ruleset: &OwnedFd) -> Result<Self, SetupFailure> {
        use std::os::fd::AsFd as _;
        let failed = |error: std::io::Error| SetupFailure::new(SetupStep::Landlock, error);
        match sys::fork_into(0).map_err(failed)? {
            sys::Forked::Child => {
                let entered = set_no_new_privs(true)
                    .map_err(std::io::Error::from)
                    .and_then(|()| sys::enter_landlock(ruleset.as_fd()));
                let code = entered
                    .err()
                    .and_then(|error| error.raw_os_error())
                    .unwrap_or(0);
                sys::exit_now(code)
            }
            sys::Forked::Parent(child) => Ok(LandlockAttempt(child)),
        }
    }

    fn succeeded(&self) -> Result<(), SetupFailure> {
        let failed = |what: String| SetupFailure::new(SetupStep::Landlock, what);
        let status = rustix::process::waitpid(Some(self.0), rustix::process::WaitOptions::empty());
        let code = status
            .ok()
            .flatten()
            .and_then(|(_, status)| status.exit_status());
        match code {
            Some(0) => Ok(()),
            Some(libc::E2BIG) => Err(failed(
                "too many sandboxes around this one: the kernel allows 16 Landlock layers"
                    .to_owned(),
            )),
            Some(errno) => Err(failed(std::io::Error::from_raw_os_error(errno).to_string())),
            None => Err(failed("the attempt did not end".to_owned())),
        }
    }
}

/// What older versions of Landlock do not cover, unless another layer does.
fn landlock_report(abi: u32, in_view: bool, policy: &SandboxPolicy) -> LayerReport {
    let mut gaps = Vec::new();
    if abi < 2 {
        gaps.push("files cannot be moved between directories");
    }
    if abi < 3 && policy.without.contains(&Layer::Seccomp) {
        gaps.push("files outside the scope can be emptied");
    }
    if abi < 3 && !in_view {
        gaps.push("files of the operator that can be read can be emptied");
    }
    if abi < 6 && !in_view {
        gaps.push("commands can signal the operator's other processes");
    }
    if abi < 6 && in_view && policy.network == Network::On {
        gaps.push("commands can use abstract sockets of other programs");
    }
    if abi < 9 && in_view && !policy.read.is_empty() {
        gaps.push("commands can use sockets in directories that are granted for reading");
    }
    match gaps.as_slice() {
        [] => LayerReport::enforced(Layer::Landlock),
        gaps => LayerReport::with_gap(Layer::Landlock, true, gaps.join("; ")),
    }
}

impl Setup {
    /// The last steps: what the host itself gives up, for itself and everything below it.
    pub(super) fn confine(&self) -> Result<(), SetupFailure> {
        let process = |error: rustix::io::Errno| SetupFailure::new(SetupStep::Process, error);
        // Commands run as the same user; they must not look into the host.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(process)?;
        for capability in CapabilitySet::all().iter() {
            // Not every kernel knows every capability, and without privilege there is none to drop.
            let _ = remove_capability_from_bounding_set(capability);
        }
        set_no_new_privs(true).map_err(process)?;
        // Before the filter, which lets nobody change it any more.
        inherited::no_core_dumps();
        if let Some(cover) = self.cover {
            let program = seccomp::build(cover)
                .map_err(|error| SetupFailure::new(SetupStep::Seccomp, error))?;
            seccomp::install(&program)
                .map_err(|error| SetupFailure::new(SetupStep::Seccomp, error))?;
        }
        self.attempt
            .as_ref()
            .map_or(Ok(()), LandlockAttempt::succeeded)
    }
}
