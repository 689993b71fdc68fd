//! The sandbox host: a small process with one thread that confines itself and starts commands.
//!
//! It is the same program as the server, started again with one hidden argument before any runtime
//! exists. Its life: read the policy, move into namespaces, build the view and the Landlock ruleset,
//! install the filter, say what is enforced, serve until the server is gone. Where user namespaces
//! are not to be had it goes on without them and says what that leaves open.

mod descendants;
mod inherited;
mod launch;
mod namespaces;
#[cfg(target_arch = "x86_64")]
mod pid_ns_pool;
mod ruleset;
mod seccomp;
mod serve;
mod setup;
mod sys;
mod view;

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use self::launch::Launcher;
use self::namespaces::{Origin, Owner, SharedNetwork};
use self::setup::{NoNamespaces, Setup};
use self::sys::{Forked, Signals};
use crate::accepted_commands::AcceptedCommands;
use crate::error::{SetupFailure, SetupStep};
use crate::order::HostOrder;
use crate::policy::{Layer, SandboxPolicy};
use crate::prewarm::PrewarmSpec;
use crate::public_etc::PublicPath;
use crate::socket::{self, Received};
use crate::wire::{FURTHER, FromHost, HOST_ARGUMENT, ToHost};

/// Turns this process into a sandbox host when it was started as one, and then does not return.
///
/// To be called first in `main`, before any thread exists.
pub fn become_host_if_asked() {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == HOST_ARGUMENT)
    {
        let _ = run();
        sys::exit_now(0)
    }
}

/// An error means that not even a message to the server was possible; it sees the connection closed.
fn run() -> io::Result<Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let server = take_connection()?;
    let signals = Signals::block_all()?;
    // Two for every command that runs.
    crate::hardening::allow_many_descriptors();
    // Once here and not for every command: what is blocked cannot end this process.
    Signals::default_all();
    if let Some(umask) = std::env::args_os().nth(2) {
        crate::hardening::set_umask(&umask);
    }
    inherited::in_case_of_need();
    let (HostOrder { what: policy, etc }, mut handed) = match read_first(&server) {
        Ok(First::Policy(order, handed)) => (*order, handed),
        Ok(First::PrewarmSpec(order)) => run_prewarmed(&order, server, &signals),
        Err(failure) => {
            report_failure(&server, &failure);
            sys::exit_now(1)
        }
    };
    let why = if policy.without.contains(&Layer::Namespaces) {
        "left out by the policy".to_owned()
    } else {
        let Handed { accepted, network } = &mut handed;
        in_namespaces(&policy, &etc, &server, accepted, network.take(), &signals)
    };
    // A process of its own here too, so that both ways have the same shape.
    if let Ok(Forked::Child) = sys::fork_into(0) {
        host(
            setup::without_namespaces(&policy, &etc, &why),
            server,
            handed.accepted,
            &policy,
            &signals,
        );
    }
    wait_for_host()
}

/// Takes the connection off standard input and closes everything else that was inherited.
fn take_connection() -> io::Result<OwnedFd> {
    let above = 3 + FURTHER as i32;
    let connection = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), above)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let null = rustix::io::fcntl_dupfd_cloexec(null, above)?;
    // Below `above` the host keeps nothing: a command gets its descriptors at these numbers, and none
    // must stand in the way of another.
    let mut kept = vec![std::os::fd::AsRawFd::as_raw_fd(&connection)];
    for number in [0, 1].into_iter().chain(3..above) {
        sys::place_descriptor(null.as_fd(), number)?;
        kept.push(number);
    }
    drop(null);
    sys::close_all_but(&kept)?;
    Ok(connection)
}

/// What comes with a policy.
struct Handed {
    accepted: AcceptedCommands,
    /// The network of another host of the same scope.
    network: Option<SharedNetwork>,
}

/// What the server says first.
enum First {
    Policy(Box<HostOrder<SandboxPolicy>>, Handed),
    PrewarmSpec(HostOrder<PrewarmSpec>),
}

