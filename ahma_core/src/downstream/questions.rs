//! Questions of one server, and the clients whose calls are open there: who is asked, and how long a call may take meanwhile.
//!
//! A request of a server does not say which call it belongs to. So a client is asked only where all open calls are its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahma_http_mcp_client::ErrorAnswer;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::registry::{AskClient, Asking};

/// The method by which servers of 2025-11-25 and earlier ask.
pub(super) const METHOD: &str = "elicitation/create";
/// A longer question is not passed on: how long it is, the server decides.
const MAX_QUESTION: usize = 256 * 1024;
const NO_CALL: &str = "no call is open that the question could belong to";
const SEVERAL: &str = "calls of several clients are open, and a question does not say which of them it belongs to; \
                       `per_session` gives each client a server of its own";
const BY_RESULTS: &str =
    "the client of this call speaks 2026-07-28, in which servers ask by results only";

/// The calls that are open at one server.
#[derive(Default)]
pub(super) struct OpenCalls {
    all: Mutex<BTreeMap<u64, OpenCall>>,
}

struct OpenCall {
    client: Result<Arc<dyn AskClient>, &'static str>,
    waiting: Waiting,
}

/// What a question has to do with a call.
#[derive(Clone)]
struct Waiting {
    /// How many questions are being answered.
    questions: watch::Sender<usize>,
    /// The call has ended.
    ended: CancellationToken,
}

/// A call while it is open.
pub(super) struct CallGuard {
    calls: Arc<OpenCalls>,
    number: u64,
    questions: watch::Receiver<usize>,
}

impl OpenCalls {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, OpenCall>> {
        // Nothing of it is left half changed by a panic.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is open from now on.
    pub(super) fn open(self: &Arc<Self>, asking: &Asking) -> CallGuard {
        let client = match asking {
            Asking::ByRequest(client) => Ok(Arc::clone(client)),
            Asking::ByResult { .. } => Err(BY_RESULTS),
            Asking::Never(why) => Err(*why),
        };
        let (questions, receiver) = watch::channel(0);
        let waiting = Waiting {
            questions,
            ended: CancellationToken::new(),
        };
        let mut all = self.all();
        let number = all.last_key_value().map_or(0, |(last, _)| last + 1);
        all.insert(number, OpenCall { client, waiting });
        CallGuard {
            calls: Arc::clone(self),
            number,
            questions: receiver,
        }
    }

    /// Whom a question is for.
    fn whose(&self) -> Result<(Arc<dyn AskClient>, Vec<Waiting>), &'static str> {
        let all = self.all();
        let mut found: Option<&Arc<dyn AskClient>> = None;
        for call in all.values() {
            let client = call.client.as_ref().map_err(|why| *why);
            match (found, client) {
                (None, client) => found = Some(client?),
                (Some(before), Ok(client)) if before.key() == client.key() => {}
                (Some(_), _) => return Err(SEVERAL),
            }
        }
        let client = found.ok_or(NO_CALL)?;
        let waiting = all.values().map(|call| call.waiting.clone());
        Ok((Arc::clone(client), waiting.collect()))
    }

    /// Asks the client whose call is open.
    pub(super) async fn ask(
        &self,
        params: Option<Box<RawValue>>,
    ) -> Result<Box<RawValue>, ErrorAnswer> {
        let params = params.as_deref().map_or("{}", RawValue::get);
        if params.len() > MAX_QUESTION {
            let limit = MAX_QUESTION >> 10;
            let why = format!("the question is longer than {limit} KiB");
            return Err(ErrorAnswer::new(-32602, why));
        }
        let params: Value = serde_json::from_str(params)
            .map_err(|error| ErrorAnswer::new(-32602, error.to_string()))?;
        let (client, calls) = self
            .whose()
            .map_err(|why| ErrorAnswer::new(-32601, format!("`{METHOD}` is not offered: {why}")))?;
        let _thinking: Vec<_> = calls.iter().map(Thinking::new).collect();
        let answer = tokio::select! {
            answer = client.ask(params) => answer,
            () = all_ended(&calls) => return Err(ErrorAnswer::new(-32603, "the call has ended")),
        };
        let answer = answer.map_err(|error| ErrorAnswer::new(error.code.into(), error.message))?;
        to_raw_value(&answer).map_err(|error| ErrorAnswer::new(-32603, error.to_string()))
    }
}

