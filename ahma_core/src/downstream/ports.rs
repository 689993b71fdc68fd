//! Ports of servers that are started to listen: each gets the first free one; one that was taken by others is not tried again.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where they listen.
const PORTS: RangeInclusive<u16> = 50_000..=51_000;

/// All ports of this program.
#[derive(Debug, Clone, Default)]
pub(super) struct PortRegistry(Arc<Mutex<Ports>>);

#[derive(Debug, Default)]
struct Ports {
    used: BTreeSet<u16>,
    /// Others listen there.
    dead: BTreeSet<u16>,
}

impl PortRegistry {
    fn ports(&self) -> MutexGuard<'_, Ports> {
        // Nothing of it is left half changed by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next free port, until it is given back; none when there is none.
    pub(super) fn take(&self) -> Option<LeasedPort> {
        let mut ports = self.ports();
        let mut all = PORTS;
        let port = all.find(|it| !ports.used.contains(it) && !ports.dead.contains(it))?;
        ports.used.insert(port);
        Some(LeasedPort {
            number: port,
            registry: self.clone(),
        })
    }
}

/// A port that nobody else is given. Given back when dropped.
#[derive(Debug)]
pub(super) struct LeasedPort {
    pub(super) number: u16,
    registry: PortRegistry,
}

impl LeasedPort {
    /// Another program has it: it is not given to anybody any more.
    pub(super) fn is_dead(&self) {
        self.registry.ports().dead.insert(self.number);
    }
}

impl Drop for LeasedPort {
    fn drop(&mut self) {
        self.registry.ports().used.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C20.
    /// Scenario: 002/1.1, 002/1.2, 002/1.3, 002/1.4, 002/1.6, 002/1.7, 002/4.8.
    /// Scenario: 002/4.9, 002/7.2.
    #[test]
    fn ports_are_given_in_order_and_dead_ones_never_again() {
        let registry = PortRegistry::default();
        let first = registry.take().unwrap();
        let second = registry.take().unwrap();
        let third = registry.take().unwrap();
        assert_eq!(
            (first.number, second.number, third.number),
            (50_000, 50_001, 50_002)
        );
        first.is_dead();
        drop((first, second));
        assert_eq!(registry.take().unwrap().number, 50_001, "it was given back");
        let all: Vec<LeasedPort> = std::iter::from_fn(|| registry.take()).collect();
        assert_eq!(all.len(), 999, "all but the dead one and the third");
        assert!(all.iter().all(|it| it.number != 50_000));
    }
}
