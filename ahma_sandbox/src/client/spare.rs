//! A host process that has done its groundwork and waits for a policy.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::spawner::start;
use crate::groundwork::Groundwork;
use crate::policy::SandboxPolicy;
use crate::socket;
use crate::wire::ToHost;

/// What it sees of the system's files is what was there when it started; so it does not wait for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(super) struct Spare {
    pub(super) child: Child,
    pub(super) connection: OwnedFd,
    groundwork: Groundwork,
    /// What was mounted on the machine when it started: it sees nothing that came later.
    mounts: Vec<u8>,
    since: Instant,
}

impl Spare {
    pub(super) fn start(program: &Path, groundwork: Groundwork) -> io::Result<Self> {
        let json = serde_json::to_vec(&groundwork)?;
        let (mounts, since) = (mounts()?, Instant::now());
        let (mut child, connection) = start(program)?;
        let message = ToHost::Groundwork(json).encode();
        if let Err(error) = socket::send(connection.as_fd(), &message, &[]) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(Spare {
            child,
            connection,
            groundwork,
            mounts,
            since,
        })
    }

    pub(super) fn fits(&mut self, policy: &SandboxPolicy) -> bool {
        self.groundwork.fits(policy) && self.is_fresh()
    }

    /// Whether it still waits, and the machine looks to it as it looks now.
    pub(super) fn is_fresh(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
            && self.since.elapsed() < LONGEST_WAIT
            && mounts().is_ok_and(|now| now == self.mounts)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the thread that starts hosts may wait, and the kernel answers at once"
)]
fn mounts() -> io::Result<Vec<u8>> {
    std::fs::read("/proc/self/mountinfo")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Network;

    fn waiting() -> Spare {
        let groundwork = Groundwork {
            network: Network::On,
            session: "/private/own".into(),
        };
        // A program that does not end; what it does does not matter here.
        Spare::start(Path::new("/usr/bin/yes"), groundwork).unwrap()
    }

    #[test]
    fn it_is_used_while_the_machine_is_as_it_was() {
        let policy = SandboxPolicy::new("/scope", "/private/other");
        let mut spare = waiting();
        assert!(spare.fits(&policy));
        let then = std::mem::take(&mut spare.mounts);
        assert!(!spare.fits(&policy), "something was mounted since");
        spare.mounts = then;
        assert!(spare.fits(&policy));
        spare.since -= LONGEST_WAIT;
        assert!(!spare.fits(&policy), "it has waited for too long");
        spare.since = Instant::now();
        assert!(spare.fits(&policy));
        spare.child.kill().unwrap();
        spare.child.wait().unwrap();
        assert!(!spare.fits(&policy), "it has ended");
    }
}
