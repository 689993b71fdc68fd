//! What anybody can cause is written down at most once a second: a log has no end, and a disk has.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// Counts what is not written.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<Passed>);

#[derive(Debug, Default)]
struct Passed {
    last: Option<Instant>,
    over: u64,
}

impl LogThrottle {
    /// Whether the next one is written, and how many were not since the last.
    pub(crate) fn next(&self) -> Option<u64> {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> Option<u64> {
        // Two numbers are whole after any panic.
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_early = passed.last.is_some_and(|last| now < last + INTERVAL);
        if is_early {
            passed.over += 1;
            return None;
        }
        passed.last = Some(now);
        Some(std::mem::take(&mut passed.over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_is_written_and_the_others_are_counted() {
        let (log_throttle, begun) = (LogThrottle::default(), Instant::now());
        let at = |ms| log_throttle.at(begun + Duration::from_millis(ms));
        assert_eq!(at(0), Some(0));
        assert_eq!((at(1), at(500), at(999)), (None, None, None));
        assert_eq!(at(1000), Some(3));
        assert_eq!(at(1001), None);
        assert_eq!(at(5000), Some(1));
    }
}
