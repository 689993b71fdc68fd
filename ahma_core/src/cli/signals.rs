//! What the operator tells a running server.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that end the server. They are listened to from the beginning, so that none is missed.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(StopSignals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// What asks for tool files to be read again: SIGHUP. Listened to from the beginning too, because it
/// would end the server otherwise.
pub(super) struct ReloadSignal(Signal);

impl ReloadSignal {
    pub(super) fn listen() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(ReloadSignal)
    }

    /// Calls this at every SIGHUP, for as long as the server runs.
    pub(super) fn on_signal(mut self, reload: impl Fn() + Send + 'static) {
        tokio::spawn(async move {
            while self.0.recv().await.is_some() {
                reload();
            }
        });
    }
}
