//! Long messages: parsed beside the runtime first, then taken in one after another.
//!
//! The SDK parses what it is given where everybody is served. So what is wrong with a long message is found elsewhere, and
//! between two of them others are served for as long as the first one took.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use ahma_transport::{MAX_NAME_LEN, ParsedMessage, parse_message};
use bytes::Bytes;
use futures_util::poll;
use http::StatusCode;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::problem::Problem;
use crate::sdk::not_a_message;

/// A longer message is parsed beside the runtime.
const LONG: usize = 64 * 1024;
/// Others have at least this long between two long messages.
const PAUSE: Duration = Duration::from_millis(1);

/// What is known of a message before the SDK has it.
pub(crate) enum Looked {
    /// It is short, and was not looked at.
    Short,
    /// It begins a session.
    Begins(Box<ClientJsonRpcMessage>),
    /// Any other.
    Other,
}

/// Takes the long messages of an endpoint in. Of each endpoint one waits for the turn of all, so that they take turns.
pub(crate) struct LongMessages {
    own_turn: Arc<Semaphore>,
    own_beside: Arc<Semaphore>,
    turn: Arc<Semaphore>,
    /// Those that are parsed beside: threads that compute take time from whoever serves.
    beside: Arc<Semaphore>,
}

impl LongMessages {
    pub(crate) fn new() -> Self {
        LongMessages {
            own_turn: Arc::new(Semaphore::new(1)),
            own_beside: Arc::new(Semaphore::new(1)),
            turn: Arc::new(Semaphore::new(1)),
            beside: Arc::new(Semaphore::new(2)),
        }
    }

    /// Those of another endpoint of the same server.
    pub(crate) fn of_another(&self) -> Self {
        LongMessages {
            turn: Arc::clone(&self.turn),
            beside: Arc::clone(&self.beside),
            ..LongMessages::new()
        }
    }

    /// Looks at a message that is not short, and refuses it if anything is wrong with it.
    pub(crate) async fn look(&self, content: &Bytes) -> Result<Looked, Problem> {
        if content.len() <= MAX_NAME_LEN {
            return Ok(Looked::Short);
        }
        if content.len() <= LONG {
            return judge(content);
        }
        let content = content.clone();
        let own = Arc::clone(&self.own_beside).acquire_owned().await;
        let turn = (own, Arc::clone(&self.beside).acquire_owned().await);
        let looked = spawn_blocking(move || {
            let _turn = turn;
            judge(&content)
        });
        looked.await.unwrap_or_else(|_| {
            let why = "internal error: the message could not be parsed; the log has the details";
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why))
        })
    }

    /// Lets something have the SDK parse a message, a long one when it is its turn.
    pub(crate) async fn take_in<T>(&self, content: &Bytes, parsing: impl Future<Output = T>) -> T {
        if content.len() <= LONG {
            return parsing.await;
        }
        let own = Arc::clone(&self.own_turn).acquire_owned().await;
        let turn = (own, Arc::clone(&self.turn).acquire_owned().await);
        let mut parsing = std::pin::pin!(parsing);
        let begun = Instant::now();
        let parsed = poll!(parsing.as_mut());
        let took = begun.elapsed();
        tokio::spawn(async move {
            sleep(took.max(PAUSE)).await;
            drop(turn);
        });
        match parsed {
            Poll::Ready(parsed) => parsed,
            Poll::Pending => parsing.await,
        }
    }
}

fn judge(content: &[u8]) -> Result<Looked, Problem> {
    match parse_message(content) {
        ParsedMessage::Message(message) => Ok(match *message {
            ClientJsonRpcMessage::Request(ref request)
                if matches!(request.request, ClientRequest::InitializeRequest(_)) =>
            {
                Looked::Begins(message)
            }
            _ => Looked::Other,
        }),
        parsed => Err(not_a_message(parsed, content)),
    }
}
