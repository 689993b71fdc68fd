//! Setting a client up: what would change in which file, and then doing it. What is not understood is left as it is. Must not
//! print.

use std::path::{Path, PathBuf};

use super::client::{Client, Level, OwnShell};
use super::edit::{Edit, Made, Manner};
use super::fault::Fault;
use super::file::Target;
use super::places::{Machine, Place};
use super::records::{ClientEdit, Record, Records, hash};
use super::refusal::{Refusal, Remedy};
use super::text::{Language, Text};

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wish {
    /// What the entry is called.
    pub name: String,
    /// The program, by its absolute path.
    pub command: String,
    /// What the program is given.
    pub args: Vec<String>,
    /// The same for clients that start servers in no project; none where no project is known.
    pub args_with_project: Option<Vec<String>>,
    /// Whose files are changed.
    pub level: Level,
    /// Whether the client's own shell is turned off too.
    pub only: bool,
    /// What may be replaced.
    pub manner: Manner,
}

/// What setting up a client comes to.
#[derive(Debug)]
pub struct Plan {
    /// The client.
    pub client: Client,
    /// By what it was noticed on this machine.
    pub sign: Option<PathBuf>,
    /// Its files.
    pub files: Vec<FilePlan>,
    /// What has to be done by hand so that its own shell is off.
    pub by_hand: Option<&'static str>,
    /// Why it is not set up at all.
    pub refusal: Option<Refusal>,
}

/// What becomes of a file.
#[derive(Debug)]
pub struct FilePlan {
    /// Where it is, as people know it.
    pub path: PathBuf,
    /// What is done with it.
    pub action: Action,
    /// What its owner should know.
    pub notes: Vec<Note>,
}

/// What is done with a file.
#[derive(Debug)]
pub enum Action {
    /// It is as it should be.
    Nothing,
    /// It is written.
    Write(Change),
    /// It is left as it is.
    Refuse(Refusal),
}

/// Something that its owner should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The entry keeps arguments that it has.
    KeptArgs(Vec<String>),
    /// The entry is there and switched off.
    SwitchedOff,
    /// The file has comments or trailing commas, and its client reads JSON proper.
    NotJson,
}

/// Other bytes for a file.
#[derive(Debug)]
pub struct Change {
    target: Target,
    after: Vec<u8>,
    language: Language,
    edits: Vec<ClientEdit>,
    level: Level,
    project: PathBuf,
}

/// What setting up a client would change. Changes nothing.
pub fn plan(client: Client, wish: &Wish, machine: &Machine) -> Plan {
    let mut plan = Plan {
        client,
        sign: machine.sign(client),
        files: Vec::new(),
        by_hand: None,
        refusal: None,
    };
    let Some(place) = machine.entries(client, wish.level) else {
        plan.refusal = Some(Refusal::with_remedy(
            format!("{} has no files of projects", client.title()),
            Remedy::AllProjects,
        ));
        return plan;
    };
    let args = match client.starts_servers_nowhere() {
        true => wish.args_with_project.as_ref(),
        false => Some(&wish.args),
    };
    let Some(args) = args else {
        plan.refusal = Some(Refusal::with_remedy(
            format!(
                "{} starts servers in no project, and this directory is none",
                client.title()
            ),
            Remedy::NameProject,
        ));
        return plan;
    };
    let entry = client.entry(&wish.name, &wish.command, args);
    let mut edits = vec![(place, vec![entry])];
    if wish.only {
        match (client.own_shell(), machine.own_shell(client, wish.level)) {
            (OwnShell::Edit(edit), Some(place)) if edits[0].0 == place => edits[0].1.push(edit),
            (OwnShell::Edit(edit), Some(place)) => edits.push((place, vec![edit])),
            (OwnShell::ByHand(how), _) => plan.by_hand = Some(how),
            (OwnShell::Edit(_) | OwnShell::None, _) => {}
        }
    }
    for (place, edits) in edits {
        plan.files
            .push(file_plan(client, wish, machine, &place, &edits));
    }
    plan
}

fn file_plan(
    client: Client,
    wish: &Wish,
    machine: &Machine,
    place: &Place,
    edits: &[Edit],
) -> FilePlan {
    let path = place.path.clone();
    let mut notes = Vec::new();
    let language = client.language();
    let planned = Target::find(place).and_then(|target| {
        let changed = changed(&target, language, edits, wish, &mut notes);
        let (after, made) = changed.map_err(|fault| in_words(&fault, client))?;
        if after.is_more_than_json() && !client.takes_comments() {
            notes.push(Note::NotJson);
        }
        if made.is_empty() {
            return Ok(Action::Nothing);
        }
        let edits = made.into_iter().map(|edit| ClientEdit { client, edit });
        Ok(Action::Write(Change {
            target,
            after: after.bytes(),
            language,
            edits: edits.collect(),
            level: wish.level,
            project: machine.project.clone(),
        }))
    });
    let action = planned.unwrap_or_else(|refusal| {
        Action::Refuse(Refusal {
            paste: ready(language, edits),
            ..refusal
        })
    });
    FilePlan {
        path,
        action,
        notes,
    }
}

