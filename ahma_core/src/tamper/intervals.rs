//! When operations ran: what changed at such a time is attributed to them, everything else to the user.

use std::collections::VecDeque;

use super::identity::Moment;

/// The clock of the file system is coarse: a change may be stamped a little earlier than it was made.
const SLACK: Moment = 10_000_000;
/// Pauses between operations that are remembered; before the first of them everything counts as a time of operations.
const MAX_REMEMBERED: usize = 1000;

/// Times in which operations ran, merged.
#[derive(Debug, Default, Clone)]
pub(super) struct Intervals {
    running: usize,
    /// Since when operations run without a pause.
    open: Option<Moment>,
    closed: VecDeque<(Moment, Moment)>,
}

impl Intervals {
    /// An operation begins.
    pub(super) fn begin(&mut self, now: Moment) {
        self.running += 1;
        if self.running == 1 {
            // Without a real pause it is one interval.
            let last = self.closed.back().copied();
            let goes_on = last.filter(|(_, end)| now - SLACK <= *end);
            if goes_on.is_some() {
                self.closed.pop_back();
            }
            self.open = Some(goes_on.map_or(now - SLACK, |(start, _)| start));
        }
    }

    /// An operation has ended.
    pub(super) fn end(&mut self, now: Moment) {
        self.running = self.running.saturating_sub(1);
        if self.running > 0 {
            return;
        }
        if let Some(start) = self.open.take() {
            self.closed.push_back((start, now));
        }
        if self.closed.len() > MAX_REMEMBERED
            && let (Some((start, _)), Some(second)) =
                (self.closed.pop_front(), self.closed.front_mut())
        {
            second.0 = start;
        }
    }

    /// What ran without its end being known, from this moment on to that one.
    pub(super) fn add(&mut self, start: Moment, end: Moment) {
        self.closed.push_front((start - SLACK, end));
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Since when operations run without a pause.
    pub(super) fn open_since(&self) -> Option<Moment> {
        self.open
    }

    /// Whether an operation ran at that moment.
    pub(super) fn contain(&self, moment: Moment) -> bool {
        self.open.is_some_and(|start| moment >= start)
            || self
                .closed
                .iter()
                .any(|(start, end)| (*start..=*end).contains(&moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Moment = 1_000_000_000;

    #[test]
    fn what_the_user_did_in_between_is_the_users() {
        let mut intervals = Intervals::default();
        intervals.begin(10 * SECOND);
        intervals.begin(11 * SECOND);
        intervals.end(12 * SECOND);
        assert!(intervals.contain(13 * SECOND), "one still runs");
        intervals.end(14 * SECOND);
        intervals.begin(20 * SECOND);
        intervals.end(21 * SECOND);
        for (moment, ran) in [
            (9, false),
            (10, true),
            (14, true),
            (17, false),
            (20, true),
            (22, false),
        ] {
            assert_eq!(intervals.contain(moment * SECOND), ran, "{moment}");
        }
    }

    #[test]
    fn short_pauses_are_none_and_there_are_not_too_many_long_ones() {
        let mut intervals = Intervals::default();
        for call in 0..10 {
            intervals.begin(call * SLACK);
            intervals.end(call * SLACK + 1);
        }
        assert_eq!(intervals.closed.len(), 1);
        for call in 0..2 * MAX_REMEMBERED as Moment {
            intervals.begin((100 + call) * SECOND);
            intervals.end((100 + call) * SECOND + 1);
        }
        assert_eq!(intervals.closed.len(), MAX_REMEMBERED);
        assert!(
            intervals.contain(100 * SECOND),
            "rather told once too often"
        );
    }
}
