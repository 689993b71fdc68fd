//! The conversation with the client on stdin and stdout, from its first message to its last.

use std::time::Duration;

use ahma_http_bridge::CatchPanic;
use rmcp::service::ServerInitializeError;
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{LineTransport, StandardStreams};

/// One client, served until it goes.
pub(crate) struct Client {
    served: JoinHandle<Result<(), String>>,
    /// The client has closed its end.
    gone: CancellationToken,
    stop: CancellationToken,
}

impl Client {
    pub(crate) fn serve(handler: impl ServerHandler, streams: StandardStreams) -> Self {
        let (gone, stop) = (CancellationToken::new(), CancellationToken::new());
        let transport = LineTransport::new(streams, gone.clone());
        let stopped = stop.clone();
        let served = tokio::spawn(async move {
            match CatchPanic(handler).serve_with_ct(transport, stopped).await {
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
                Err(error) => Err(format!("the client did not begin correctly: {error}")),
            }
        });
        Client { served, gone, stop }
    }

    /// Waits until it is gone.
    pub(crate) async fn ended(&mut self) -> Result<(), String> {
        tokio::select! {
            ended = &mut self.served => ended.unwrap_or(Ok(())),
            () = self.gone.cancelled() => Ok(()),
        }
    }

    /// Lets the last answers pass, those of commands that have just been ended, for so long at most.
    pub(crate) async fn finish(self, timeout: Duration) {
        self.stop.cancel();
        // What has told its end already must not be asked again.
        if !self.served.is_finished() {
            let _ = tokio::time::timeout(timeout, self.served).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig,
    };
    use rmcp::service::RequestContext;
    use rmcp::{ErrorData, RoleServer};
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
        let streams = StandardStreams {
            input: Box::new(theirs),
            output: Box::new(ours),
        };
        let client = Client::serve(Mistaken, streams);
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
        assert!(why.contains("its log says more"), "{why}");

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
