//! Lists of prompts and resources: our own beside those of other servers, a page at a time.

use std::sync::Arc;

use ahma_transport::RawSlot;
use rmcp::model::PaginatedRequestParams;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::operation_output;
use crate::registry::ContentLists;
use crate::service::capabilities::whole_list;
use crate::service::context::ServiceContext;
use crate::service::pages;
use crate::service::revision::is_stateless;

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Prompts,
    Resources,
    Templates,
}

impl ContentKind {
    /// The key of the list in its result.
    fn key(self) -> &'static str {
        match self {
            ContentKind::Prompts => "prompts",
            ContentKind::Resources => "resources",
            ContentKind::Templates => "resourceTemplates",
        }
    }

    /// What tells one from another.
    fn identity(self) -> &'static str {
        match self {
            ContentKind::Prompts => "name",
            ContentKind::Resources => "uri",
            ContentKind::Templates => "uriTemplate",
        }
    }

    fn of(self, lists: &ContentLists) -> &[Value] {
        match self {
            ContentKind::Prompts => &lists.prompts,
            ContentKind::Resources => &lists.resources,
            ContentKind::Templates => &lists.resource_templates,
        }
    }
}

/// What is offered, complete as far as a client can wait for that.
pub(crate) async fn offered(context: &ServiceContext, kind: ContentKind) -> Vec<Value> {
    let others = match &context.foreign {
        Some(foreign) => {
            context.foreign_settled().await;
            Arc::clone(&foreign.content().borrow())
        }
        None => Arc::default(),
    };
    let own = Arc::clone(&context.registry.content().borrow());
    let mut all = merged(kind, own.lists(), &others);
    if kind == ContentKind::Templates {
        all.push(operation_output::template());
    }
    all
}

/// Our own, then those of other servers; of two of one name the first is offered.
pub(crate) fn merged(kind: ContentKind, own: &ContentLists, others: &ContentLists) -> Vec<Value> {
    let identity = kind.identity();
    let own = kind.of(own);
    let is_new = |it: &&Value| !own.iter().any(|known| known[identity] == it[identity]);
    let others = kind.of(others).iter().filter(is_new);
    own.iter().chain(others).cloned().collect()
}

/// A page of a list as far as the SDK knows its fields, and where the next one begins. Where the transport can send them, with all
/// of its fields.
pub(crate) fn page<T: DeserializeOwned>(
    kind: ContentKind,
    items: &[Value],
    request: Option<&PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let name = |it: &Value| it[kind.identity()].as_str().unwrap_or_default().to_owned();
    let cursor = request.and_then(|it| it.cursor.as_deref());
    let page = pages::page(kind.key(), items, name, cursor)?;
    let whole = items.get(page.range.clone()).unwrap_or_default();
    if let (Some(slot), false) = (RawSlot::of(&context.extensions), whole.is_empty()) {
        let mut list = whole_list(kind.key(), whole.to_vec(), is_stateless(context));
        pages::name_next(&mut list, page.next.as_deref());
        slot.put(list);
    }
    let known = whole.iter().cloned();
    let known = known.filter_map(|it| serde_json::from_value(it).ok());
    Ok((known.collect(), page.next))
}