fn read_first(server: &OwnedFd) -> Result<First, SetupFailure> {
    let failed = |detail: String| SetupFailure::new(SetupStep::Policy, detail);
    let mut buffer = Vec::new();
    match socket::receive(server.as_fd(), &mut buffer).map_err(|error| failed(error.to_string()))? {
        Received::Packet(bytes, fds) => match ToHost::decode(&bytes) {
            Ok(ToHost::Policy(json)) => {
                let order: HostOrder<SandboxPolicy> =
                    serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?;
                check_paths(&order.what)?;
                let mut fds = fds.into_iter();
                let accepted = fds.next();
                let accepted =
                    accepted.ok_or_else(|| failed("the accepted is missing".to_owned()))?;
                let network = match (fds.next(), fds.next()) {
                    (Some(users), Some(network)) => Some(SharedNetwork { users, network }),
                    _ => None,
                };
                let accepted = AcceptedCommands::of(accepted);
                let handed = Handed { accepted, network };
                Ok(First::Policy(Box::new(order), handed))
            }
            Ok(ToHost::PrewarmSpec(json)) => {
                let prewarm = serde_json::from_slice(&json);
                let prewarm = prewarm.map_err(|error| failed(error.to_string()))?;
                Ok(First::PrewarmSpec(prewarm))
            }
            Ok(_) => Err(failed("the first message is no policy".to_owned())),
            Err(error) => Err(failed(error.to_string())),
        },
        Received::Closed => Err(failed("the server is gone".to_owned())),
    }
}

/// Does what can be done before the policy comes, and then becomes the host for it. When anything goes wrong this
/// process ends: the server sees that, and starts one that knows its policy from the beginning.
fn run_prewarmed(order: &HostOrder<PrewarmSpec>, server: OwnedFd, signals: &Signals) -> ! {
    let HostOrder { what: prewarm, etc } = order;
    // Inside, the process has no ids until they are mapped; so they are looked up here.
    let owner = Owner::of_this_process();
    match sys::fork_into(namespaces::flags(prewarm.network)) {
        Ok(Forked::Parent(_)) => wait_for_host(),
        Ok(Forked::Child) => {}
        Err(_) => sys::exit_now(1),
    }
    let Ok(frame) = setup::prepare(prewarm, etc, owner) else {
        sys::exit_now(1)
    };
    let Ok(First::Policy(order, handed)) = read_first(&server) else {
        sys::exit_now(1)
    };
    let policy = order.what;
    if !prewarm.fits(&policy) || handed.network.is_some() {
        sys::exit_now(1)
    }
    match setup::in_frame(&policy, frame) {
        Ok(setup) => host(Ok(setup), server, handed.accepted, &policy, signals),
        Err(_) => sys::exit_now(1),
    }
}

/// A missing path would quietly be left out by some of the layers; so it ends the setup.
fn check_paths(policy: &SandboxPolicy) -> Result<(), SetupFailure> {
    let private = [policy.home(), policy.temporary()];
    let all = policy
        .read
        .iter()
        .chain(&policy.write)
        .chain(&private)
        .chain([&policy.scope]);
    for path in all {
        let unusable = |error: io::Error| {
            SetupFailure::new(SetupStep::Paths, format!("{}: {error}", path.display()))
        };
        path.metadata().map_err(unusable)?;
    }
    Ok(())
}

