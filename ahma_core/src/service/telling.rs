//! What a command that writes events says while its call is open, passed on to the client: progress on the token of the call, messages
//! as far as the client wants them. Must not say anything after the answer.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CustomNotification, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::Peer;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::operation::{Dialogue, MessageLevel, Told};

/// Where it is passed on to.
#[derive(Clone)]
pub(super) struct Telling {
    pub(super) peer: Peer<RoleServer>,
    pub(super) token: Option<ProgressToken>,
    /// The least level of messages that the client wants; none where it wants none.
    pub(super) least: Option<MessageLevel>,
}

impl Telling {
    /// Waits, and passes on meanwhile what the command says; all of it, when the wait was for its end.
    pub(super) async fn told_while<T>(
        &self,
        dialogue: &Dialogue,
        wait: impl Future<Output = T>,
    ) -> T {
        let mut told = dialogue.told();
        self.told_from(&mut told, wait).await
    }

    /// The same for what was subscribed to before.
    pub(super) async fn told_from<T>(
        &self,
        told: &mut Receiver<Arc<Told>>,
        wait: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(wait);
        let mut last = f64::NEG_INFINITY;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut wait => break outcome,
                next = told.recv() => match next {
                    Ok(next) => {
                        self.tell(&next, &mut last).await;
                        // What has come with it, before the wait is looked at again.
                        self.tell_all(told, &mut last).await;
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => break wait.await,
                },
            }
        };
        self.tell_all(told, &mut last).await;
        outcome
    }

    /// Passes on what waits already.
    async fn tell_all(&self, told: &mut Receiver<Arc<Told>>, last: &mut f64) {
        for _ in 0..told.len() {
            match told.try_recv() {
                Ok(next) => self.tell(&next, last).await,
                Err(TryRecvError::Lagged(_)) => {}
                Err(_) => return,
            }
        }
    }

    /// Progress that does not grow from `last` is no progress, and clients report it as an error.
    async fn tell(&self, told: &Told, last: &mut f64) {
        match (told, &self.token) {
            (
                Told::Progress {
                    progress,
                    total,
                    message,
                },
                Some(token),
            ) if progress > last => {
                *last = *progress;
                let mut params = ProgressNotificationParam::new(token.clone(), *progress);
                params.total = *total;
                params.message.clone_from(message);
                // A client that is gone needs no notification.
                let _ = self.peer.notify_progress(params).await;
            }
            (
                Told::Message {
                    level,
                    logger,
                    data,
                },
                _,
            ) if self.least.is_some_and(|it| it <= *level) => {
                let mut params = json!({ "level": level, "data": data });
                if let Some(logger) = logger {
                    params["logger"] = Value::from(logger.as_str());
                }
                let message = CustomNotification::new("notifications/message", Some(params));
                let message = ServerNotification::CustomNotification(message);
                let _ = self.peer.send_notification(message).await;
            }
            _ => {}
        }
    }
}
