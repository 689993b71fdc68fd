//! When a server that failed may be started again: after half a second, then after twice as long each time. One that works
//! and dies now and then is there again after half a second: who waits longer is kept from tools that are in order.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// A server that has lived for so long has not failed to start.
const LIVED: Duration = Duration::from_secs(10);

/// The failures of one server.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    next: Option<Instant>,
}

impl Backoff {
    /// It could not be started, or has ended after this time, and has worked until then.
    pub(super) fn failed(&mut self, lived: Duration, has_worked: bool, now: Instant) {
        if has_worked || lived >= LIVED {
            self.failures = 0;
        }
        let doubled = FIRST.saturating_mul(2_u32.saturating_pow(self.failures.min(10)));
        self.failures += 1;
        self.next = Some(now + doubled.min(LONGEST));
    }

    /// How long is to be waited before the next start.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        let next = self.next.map(|next| next.saturating_duration_since(now));
        next.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_are_further_and_further_apart() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        assert_eq!(backoff.wait(now), Duration::ZERO);
        let waits: Vec<u128> = (0..9)
            .map(|_| {
                backoff.failed(Duration::ZERO, false, now);
                backoff.wait(now).as_millis()
            })
            .collect();
        assert_eq!(
            waits,
            [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
        );
        backoff.failed(LIVED, false, now);
        assert_eq!(backoff.wait(now), FIRST);
        backoff.failed(Duration::ZERO, false, now);
        assert_eq!(backoff.wait(now), FIRST * 2);
        backoff.failed(Duration::ZERO, true, now);
        assert_eq!(backoff.wait(now), FIRST);
        assert_eq!(backoff.wait(now + FIRST), Duration::ZERO);
    }
}
