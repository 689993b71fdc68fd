//! What happens to servers: told to whoever listens, and to the log. Must not wait for a listener.

use tokio::sync::broadcast;

use crate::registry::{ServerEvent, ServerEventKind};

/// Events that wait for a listener; who is slower is told how many were missed.
const MAX_EVENTS: usize = 256;

/// Where events go.
#[derive(Debug)]
pub(super) struct Telling(broadcast::Sender<ServerEvent>);

impl Default for Telling {
    fn default() -> Self {
        Telling(broadcast::Sender::new(MAX_EVENTS))
    }
}

impl Telling {
    /// What happens from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<ServerEvent> {
        self.0.subscribe()
    }

    /// Tells what has happened.
    pub(super) fn tell(&self, event: ServerEvent) {
        log(&event);
        // Nobody has to listen.
        let _ = self.0.send(event);
    }
}

fn log(event: &ServerEvent) {
    let (server, of_session) = (&*event.server, event.is_of_session);
    match &event.kind {
        ServerEventKind::Started => tracing::info!(server, of_session, "started"),
        ServerEventKind::ToolsUpdated { tools } => {
            tracing::info!(server, of_session, tools, "tools updated");
        }
        ServerEventKind::Stopped { why } => tracing::info!(server, of_session, "stopped: {why}"),
        ServerEventKind::Error { why } => tracing::warn!(server, of_session, "error: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;

    fn event(tools: usize) -> ServerEvent {
        ServerEvent {
            server: "up".into(),
            is_of_session: false,
            kind: ServerEventKind::ToolsUpdated { tools },
        }
    }

    /// Proves: C31.
    #[test]
    fn every_listener_is_told_in_order_and_a_slow_one_how_much_it_missed() {
        let telling = Telling::default();
        telling.tell(event(0));
        let (mut quick, mut slow) = (telling.listen(), telling.listen());
        telling.tell(event(1));
        assert_eq!(quick.try_recv(), Ok(event(1)), "what came before is over");
        for tools in 2..=MAX_EVENTS + 1 {
            telling.tell(event(tools));
        }
        assert_eq!(quick.try_recv(), Ok(event(2)));
        assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(1)));
        assert_eq!(slow.try_recv(), Ok(event(2)));
    }
}
