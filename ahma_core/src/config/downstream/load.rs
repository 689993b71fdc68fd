//! From an `mcp.json` to its servers: each entry checked alone, then all of them together.

use std::collections::HashMap;
use std::path::Path;

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::super::checks::Checks;
use super::super::decode::decode_at;
use super::super::fault::{Fault, FaultList, Faults, JsonLocation};
use super::super::files::SourceFile;
use super::super::suggest::nearest;
use super::super::text::{self, Advice};
use super::masked::{mask, mask_unparsed};
use super::names::check_name;
use super::raw::{LISTS, RawServer};
use super::resolve::{prefix_of, resolve};
use super::spec::{DownstreamConfig, ServerSpec};
use super::surroundings::Surroundings;

/// More servers than anybody can use at once.
const MAX_SERVERS: usize = 100;

const ADVICE: Advice = Advice {
    too_large: "remove what is not needed; some lines for each server are enough",
    too_deep: "the entry of a server needs only a few levels of nesting",
    empty: "write an object with `servers`: { \"servers\": { \"NAME\": { \"command\": … } } }",
    several_documents: "put all servers into one object",
    has_comments: false,
};

/// Checks a file. Never fails: what is wrong is in the result, and a faulty entry does not keep another from working.
///
/// Paths of the file are relative to its directory, which should be absolute; `~/` stands for `home`.
pub fn load(source: SourceFile, home: Option<&Path>) -> DownstreamConfig {
    let mut config = DownstreamConfig {
        path: source.path,
        text: String::new(),
        servers: Vec::new(),
        disabled: Vec::new(),
        faults: Vec::new(),
    };
    let bytes = match source.content {
        Ok(bytes) => bytes,
        Err(fault) => {
            let fault = text::whole_file_fault(fault.message, &fault.hint);
            config.faults.push(*fault);
            return config;
        }
    };
    if let Err(fault) = load_bytes(&bytes, home, &mut config) {
        config.faults.push(*fault);
    }
    config
}

fn load_bytes(
    bytes: &[u8],
    home: Option<&Path>,
    config: &mut DownstreamConfig,
) -> Result<(), Box<Fault>> {
    let text = text::decode_utf8(bytes, &ADVICE)?;
    config.text = mask_unparsed(text);
    let faults = Faults::hiding_values();
    let tree = text::parse(text, &ADVICE, &faults)?;
    config.text = mask(text, &tree);
    let directory = config.path.parent().unwrap_or(Path::new(""));
    let surroundings = Surroundings { directory, home };
    let mut walk = Walk {
        text,
        surroundings,
        repeated: faults.into_list(),
        entries: Vec::new(),
        faults: FaultList::default(),
    };
    walk.root(&tree);
    walk.compare();
    let mut faults = walk.repeated;
    faults.merge(walk.faults);
    for entry in walk.entries {
        match entry.outcome {
            Outcome::Good(spec) => config.servers.push(*spec),
            Outcome::Disabled => config.disabled.push(entry.name),
            Outcome::Faulty => {}
        }
    }
    config.faults = text::locate(text, faults);
    Ok(())
}

/// What is known of a file while its entries are gone through.
struct Walk<'t> {
    text: &'t str,
    surroundings: Surroundings<'t>,
    /// Keys that stand more than once in their object.
    repeated: FaultList,
    entries: Vec<Entry>,
    faults: FaultList,
}

/// One server of the file.
struct Entry {
    list: &'static str,
    name: String,
    /// What names of its tools would begin with; none when that is wrong itself.
    prefix: Option<String>,
    has_own_prefix: bool,
    outcome: Outcome,
}

enum Outcome {
    Good(Box<ServerSpec>),
    Disabled,
    Faulty,
}

