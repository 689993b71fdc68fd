//! Other servers in the place of those that there are, when the operator's file says so: what is unchanged keeps its process
//! and its calls, and clients are told once. Must not read the file.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::record;
use super::servers::{DownstreamServers, SETTLE_TIMEOUT};
use super::upstream::{Retired, Upstream};
use crate::config::downstream::{ServerSpec, StartMode};

/// What a replacement amounts to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// Servers that were not there before.
    pub(crate) added: Vec<String>,
    /// Servers whose entries are others now.
    pub(crate) changed: Vec<String>,
    /// Servers that are there no more.
    pub(crate) removed: Vec<String>,
    /// What their owner should know of those that are new or changed.
    pub(crate) warnings: Vec<String>,
}

impl DownstreamServers {
    /// Offers these servers instead of those that there are. One whose entry is the same goes on as it is.
    pub(crate) async fn replace(self: &Arc<Self>, specs: Vec<ServerSpec>) -> Replaced {
        // What is known at the beginning is offered together.
        let _ = self.settled.subscribe().wait_for(|it| *it).await;
        let before = self.members.current();
        if before.iter().map(|it| it.spec()).eq(&specs) {
            return Replaced::default();
        }
        let Some(now) = self.prepared(specs).await else {
            return Replaced::default();
        };
        let is_in = |upstreams: &[Arc<Upstream>], name: &str| {
            let mut names = upstreams.iter().map(|it| it.name());
            names.any(|it| it == name)
        };
        let is_kept = |it: &&Arc<Upstream>| before.iter().any(|before| Arc::ptr_eq(before, it));
        let fresh: Vec<Arc<Upstream>> = now
            .iter()
            .filter(|it| !is_kept(it))
            .map(Arc::clone)
            .collect();
        let leaving = self.members.change(now.clone());
        let mut replaced = Replaced::default();
        for upstream in &fresh {
            let name = upstream.name().to_owned();
            match is_in(&before, &name) {
                true => replaced.changed.push(name),
                false => replaced.added.push(name),
            }
            replaced
                .warnings
                .extend(upstream.warnings().iter().cloned());
        }
        let gone = leaving.iter().map(|it| it.name());
        let gone = gone.filter(|it| !is_in(&now, it));
        replaced.removed = gone.map(ToOwned::to_owned).collect();

        // Together, so that clients are told once; those that leave go on serving meanwhile.
        let unknown: Vec<_> = fresh.iter().filter(|it| !it.is_known()).cloned().collect();
        let mut starting = Box::pin(async move {
            join_all(unknown.iter().map(Upstream::begin)).await;
        });
        let in_time = timeout(SETTLE_TIMEOUT, &mut starting).await;
        // Nobody starts the next process of a server while the one before is there.
        let mut held = Vec::new();
        for upstream in fresh.iter().filter(|it| it.is_known()) {
            held.push(upstream.hold().await);
        }
        self.members.has_changed();
        self.publish().await;
        if in_time.is_err() {
            let servers = Arc::clone(self);
            tokio::spawn(async move {
                starting.await;
                servers.publish().await;
            });
        }
        let ran: Vec<&str> = leaving
            .iter()
            .filter(|it| it.is_running())
            .map(|it| it.name())
            .collect();
        join_all(leaving.iter().map(|it| {
            it.retire(match is_in(&now, it.name()) {
                true => Retired::Changed,
                false => Retired::Removed,
            })
        }))
        .await;
        self.members.have_left();
        drop(held);
        for upstream in &fresh {
            let is_due =
                upstream.spec().start == StartMode::Eager || ran.contains(&upstream.name());
            if is_due && upstream.is_known() {
                let upstream = Arc::clone(upstream);
                tokio::spawn(async move { upstream.begin().await });
            }
        }
        replaced
    }

    /// Servers for these entries: those that there are where the entry is the same.
    async fn prepared(&self, specs: Vec<ServerSpec>) -> Option<Vec<Arc<Upstream>>> {
        let (before, means) = (self.members.current(), Arc::clone(&self.means));
        let changed = Arc::clone(&self.changed);
        let preparing = spawn_blocking(move || {
            let upstream = |spec: ServerSpec| {
                let same = before.iter().find(|it| *it.spec() == spec);
                same.map(Arc::clone).unwrap_or_else(|| {
                    let record = record::read(&record::file(&means.records, &spec.name));
                    Upstream::new(spec, &means, record, &changed)
                })
            };
            specs.into_iter().map(upstream).collect()
        });
        preparing.await.ok()
    }
}
