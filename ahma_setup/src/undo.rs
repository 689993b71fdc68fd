//! Undoing: a file that nobody else has changed gets its old bytes back; from any other, only our changes are taken out. Must not
//! print.

use std::fs;
use std::path::{Path, PathBuf};

use super::client::{Client, Level};
use super::edit::TakenBack;
use super::file::Target;
use super::places::{Machine, Place, real};
use super::records::{ClientEdit, Record, Records, hash};
use super::refusal::{Refusal, Remedy};
use super::text::{Language, Text};

/// What becomes of a file.
#[derive(Debug)]
pub struct UndoPlan {
    /// The file.
    pub path: PathBuf,
    /// Whose changes are undone.
    pub clients: Vec<Client>,
    /// What is done.
    pub action: UndoAction,
    /// Keys that somebody has given another value, which stay.
    pub theirs: Vec<String>,
    language: Language,
    target: Option<Target>,
    record: Record,
    before: Vec<u8>,
    rest: Vec<ClientEdit>,
}

/// What is done with a file.
#[derive(Debug)]
pub enum UndoAction {
    /// It is as it was before, or gone.
    Nothing,
    /// It gets the bytes that it had.
    Restore(Vec<u8>),
    /// It was made by us and is removed.
    Remove,
    /// Others have changed it too: only our changes are taken out.
    TakeOut(Vec<u8>),
    /// It is left as it is.
    Refuse(Refusal),
}

/// What undoing would change, for these clients or all of them. Changes nothing.
pub fn plan_undo(
    records: &Records,
    machine: &Machine,
    clients: &[Client],
    level: Level,
) -> Result<Vec<UndoPlan>, Refusal> {
    let project = real(&machine.project);
    let mut plans = Vec::new();
    for (record, before) in records.all()? {
        let is_here = match &record.project {
            None => level == Level::User,
            Some(of) => level == Level::Project && real(of) == project,
        };
        let is_meant = |it: &ClientEdit| clients.is_empty() || clients.contains(&it.client);
        if is_here && record.edits.iter().any(is_meant) {
            plans.push(file_plan(records, record, before, is_meant));
        }
    }
    Ok(plans)
}

fn file_plan(
    records: &Records,
    record: Record,
    before: Vec<u8>,
    is_meant: impl Fn(&ClientEdit) -> bool,
) -> UndoPlan {
    let (meant, rest): (Vec<_>, Vec<_>) = record.edits.iter().cloned().partition(is_meant);
    let mut clients: Vec<Client> = meant.iter().map(|it| it.client).collect();
    clients.dedup();
    let mut plan = UndoPlan {
        path: record.file.clone(),
        clients,
        action: UndoAction::Nothing,
        theirs: Vec::new(),
        language: record.language,
        target: None,
        record,
        before,
        rest,
    };
    plan.action = plan.decide(&meant).unwrap_or_else(|mut refusal| {
        let backup = records.backup(&plan.path);
        let keys: Vec<String> = meant.iter().map(|it| it.edit.key()).collect();
        let keys = keys.join(", ");
        refusal.remedy = Some(Remedy::Hint(match plan.record.existed {
            true => format!(
                "take out by hand: {keys}; what the file was before is in {}",
                backup.display()
            ),
            false => format!("take out by hand: {keys}; there was no such file before"),
        }));
        UndoAction::Refuse(refusal)
    });
    plan
}

impl UndoPlan {
    fn decide(&mut self, meant: &[ClientEdit]) -> Result<UndoAction, Refusal> {
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        let target = Target::find(&Place {
            path: self.path.clone(),
            // It was found there before; a link that came later leads elsewhere.
            inside: vec![parent.to_owned()],
        })?;
        if target.path != self.path {
            return Err(Refusal::new(
                "a link leads there now that was not there before",
                "",
            ));
        }
        let Some(bytes) = target.bytes.clone() else {
            return Ok(UndoAction::Nothing);
        };
        self.target = Some(target);
        if self.record.existed && bytes == self.before {
            return Ok(UndoAction::Nothing);
        }
        let is_ours = self.record.is_whole && self.record.written == hash(&bytes);
        if is_ours && self.rest.is_empty() {
            return Ok(match self.record.existed {
                true => UndoAction::Restore(self.before.clone()),
                false => UndoAction::Remove,
            });
        }
        let fault = |fault: super::fault::Fault| Refusal::new(fault.to_string(), "");
        let mut text = Text::read(self.language, Some(&bytes)).map_err(fault)?;
        let before = Text::read(self.language, Some(&self.before)).map_err(fault)?;
        for it in meant.iter().rev() {
            if it.edit.take_back(&mut text, &before).map_err(fault)? == TakenBack::Theirs {
                self.theirs.push(it.edit.key());
            }
        }
        let after = text.bytes();
        Ok(match () {
            () if !self.record.existed && self.rest.is_empty() && text.is_bare() => {
                UndoAction::Remove
            }
            () if after == bytes => UndoAction::Nothing,
            () => UndoAction::TakeOut(after),
        })
    }

    /// What is in the file.
    pub fn now(&self) -> Option<&[u8]> {
        self.target.as_ref()?.bytes.as_deref()
    }

    /// What will be in it; none where it is removed or stays.
    pub fn after(&self) -> Option<&[u8]> {
        match &self.action {
            UndoAction::Restore(bytes) | UndoAction::TakeOut(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The language of both.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Does it, and forgets what was remembered for it.
    pub fn make(&self, records: &Records) -> Result<(), Refusal> {
        let mut written = self.record.written.clone();
        match (&self.action, &self.target) {
            (UndoAction::Refuse(refusal), _) => return Err(refusal.clone()),
            (UndoAction::Restore(bytes) | UndoAction::TakeOut(bytes), Some(target)) => {
                target.write(bytes, self.record.level == Level::Project)?;
                written = hash(bytes);
            }
            (UndoAction::Remove, Some(target)) => {
                target.remove()?;
                for directory in &self.record.made_directories {
                    // One that is used by now stays.
                    if fs::remove_dir(directory).is_err() {
                        break;
                    }
                }
            }
            _ => {}
        }
        if self.rest.is_empty() {
            return records.forget(&self.path);
        }
        let mut record = self.record.clone();
        let was_known = self.now().is_some_and(|it| hash(it) == record.written);
        record.is_whole &= was_known;
        record.written = written;
        record.edits.clone_from(&self.rest);
        records.put(&record, Some(&self.before))
    }
}