async fn all_ended(calls: &[Waiting]) {
    for call in calls {
        call.ended.cancelled().await;
    }
}

/// A call whose client is thinking.
struct Thinking(watch::Sender<usize>);

impl Thinking {
    fn new(call: &Waiting) -> Self {
        call.questions.send_modify(|it| *it += 1);
        Thinking(call.questions.clone())
    }
}

impl Drop for Thinking {
    fn drop(&mut self) {
        self.0.send_modify(|it| *it -= 1);
    }
}

impl CallGuard {
    /// Waits until the call has taken too long. While its client is thinking, no time passes, and after that it begins anew.
    pub(super) async fn expired(&mut self, limit: Duration) {
        loop {
            // The sender lives as long as this does.
            let _ = self.questions.wait_for(|it| *it == 0).await;
            tokio::select! {
                () = sleep(limit) => return,
                _ = self.questions.changed() => {}
            }
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if let Some(call) = self.calls.all().remove(&self.number) {
            call.waiting.ended.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::registry::AskError;

    #[derive(Debug)]
    struct Client(&'static str);

    impl AskClient for Client {
        fn key(&self) -> &str {
            self.0
        }

        fn takes_urls(&self) -> bool {
            false
        }

        fn ask(&self, params: Value) -> BoxFuture<'static, Result<Value, AskError>> {
            let key = self.0;
            async move { Ok(json!({ "of": key, "asked": params })) }.boxed()
        }
    }

    fn client(key: &'static str) -> Asking {
        Asking::ByRequest(Arc::new(Client(key)))
    }

    async fn refused(calls: &Arc<OpenCalls>) -> String {
        calls.ask(None).await.unwrap_err().message
    }

    /// Proves: C37.
    #[tokio::test]
    async fn a_question_goes_to_the_client_that_alone_has_calls_open() {
        let calls = Arc::<OpenCalls>::default();
        assert!(refused(&calls).await.contains(NO_CALL));
        let _first = calls.open(&client("a"));
        let _second = calls.open(&client("a"));
        let answer = calls.ask(Some(RawValue::from_string("[1]".to_owned()).unwrap()));
        assert_eq!(answer.await.unwrap().get(), r#"{"of":"a","asked":[1]}"#);
        let long = format!("\"{}\"", "x".repeat(MAX_QUESTION));
        let refused_one = calls.ask(Some(RawValue::from_string(long).unwrap())).await;
        assert_eq!(refused_one.unwrap_err().code, -32602);
        let other = calls.open(&client("b"));
        assert!(refused(&calls).await.contains(SEVERAL));
        drop(other);
        assert!(calls.ask(None).await.is_ok());
        let silent = calls.open(&Asking::Never("nobody asks it"));
        assert!(refused(&calls).await.contains(SEVERAL));
        drop((_first, _second));
        assert!(refused(&calls).await.contains("nobody asks it"));
        drop(silent);
        assert!(refused(&calls).await.contains(NO_CALL));
    }

    /// Proves: C37.
    #[tokio::test(start_paused = true)]
    async fn no_time_passes_for_a_call_whose_client_is_thinking() {
        let calls = Arc::<OpenCalls>::default();
        let mut call = calls.open(&client("a"));
        let thinking = Thinking::new(&calls.all().values().next().unwrap().waiting.clone());
        let (limit, long) = (Duration::from_secs(30), Duration::from_secs(3600));
        let expired = tokio::time::timeout(long, call.expired(limit)).await;
        assert!(expired.is_err(), "it stood still");
        drop(thinking);
        let expired = tokio::time::timeout(long, call.expired(limit)).await;
        assert!(expired.is_ok());
    }
}