/// The text with all changes, and those that were not there yet.
fn changed(
    target: &Target,
    language: Language,
    edits: &[Edit],
    wish: &Wish,
    notes: &mut Vec<Note>,
) -> Result<(Text, Vec<Edit>), Fault> {
    let mut text = Text::read(language, target.bytes.as_deref())?;
    let mut made = Vec::new();
    for edit in edits {
        if let Edit::Entry { list, name, fields } = edit {
            let args = text.at(&[list, name, "args"]).cloned();
            let disabled = text.at(&[list, name, "disabled"]) == Some(&true.into());
            let enabled = text.at(&[list, name, "enabled"]) != Some(&false.into());
            if edit.make(&mut text, wish.manner)? == Made::Changed {
                made.push(edit.clone());
            }
            let is_kept = text.at(&[list, name, "args"]) != fields.get("args");
            if let (true, Some(args)) = (is_kept, args.as_ref().and_then(|it| it.as_array())) {
                let args = args.iter().filter_map(|it| it.as_str().map(str::to_owned));
                notes.push(Note::KeptArgs(args.collect()));
            }
            if disabled || !enabled {
                notes.push(Note::SwitchedOff);
            }
        } else if edit.make(&mut text, wish.manner)? == Made::Changed {
            made.push(edit.clone());
        }
    }
    Ok((text, made))
}

/// A file that says only this.
fn ready(language: Language, edits: &[Edit]) -> Option<String> {
    let mut text = Text::read(language, None).ok()?;
    for edit in edits {
        edit.make(&mut text, Manner::default()).ok()?;
    }
    String::from_utf8(text.bytes()).ok()
}

fn in_words(fault: &Fault, client: Client) -> Refusal {
    let what = fault.to_string();
    match fault {
        Fault::Foreign { .. } => Refusal::with_remedy(what, Remedy::NameOrReplace),
        Fault::Syntax { .. } | Fault::Encoding => Refusal::new(
            what,
            format!(
                "repair the file, which {} cannot read either, and try again; or add this by hand",
                client.title()
            ),
        ),
        _ => Refusal::new(what, "add this by hand"),
    }
}

impl Change {
    /// The file without links.
    pub fn file(&self) -> &Path {
        &self.target.path
    }

    /// What is in the file.
    pub fn before(&self) -> Option<&[u8]> {
        self.target.bytes.as_deref()
    }

    /// What will be in it.
    pub fn after(&self) -> &[u8] {
        &self.after
    }

    /// The language of both.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The keys that change.
    pub fn keys(&self) -> Vec<String> {
        self.edits.iter().map(|it| it.edit.key()).collect()
    }

    /// Keeps what is there, and writes the file.
    pub fn make(&self, records: &Records) -> Result<(), Refusal> {
        let file = &self.target.path;
        let (mut record, before) = match self.earlier(records)? {
            Some((record, before)) => (record, Some(before)),
            None => {
                let mut record = Record::new(file, self.language, self.level, &self.project);
                record.existed = self.target.bytes.is_some();
                record.made_directories = self.made_directories(records)?;
                (record, self.target.bytes.clone())
            }
        };
        for edit in &self.edits {
            record.edits.retain(|it| it.edit.key() != edit.edit.key());
            record.edits.push(edit.clone());
        }
        record.written = hash(&self.after);
        // First, so that nothing is ever changed that could not be put back.
        records.put(&record, before.as_deref())?;
        let is_shared = self.level == Level::Project;
        self.target.write(&self.after, is_shared)
    }

    /// The directories above the file that are there for our files only, the innermost first: whichever of these goes last
    /// takes them along.
    fn made_directories(&self, records: &Records) -> Result<Vec<PathBuf>, Refusal> {
        let others = records.all()?;
        let others = others.into_iter().flat_map(|(it, _)| it.made_directories);
        let mut made: Vec<PathBuf> = others
            .filter(|it| self.target.path.starts_with(it))
            .chain(self.target.missing_directories())
            .collect();
        made.sort();
        made.dedup();
        made.reverse();
        Ok(made)
    }

    /// The record of earlier changes, if any of them is still in the file.
    fn earlier(&self, records: &Records) -> Result<Option<(Record, Vec<u8>)>, Refusal> {
        let Some((mut record, before)) = records.of(&self.target.path)? else {
            return Ok(None);
        };
        let Some(bytes) = &self.target.bytes else {
            return Ok(None);
        };
        if record.written == hash(bytes) {
            return Ok(Some((record, before)));
        }
        let text = Text::read(self.language, Some(bytes));
        let is_there = |it: &ClientEdit| text.as_ref().is_ok_and(|text| it.edit.is_in(text));
        if !record.edits.iter().any(is_there) {
            return Ok(None);
        }
        record.is_whole = false;
        Ok(Some((record, before)))
    }
}
