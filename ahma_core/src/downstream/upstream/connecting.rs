//! The making of a connection: once, however many wait for it, and after the pause that failures ask for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::super::process::Process;
use super::{Connection, NoConnection, RESTART_WAIT, Status, Upstream, lock};
use crate::audit::timestamp;
use crate::config::downstream::TransportSpec;
use crate::registry::ServerEventKind;

impl Upstream {
    /// A connection, made where there is none. Whoever waits may go; it is made all the same, and once.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<InUse, NoConnection> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let has_failed = self.state().error.is_some();
        let upstream = Arc::clone(self);
        let making = tokio::spawn(async move {
            let _connecting = upstream.connecting.lock().await;
            if let Some(connection) = upstream.current() {
                return Ok(connection);
            }
            let last = upstream.state().connection.clone();
            if let Some((last, why)) = last.and_then(|it| it.ended().map(|why| (it, why))) {
                upstream.note_end(&last, &why);
            }
            if let Some(challenge) = upstream.waits_for_sign_in().await {
                return Err(NoConnection::Unauthorized(challenge));
            }
            let wait = upstream.state().backoff.wait(Instant::now());
            if wait > RESTART_WAIT {
                return Err(upstream.why_not(wait).into());
            }
            tokio::select! {
                biased;
                why = upstream.retired() => return Err(why.into()),
                connected = async { sleep(wait).await; upstream.connect().await } => connected?,
            }
            let current = upstream.current();
            current.ok_or_else(|| upstream.why_not(Duration::ZERO).into())
        });
        // The first start may install something.
        let limit = match has_failed {
            true => RESTART_WAIT,
            false => RESTART_WAIT.max(self.spec.timeout),
        };
        match timeout(limit, making).await {
            Ok(Ok(made)) => made,
            Ok(Err(_)) => Err("the server is stopping".to_owned().into()),
            Err(_) => Err(NoConnection::Failed(format!(
                "the server `{}` is still starting; try again in a moment",
                self.name()
            ))),
        }
    }

    /// The connection that there is. It is not ended for want of use while this is held.
    fn current(&self) -> Option<InUse> {
        let state = self.state();
        let current = state.connection.as_ref();
        let current = current.filter(|it| it.ended().is_none());
        current.map(InUse::of)
    }

    fn why_not(&self, wait: Duration) -> String {
        let state = self.state();
        let (server, since) = (self.name(), timestamp(state.since));
        let why = state.error.clone().unwrap_or_default();
        let seconds = wait.as_secs().max(1);
        format!(
            "the server `{server}` does not run since {since}: {why}. It is started again in {seconds} s; \
             `get_server_info` shows what it said"
        )
    }

    /// Makes a connection, and sees to it until it ends.
    async fn connect(self: &Arc<Self>) -> Result<(), NoConnection> {
        if self.over.is_cancelled() {
            return Err(self.is_over().into());
        }
        let seat = match &self.seats {
            Some(seats) => Some(seats.take(self.name())?),
            None => None,
        };
        self.set(Status::Starting, None);
        let connected = tokio::select! {
            opened = self.open() => opened,
            () = self.over.cancelled() => return Err(self.is_over().into()),
        };
        let opened = match connected {
            Ok(connected) => connected,
            Err(NoConnection::Unauthorized(challenge)) => {
                self.note_refusal(challenge.clone()).await;
                return Err(NoConnection::Unauthorized(challenge));
            }
            Err(NoConnection::Failed(why)) => {
                let mut state = self.state();
                state.backoff.failed(Duration::ZERO, false, Instant::now());
                drop(state);
                self.set(Status::Error, Some(why.clone()));
                self.tell(ServerEventKind::Error { why: why.clone() });
                return Err(NoConnection::Failed(format!(
                    "the server `{}` cannot be used: {why}",
                    self.name()
                )));
            }
        };
        let connection = Arc::new(Connection {
            client: opened.client,
            exit: opened.process.as_ref().map(Process::exit),
            process: Mutex::new(opened.process),
            port: opened.port,
            in_use: AtomicUsize::new(0),
            has_worked: AtomicBool::new(false),
            _seat: seat,
            is_stopping: AtomicBool::new(false),
            is_noted: AtomicBool::new(false),
            given_up: Notify::new(),
            last_used: Mutex::new(Instant::now()),
            since: Instant::now(),
        });
        if !self.take_up(&connection) {
            self.stop(&connection, "it is not needed any more").await;
            return Err(self.is_over().into());
        }
        self.tell(ServerEventKind::Started);
        tokio::spawn(Arc::clone(self).look_after(Arc::clone(&connection)));
        // Over HTTP the answer decides about headers of later requests.
        let must_list = !matches!(self.spec.transport, TransportSpec::Stdio(_));
        if !self.is_known() {
            self.list(&connection).await;
        } else if must_list || self.spec.pin {
            // What has to be approved is compared before anything is called.
            self.list_tools_first(&connection).await;
        } else {
            self.lists_changed.notify_one();
        }
        Ok(())
    }

    /// Gives a connection to whoever wants one, unless the server is not to run any more.
    fn take_up(&self, connection: &Arc<Connection>) -> bool {
        self.set(Status::Connected, None);
        let mut state = self.state();
        // Whoever ends the server looks for a connection after saying so.
        let is_wanted = !self.over.is_cancelled();
        if is_wanted {
            state.connection = Some(Arc::clone(connection));
            state.has_listed = false;
        }
        is_wanted
    }

    fn is_over(&self) -> String {
        format!("the server `{}` is not used any more", self.name())
    }

    /// Starts it to learn what it offers.
    pub(in super::super) async fn begin(self: &Arc<Self>) {
        // Why not is noted already.
        let _ = self.connected().await;
        if !self.is_known() {
            tokio::spawn(Self::try_until_known(Arc::downgrade(self)));
        }
    }
}

/// A connection while a call uses it.
pub(super) struct InUse(pub(super) Arc<Connection>);

impl InUse {
    fn of(connection: &Arc<Connection>) -> Self {
        connection.in_use.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(connection))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *lock(&self.0.last_used) = Instant::now();
        self.0.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}
