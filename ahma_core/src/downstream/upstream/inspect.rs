//! A look at a server: started, asked what it offers, and ended. Changes nothing that is known of it.

use serde_json::Value;

use super::Upstream;

/// What a server offers.
pub(in crate::downstream) struct Seen {
    pub(in crate::downstream) tools: Vec<Value>,
    /// Why there may be more than these.
    pub(in crate::downstream) cut: Option<String>,
}

impl Upstream {
    /// Asks what it offers now.
    pub(in crate::downstream) async fn inspect(&self) -> Result<Seen, String> {
        let opened = self.open().await.map_err(|why| self.in_words(why))?;
        let listed = opened.client.tools().await;
        if let Some(process) = opened.process {
            process.stop().await;
        }
        let listed = listed.map_err(|error| format!("its tools cannot be listed: {error}"))?;
        let tools = listed.items.iter();
        let tools = tools.filter_map(|it| serde_json::from_str(it.get()).ok());
        Ok(Seen {
            tools: tools.collect(),
            cut: listed.cut,
        })
    }
}
