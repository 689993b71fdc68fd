//! From a fresh process to the confined program. The order matters; see each step.

use std::io;
use std::os::fd::AsFd as _;

use rustix::process::{Resource, Rlimit, chdir, setrlimit, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::{AtStep as _, ENTER_CGROUP, Failure, Job, Launcher, candidates, resource_limits};
use crate::error::LaunchStep;
use crate::host::sys;

/// Becomes the program. Returns only when that failed; nothing of the program has run then.
pub(super) fn become_program(launcher: &Launcher, job: &Job) -> Failure {
    match prepare(launcher, job) {
        Ok(()) => execute(job),
        Err(failure) => failure,
    }
}

fn prepare(launcher: &Launcher, job: &Job) -> Result<(), Failure> {
    // A session of its own: no controlling terminal to type into, and one group to signal.
    setsid().at(LaunchStep::Session)?;
    sys::place_descriptor(job.input.as_fd(), 0).at(LaunchStep::Stdio)?;
    // One pipe for both, unless they are wanted apart: so the output is in the order it was written.
    let errors = job.errors.as_ref().unwrap_or(&job.output);
    sys::place_descriptor(job.output.as_fd(), 1).at(LaunchStep::Stdio)?;
    sys::place_descriptor(errors.as_fd(), 2).at(LaunchStep::Stdio)?;
    chdir(job.request.directory.as_c_str()).at(LaunchStep::WorkingDirectory)?;
    if let Some(cgroup) = &job.cgroup {
        rustix::io::write(cgroup, ENTER_CGROUP).at(LaunchStep::Limits)?;
    }
    for (resource, most) in resource_limits(launcher) {
        limit(resource, most).at(LaunchStep::Limits)?;
    }
    // Before Landlock, which wants it of a process without capabilities.
    set_no_new_privs(true).at(LaunchStep::NoNewPrivileges)?;
    if let Some(ruleset) = &launcher.ruleset {
        sys::enter_landlock(ruleset.as_fd()).at(LaunchStep::Landlock)?;
    }
    drop_capabilities().at(LaunchStep::Capabilities)?;
    // After the last use of any descriptor of the host.
    sys::close_on_exec_from(3).at(LaunchStep::Descriptors)?;
    for (fd, number) in job.further.iter().zip(3..) {
        sys::place_descriptor(fd.as_fd(), number).at(LaunchStep::Stdio)?;
    }
    sys::Signals::unblock_all().at(LaunchStep::Signals)
}

fn execute(job: &Job) -> Failure {
    let request = &job.request;
    let mut refused: Option<io::Error> = None;
    for program in candidates(request) {
        let error = sys::execute(&program, &request.arguments, &request.environment);
        match error.raw_os_error() {
            // As a shell does: look further, but remember that something was there.
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => refused = Some(error),
            _ => {
                return Failure {
                    step: LaunchStep::Execute,
                    error,
                };
            }
        }
    }
    Failure {
        step: LaunchStep::Execute,
        error: refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOENT)),
    }
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(resource, limit)?)
}

fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    Ok(set_capabilities(None, sets)?)
}
