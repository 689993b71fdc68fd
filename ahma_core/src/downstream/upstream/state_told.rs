//! What is told of a server: where it is reached, how it is, and what happens to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Connection, Upstream};
use crate::config::downstream::TransportSpec;
use crate::registry::{ServerEvent, ServerEventKind};

impl Upstream {
    /// Where it is reached over HTTP, without a query, which may hold a key; a managed one only while it runs.
    pub(super) fn url(&self, connection: Option<&Connection>) -> Option<String> {
        match &self.spec.transport {
            TransportSpec::Http { url, .. } => url.split('?').next().map(ToOwned::to_owned),
            TransportSpec::Stdio(_) | TransportSpec::Managed(_) => {
                let port = connection?.port.as_ref()?.number;
                Some(format!("http://127.0.0.1:{port}/mcp"))
            }
        }
    }

    /// Where it is reached over HTTP, while it runs.
    pub(in super::super) fn running_at(&self) -> Option<String> {
        let state = self.state();
        let connection = state.connection.as_ref();
        let running = connection.filter(|it| it.ended().is_none())?;
        self.url(Some(running))
    }

    pub(super) fn is_connected(&self) -> bool {
        self.state().connection.is_some()
    }

    /// Tools that are other ones than were approved.
    pub(super) fn held(&self) -> BTreeMap<String, String> {
        self.state().compared.changed.clone()
    }

    /// Tells what has happened to it.
    pub(super) fn tell(&self, kind: ServerEventKind) {
        self.means.telling.tell(ServerEvent {
            server: Arc::from(self.name()),
            is_of_session: self.seats.is_some(),
            kind,
        });
    }
}
