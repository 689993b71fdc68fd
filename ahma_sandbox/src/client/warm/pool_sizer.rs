//! How many shells should wait.
//!
//! A few at rest. A caller who runs one script after the other uses them faster than they are replaced, and
//! what replaces them takes the processor from the scripts; so while such a caller is at work more
//! wait, and are replaced in its pauses. Pure: it is told what happens and when.

use std::time::{Duration, Instant};

/// As many as wait at most while they are used, unless more are wanted at rest.
const MAX_SHELLS: usize = 12;
/// A pause in which more than a few are replaced.
const PAUSE: Duration = Duration::from_millis(5);
/// Scripts in a row, before more wait.
const IN_A_ROW: u32 = 4;
/// Scripts further apart than this are not in a row.
const APART: Duration = Duration::from_millis(250);
/// After this long without a script, a few are enough again.
const REST: Duration = Duration::from_secs(10);

/// How many are wanted.
#[derive(Debug)]
pub(super) struct PoolSizer {
    at_rest: usize,
    in_use: usize,
    last_script: Option<Instant>,
    in_a_row: u32,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Start shells until so many wait.
    pub(super) at_least: usize,
    /// End shells until no more than these wait.
    pub(super) at_most: usize,
    /// When that changes by itself.
    pub(super) until: Option<Instant>,
}

impl PoolSizer {
    pub(super) fn new(at_rest: usize) -> Self {
        PoolSizer {
            at_rest,
            in_use: at_rest,
            last_script: None,
            in_a_row: 0,
        }
    }

    /// A script came and left so many waiting. Where others run at the same time the processors have enough to
    /// do, waiting shells are of no use, and no more are wanted.
    pub(super) fn script(&mut self, left: usize, others_run: bool, now: Instant) {
        let last = self.last_script.replace(now);
        if others_run {
            self.in_a_row = 0;
            self.in_use = self.at_rest;
            return;
        }
        let follows = last.is_some_and(|last| now.saturating_duration_since(last) < APART);
        self.in_a_row = if follows { self.in_a_row + 1 } else { 1 };
        if left < self.at_rest && self.in_a_row >= IN_A_ROW {
            self.in_use = (self.in_use * 2).min(MAX_SHELLS.max(self.at_rest));
        }
    }

    /// What to do now.
    pub(super) fn need(&mut self, now: Instant) -> Need {
        let silent = self
            .last_script
            .map(|last| now.saturating_duration_since(last));
        if silent.is_none_or(|silent| silent >= REST) {
            self.in_use = self.at_rest;
        }
        let is_pause = silent.is_none_or(|silent| silent >= PAUSE);
        let wait = match (is_pause, self.in_use > self.at_rest) {
            (_, false) => None,
            (false, true) => Some(PAUSE),
            (true, true) => Some(REST),
        };
        Need {
            at_least: if is_pause { self.in_use } else { self.at_rest },
            at_most: self.in_use,
            until: self.last_script.zip(wait).map(|(last, wait)| last + wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_script_after_script_finds_more_after_a_pause_and_fewer_after_a_rest() {
        let start = Instant::now();
        let mut sizer = PoolSizer::new(2);
        let need = |at_least, at_most, until| Need {
            at_least,
            at_most,
            until,
        };
        assert_eq!(sizer.need(start), need(2, 2, None));
        for _ in 1..IN_A_ROW {
            sizer.script(0, false, start);
            assert_eq!(sizer.need(start), need(2, 2, None), "not yet");
        }
        sizer.script(2, false, start);
        assert_eq!(sizer.need(start), need(2, 2, None), "enough are left");
        sizer.script(1, false, start);
        assert_eq!(sizer.need(start), need(2, 4, Some(start + PAUSE)));
        for _ in 0..9 {
            sizer.script(0, false, start);
        }
        let later = start + PAUSE;
        assert_eq!(sizer.need(later), need(12, 12, Some(start + REST)));
        assert_eq!(sizer.need(start + REST), need(2, 2, None));
    }

    #[test]
    fn scripts_beside_others_or_far_apart_do_not_raise_it() {
        let start = Instant::now();
        let mut sizer = PoolSizer::new(2);
        for number in 0..20 {
            let now = start + number * APART;
            sizer.script(0, false, now);
            assert_eq!(sizer.need(now + PAUSE).at_least, 2);
        }
        for _ in 0..20 {
            sizer.script(0, true, start);
        }
        assert_eq!(sizer.need(start + PAUSE).at_least, 2);
    }

    #[test]
    fn none_stay_none() {
        let start = Instant::now();
        let mut sizer = PoolSizer::new(0);
        sizer.script(0, false, start);
        assert_eq!(sizer.need(start + PAUSE).at_least, 0);
    }
}
