//! A host process that has done its groundwork and waits for a policy.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::spawner::{await_end, start};
use crate::groundwork::Groundwork;
use crate::socket;
use crate::wire::ToHost;

/// It does not wait for longer: until it has a policy it holds on to what is mounted on the machine.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

pub(super) struct Spare {
    pub(super) child: Child,
    pub(super) connection: OwnedFd,
    pub(super) groundwork: Groundwork,
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
            await_end(child, None);
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

    /// Whether it still waits, and sees mounted what is mounted now.
    pub(super) fn is_fresh(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
            && !self.time_left().is_zero()
            && mounts().is_ok_and(|now| now == self.mounts)
    }

    /// For how long it may still wait.
    pub(super) fn time_left(&self) -> Duration {
        LONGEST_WAIT.saturating_sub(self.since.elapsed())
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

    /// Ended in any case.
    struct Waiting(Spare);

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.child.kill();
            let _ = self.0.child.wait();
        }
    }

    fn waiting() -> Waiting {
        let groundwork = Groundwork {
            network: Network::On,
            session: "/private/own".into(),
        };
        // A program that does not end, whatever its arguments are.
        Waiting(Spare::start(Path::new("/usr/bin/yes"), groundwork).unwrap())
    }

    #[test]
    fn it_is_used_while_the_machine_is_as_it_was() {
        let mut waiting = waiting();
        let spare = &mut waiting.0;
        assert!(spare.is_fresh());
        let then = std::mem::take(&mut spare.mounts);
        assert!(!spare.is_fresh(), "something was mounted since");
        spare.mounts = then;
        assert!(spare.is_fresh());
        spare.since -= LONGEST_WAIT;
        assert!(!spare.is_fresh(), "it has waited for too long");
        spare.since = Instant::now();
        assert!(spare.is_fresh());
        spare.child.kill().unwrap();
        spare.child.wait().unwrap();
        assert!(!spare.is_fresh(), "it has ended");
    }
}
