//! The ways to a server: lines on a pair of streams, or requests over HTTP.

mod authorized;
mod http_failure;
mod http_link;
mod line_link;
mod line_reader;
mod request_headers;
mod sse_reader;

pub(crate) use authorized::Authorized;
pub(crate) use http_link::HttpLink;
pub(crate) use line_link::LineLink;

use crate::message::Params;
use crate::request_error::RequestError;

/// A message on its way.
pub(crate) struct Outgoing<'m> {
    pub(crate) body: Vec<u8>,
    /// Which request it is; none for a notification or an answer.
    pub(crate) request: Option<OutgoingRequest<'m>>,
}

/// What a link has to know of a request.
pub(crate) struct OutgoingRequest<'m> {
    pub(crate) id: u64,
    pub(crate) method: &'m str,
    pub(crate) params: &'m Params,
}

/// A way to one server.
pub(crate) enum Link {
    Lines(LineLink),
    Http(HttpLink),
}

impl Link {
    /// Sends a message. An error means that the server has not received it; what happens to it later, the exchange hears.
    pub(crate) async fn send(&self, message: Outgoing<'_>) -> Result<(), RequestError> {
        match self {
            Link::Lines(link) => link.send(message.body).await,
            Link::Http(link) => {
                link.send(message);
                Ok(())
            }
        }
    }

    /// Sends a message that nobody waits for, when there is room for it.
    pub(crate) fn send_soon(&self, body: Vec<u8>) {
        match self {
            Link::Lines(link) => link.send_soon(body),
            Link::Http(link) => link.send(Outgoing {
                body,
                request: None,
            }),
        }
    }

    /// Gives up a request: no answer to it is read any more.
    pub(crate) fn give_up(&self, id: u64) {
        match self {
            Link::Lines(_) => {}
            Link::Http(link) => link.give_up(id),
        }
    }

    /// From now on messages name this revision, where they do so outside of themselves.
    pub(crate) fn agreed(&self, revision: &str, is_stateless: bool) {
        match self {
            Link::Lines(_) => {}
            Link::Http(link) => link.agreed(revision, is_stateless),
        }
    }

    /// Says good-bye where that is usual.
    pub(crate) async fn close(&self) {
        match self {
            Link::Lines(link) => link.close(),
            Link::Http(link) => link.close().await,
        }
    }
}
