//! The private networks of scopes: what all hosts of one scope share that have no other network.
//!
//! The first of them makes it, and hands over the namespaces; the next ones enter them. It goes with the last one. Must not
//! know what is in it.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::policy::{Layer, Network, SandboxPolicy};

/// The namespaces of a private network.
#[derive(Debug)]
pub(super) struct PrivateNetwork {
    /// Whose it is.
    users: OwnedFd,
    network: OwnedFd,
}

impl PrivateNetwork {
    /// What a host sent along, if that is it.
    pub(super) fn of(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let [users, network] = <[OwnedFd; 2]>::try_from(descriptors).ok()?;
        Some(PrivateNetwork { users, network })
    }

    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.users.as_fd(), self.network.as_fd()]
    }
}

/// Where the network of one scope is known, while a host has it. Locked while one starts, so that the next one finds it.
pub(super) type NetworkSlot = Arc<tokio::sync::Mutex<Weak<PrivateNetwork>>>;

/// Those of all scopes, by their private directories.
#[derive(Debug, Default)]
pub(super) struct PrivateNetworks(Mutex<HashMap<PathBuf, NetworkSlot>>);

impl PrivateNetworks {
    /// That of a policy; none when its commands have another network, or no namespaces.
    pub(super) fn slot(&self, policy: &SandboxPolicy) -> Option<NetworkSlot> {
        let has_one =
            policy.network == Network::Off && !policy.without.contains(&Layer::Namespaces);
        has_one.then(|| {
            // A map of pointers is consistent after any panic.
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slots.retain(|_, slot| is_in_use(slot));
            Arc::clone(slots.entry(policy.private_dir.clone()).or_default())
        })
    }
}

/// Whether a host starts with it, or has it.
fn is_in_use(slot: &NetworkSlot) -> bool {
    let is_known = |known: &Weak<PrivateNetwork>| known.strong_count() > 0;
    Arc::strong_count(slot) > 1 || slot.try_lock().map_or(true, |known| is_known(&known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: S72.
    #[tokio::test]
    async fn hosts_of_one_scope_have_one_and_those_of_another_scope_another_one() {
        let networks = PrivateNetworks::default();
        let mut policy = SandboxPolicy::new("/scope", "/private/one");
        assert!(networks.slot(&policy).is_none());
        policy.network = Network::Off;
        let one = networks.slot(&policy).unwrap();
        policy.read_only = true;
        assert!(Arc::ptr_eq(&one, &networks.slot(&policy).unwrap()));
        policy.private_dir = "/private/two".into();
        assert!(!Arc::ptr_eq(&one, &networks.slot(&policy).unwrap()));
        policy.without = vec![Layer::Namespaces];
        assert!(networks.slot(&policy).is_none());
        // Nothing is kept of those that nobody has.
        drop(one);
        policy.without.clear();
        let _third = networks.slot(&policy).unwrap();
        assert_eq!(networks.0.lock().unwrap().len(), 1);
    }
}
