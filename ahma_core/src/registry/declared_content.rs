//! What all prompt files and resource files together offer.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{Prompt, PromptArgument, Resource, ResourceTemplate};
use serde::Serialize;
use serde_json::Value;

use super::content_lists::ContentLists;
use super::definition::icon;
use crate::config::content::{Accepted, Loaded, PromptSpec, ResourcePlace, ResourceSpec};
use crate::config::{IconSpec, RejectedFile};

/// Names and values of what stands in a URI.
type UriValues = Vec<(String, String)>;

/// Prompts and resources of one reading of all files.
#[derive(Debug, Default)]
pub(crate) struct DeclaredContent {
    prompts: Vec<Arc<PromptSpec>>,
    resources: Vec<Arc<ResourceSpec>>,
    rejected: Arc<Vec<RejectedFile>>,
    /// Paths that they ask for and that are there.
    present: BTreeSet<String>,
    lists: ContentLists,
}

impl DeclaredContent {
    /// Takes over what was loaded. A file that was valid before and is rejected now keeps its last valid version. Of two prompts
    /// of one name, and of two resources of one URI, the first counts.
    pub(crate) fn new(
        prompts: Loaded<PromptSpec>,
        resources: Loaded<ResourceSpec>,
        before: &DeclaredContent,
    ) -> Self {
        let mut rejected = prompts.rejected;
        let first_of_resources = rejected.len();
        rejected.extend(resources.rejected);
        let (of_prompts, of_resources) = rejected.split_at(first_of_resources);
        let declared = DeclaredContent {
            prompts: with_kept(prompts.accepted, of_prompts, &before.prompts),
            resources: with_kept(resources.accepted, of_resources, &before.resources),
            rejected: Arc::new(rejected),
            ..DeclaredContent::default()
        };
        declared.under(&before.present)
    }

    /// The same files where these paths are there.
    pub(crate) fn under(&self, present: &BTreeSet<String>) -> Self {
        let mut content = DeclaredContent {
            prompts: self.prompts.clone(),
            resources: self.resources.clone(),
            rejected: Arc::clone(&self.rejected),
            present: present.clone(),
            lists: ContentLists::default(),
        };
        let mut lists = ContentLists {
            prompts: content
                .offered_prompts()
                .map(|it| value(&prompt(it)))
                .collect(),
            ..ContentLists::default()
        };
        for spec in content.offered_resources() {
            match &spec.place {
                ResourcePlace::Uri(uri) => lists.resources.push(value(&resource(spec, uri))),
                ResourcePlace::Family(family) => {
                    let template = template(spec, family.as_str());
                    lists.resource_templates.push(value(&template));
                }
            }
        }
        content.lists = lists;
        content
    }

    /// Paths that they ask for and that are there.
    pub(crate) fn present(&self) -> &BTreeSet<String> {
        &self.present
    }

    /// Every path that one of them asks for, once.
    pub(crate) fn paths(&self) -> BTreeSet<String> {
        let of_prompts = self.prompts.iter().flat_map(|it| &it.only_if);
        let of_resources = self.resources.iter().flat_map(|it| &it.only_if);
        of_prompts.chain(of_resources).cloned().collect()
    }

    fn offered_prompts(&self) -> impl Iterator<Item = &Arc<PromptSpec>> {
        self.prompts.iter().filter(|it| self.fits(&it.only_if))
    }

    fn offered_resources(&self) -> impl Iterator<Item = &Arc<ResourceSpec>> {
        self.resources.iter().filter(|it| self.fits(&it.only_if))
    }

    fn fits(&self, only_if: &[String]) -> bool {
        only_if.is_empty() || only_if.iter().any(|it| self.present.contains(it))
    }

    /// The prompt of that name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&Arc<PromptSpec>> {
        self.offered_prompts().find(|it| it.name == name)
    }

    /// The resource of that URI, with the values that stand in it.
    pub(crate) fn resource(&self, uri: &str) -> Option<(&Arc<ResourceSpec>, UriValues)> {
        let is_it =
            |spec: &&Arc<ResourceSpec>| matches!(&spec.place, ResourcePlace::Uri(it) if it == uri);
        if let Some(spec) = self.offered_resources().find(is_it) {
            return Some((spec, Vec::new()));
        }
        self.offered_resources().find_map(|spec| match &spec.place {
            ResourcePlace::Family(family) => Some((spec, family.values(uri)?)),
            ResourcePlace::Uri(_) => None,
        })
    }

    /// The family of resources with URIs of this form.
    pub(crate) fn family(&self, template: &str) -> Option<&Arc<ResourceSpec>> {
        let is_it = |spec: &&Arc<ResourceSpec>| matches!(&spec.place, ResourcePlace::Family(it) if it.as_str() == template);
        self.offered_resources().find(is_it)
    }

    /// As clients list them.
    pub(crate) fn lists(&self) -> &ContentLists {
        &self.lists
    }

    /// Files that are not served, and why.
    pub(crate) fn rejected(&self) -> &[RejectedFile] {
        &self.rejected
    }
}

fn with_kept<T: Accepted>(
    accepted: Vec<T>,
    rejected: &[RejectedFile],
    before: &[Arc<T>],
) -> Vec<Arc<T>> {
    let kept = before.iter().filter(|kept| {
        rejected.iter().any(|file| file.path == kept.source())
            && !accepted.iter().any(|it| it.key() == kept.key())
    });
    let kept: Vec<Arc<T>> = kept.cloned().collect();
    let mut all: Vec<Arc<T>> = accepted.into_iter().map(Arc::new).chain(kept).collect();
    all.sort_by(|one, other| one.key().cmp(other.key()));
    all
}

fn value<T: Serialize>(definition: &T) -> Value {
    serde_json::to_value(definition).unwrap_or_default()
}

fn icons(specs: &[IconSpec]) -> Option<Vec<rmcp::model::Icon>> {
    (!specs.is_empty()).then(|| specs.iter().map(icon).collect())
}

fn prompt(spec: &PromptSpec) -> Prompt {
    let arguments = spec.arguments.iter().map(|spec| {
        let mut argument = PromptArgument::new(&*spec.name);
        argument.title.clone_from(&spec.title);
        argument.description.clone_from(&spec.description);
        // What is asked for need not be given.
        argument.required = Some(spec.required && spec.ask.is_none());
        argument
    });
    let arguments: Vec<PromptArgument> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(&*spec.name, Some(&*spec.description), arguments);
    prompt.title.clone_from(&spec.title);
    prompt.icons = icons(&spec.icons);
    prompt
}

fn resource(spec: &ResourceSpec, uri: &str) -> Resource {
    let mut resource = Resource::new(uri, &*spec.name);
    resource.title.clone_from(&spec.title);
    resource.description.clone_from(&spec.description);
    resource.mime_type.clone_from(&spec.mime_type);
    resource.icons = icons(&spec.icons);
    resource
}

fn template(spec: &ResourceSpec, uri_template: &str) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(uri_template, &*spec.name);
    template.title.clone_from(&spec.title);
    template.description.clone_from(&spec.description);
    template.mime_type.clone_from(&spec.mime_type);
    template.icons = icons(&spec.icons);
    template
}
