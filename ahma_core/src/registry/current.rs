//! The current snapshot, and who is told when another takes its place.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::Tool;
use tokio::sync::watch;

use super::declared::{Circumstances, DeclaredTools, Presentation};
use super::declared_content::DeclaredContent;
use super::entry::{Runner, ToolEntry};
use super::foreign::ForeignDefinition;
use super::snapshot::ToolSnapshot;
use crate::light_watch::LightWatch;

/// The tools of a scope.
pub(crate) struct Registry {
    built_in: Vec<Arc<ToolEntry>>,
    /// How declared tools are offered.
    presentation: Presentation,
    current: watch::Sender<Arc<ToolSnapshot>>,
    /// Prompts and resources of files.
    content: watch::Sender<Arc<DeclaredContent>>,
    /// What other servers offer. Held while another snapshot is made: of two sources that change at once, none loses its
    /// change.
    changing: Mutex<Option<Arc<[ForeignDefinition]>>>,
    /// Whether a client has listed them.
    listed: LightWatch<bool>,
    /// Why changes of files are not taken over, when they are not.
    held_back: Mutex<Option<String>>,
}

impl Registry {
    /// Begins with the built-in tools of these names, and with what files say.
    pub(crate) fn new(
        built_in: Vec<(&'static str, Tool)>,
        (declared, content): (DeclaredTools, DeclaredContent),
        presentation: Presentation,
    ) -> Self {
        let built_in: Vec<Arc<ToolEntry>> = built_in
            .into_iter()
            .map(|(name, definition)| {
                Arc::new(ToolEntry {
                    definition: Arc::new(definition),
                    whole: None,
                    runner: Runner::BuiltIn(name),
                    is_available: true,
                    is_listed: true,
                })
            })
            .collect();
        let first = ToolSnapshot::merge(&built_in, Arc::new(declared), Arc::default());
        Registry {
            current: watch::Sender::new(Arc::new(first)),
            content: watch::Sender::new(Arc::new(content)),
            built_in,
            presentation,
            changing: Mutex::default(),
            listed: LightWatch::default(),
            held_back: Mutex::default(),
        }
    }

    /// The tools as they are now.
    pub(crate) fn current(&self) -> Arc<ToolSnapshot> {
        Arc::clone(&self.current.borrow())
    }

    /// Prompts and resources of files, now and later.
    pub(crate) fn content(&self) -> watch::Receiver<Arc<DeclaredContent>> {
        self.content.subscribe()
    }

    /// Every path that a file asks for, once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = self.content.borrow().paths();
        paths.extend(self.current().declared().paths());
        paths.into_iter().collect()
    }

    /// Offers what prompt files and resource files say now.
    pub(crate) fn publish_content(&self, content: DeclaredContent) {
        self.content.send_replace(Arc::new(content));
    }

    /// Offers what tool files say now.
    pub(crate) fn publish(&self, declared: DeclaredTools) {
        let _changing = self.changing();
        let foreign = Arc::clone(self.current().foreign());
        self.offer(Arc::new(declared), foreign);
    }

    /// Offers what other servers offer now.
    pub(crate) fn publish_foreign(&self, tools: &Arc<[ForeignDefinition]>) {
        let entry = |tool: &ForeignDefinition| {
            Arc::new(ToolEntry {
                definition: Arc::clone(&tool.tool),
                whole: tool.whole.clone(),
                runner: Runner::Foreign(Arc::clone(&tool.runner)),
                is_available: true,
                is_listed: tool.is_listed,
            })
        };
        let foreign = tools.iter().map(entry).collect();
        let mut changing = self.changing();
        let declared = Arc::clone(self.current().declared());
        self.offer(declared, foreign);
        *changing = Some(Arc::clone(tools));
    }

    /// Whether these are the tools of other servers that are offered now.
    pub(crate) fn has_foreign(&self, tools: &Arc<[ForeignDefinition]>) -> bool {
        let offered = self.changing();
        let none = tools.is_empty();
        offered.as_ref().map_or(none, |it| Arc::ptr_eq(it, tools))
    }

    fn changing(&self) -> MutexGuard<'_, Option<Arc<[ForeignDefinition]>>> {
        // A pointer is whole after any panic.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self, declared: Arc<DeclaredTools>, foreign: Arc<[Arc<ToolEntry>]>) {
        let snapshot = ToolSnapshot::merge(&self.built_in, declared, foreign);
        for shadowed in snapshot.shadowed() {
            let (name, by, source) = (&shadowed.name, shadowed.by, shadowed.source);
            tracing::warn!("the {source} `{name}` is not offered: a {by} has the same name");
        }
        self.current.send_replace(Arc::new(snapshot));
    }

    /// Offers the same files under other circumstances, unless those are the same.
    pub(crate) fn publish_under(&self, circumstances: Circumstances) {
        let current = self.current();
        let declared = current.declared();
        let content = Arc::clone(&self.content.borrow());
        if *content.present() != circumstances.present {
            self.publish_content(content.under(&circumstances.present));
        }
        if *declared.circumstances() != circumstances {
            self.publish(declared.under(circumstances, &self.presentation));
        }
    }

    /// Waits until every check that decides about a tool of this project has been made once.
    pub(crate) async fn decided(&self) {
        let mut changes = self.changes();
        let is_decided = |it: &Arc<ToolSnapshot>| !it.declared().is_undecided();
        // An error means that nothing will change any more.
        let _ = changes.wait_for(is_decided).await;
    }

    /// Tells when other tools take the place of the current ones.
    pub(crate) fn changes(&self) -> watch::Receiver<Arc<ToolSnapshot>> {
        self.current.subscribe()
    }

    /// Notes why changes of files are not taken over, or that they are.
    pub(crate) fn hold_back(&self, why: Option<&str>) {
        if let Some(why) = why {
            tracing::warn!("{why}");
        }
        let held_back = self.held_back.lock();
        *held_back.unwrap_or_else(PoisonError::into_inner) = why.map(str::to_owned);
    }

    /// Why changes of files are not taken over, when they are not.
    pub(crate) fn held_back(&self) -> Option<String> {
        let held_back = self.held_back.lock();
        held_back.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A client has listed the tools.
    pub(crate) fn note_listed(&self) {
        self.listed
            .change(|listed| !std::mem::replace(listed, true));
    }

    /// Waits until a client has listed the tools for the first time.
    pub(crate) async fn listed(&self) {
        self.listed.wait(|listed| listed.then_some(())).await;
    }
}
