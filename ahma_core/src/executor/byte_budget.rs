//! The limit on what operations that have not ended hold in memory: their arguments and what they read. Refuses, and has
//! nobody wait: what waits is what holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// For the operations of one scope.
pub(crate) const OF_A_SCOPE: usize = 64 << 20;
/// For those of all scopes together.
pub(crate) const OF_ALL: usize = 256 << 20;

/// A number of bytes that may be held at the same time.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    most: usize,
    held: AtomicUsize,
    /// One that counts the same bytes, with those of others.
    above: Option<Arc<ByteBudget>>,
}

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    budget: Arc<ByteBudget>,
    bytes: usize,
    _above: Option<Box<HeldBytes>>,
}

impl ByteBudget {
    pub(crate) fn new(most: usize, above: Option<Arc<ByteBudget>>) -> Arc<Self> {
        Arc::new(ByteBudget {
            most,
            held: AtomicUsize::new(0),
            above,
        })
    }

    /// Holds bytes; none when that would be too many.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Option<HeldBytes> {
        let above = match &self.above {
            Some(above) => Some(Box::new(above.hold(bytes)?)),
            None => None,
        };
        let fits = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= self.most);
        let (one, other) = (Ordering::Relaxed, Ordering::Relaxed);
        self.held.fetch_update(one, other, fits).ok()?;
        Some(HeldBytes {
            budget: Arc::clone(self),
            bytes,
            _above: above,
        })
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: H25.
    #[test]
    fn bytes_are_held_within_both_limits_and_given_back() {
        let all = ByteBudget::new(100, None);
        let one = ByteBudget::new(60, Some(Arc::clone(&all)));
        let two = ByteBudget::new(60, Some(Arc::clone(&all)));
        let first = one.hold(60).unwrap();
        assert!(one.hold(1).is_none(), "too many of one");
        assert!(two.hold(41).is_none(), "too many of all");
        let second = two.hold(40).unwrap();
        drop(first);
        assert!(one.hold(60).is_some());
        drop(second);
        assert_eq!(all.held.load(Ordering::Relaxed), 0);
        assert!(one.hold(usize::MAX).is_none());
    }
}