impl Walk<'_> {
    fn root(&mut self, tree: &Value<'_>) {
        let faults = Faults::hiding_values();
        let root = JsonLocation::ROOT;
        if let Some(object) = as_object(tree, &root, &faults) {
            let members = unique_members(object);
            for list in LISTS {
                if let Some(member) = members.iter().find(|it| it.name.as_str() == list) {
                    self.list(list, &member.value, &faults);
                }
            }
            let mut keys = members.iter().map(|it| it.name.as_str());
            if !keys.clone().any(|key| LISTS.contains(&key)) {
                let hint = keys.find_map(|key| nearest(key, LISTS)).map_or_else(
                    || ADVICE.empty.to_owned(),
                    |list| format!("did you mean `{list}`?"),
                );
                let message = "there is neither `servers` nor `mcpServers`";
                faults.add_with_hint(&root, message, hint);
            }
        }
        self.faults.merge(faults.into_list());
    }

    fn list(&mut self, list: &'static str, servers: &Value<'_>, faults: &Faults) {
        let root = JsonLocation::ROOT;
        let place = root.key(list);
        let Some(servers) = as_object(servers, &place, faults) else {
            return;
        };
        let servers = unique_members(servers);
        if Checks::new(faults).too_many(servers.len(), MAX_SERVERS, "servers", &place) {
            return;
        }
        for server in servers {
            let name = server.name.as_str();
            let entry = self.entry(list, name, &server.value, &place.key(name));
            self.entries.push(entry);
        }
    }

    /// Checks one entry. Its faults are collected apart, so that they tell whether it can be used.
    fn entry(
        &mut self,
        list: &'static str,
        name: &str,
        value: &Value<'_>,
        place: &JsonLocation<'_>,
    ) -> Entry {
        let faults = Faults::hiding_values();
        let raw: Option<RawServer> = decode_at(value, place, &faults);
        let mut entry = Entry {
            list,
            name: name.to_owned(),
            prefix: None,
            has_own_prefix: false,
            outcome: Outcome::Faulty,
        };
        if let Some(raw) = &raw {
            if raw.disabled.copied() == Some(true) {
                entry.outcome = Outcome::Disabled;
                return entry;
            }
            entry.prefix = prefix_of(raw, name).map(str::to_owned);
            entry.has_own_prefix = raw.prefix.is_present();
        }
        check_name(name, place, &faults);
        let spec = raw.and_then(|raw| resolve(&raw, name, place, (self.surroundings, &faults)));
        let faults = faults.into_list();
        if let Some(spec) = spec
            && faults.is_empty()
            && !self.has_repeated_keys(&place.pointer())
        {
            entry.outcome = Outcome::Good(Box::new(spec));
        }
        self.faults.merge(faults);
        entry
    }

    /// Whether a key stands more than once at the pointer or below it. Not all are known when there are very many.
    fn has_repeated_keys(&self, pointer: &str) -> bool {
        self.repeated.left_out > 0
            || self.repeated.faults.iter().any(|fault| {
                fault
                    .pointer
                    .strip_prefix(pointer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// What only several entries together can have wrong: a name, or a prefix, that two of them claim. Neither gets it.
    fn compare(&mut self) {
        let faults = Faults::hiding_values();
        let mut refused = Vec::new();
        for (later, entry) in self.entries.iter().enumerate() {
            let earlier = self.entries[..later]
                .iter()
                .enumerate()
                .filter(|(_, it)| !matches!(it.outcome, Outcome::Disabled));
            if matches!(entry.outcome, Outcome::Disabled) {
                continue;
            }
            let claims_the_same = |it: &Entry| {
                it.name == entry.name || (it.prefix.is_some() && it.prefix == entry.prefix)
            };
            let Some((first, other)) = earlier.clone().find(|(_, it)| claims_the_same(it)) else {
                continue;
            };
            report_same_claim(entry, other, self.text, &faults);
            refused.extend([first, later]);
        }
        for index in refused {
            self.entries[index].outcome = Outcome::Faulty;
        }
        self.faults.merge(faults.into_list());
    }
}

fn report_same_claim(entry: &Entry, other: &Entry, text: &str, faults: &Faults) {
    let root = JsonLocation::ROOT;
    let (list, other_list) = (root.key(entry.list), root.key(other.list));
    let place = list.key(&entry.name);
    let line = text::line_of(text, &other_list.key(&other.name).pointer());
    let (name, other_name) = (&entry.name, &other.name);
    if name == other_name {
        let message = format!(
            "the server `{name}` stands in `{}` (line {line}) too",
            other.list
        );
        faults.add_to_key(&place, message, "keep one of them".to_owned());
        return;
    }
    let prefix = entry.prefix.as_deref().unwrap_or_default();
    let message =
        format!("`{name}` has the prefix `{prefix}`, and so has `{other_name}` (line {line})");
    let hint = "give one of them another `prefix`, so that names of tools are unique";
    match entry.has_own_prefix {
        true => faults.add_with_hint(&place.key("prefix"), message, hint),
        false => faults.add_to_key(&place, message, hint.to_owned()),
    }
}

fn as_object<'v, 't>(
    value: &'v Value<'t>,
    place: &JsonLocation<'_>,
    faults: &Faults,
) -> Option<&'v Object<'t>> {
    if let Value::Object(object) = value {
        return Some(object);
    }
    let hint = "write an object with named fields: { … }";
    faults.add_with_hint(place, "expected an object here", hint);
    None
}

/// The members of an object. A repeated key has been reported at its last place; so that one counts.
fn unique_members<'v, 't>(object: &'v Object<'t>) -> Vec<&'v ObjectProp<'t>> {
    let last: HashMap<&str, usize> = object
        .properties
        .iter()
        .enumerate()
        .map(|(index, member)| (member.name.as_str(), index))
        .collect();
    object
        .properties
        .iter()
        .enumerate()
        .filter(|(index, member)| last.get(member.name.as_str()) == Some(index))
        .map(|(_, member)| member)
        .collect()
}
