//! What is done for a connection while it lasts, and when it ends.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ahma_http_mcp_client::RequestError;
use tokio::time::{sleep, timeout};

use super::{Connection, QUIET, RESTART_WAIT, Status, Upstream, lock};
use crate::registry::ServerEventKind;

/// A server is not asked more often than this, however often it says that something has changed.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);

/// How long the kernel and a sandbox host may take to say that a process has ended.
const DEATH_NOTICE: Duration = Duration::from_secs(1);

impl Upstream {
    /// Sees to a connection: asks what it offers when that has changed, ends it when nobody uses it, and notes its end.
    pub(super) async fn look_after(self: Arc<Self>, connection: Arc<Connection>) {
        let mut listed = Instant::now();
        loop {
            let idle = self.spec.idle.map(|idle| {
                let last = *lock(&connection.last_used);
                idle.saturating_sub(last.elapsed())
            });
            tokio::select! {
                biased;
                _ = self.retired() => return,
                // Whoever still uses it holds it.
                () = connection.given_up.notified() => return,
                why = connection.closed() => return self.ended(&connection, &why).await,
                // Whoever says so ends the connection too.
                () = self.over.cancelled() => return,
                () = self.lists_changed.notified() => {
                    // However often it is said.
                    let pause = QUIET.max(BETWEEN_LISTS.saturating_sub(listed.elapsed()));
                    sleep(pause).await;
                    self.list(&connection).await;
                    listed = Instant::now();
                }
                () = after(idle) => {
                    if self.take_idle(&connection) {
                        return self.stop(&connection, "nobody uses it").await;
                    }
                    // A call is under way, or came a moment ago.
                    sleep(QUIET).await;
                }
            }
        }
    }

    /// Whether nobody uses a connection; then nobody is given it any more.
    fn take_idle(&self, connection: &Arc<Connection>) -> bool {
        // Under this lock connections are given to calls.
        let mut state = self.state();
        let is_used = connection.in_use.load(Ordering::Relaxed) > 0;
        let unused = lock(&connection.last_used).elapsed();
        let is_idle = !is_used && self.spec.idle.is_some_and(|idle| unused >= idle);
        if is_idle {
            state.connection = None;
        }
        is_idle
    }

    /// Ends a connection that nobody is given any more.
    pub(super) async fn stop(&self, connection: &Arc<Connection>, why: &'static str) {
        connection.is_stopping.store(true, Ordering::Relaxed);
        let process = lock(&connection.process).take();
        if let Some(process) = process {
            process.stop().await;
        }
        self.set(Status::Stopped, None);
        self.tell(ServerEventKind::Stopped { why });
    }

    /// Notes, once, that a connection has ended that nobody wanted to end.
    pub(super) fn note_end(&self, connection: &Arc<Connection>, why: &str) {
        if connection.is_noted.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        let lived = connection.since.elapsed();
        let has_worked = connection.has_worked.load(Ordering::Relaxed);
        state.backoff.failed(lived, has_worked, Instant::now());
        let current = state.connection.take_if(|it| Arc::ptr_eq(it, connection));
        drop(state);
        if current.is_some() {
            self.set(Status::Error, Some(why.to_owned()));
        }
    }

    /// Has another connection made in the place of one that is of no use any more: the server wants another token, or has
    /// forgotten the session. Calls that are under way in it go on.
    pub(super) fn give_up(&self, connection: &Arc<Connection>, error: &RequestError) {
        if let RequestError::Unauthorized { .. } | RequestError::SessionGone = error {
            self.note_end(connection, &error.to_string());
            connection.given_up.notify_one();
        }
    }

    /// Tries again until a server has said for the first time what it offers: no call would start it before.
    pub(super) async fn try_until_known(upstream: Weak<Self>) {
        loop {
            let Some(now) = upstream.upgrade() else {
                return;
            };
            // A try that is under way is waited for.
            drop(now.connecting.lock().await);
            if now.is_known() {
                return;
            }
            let wait = now.state().backoff.wait(Instant::now());
            drop(now);
            sleep(wait.max(BETWEEN_LISTS)).await;
            let Some(now) = upstream.upgrade() else {
                return;
            };
            match now.connected().await {
                Ok(connection) if !now.is_known() => drop(now.list(&connection.0).await),
                // Why not is noted already.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Sees to the end of a connection, and to why it ended.
    async fn ended(&self, connection: &Arc<Connection>, why: &str) {
        if connection.is_stopping.load(Ordering::Relaxed) {
            return;
        }
        self.note_end(connection, why);
        let process = lock(&connection.process).take();
        let why = match process {
            Some(process) => {
                let ended = timeout(RESTART_WAIT, process.ended()).await;
                let ended = ended.map_or_else(|_| why.to_owned(), |it| it.words);
                process.stop().await;
                match self.stderr.last_line() {
                    Some(line) => format!("{ended}; it said: {line}"),
                    None => ended,
                }
            }
            None => why.to_owned(),
        };
        let mut state = self.state();
        // Unless another one has been made meanwhile.
        if state.status == Status::Error {
            state.error = Some(why.clone());
        }
        drop(state);
        self.tell(ServerEventKind::Error { why });
    }
}

impl Connection {
    /// Why it can be used no more, once it cannot.
    pub(super) fn ended(&self) -> Option<Arc<str>> {
        let exit = || Some(self.exit.as_ref()?.now()?.words.into());
        self.client.ended().or_else(exit)
    }

    /// Has the end of a process known before whoever was told of the broken connection calls again: that call would be lost.
    pub(super) async fn notice_death(&self, error: &RequestError) {
        if let (Some(exit), RequestError::Transport { .. }) = (&self.exit, error) {
            let _ = timeout(DEATH_NOTICE, exit.wait()).await;
        }
    }

    /// Waits until it can be used no more. Over HTTP, nobody else tells that a process has ended.
    async fn closed(&self) -> Arc<str> {
        let exit = async {
            match &self.exit {
                Some(exit) => exit.wait().await.words.into(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            why = self.client.closed() => why,
            words = exit => words,
        }
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}
