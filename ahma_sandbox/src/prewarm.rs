//! What a host can do before it knows its policy: most of its start is the same for every policy.
//!
//! Plain data, like [`policy`](crate::policy).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::policy::{Network, SandboxPolicy};

/// What has to be known for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrewarmSpec {
    /// As in the policy.
    pub network: Network,
    /// A private directory, out of reach of every command, that stays as long as a host may wait. A place in it is hidden
    /// for the host while it waits.
    pub private_dir: PathBuf,
}

impl PrewarmSpec {
    /// Whether a host for that policy can begin with it. If not, a host that knows its policy from the beginning does.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "there are no hosts elsewhere")
    )]
    pub(crate) fn fits(&self, policy: &SandboxPolicy) -> bool {
        let home = policy.home();
        let sources = policy.seeds.iter().map(|seed| &seed.from);
        let granted = policy.read.iter().chain(&policy.write);
        let mut all = granted
            .chain([&policy.scope, &policy.private_dir, &home])
            .chain(sources);
        // What it hides must not be something that a command is to see, or be below that.
        let hides = all
            .any(|path| path.starts_with(&self.private_dir) || self.private_dir.starts_with(path));
        policy.network == self.network && policy.without.is_empty() && !hides
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Layer, Seed};

    /// Proves: S49.
    #[test]
    fn it_fits_where_nothing_that_is_granted_is_hidden() {
        let prewarm = PrewarmSpec {
            network: Network::On,
            private_dir: "/private/own".into(),
        };
        let usual = SandboxPolicy::new("/scope", "/private/other");
        let with = |change: &dyn Fn(&mut SandboxPolicy)| {
            let mut policy = usual.clone();
            change(&mut policy);
            prewarm.fits(&policy)
        };
        assert!(with(&|_| {}));
        assert!(with(&|policy| policy.read.push("/private/another".into())));
        assert!(!with(&|policy| policy.network = Network::Off));
        assert!(!with(&|policy| policy.without.push(Layer::Seccomp)));
        assert!(!with(&|policy| policy.scope = "/private".into()));
        assert!(!with(&|policy| policy.private_dir = "/private/own".into()));
        assert!(!with(&|policy| policy
            .read
            .push("/private/own/home".into())));
        assert!(!with(&|policy| policy.write.push("/private/own".into())));
        assert!(!with(&|policy| policy.seeds.push(Seed {
            from: "/".into(),
            to: "/private/other/home/cache".into(),
        })));
    }
}
