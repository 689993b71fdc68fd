//! The conversation with one client, from its first message to its last.

use std::time::Duration;

use ahma_transport::{CatchPanic, RawResults};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::descriptors::Streams;
use super::transport::LineTransport;

/// One client, served until it goes away.
///
/// ```no_run
/// use ahma_core::{StdioConnection, Streams};
///
/// async fn serve(handler: impl rmcp::ServerHandler, socket: tokio::net::UnixStream) {
///     let (input, output) = socket.into_split();
///     let mut client = StdioConnection::serve(handler, Streams::new(input, output));
///     let _ = client.ended().await;
/// }
/// ```
pub struct StdioConnection {
    served: JoinHandle<Result<(), String>>,
    /// The client has closed its end.
    gone: CancellationToken,
    stop: CancellationToken,
}

impl StdioConnection {
    /// Serves the client at the other end of these streams with a handler.
    pub fn serve(handler: impl ServerHandler, streams: Streams) -> Self {
        let (gone, stop) = (CancellationToken::new(), CancellationToken::new());
        let transport = LineTransport::new(streams, gone.clone());
        let stopped = stop.clone();
        let served = tokio::spawn(async move {
            match RawResults(CatchPanic::new(handler, name_of))
                .serve_with_ct(transport, stopped)
                .await
            {
                Ok(running) => {
                    let _ = running.waiting().await;
                    Ok(())
                }
                // Clients look whether a server starts, and go.
                Err(
                    ServerInitializeError::ConnectionClosed(_)
                    | ServerInitializeError::TransportError { .. }
                    | ServerInitializeError::Cancelled,
                ) => Ok(()),
                Err(error) => Err(format!(
                    "the client did not start the conversation correctly: {error}"
                )),
            }
        });
        StdioConnection { served, gone, stop }
    }

    /// Waits until the client is gone.
    pub async fn ended(&mut self) -> Result<(), String> {
        tokio::select! {
            ended = &mut self.served => ended.unwrap_or(Ok(())),
            () = self.gone.cancelled() => Ok(()),
        }
    }

    /// Waits until the last answers are written, for so long at most.
    pub async fn finish(self, timeout: Duration) {
        self.stop.cancel();
        // A task that has been waited for must not be polled again.
        if !self.served.is_finished() {
            let _ = tokio::time::timeout(timeout, self.served).await;
        }
    }
}

/// What a request is called in the log.
fn name_of(context: &RequestContext<RoleServer>) -> String {
    format!("stdio-{}", context.id)
}

#[cfg(test)]
mod tests {
    use rmcp::ErrorData;
    use rmcp::model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig,
    };
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

    use super::*;

    /// Makes a mistake whenever tools are listed.
    struct Mistaken;

    impl ServerHandler for Mistaken {
        fn get_info(&self) -> ServerConfig {
            ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        }

        async fn list_tools(
            &self,
            _request: Option<PaginatedRequestParams>,
            _context: RequestContext<RoleServer>,
        ) -> Result<ListToolsResult, ErrorData> {
            panic!("oh no")
        }

        async fn call_tool(
            &self,
            _request: CallToolRequestParams,
            _context: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            Ok(CallToolResult::success(vec![ContentBlock::text("well")]).into())
        }
    }

    async fn answer(lines: &mut Lines<BufReader<DuplexStream>>) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line());
        let line = line.await.unwrap().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Proves: H15.
    #[tokio::test]
    async fn a_panic_is_answered_with_an_error_and_the_conversation_goes_on() {
        let (mut input, theirs) = tokio::io::duplex(1 << 16);
        let (ours, output) = tokio::io::duplex(1 << 16);
        let streams = Streams::new(theirs, ours);
        let client = StdioConnection::serve(Mistaken, streams);
        let mut lines = BufReader::new(output).lines();
        let begin = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" }
        });
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        ] {
            input
                .write_all(format!("{message}\n").as_bytes())
                .await
                .unwrap();
        }
        assert_eq!(answer(&mut lines).await["id"], 1);
        let mistake = answer(&mut lines).await;
        assert_eq!(mistake["id"], 2);
        assert_eq!(mistake["error"]["code"], -32603);
        let why = mistake["error"]["message"].as_str().unwrap();
        assert!(why.contains("its log has the details"), "{why}");

        let call = json!({
            "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "any" }
        });
        input
            .write_all(format!("{call}\n").as_bytes())
            .await
            .unwrap();
        let well = answer(&mut lines).await;
        assert_eq!(well["result"]["content"][0]["text"], "well");
        client.finish(Duration::from_secs(30)).await;
    }
}
