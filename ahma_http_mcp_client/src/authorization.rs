//! What a link asks for a token, and tells what became of it. Must not know where tokens come from.

use futures_util::future::BoxFuture;

use crate::request_error::RequestError;
use crate::secret::Secret;

/// Why a server refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It wants a token, or another one than it was shown (status 401).
    Token,
    /// The token does not allow this (status 403 with `insufficient_scope`).
    Scope,
}

/// Gives the requests to one server their bearer tokens. It is asked before every request, so it answers from memory
/// where it can. A token is sent to the URL of the link only, and never over a connection that others can read.
pub trait Authorization: Send + Sync + 'static {
    /// The token for the next request. Without one the request is sent as it is, and the server says what it wants.
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, RequestError>>;

    /// A request was refused. Another token than the one that was sent is worth one more try.
    fn refused(
        &self,
        token: Option<Secret>,
        refusal: Refusal,
    ) -> BoxFuture<'_, Result<Option<Secret>, RequestError>>;

    /// A request with this token was let through.
    fn accepted(&self, token: &Secret);
}
