//! What `ahma_mcp setup` says: for people and for programs. Must not change anything.

use std::fmt::Write as _;

use ahma_setup::{
    Action, Change, Client, FilePlan, Level, Machine, Note, Plan, Refusal, Remedy, UndoAction,
    UndoPlan, Wish, unified,
};
use serde_json::{Map, Value, json};

use super::downstream_report::visible;
use super::setup_args::SetupArgs;
use super::setup_shown::shown;

/// What was or would be set up.
pub(super) struct Report {
    is_dry: bool,
    name: String,
    level: Level,
    scope: Option<String>,
    document: Map<String, Value>,
    clients: Vec<Value>,
    text: String,
    /// What to do next, by client.
    next: Vec<(Client, &'static str)>,
    by_hand: Vec<(Client, &'static str)>,
    has_changed: bool,
}

impl Report {
    pub(super) fn new(
        args: &SetupArgs,
        wish: &Wish,
        machine: &Machine,
        warnings: &[String],
    ) -> Self {
        let mut text = String::new();
        for warning in warnings {
            let _ = writeln!(text, "warning: {}", visible(warning));
        }
        let mut words = wish.args_with_project.iter().flatten();
        let scope = words
            .by_ref()
            .find(|it| it.starts_with("--sandbox-scope"))
            .and_then(|it| match it.split_once('=') {
                Some((_, scope)) => Some(scope.to_owned()),
                None => words.next().cloned(),
            });
        let missing = Client::ALL.into_iter();
        let missing = missing.filter(|it| machine.sign(*it).is_none());
        let missing: Vec<&str> = missing.map(Client::id).collect();
        let document = json!({
            "dry_run": args.dry_run,
            "name": wish.name,
            "command": wish.command,
            "args": wish.args,
            "level": wish.level,
            "warnings": warnings,
            "not_found": missing,
        });
        Report {
            is_dry: args.dry_run,
            name: wish.name.clone(),
            level: wish.level,
            scope,
            document: match document {
                Value::Object(document) => document,
                _ => Map::new(),
            },
            clients: Vec::new(),
            text,
            next: Vec::new(),
            by_hand: Vec::new(),
            has_changed: false,
        }
    }

    /// What is done for a client, and what went wrong with each of its files.
    pub(super) fn add(&mut self, plan: &Plan, failures: &[Option<Refusal>]) {
        let client = plan.client;
        let sign = plan.sign.as_ref().map(|it| it.display().to_string());
        let found = match &sign {
            Some(sign) => format!("found by {}", visible(sign)),
            None => "not found on this machine".to_owned(),
        };
        let _ = writeln!(self.text, "\n{} ({found})", client.title());
        let mut shown = json!({ "client": client.id(), "found": sign, "files": [] });
        if let Some(refusal) = &plan.refusal {
            self.refuse(&mut shown, refusal);
        }
        let mut is_done = plan.refusal.is_none();
        let mut files = Vec::new();
        for (at, file) in plan.files.iter().enumerate() {
            let failure = failures.get(at).and_then(Option::as_ref);
            let refusal = match &file.action {
                Action::Refuse(refusal) => Some(refusal),
                _ => failure,
            };
            is_done &= refusal.is_none();
            files.push(self.file(file, refusal));
        }
        shown["files"] = Value::Array(files);
        if let Some(how) = plan.by_hand {
            shown["by_hand"] = how.into();
            self.by_hand.push((client, how));
        }
        let wrote = plan.files.iter();
        let wrote = wrote.filter(|it| matches!(it.action, Action::Write(_)));
        if is_done && wrote.count() > 0 {
            shown["next"] = client.restart().into();
            self.next.push((client, client.restart()));
        }
        if is_done && client.starts_servers_nowhere() {
            self.tell_scope(client, plan);
        }
        if is_done && client == Client::Codex && self.level == Level::Project {
            self.text
                .push_str("  Codex reads it only in projects that you have told it to trust\n");
        }
        self.clients.push(shown);
    }

    fn tell_scope(&mut self, client: Client, plan: &Plan) {
        let mut notes = plan.files.iter().flat_map(|it| &it.notes);
        if notes.any(|it| matches!(it, Note::KeptArgs(_))) {
            return;
        }
        if let Some(scope) = &self.scope {
            let _ = writeln!(
                self.text,
                "  {} starts servers in no project: its commands are confined to {}",
                client.title(),
                visible(scope)
            );
        }
    }

    fn file(&mut self, file: &FilePlan, refusal: Option<&Refusal>) -> Value {
        let path = visible(&file.path.display().to_string());
        let mut shown = json!({ "path": file.path, "action": "none" });
        if let Action::Write(change) = &file.action {
            let diff = diff_of(change);
            let _ = writeln!(self.text, "{diff}");
            shown["diff"] = diff.into();
            shown["keys"] = change.keys().into();
            shown["action"] = match (change.before(), self.is_dry) {
                (None, true) => "would_create",
                (None, false) => "created",
                (Some(_), true) => "would_change",
                (Some(_), false) => "changed",
            }
            .into();
        }
        match (refusal, &file.action) {
            (Some(refusal), _) => {
                shown["action"] = "refused".into();
                let _ = writeln!(self.text, "  {path} is left as it is:");
                self.refuse(&mut shown, refusal);
            }
            (None, Action::Write(change)) => {
                self.has_changed = true;
                let word = if self.is_dry {
                    "would be written"
                } else {
                    "written"
                };
                let real = change.file();
                let link = match real == file.path {
                    true => String::new(),
                    false => format!(" (a link to {})", visible(&real.display().to_string())),
                };
                let _ = writeln!(self.text, "  {path}{link}: {word}");
            }
            (None, _) => {
                let _ = writeln!(self.text, "  {path}: up to date");
            }
        }
        let notes: Vec<String> = file.notes.iter().map(note).collect();
        for note in &notes {
            let _ = writeln!(self.text, "  {note}");
        }
        shown["notes"] = notes.into();
        shown
    }

    fn refuse(&mut self, shown: &mut Value, refusal: &Refusal) {
        shown["error"] = refusal.what.as_str().into();
        shown["hint"] = hint(refusal).into();
        shown["paste"] = refusal.paste.as_deref().into();
        let words = in_words(refusal);
        for line in words.lines() {
            let _ = writeln!(self.text, "  {}", visible(line));
        }
        if let Some(paste) = &refusal.paste {
            self.text.push_str("  what it should say:\n");
            for line in paste.lines() {
                let _ = writeln!(self.text, "    {}", visible(line));
            }
        }
    }

    pub(super) fn text(mut self) -> String {
        if self.clients.is_empty() {
            let ids: Vec<&str> = Client::ALL.into_iter().map(Client::id).collect();
            let _ = writeln!(
                self.text,
                "no client was found on this machine\nhint: name one: {}",
                ids.join(", ")
            );
        }
        if !self.by_hand.is_empty() {
            self.text
                .push_str("\nThe own shell of these cannot be turned off by a file; by hand:\n");
            for (client, how) in &self.by_hand {
                let _ = writeln!(self.text, "  {}: {how}", client.title());
            }
        }
        if self.is_dry && !self.clients.is_empty() {
            self.text.push_str("\nnothing was changed\n");
        } else if self.has_changed {
            self.text.push_str("\nNext:\n");
            for (client, what) in &self.next {
                let _ = writeln!(self.text, "  {}: {what}", client.title());
            }
            let project = match self.level {
                Level::User => "",
                Level::Project => {
                    self.text.push_str(
                        "  Before you share these files: they name the program where it is on this machine\n",
                    );
                    " --project"
                }
            };
            let _ = writeln!(
                self.text,
                "  Then ask: \"With {}, run `id` and `ls ~`.\" Your own home is not in the answer.\n\
                 To undo this: ahma_mcp setup --undo{project}",
                self.name
            );
        }
        self.text.trim_start().to_owned()
    }

    pub(super) fn document(mut self) -> Value {
        self.document
            .insert("clients".to_owned(), Value::Array(self.clients));
        Value::Object(self.document)
    }
}

/// What was or would be undone.
pub(super) struct UndoReport {
    is_dry: bool,
    level: Level,
    is_elsewhere: bool,
    files: Vec<Value>,
    text: String,
}

impl UndoReport {
    pub(super) fn new(args: &SetupArgs, level: Level, is_elsewhere: bool) -> Self {
        UndoReport {
            is_dry: args.dry_run,
            level,
            is_elsewhere,
            files: Vec::new(),
            text: String::new(),
        }
    }

    pub(super) fn add(&mut self, plan: &UndoPlan, failure: Option<&Refusal>) {
        let path = visible(&plan.path.display().to_string());
        let clients: Vec<&str> = plan.clients.iter().map(|it| it.id()).collect();
        let (would, done) = match &plan.action {
            _ if failure.is_some() => ("refused", "refused"),
            UndoAction::Restore(_) => ("would_restore", "restored"),
            UndoAction::Remove => ("would_remove", "removed"),
            UndoAction::TakeOut(_) => ("would_take_out", "taken_out"),
            UndoAction::Nothing | UndoAction::Refuse(_) => ("none", "none"),
        };
        let action = if self.is_dry { would } else { done };
        let mut shown = json!({ "path": plan.path, "clients": clients, "action": action });
        let has_change = plan.after().is_some() || matches!(plan.action, UndoAction::Remove);
        if has_change {
            let diff = unified(&plan.path, plan.now(), plan.after());
            let diff =
                super::setup_shown::shown(&diff, plan.language(), &[plan.now(), plan.after()]);
            let _ = writeln!(self.text, "\n{diff}");
            shown["diff"] = diff.into();
        }
        let will = if self.is_dry { "would be " } else { "" };
        let words = match &plan.action {
            _ if failure.is_some() => "left as it is:".to_owned(),
            UndoAction::Restore(_) => format!("{will}restored, byte for byte"),
            UndoAction::Remove => format!("{will}removed: there was none before"),
            UndoAction::TakeOut(_) => format!(
                "changed by others since, so that only what setup added {}",
                if self.is_dry {
                    "would be taken out"
                } else {
                    "was taken out"
                }
            ),
            UndoAction::Nothing | UndoAction::Refuse(_) => "nothing of setup is in it".to_owned(),
        };
        let _ = writeln!(self.text, "{path}: {words}");
        for key in &plan.theirs {
            let _ = writeln!(self.text, "  `{key}` says something else by now, and stays");
        }
        if !plan.theirs.is_empty() {
            shown["kept"] = plan.theirs.clone().into();
        }
        if let Some(refusal) = failure {
            shown["error"] = refusal.what.as_str().into();
            shown["hint"] = hint(refusal).into();
            for line in in_words(refusal).lines() {
                let _ = writeln!(self.text, "  {}", visible(line));
            }
        }
        self.files.push(shown);
    }

    pub(super) fn text(mut self) -> String {
        if self.files.is_empty() {
            self.text.push_str("there is nothing to undo\n");
        }
        if self.is_elsewhere {
            self.text.push_str(match self.level {
                Level::User => "files of this project are undone with --project\n",
                Level::Project => "the user's own files are undone without --project\n",
            });
        }
        if self.is_dry {
            self.text.push_str("nothing was changed\n");
        }
        self.text.trim_start().to_owned()
    }

    pub(super) fn document(self) -> Value {
        json!({ "dry_run": self.is_dry, "level": self.level, "files": self.files })
    }
}

/// What is wrong, and what to do.
pub(super) fn in_words(refusal: &Refusal) -> String {
    match hint(refusal) {
        Some(hint) => format!("{}\nhint: {hint}", refusal.what),
        None => refusal.what.clone(),
    }
}

fn hint(refusal: &Refusal) -> Option<String> {
    let hint = match refusal.remedy.as_ref()? {
        Remedy::Hint(hint) if hint.is_empty() => return None,
        Remedy::Hint(hint) => hint,
        Remedy::AllProjects => "set it up for all projects, without --project",
        Remedy::NameProject => {
            "run this in the project that it should work in, or name one: -- --sandbox-scope DIR"
        }
        Remedy::NameOrReplace => {
            "choose another name with --name, or let it be replaced with --replace"
        }
    };
    Some(hint.to_owned())
}

fn note(note: &Note) -> String {
    match note {
        Note::KeptArgs(args) => format!(
            "the entry keeps its flags: {}; others replace them after `--`, and --replace removes them",
            visible(&shell_words::join(args))
        ),
        Note::SwitchedOff => {
            "the entry is switched off in the client; switch it on there".to_owned()
        }
        Note::NotJson => {
            "the file has comments or trailing commas, which the client may not read".to_owned()
        }
    }
}

fn diff_of(change: &Change) -> String {
    let (before, after) = (change.before(), Some(change.after()));
    let diff = unified(change.file(), before, after);
    shown(&diff, change.language(), &[before, after])
}
