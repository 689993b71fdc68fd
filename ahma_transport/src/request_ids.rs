//! Ids of requests: those of the client outside, ones that are never used twice inside.
//!
//! The SDK takes equal ids for the same request: the second loses its answer, and its command is stopped when the first
//! one ends. Clients that send `1` every time exist.

use std::collections::HashMap;

use rmcp::model::RequestId;

/// The requests in work, each with what its transport needs to know of it.
#[derive(Debug)]
pub struct RequestIds<T> {
    last: i64,
    in_work: HashMap<i64, (RequestId, T)>,
}

impl<T> Default for RequestIds<T> {
    fn default() -> Self {
        RequestIds {
            last: 0,
            in_work: HashMap::new(),
        }
    }
}

impl<T> RequestIds<T> {
    /// How many requests have no answer yet.
    pub fn len(&self) -> usize {
        self.in_work.len()
    }

    /// Whether every request has its answer.
    pub fn is_empty(&self) -> bool {
        self.in_work.is_empty()
    }

    /// Takes in a request; the id it has inside.
    pub fn arrived(&mut self, outer: RequestId, about: T) -> i64 {
        self.last += 1;
        self.in_work.insert(self.last, (outer, about));
        self.last
    }

    /// The request that has an id inside.
    pub fn get(&self, inner: &RequestId) -> Option<&(RequestId, T)> {
        self.in_work.get(&number(inner)?)
    }

    /// Removes the request that is answered.
    pub fn answered(&mut self, inner: &RequestId) -> Option<(RequestId, T)> {
        self.in_work.remove(&number(inner)?)
    }

    /// Removes the request that its client cancels, and gives its id inside; it is not answered any more. When several
    /// have the same id, the newest is meant: the others may belong to other callers.
    pub fn cancelled(&mut self, outer: &RequestId) -> Option<(RequestId, T)> {
        let matching = self.in_work.iter().filter(|(_, (id, _))| id == outer);
        let newest = matching.map(|(inner, _)| *inner).max()?;
        let (_, about) = self.in_work.remove(&newest)?;
        Some((RequestId::Number(newest), about))
    }

    /// What is known of each request in work.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.in_work.values().map(|(_, about)| about)
    }

    /// Removes every request in work.
    pub fn drain(&mut self) -> impl Iterator<Item = (RequestId, T)> {
        self.in_work.drain().map(|(_, request)| request)
    }
}

/// Ids inside are numbers.
fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    #[test]
    fn equal_ids_are_different_inside_and_equal_again_outside() {
        let mut ids = RequestIds::default();
        let text = RequestId::String("7".into());
        let [one, two, three] = [inner(7), inner(7), text.clone()].map(|id| ids.arrived(id, ()));
        assert_eq!([one, two, three], [1, 2, 3]);
        let mut outer = |number| ids.answered(&inner(number)).map(|(outer, ())| outer);
        assert_eq!(outer(two), Some(inner(7)));
        assert_eq!(outer(two), None, "an answer is given once");
        assert_eq!(outer(three), Some(text));
        assert_eq!(outer(one), Some(inner(7)));
        assert!(ids.is_empty());
    }

    /// Proves: O23.
    #[test]
    fn cancelling_an_id_means_the_newest_request_that_has_it() {
        let mut ids = RequestIds::default();
        ids.arrived(inner(7), "first");
        let second = ids.arrived(inner(7), "second");
        ids.arrived(inner(8), "other");
        assert_eq!(ids.cancelled(&inner(7)), Some((inner(second), "second")));
        assert_eq!(ids.answered(&inner(second)), None, "it goes nowhere");
        assert_eq!(ids.cancelled(&inner(9)), None);
        let mut left: Vec<&str> = ids.values().copied().collect();
        left.sort_unstable();
        assert_eq!(left, ["first", "other"]);
    }
}
