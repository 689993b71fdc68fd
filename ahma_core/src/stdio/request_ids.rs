//! Ids of requests: those of the client outside, ones that are never used twice inside.
//!
//! The SDK takes equal ids for the same request: the second loses its answer, and its command is stopped
//! when the first one ends.

use std::collections::HashMap;

use rmcp::model::{GetMeta as _, RequestId, ServerJsonRpcMessage, ServerResult};

/// The requests in work.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    last: i64,
    /// Inner to outer.
    outer: HashMap<i64, RequestId>,
}

impl RequestIds {
    /// How many requests have no answer yet.
    pub(super) fn in_work(&self) -> usize {
        self.outer.len()
    }

    /// A request has come; the id it has inside.
    pub(super) fn arrived(&mut self, id: RequestId) -> RequestId {
        self.last += 1;
        self.outer.insert(self.last, id);
        RequestId::Number(self.last)
    }

    /// The client does not want an answer to what it calls `id`; what that is inside. No answer will follow.
    pub(super) fn cancelled(&mut self, id: &RequestId) -> Vec<RequestId> {
        let gone = self.outer.extract_if(|_, outer| outer == id);
        gone.map(|(inner, _)| RequestId::Number(inner)).collect()
    }

    /// Gives a message that goes out the ids that the client knows; whether it may go out. What belongs to a
    /// request that was cancelled may not: nobody waits for it, and its inner id is nobody's business.
    pub(super) fn restore(&mut self, message: &mut ServerJsonRpcMessage) -> bool {
        match message {
            ServerJsonRpcMessage::Response(response) => {
                let Some(outer) = self.answered(&response.id) else {
                    return false;
                };
                if let ServerResult::SubscriptionsListenResult(result) = &mut response.result {
                    result.meta.set_subscription_id(outer.clone());
                }
                response.id = outer;
                true
            }
            ServerJsonRpcMessage::Error(error) => match error.id.take() {
                Some(id) => {
                    error.id = self.answered(&id);
                    error.id.is_some()
                }
                None => true,
            },
            ServerJsonRpcMessage::Notification(message) => {
                let meta = message.notification.get_meta_mut();
                let Some(subscription) = meta.subscription_id() else {
                    return true;
                };
                let outer = self.outer(&subscription);
                let is_known = outer.is_some();
                if let Some(outer) = outer {
                    meta.set_subscription_id(outer);
                }
                is_known
            }
            // Its id is ours.
            ServerJsonRpcMessage::Request(_) => true,
        }
    }

    fn answered(&mut self, id: &RequestId) -> Option<RequestId> {
        match id {
            RequestId::Number(inner) => self.outer.remove(inner),
            RequestId::String(_) => None,
        }
    }

    fn outer(&self, id: &RequestId) -> Option<RequestId> {
        match id {
            RequestId::Number(inner) => self.outer.get(inner).cloned(),
            RequestId::String(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::EmptyResult;

    use super::*;

    fn number(id: i64) -> RequestId {
        RequestId::Number(id)
    }

    fn answer(ids: &mut RequestIds, inner: RequestId) -> RequestId {
        let result = ServerResult::EmptyResult(EmptyResult {});
        let mut message = ServerJsonRpcMessage::response(result, inner);
        assert!(ids.restore(&mut message));
        match message {
            ServerJsonRpcMessage::Response(response) => response.id,
            _ => unreachable!("it was a response"),
        }
    }

    #[test]
    fn equal_ids_are_different_inside_and_equal_again_outside() {
        let mut ids = RequestIds::default();
        let text = RequestId::String("7".into());
        let inner = [number(7), number(7), text.clone()].map(|id| ids.arrived(id));
        assert_ne!(inner[0], inner[1]);
        assert_ne!(inner[1], inner[2]);
        let [one, two, three] = inner;
        assert_eq!(answer(&mut ids, two), number(7));
        assert_eq!(answer(&mut ids, three), text);
        assert_eq!(answer(&mut ids, one), number(7));
        assert_eq!(ids.in_work(), 0);
    }

    #[test]
    fn cancelling_an_id_means_every_request_that_has_it() {
        let mut ids = RequestIds::default();
        let first = ids.arrived(number(7));
        let second = ids.arrived(number(7));
        let other = ids.arrived(number(8));
        let mut cancelled = ids.cancelled(&number(7));
        cancelled.sort_by_key(|id| format!("{id:?}"));
        assert_eq!(cancelled, [first, second]);
        assert_eq!(ids.in_work(), 1);
        assert_eq!(answer(&mut ids, other), number(8));
        let late = ServerResult::EmptyResult(EmptyResult {});
        let mut late = ServerJsonRpcMessage::response(late, cancelled.remove(0));
        assert!(!ids.restore(&mut late), "it goes nowhere");
    }
}
