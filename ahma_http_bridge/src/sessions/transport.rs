//! What the SDK's service of a session reads from and writes to.

use std::convert::Infallible;
use std::sync::Arc;

use ahma_transport::SessionHandle;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::session::Session;

pub(crate) struct SessionTransport {
    session: Arc<Session>,
    messages: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
}

impl SessionTransport {
    pub(super) fn new(
        session: Arc<Session>,
        messages: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
    ) -> Self {
        SessionTransport { session, messages }
    }

    pub(crate) fn session(&self) -> &SessionHandle {
        &self.session.handle
    }
}

impl Transport<RoleServer> for SessionTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.session.deliver(message);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            () = self.session.handle.closed().cancelled() => None,
            message = self.messages.recv() => message.map(|message| *message),
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.session.end();
        Ok(())
    }
}
