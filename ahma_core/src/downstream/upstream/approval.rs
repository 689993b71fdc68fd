//! Whether a tool may be called: its definition is the approved one, or the owner has approved the other one meanwhile.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::super::packed_record::PackedRecord;
use super::super::record;
use super::{Connection, Upstream};
use crate::registry::ForeignError;

impl Upstream {
    /// Refuses a tool that is another one than was approved.
    pub(super) async fn refuse_held(
        &self,
        tool: &str,
        connection: &Connection,
    ) -> Result<(), ForeignError> {
        self.look_at_changes(tool, connection).await?;
        let held = || self.state().compared.changed.get(tool).cloned();
        if held().is_none() {
            return Ok(());
        }
        self.learn_approval(connection).await;
        let Some(changed) = held() else {
            return Ok(());
        };
        let server = self.name();
        Err(ForeignError::Held(format!(
            "the tool `{tool}` of the server `{server}` is another one than was approved: {changed} changed. Nothing was \
             sent. The owner can look at the difference with `ahma_mcp downstream diff {server}` and approve it with \
             `ahma_mcp downstream approve {server}`"
        )))
    }

    /// What a server says has changed is compared with what is approved before anything is called, once for all calls.
    async fn look_at_changes(
        &self,
        tool: &str,
        connection: &Connection,
    ) -> Result<(), ForeignError> {
        if !self.spec.pin || !self.tool_changes.is_open() {
            return Ok(());
        }
        let _looking = self.looking.lock().await;
        if !self.tool_changes.is_open() || self.list_tools(connection).await {
            return Ok(());
        }
        let server = self.name();
        Err(ForeignError::Held(format!(
            "the server `{server}` says that its tools have changed, and does not say which it has now, so that `{tool}` was not \
             called. Try again in a moment"
        )))
    }

    /// Takes over what another program has written into the record, and compares again.
    async fn learn_approval(&self, connection: &Connection) {
        let path = record::file(&self.means.records, self.name());
        // Another process of it may have taken it over already.
        let compared_with = self.state().compared_with.clone();
        let reading = spawn_blocking(move || {
            let record = record::read(&path)?;
            let is_known = compared_with.is_some_and(|it| it.open().tools == record.tools);
            (!is_known).then(|| Arc::new(PackedRecord::of(&record)))
        });
        // A record that is gone approves nothing.
        let Ok(Some(record)) = reading.await else {
            return;
        };
        let before = self.record.put(Some(record));
        // Only what it offers now says whether that is what was approved.
        match self.list(connection).await {
            true => self.changed.notify_one(),
            false => drop(self.record.put(before)),
        }
    }
}
