//! What a server offers: asked for, compared with what is known of it, and kept. How much it is, the server decides, so
//! that it is looked at beside the runtime.

use std::sync::Arc;

use ahma_http_mcp_client::{Listed, RequestError};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::super::packed_record::PackedRecord;
use super::super::record::{self, Compared, Record};
use super::{Connection, Upstream};
use crate::registry::ServerEventKind;

/// What a server offers now; none of what could not be asked.
#[derive(Default)]
struct Offers {
    tools: Option<Vec<Value>>,
    prompts: Option<Vec<Value>>,
    resources: Option<Vec<Value>>,
    resource_templates: Option<Vec<Value>>,
}

impl Upstream {
    /// Asks for all that it offers now; whether it said which tools.
    pub(super) async fn list(&self, connection: &Connection) -> bool {
        let tools = async {
            let _looking = self.looking.lock().await;
            self.list_tools(connection).await
        };
        let (tools, beside) = tokio::join!(tools, self.beside(connection));
        self.keep(beside).await;
        tools
    }

    /// Asks for its tools now; whether it said which. Whoever does so later than at the start holds `looking`.
    pub(super) async fn list_tools(&self, connection: &Connection) -> bool {
        let said = self.tool_changes.said();
        let tools = self.tools(connection).await;
        let has_tools = tools.is_some();
        let beside = Offers::default();
        self.keep(Offers { tools, ..beside }).await;
        if has_tools {
            self.tool_changes.look_at(said);
        }
        has_tools
    }

    /// Asks for its tools now, and for the rest without waiting for it: no call needs that.
    pub(super) async fn list_tools_first(self: &Arc<Self>, connection: &Arc<Connection>) {
        self.list_tools(connection).await;
        let (upstream, connection) = (Arc::clone(self), Arc::clone(connection));
        tokio::spawn(async move {
            let beside = upstream.beside(&connection).await;
            upstream.keep(beside).await;
        });
    }

    /// Its tools. A server that says what it has, and tools are not among it, is not asked.
    async fn tools(&self, connection: &Connection) -> Option<Vec<Value>> {
        let capabilities = &connection.client.peer().capabilities;
        let has = |kind: &str| capabilities[kind].is_object();
        if !has("tools") && (has("prompts") || has("resources")) {
            return Some(Vec::new());
        }
        self.items("tools", connection.client.tools().await).await
    }

    /// What it offers beside tools. A server that does not say it has such is not asked, and has none.
    async fn beside(&self, connection: &Connection) -> Offers {
        let client = &connection.client;
        let has = |kind: &str| client.peer().capabilities[kind].is_object();
        let prompts = async {
            match has("prompts") {
                true => self.items("prompts", client.prompts().await).await,
                false => Some(Vec::new()),
            }
        };
        let resources = async {
            match has("resources") {
                true => self.items("resources", client.resources().await).await,
                false => Some(Vec::new()),
            }
        };
        let templates = async {
            match has("resources") {
                // Many servers have resources and none of this.
                true => match client.resource_templates().await {
                    Err(RequestError::Refused(_)) => Some(Vec::new()),
                    listed => self.items("resource templates", listed).await,
                },
                false => Some(Vec::new()),
            }
        };
        let (prompts, resources, resource_templates) = tokio::join!(prompts, resources, templates);
        Offers {
            tools: None,
            prompts,
            resources,
            resource_templates,
        }
    }

    /// The items of a list that could be had.
    async fn items(&self, kind: &str, listed: Result<Listed, RequestError>) -> Option<Vec<Value>> {
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(server = self.name(), "its {kind} cannot be listed: {error}");
                return None;
            }
        };
        if let Some(cut) = &listed.cut {
            tracing::warn!(server = self.name(), "{kind}: {cut}");
        }
        let reading = spawn_blocking(move || {
            let items = listed.items.iter();
            items
                .filter_map(|it| serde_json::from_str(it.get()).ok())
                .collect()
        });
        reading.await.ok()
    }

    /// Keeps what it offers now, as far as it is approved or needs no approval.
    async fn keep(&self, offers: Offers) {
        // One after the other: none may lose what another has noted.
        let _keeping = self.record.keeping.lock().await;
        let before = self.record.get();
        if offers.tools.is_none() && before.is_none() {
            return;
        }
        let (pin, approved) = (self.spec.pin, before.clone());
        let has_tools = offers.tools.is_some();
        let path = record::file(&self.means.records, self.name());
        let held = record::held_file(&self.means.records, self.name());
        let looking = spawn_blocking(move || {
            let before = before.map(|it| it.open());
            let (compared, now) = looked_at(before.as_ref(), offers, pin);
            if let Some(compared) = &compared {
                // For whoever looks while nothing runs; it decides nothing.
                let _ = record::write_held(&held, compared);
            }
            let now = Some(now).filter(|it| before.as_ref() != Some(it));
            let written = now.as_ref().map(|it| record::write(&path, it));
            let now = now.map(|it| Arc::new(PackedRecord::of(&it)));
            (compared, now, written)
        });
        let Ok((compared, now, written)) = looking.await else {
            return;
        };
        let mut is_news = has_tools && now.is_some();
        if let Some(Err(error)) = written {
            tracing::warn!(
                server = self.name(),
                "what it offers cannot be kept: {error}"
            );
        }
        if let Some(compared) = compared {
            for (tool, what) in &compared.changed {
                tracing::warn!(
                    server = self.name(),
                    tool,
                    "it is another one than was approved: {what} changed"
                );
            }
            let mut state = self.state();
            is_news |= state.compared != compared;
            state.compared = compared;
            state.compared_with = approved;
        }
        if let Some(now) = now {
            self.record.put(Some(now));
            self.changed.notify_one();
        }
        if has_tools {
            is_news |= !std::mem::replace(&mut self.state().has_listed, true);
        }
        if is_news {
            let tools = self.record.get().map_or(0, |it| it.tools());
            self.tell(ServerEventKind::ToolsUpdated { tools });
        }
    }
}

/// What differs from what is approved, where it has to be, and what is known from now on.
fn looked_at(before: Option<&Record>, offers: Offers, pin: bool) -> (Option<Compared>, Record) {
    let known = before.cloned().unwrap_or_default();
    let (compared, tools) = match (before, offers.tools) {
        (Some(approved), Some(tools)) if pin => (Some(approved.compare(&tools)), known.tools),
        (_, Some(tools)) => (None, tools),
        (_, None) => (None, known.tools),
    };
    let now = Record {
        tools,
        prompts: offers.prompts.unwrap_or(known.prompts),
        resources: offers.resources.unwrap_or(known.resources),
        resource_templates: offers
            .resource_templates
            .unwrap_or(known.resource_templates),
    };
    (compared, now)
}
