//! A host process that has done its prewarm and waits for a policy.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::child::{await_end, start};
use crate::order::HostOrder;
use crate::prewarm::PrewarmSpec;
use crate::public_etc::PublicPath;
use crate::socket;
use crate::wire::ToHost;

/// It does not wait for longer: until it has a policy it holds on to what is mounted on the machine.
const MAX_WAIT: Duration = Duration::from_secs(10);

pub(super) struct StandbyHost {
    pub(super) child: Child,
    pub(super) connection: OwnedFd,
    pub(super) prewarm: PrewarmSpec,
    /// What commands may read of `/etc`, as it was when it started.
    pub(super) etc: Arc<[PublicPath]>,
    /// What was mounted on the machine when it started: it sees nothing that came later.
    mounts: Vec<u8>,
    since: Instant,
}

impl StandbyHost {
    pub(super) fn start(
        program: &Path,
        prewarm: PrewarmSpec,
        etc: Arc<[PublicPath]>,
    ) -> io::Result<Self> {
        let json = serde_json::to_vec(&HostOrder {
            what: &prewarm,
            etc: &*etc,
        })?;
        let (mounts, since) = (mounts()?, Instant::now());
        let (mut child, connection) = start(program)?;
        let message = ToHost::PrewarmSpec(json).encode();
        if let Err(error) = socket::send(connection.as_fd(), &message, &[]) {
            let _ = child.kill();
            await_end(child, None);
            return Err(error);
        }
        Ok(StandbyHost {
            child,
            connection,
            prewarm,
            etc,
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
        MAX_WAIT.saturating_sub(self.since.elapsed())
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
    struct Waiting(StandbyHost);

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.child.kill();
            let _ = self.0.child.wait();
        }
    }

    fn waiting() -> Waiting {
        let prewarm = PrewarmSpec {
            network: Network::On,
            private_dir: "/private/own".into(),
        };
        // A program that does not end, whatever its arguments are.
        Waiting(StandbyHost::start(Path::new("/usr/bin/yes"), prewarm, Arc::new([])).unwrap())
    }

    /// Proves: S49.
    #[test]
    fn it_is_used_while_the_machine_is_as_it_was() {
        let mut waiting = waiting();
        let standby = &mut waiting.0;
        assert!(standby.is_fresh());
        let then = std::mem::take(&mut standby.mounts);
        assert!(!standby.is_fresh(), "something was mounted since");
        standby.mounts = then;
        assert!(standby.is_fresh());
        standby.since -= MAX_WAIT;
        assert!(!standby.is_fresh(), "it has waited for too long");
        standby.since = Instant::now();
        assert!(standby.is_fresh());
        standby.child.kill().unwrap();
        standby.child.wait().unwrap();
        assert!(!standby.is_fresh(), "it has ended");
    }
}