/// Runs the host in namespaces. Returns only when that is not possible, with the reason; nothing ran
/// then.
fn in_namespaces(
    policy: &SandboxPolicy,
    etc: &[PublicPath],
    server: &OwnedFd,
    accepted: &AcceptedCommands,
    network: Option<SharedNetwork>,
    signals: &Signals,
) -> String {
    let (told, tell) = match pipe_with(PipeFlags::CLOEXEC) {
        Ok(pipe) => pipe,
        Err(error) => return error.to_string(),
    };
    // Inside, the process has no ids until they are mapped; so they are looked up here.
    let owner = Owner::of_this_process();
    let (flags, origin) = match network {
        None => {
            let origin = Origin::New(owner, policy.network);
            (namespaces::flags(policy.network), origin)
        }
        Some(network) => match network.join() {
            Ok(flags) => (flags, Origin::Joined),
            // The other host has namespaces, so this one must have them too.
            Err(error) => {
                report_failure(server, &SetupFailure::new(SetupStep::Process, error));
                sys::exit_now(1)
            }
        },
    };
    match sys::fork_into(flags) {
        Ok(Forked::Parent(_)) => {
            drop(tell);
            let complaint = read_to_end(&told);
            if complaint.as_deref() == Some("") {
                wait_for_host();
            }
            let _ = waitpid(None, WaitOptions::empty());
            complaint.unwrap_or_else(|| "the host ended early".to_owned())
        }
        Ok(Forked::Child) => {
            drop(told);
            match setup::in_namespaces(policy, etc, origin) {
                Ok(setup) => {
                    // Closing it without a word means: all is well.
                    drop(tell);
                    match (server.try_clone(), accepted.try_clone()) {
                        (Ok(server), Ok(accepted)) => {
                            host(Ok(setup), server, accepted, policy, signals)
                        }
                        _ => sys::exit_now(1),
                    }
                }
                Err(NoNamespaces::NotAllowed(why)) => {
                    let _ = rustix::io::write(&tell, why.as_bytes());
                    sys::exit_now(1)
                }
                Err(NoNamespaces::Failed(failure)) => {
                    drop(tell);
                    report_failure(server, &failure);
                    sys::exit_now(1)
                }
            }
        }
        // What a machine says that has no user namespaces, or allows no more. Anything else, such as a
        // lack of memory, passes; a host with fewer layers would stay.
        Err(error) if is_refusal(&error) => format!("no user namespace: {error}"),
        Err(error) => {
            report_failure(server, &SetupFailure::new(SetupStep::Process, error));
            sys::exit_now(1)
        }
    }
}

fn is_refusal(error: &io::Error) -> bool {
    let refusals = [
        libc::EPERM,
        libc::ENOSYS,
        libc::EINVAL,
        libc::ENOSPC,
        libc::EUSERS,
    ];
    error
        .raw_os_error()
        .is_some_and(|errno| refusals.contains(&errno))
}

fn read_to_end(fd: &OwnedFd) -> Option<String> {
    let mut text = Vec::new();
    let mut buffer = [0; 512];
    loop {
        match rustix::io::read(fd, &mut buffer) {
            Ok(0) => return String::from_utf8(text).ok(),
            Ok(length) => text.extend(&buffer[..length]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// The process around the host only waits for it, then ends: the pid namespace needs a parent
/// outside.
fn wait_for_host() -> ! {
    let _ = sys::close_from(3);
    let _ = waitpid(None, WaitOptions::empty());
    sys::exit_now(0)
}

/// The host proper, from its confinement to its end.
fn host(
    setup: Result<Setup, SetupFailure>,
    server: OwnedFd,
    accepted: AcceptedCommands,
    policy: &SandboxPolicy,
    signals: &Signals,
) -> ! {
    let confined = setup.and_then(|setup| {
        setup.confine()?;
        Ok(setup)
    });
    match confined {
        Ok(setup) => {
            let report = serde_json::to_vec(&setup.report).unwrap_or_default();
            let ready = FromHost::Ready(report).encode();
            let made = setup.made_network.iter();
            let made = made.flat_map(|it| [it.users.as_fd(), it.network.as_fd()]);
            let told = socket::send(server.as_fd(), &ready, &made.collect::<Vec<_>>());
            // Nobody but the server needs it.
            drop(setup.made_network);
            if told.is_err() {
                sys::exit_now(1)
            }
            let launcher = Launcher {
                ruleset: setup.ruleset,
                limits: policy.limits,
                limited_by: policy.limited_by.clone(),
                pid_namespaces: setup.pid_namespaces,
                counts_processes: setup.counts_processes,
                launch: policy.launch,
                server,
            };
            let _ = serve::serve(&launcher, accepted, signals);
        }
        Err(failure) => report_failure(&server, &failure),
    }
    sys::exit_now(0)
}

fn report_failure(server: &OwnedFd, failure: &SetupFailure) {
    let json = serde_json::to_vec(failure).unwrap_or_default();
    let _ = socket::send(server.as_fd(), &FromHost::SetupFailed(json).encode(), &[]);
}
