//! Servers looked at by their owner: what is known of each, what it offers now, and what of that is approved from now on.
//! Must not call a tool, or approve anything by itself.

use std::io;
use std::path::Path;

use serde_json::Value;
use tokio::task::spawn_blocking;

use super::record::{self, Compared, Record};
use super::servers::DownstreamServers;
use crate::config::downstream::ServerSpec;

/// What is known of a server without asking it.
pub(crate) struct Known {
    /// How many tools it offered; none when it was never asked.
    pub(crate) tools: Option<usize>,
    /// Tools that differed from what was approved when it was last seen.
    pub(crate) held: Vec<String>,
}

/// What a server offers now, beside what is approved of it.
pub(crate) struct Inspected {
    /// None when nothing was ever approved.
    pub(crate) approved: Option<Vec<Value>>,
    pub(crate) now: Vec<Value>,
    /// Why there may be more than these.
    pub(crate) cut: Option<String>,
}

/// What is known of a server. May block.
pub(crate) fn known(records: &Path, server: &str) -> Known {
    let record = record::read(&record::file(records, server));
    Known {
        tools: record.map(|it| it.tools.len()),
        held: record::read_held(&record::held_file(records, server)),
    }
}

impl DownstreamServers {
    /// The servers, in the order of their file.
    pub(crate) fn specs(&self) -> Vec<ServerSpec> {
        let upstreams = self.members.current();
        upstreams.iter().map(|it| it.spec().clone()).collect()
    }

    /// Starts a server, asks what it offers, and ends it. What is held is noted.
    pub(crate) async fn inspect(&self, server: &str) -> Result<Inspected, String> {
        let upstreams = self.members.current();
        let upstream = upstreams.iter().find(|it| it.name() == server);
        let upstream = upstream.ok_or("there is no such server")?;
        let approved = upstream.record().map(|it| it.tools.clone());
        let seen = upstream.inspect().await?;
        if let Some(tools) = approved.clone().filter(|_| upstream.spec().pin) {
            let compared = Record::of_tools(tools).compare(&seen.tools);
            self.note_held(server, compared).await;
        }
        Ok(Inspected {
            approved,
            now: seen.tools,
            cut: seen.cut,
        })
    }

    /// Approves these definitions of a server, beside which it offers those of now.
    pub(crate) async fn approve(
        &self,
        server: &str,
        tools: Vec<Value>,
        now: &[Value],
    ) -> io::Result<()> {
        let path = record::file(&self.means.records, server);
        let approved = Record::of_tools(tools);
        let held = approved.compare(now);
        let writing = spawn_blocking(move || {
            // What else is known of it stays.
            let known = record::read(&path).unwrap_or_default();
            let tools = approved.tools;
            record::write(&path, &Record { tools, ..known })
        });
        writing.await??;
        self.note_held(server, held).await;
        Ok(())
    }

    async fn note_held(&self, server: &str, compared: Compared) {
        let path = record::held_file(&self.means.records, server);
        // For whoever looks while nothing runs; it decides nothing.
        let _ = spawn_blocking(move || record::write_held(&path, &compared)).await;
    }
}
