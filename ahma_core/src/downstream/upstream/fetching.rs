//! The fetching of prompts and resources of a server. Must not change anything there.

use std::sync::Arc;

use ahma_http_mcp_client::{Params, Request, RequestError};
use serde_json::{Map, Value};

use super::Upstream;
use super::calling::result_of;
use crate::registry::{Asking, ContentError, ForeignError, ForeignResult};

/// Questions are passed on where tools are called.
const NEVER: Asking = Asking::Never("clients are asked while they call tools only");

impl Upstream {
    /// Fetches something by a request that changes nothing.
    pub(in super::super) async fn fetch(
        self: &Arc<Self>,
        method: &str,
        params: Params,
        meta: Map<String, Value>,
    ) -> Result<ForeignResult, ContentError> {
        tokio::select! {
            biased;
            why = self.retired() => Err(ContentError::Unavailable(why)),
            fetched = self.fetch_now(method, params, meta) => fetched,
        }
    }

    async fn fetch_now(
        self: &Arc<Self>,
        method: &str,
        params: Params,
        meta: Map<String, Value>,
    ) -> Result<ForeignResult, ContentError> {
        let mut is_first = true;
        loop {
            let in_use = self.connected().await;
            let in_use = in_use.map_err(|why| ContentError::Unavailable(self.in_words(why)))?;
            let connection = &in_use.0;
            let mut request = Request::new(method, params.clone());
            request.meta.clone_from(&meta);
            request.timeout = Some(self.spec.timeout);
            match connection.client.request(request).await {
                Ok(result) => {
                    let result = result_of(result).await.map_err(|it| self.unusable(&it))?;
                    let passed_on = self.question_or_not(result, connection.client.peer(), &NEVER);
                    return passed_on.map_err(|it| self.unusable(&it));
                }
                // The connection was lost, maybe long ago; the next one takes it, once.
                Err(error) if is_first && (connection.ended().is_some() || error.has_not_run()) => {
                    is_first = false;
                    self.give_up(connection, &error);
                }
                Err(RequestError::Refused(error)) => {
                    return Err(ContentError::Refused {
                        code: error.code,
                        message: error.message,
                        data: error.data,
                    });
                }
                Err(error) => return Err(self.unusable(&self.explained(&error))),
            }
        }
    }

    fn unusable(&self, error: &ForeignError) -> ContentError {
        ContentError::Unavailable(format!("{}: {error}", self.name()))
    }
}
