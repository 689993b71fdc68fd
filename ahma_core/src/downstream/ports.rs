//! Ports of servers that are started to listen: each gets one, in order; one that was taken is not tried again.

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
    /// The one that was given last.
    last: Option<u16>,
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
        let first = ports.last.map_or(*PORTS.start(), |last| last + 1);
        let all = (first..=*PORTS.end()).chain(*PORTS.start()..first);
        let mut free = all.filter(|it| PORTS.contains(it));
        let port = free.find(|it| !ports.used.contains(it) && !ports.dead.contains(it))?;
        ports.last = Some(port);
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

    /// Proves: D12.
    #[test]
    fn ports_go_round_and_dead_ones_are_left_out() {
        let registry = PortRegistry::default();
        let first = registry.take().unwrap();
        let second = registry.take().unwrap();
        assert_eq!((first.number, second.number), (50_000, 50_001));
        first.is_dead();
        drop((first, second));
        let all: Vec<LeasedPort> = std::iter::from_fn(|| registry.take()).collect();
        assert_eq!(all.len(), 1000);
        assert_eq!(all[0].number, 50_002, "in order");
        assert!(all.iter().all(|it| it.number != 50_000));
        assert_eq!(
            all.last().unwrap().number,
            50_001,
            "given back and reached again"
        );
    }
}
