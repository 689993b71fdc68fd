//! A home directory with a project in it, and what is usually asked for there.

use std::fs;
use std::path::{Path, PathBuf};

use ahma_setup::{
    Action, Change, Client, Level, Machine, Manner, Plan, Platform, Records, Refusal, UndoAction,
    UndoPlan, Wish, plan, plan_undo,
};
use ahma_tests::Workspace;
use serde_json::Value;

/// What the entry starts.
pub(crate) const COMMAND: &str = "/opt/bin/ahma_mcp";

/// A user's home.
pub(crate) struct Home {
    /// Where it is.
    pub(crate) place: Workspace,
    /// What is known of the machine.
    pub(crate) machine: Machine,
    /// Where the old bytes are kept.
    pub(crate) records: Records,
}

impl Home {
    /// One with an empty project.
    pub(crate) fn new() -> Self {
        let place = Workspace::new();
        place.make_directory("work");
        let home = place.path().to_owned();
        let machine = Machine {
            platform: Platform::Linux,
            project: home.join("work"),
            home,
            config_home: None,
            codex_home: None,
            claude_home: None,
            programs: Vec::new(),
        };
        let records = Records::in_state_directory(&place.path().join("state"));
        Home {
            place,
            machine,
            records,
        }
    }

    /// The file with the entries of a client.
    pub(crate) fn file(&self, client: Client, level: Level) -> PathBuf {
        self.machine.entries(client, level).unwrap().path
    }

    /// Writes it.
    pub(crate) fn write(&self, client: Client, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.file(client, Level::User);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }

    /// What setting up would change.
    pub(crate) fn plan(&self, client: Client, wish: &Wish) -> Plan {
        plan(client, wish, &self.machine)
    }

    /// Sets up, and expects it to work; what was changed.
    pub(crate) fn set_up(&self, client: Client, wish: &Wish) -> Vec<PathBuf> {
        let _lock = self.records.lock().unwrap();
        let plan = self.plan(client, wish);
        assert_eq!(plan.refusal, None);
        let mut changed = Vec::new();
        for file in &plan.files {
            match &file.action {
                Action::Nothing => {}
                Action::Write(change) => {
                    change.make(&self.records).unwrap();
                    changed.push(file.path.clone());
                }
                Action::Refuse(refusal) => panic!("{refusal:?}"),
            }
        }
        changed
    }

    /// Undoes what is known of a level.
    pub(crate) fn undo(&self, clients: &[Client], level: Level) -> Vec<UndoPlan> {
        let _lock = self.records.lock().unwrap();
        let plans = plan_undo(&self.records, &self.machine, clients, level).unwrap();
        for plan in &plans {
            plan.make(&self.records).unwrap();
        }
        plans
    }
}

/// What is asked for without any flag.
pub(crate) fn wish() -> Wish {
    Wish {
        name: "Ahama".to_owned(),
        command: COMMAND.to_owned(),
        args: Vec::new(),
        args_with_project: Some(vec!["--sandbox-scope".to_owned(), "/work".to_owned()]),
        level: Level::User,
        only: false,
        manner: Manner {
            replace: false,
            keep_args: true,
        },
    }
}

/// The only change of a plan.
pub(crate) fn only_change(plan: &Plan) -> &Change {
    match plan.files.as_slice() {
        [file] => match &file.action {
            Action::Write(change) => change,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Why a plan's only file is left as it is.
pub(crate) fn refusal(plan: &Plan) -> &Refusal {
    match plan.files.as_slice() {
        [file] => match &file.action {
            Action::Refuse(refusal) => refusal,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// What is done, in a word.
pub(crate) fn word(plan: &UndoPlan) -> &'static str {
    match plan.action {
        UndoAction::Nothing => "nothing",
        UndoAction::Restore(_) => "restore",
        UndoAction::Remove => "remove",
        UndoAction::TakeOut(_) => "take out",
        UndoAction::Refuse(_) => "refuse",
    }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// What a text says, by a parser that the product does not use for it.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(&plain(text)).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// JSON without comments, trailing commas and mark.
fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(it) = rest.next() {
        match (it, rest.peek()) {
            ('"', _) => {
                plain.push(it);
                while let Some(it) = rest.next() {
                    plain.push(it);
                    match it {
                        '\\' => plain.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while rest.next_if(|it| *it != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                let mut last = ' ';
                for it in rest.by_ref() {
                    if (last, it) == ('*', '/') {
                        break;
                    }
                    last = it;
                }
            }
            ('}' | ']', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(it);
            }
            _ => plain.push(it),
        }
    }
    match plain.trim().is_empty() {
        true => "{}".to_owned(),
        false => plain,
    }
}
