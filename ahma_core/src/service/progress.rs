//! Progress notifications of one call, while its client waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::select_all;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::time::{Instant, sleep, sleep_until};

use crate::operation::OperationHandle;

/// At most one notification in this time.
const PAUSE: Duration = Duration::from_secs(1);
/// A notification is sent after this time even when nothing is written: clients give up on calls that are silent.
const SILENCE: Duration = Duration::from_secs(15);
/// A longer line is cut.
const MAX_LINE_LEN: usize = 500;

/// Progress of one call.
pub(super) struct LiveProgress {
    pub(super) peer: Peer<RoleServer>,
    pub(super) token: ProgressToken,
    pub(super) sent: Arc<AtomicU32>,
}

impl LiveProgress {
    /// Waits, and notifies: at once that the call is in progress, then of what was written last. A notification that was
    /// begun is sent to its end, because nothing may follow the answer.
    pub(super) async fn notify_while<T>(
        &self,
        operations: &[Arc<OperationHandle>],
        wait: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(wait);
        let mut seen = vec![0; operations.len()];
        self.notify(operations).await;
        loop {
            let next = Instant::now() + PAUSE;
            let due = async {
                tokio::select! {
                    () = any_grows(operations, &mut seen) => {}
                    () = sleep(SILENCE) => {}
                }
                sleep_until(next).await;
            };
            tokio::select! {
                biased;
                outcome = &mut wait => return outcome,
                () = due => {}
            }
            for (seen, operation) in seen.iter_mut().zip(operations) {
                *seen = operation.output().totals().bytes;
            }
            self.notify(operations).await;
        }
    }

    async fn notify(&self, operations: &[Arc<OperationHandle>]) {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut progress = ProgressNotificationParam::new(self.token.clone(), number.into());
        progress.message = Some(message(operations));
        // A client that is gone needs no notification.
        let _ = self.peer.notify_progress(progress).await;
    }
}

/// Waits until one of them has written more than was seen.
async fn any_grows(operations: &[Arc<OperationHandle>], seen: &mut [u64]) {
    if operations.is_empty() {
        return std::future::pending().await;
    }
    let pairs = operations.iter().zip(seen.iter());
    let waiting = pairs.map(|(operation, seen)| Box::pin(operation.output().grown(*seen)));
    let (bytes, which, _) = select_all(waiting).await;
    if let Some(seen) = seen.get_mut(which) {
        *seen = bytes;
    }
}

/// What operations are doing; of several, the one that wrote last.
fn message(operations: &[Arc<OperationHandle>]) -> String {
    let unfinished = operations.iter().filter(|it| !it.state().is_final());
    let Some(latest) = unfinished.max_by_key(|it| it.output().last_written()) else {
        return "ended".to_owned();
    };
    let mut parts = Vec::new();
    if operations.len() > 1 {
        parts.push(latest.id().to_string());
    }
    parts.extend(latest.step());
    let silent = latest.output().last_written().elapsed();
    match latest.output().last_line() {
        Some(line) => parts.push(cut(line)),
        None => parts.push(latest.state().name().to_owned()),
    }
    if silent >= SILENCE {
        parts.push(format!("no output for {} s", silent.as_secs()));
    }
    parts.join(" · ")
}

fn cut(mut line: String) -> String {
    if line.len() > MAX_LINE_LEN {
        line.truncate(line.floor_char_boundary(MAX_LINE_LEN));
        line.push('…');
    }
    line
}
