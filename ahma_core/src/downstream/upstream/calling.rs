//! The calling of a tool of a server: sent once, its progress told, its result as it came. Must not answer clients.

use std::sync::Arc;

use ahma_http_mcp_client::{Request, RequestError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::task::spawn_blocking;

use super::Upstream;
use crate::registry::{ForeignCall, ForeignError, ForeignProgress, ForeignResult};

/// A longer result is read beside the runtime.
const LONG: usize = 256 * 1024;

#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Upstream {
    /// Calls a tool.
    pub(in super::super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        call: ForeignCall,
    ) -> Result<ForeignResult, ForeignError> {
        let arguments = to_raw_value(&call.arguments);
        let arguments = arguments.map_err(|error| ForeignError::Refused(error.to_string()))?;
        let (mut progress, mut is_first) = (call.progress, true);
        loop {
            let in_use = self.connected().await.map_err(ForeignError::Unavailable)?;
            let connection = &in_use.0;
            // After it has said what it offers now.
            self.refuse_held(tool, connection).await?;
            let mut request = Request::call(tool, &arguments);
            request.meta.clone_from(&call.meta);
            request.timeout = Some(self.spec.timeout);
            request.progress = progress.take().map(|mut progress| {
                let told: Box<dyn FnMut(&RawValue) + Send> = Box::new(move |params| {
                    if let Ok(now) = serde_json::from_str::<Progress>(params.get()) {
                        progress(ForeignProgress {
                            progress: now.progress,
                            total: now.total,
                            message: now.message,
                        });
                    }
                });
                told
            });
            match connection.client.request(request).await {
                Ok(result) => return result_of(result).await,
                // It was lost before it was sent; the next connection takes it, once.
                Err(error) if is_first && error.has_not_run() => is_first = false,
                Err(error) => return Err(self.explained(&error)),
            }
        }
    }

    pub(super) fn explained(&self, error: &RequestError) -> ForeignError {
        let server = self.name();
        match error {
            RequestError::Refused(error) => ForeignError::Refused(format!(
                "the server `{server}` answered with error {}: {}",
                error.code, error.message
            )),
            RequestError::Unauthorized { .. } => ForeignError::Unavailable(format!(
                "the server `{server}` wants a token, or another one than it was shown; its owner has to give one in `headers`"
            )),
            error => {
                let last = self.stderr.last_line();
                let said = last
                    .map(|it| format!("; it said: {it}"))
                    .unwrap_or_default();
                ForeignError::Unavailable(format!(
                    "the server `{server}` gave no result: {error}{said}. It may have done what was asked; look before you try again"
                ))
            }
        }
    }
}

/// What a result holds. A long one is read beside the runtime: its length, the server decides.
pub(super) async fn result_of(result: Box<RawValue>) -> Result<ForeignResult, ForeignError> {
    let read = |result: &RawValue| match serde_json::from_str(result.get()) {
        Ok(Value::Object(result)) => Ok(ForeignResult(result)),
        _ => Err(ForeignError::Refused(
            "its result is not an object".to_owned(),
        )),
    };
    if result.get().len() <= LONG {
        return read(&result);
    }
    let reading = spawn_blocking(move || read(&result));
    let stopping = |_| ForeignError::Unavailable("the server is stopping".to_owned());
    reading.await.map_err(stopping)?
}
