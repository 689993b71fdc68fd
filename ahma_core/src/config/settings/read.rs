//! From the text of an `ahma.toml` to what it says. Every fault is reported, with its place. Must not look at the machine.

use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::fault::{Fault, Severity};
use super::super::files::SourceFile;
use super::super::suggest::nearest;
use super::super::text::{self, Advice, line_and_column};
use super::keys::{self, KEYS, Key, Kind, Narrowing, OF_PROFILES, OF_SERVERS};

const ADVICE: Advice = Advice {
    too_large: "a few lines are enough; remove the rest",
    too_deep: "a few levels are enough",
    empty: "",
    several_documents: "",
    has_comments: true,
};
const TABLES: [&str; 3] = ["server", "scope", "profile"];

/// A setting, as a file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Which.
    pub key: &'static Key,
    /// Its values, one unless several are allowed.
    pub values: Vec<String>,
    /// The line that it is in, counted from 1.
    pub line: usize,
}

/// What a file says.
#[derive(Debug, Default)]
pub struct SettingsFile {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// For every server.
    pub server: Vec<Given>,
    /// For single projects, by their paths as written.
    pub scopes: Vec<(String, Vec<Given>)>,
    /// Profiles, by their names.
    pub profiles: Vec<(String, Vec<Given>)>,
    /// What is wrong. A file with faults is not used.
    pub faults: Vec<Fault>,
}

/// What a table may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Server,
    Scope,
    Profile,
}

/// Reads a file. One of the project may only take away from what commands can do.
pub fn read(source: SourceFile, is_of_project: bool) -> SettingsFile {
    let mut file = SettingsFile {
        path: source.path,
        ..SettingsFile::default()
    };
    let bytes = match source.content {
        Ok(bytes) => bytes,
        Err(fault) => {
            let fault = text::whole_file_fault(fault.message, &fault.hint);
            file.faults.push(*fault);
            return file;
        }
    };
    match text::decode_utf8(&bytes, &ADVICE) {
        Ok(decoded) => file.text = decoded.to_owned(),
        Err(fault) => {
            file.faults.push(*fault);
            return file;
        }
    }
    let text = std::mem::take(&mut file.text);
    let mut reader = Reader {
        text: &text,
        is_of_project,
        file: &mut file,
    };
    reader.document();
    file.faults.sort_by_key(|it| it.span.start);
    file.text = text;
    file
}

struct Reader<'t> {
    text: &'t str,
    is_of_project: bool,
    file: &'t mut SettingsFile,
}

impl Reader<'_> {
    fn document(&mut self) {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        // What a parser makes of a broken text is a guess.
        if !errors.is_empty() {
            for error in errors {
                let message = format!("not valid TOML: {}", error.message().replace('\n', ", "));
                let hint = "correct the TOML at this place";
                self.fault(error.span().unwrap_or(0..0), "", message, hint);
            }
            return;
        }
        for (name, value) in document.get_ref() {
            let known = TABLES.contains(&name.get_ref().as_ref());
            match (name.get_ref().as_ref(), value.get_ref()) {
                (_, _) if !known => self.unknown_table(name),
                (table, DeValue::Table(entries)) => self.table(table, name, entries),
                (table, _) => {
                    let hint =
                        format!("write `[{table}]` on a line of its own, and settings below it");
                    let message = format!("`{table}` is a table");
                    self.fault(value.span(), &format!("/{table}"), message, &hint);
                }
            }
        }
    }

    fn unknown_table(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>) {
        let found = name.get_ref().as_ref();
        let hint = match keys::find(found) {
            Some(_) => {
                "settings stand below `[server]`, or below `[scope.\"PATH\"]` for one project"
                    .to_owned()
            }
            None => match nearest(found, TABLES) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "known: `[server]`, `[scope.\"PATH\"]`, `[profile.NAME]`".to_owned(),
            },
        };
        let message = format!("unknown table or setting `{found}`");
        self.fault(name.span(), &format!("/{found}"), message, &hint);
    }

    fn table(
        &mut self,
        table: &str,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        entries: &DeTable<'_>,
    ) {
        if self.is_of_project && table != "server" {
            let message = format!("a file of the project has no `[{table}]`");
            let hint =
                "write `[server]`, or put it into the `ahma.toml` of your configuration directory";
            self.fault(name.span(), &format!("/{table}"), message, hint);
            return;
        }
        if table == "server" {
            self.file.server = self.settings(entries, Table::Server, "/server");
            return;
        }
        for (name, value) in entries {
            let key = name.get_ref().to_string();
            let pointer = format!("/{table}/{key}");
            let DeValue::Table(entries) = value.get_ref() else {
                let hint = match table {
                    "scope" => "write `[scope.\"/path/of/a/project\"]`, and settings below it",
                    _ => "write `[profile.NAME]`, and its grants below it",
                };
                let message = format!("`{key}` is a table");
                self.fault(value.span(), &pointer, message, hint);
                continue;
            };
            match table {
                "scope" => {
                    let settings = self.settings(entries, Table::Scope, &pointer);
                    self.file.scopes.push((key, settings));
                }
                _ => {
                    let settings = self.settings(entries, Table::Profile, &pointer);
                    self.file.profiles.push((key, settings));
                }
            }
        }
    }

    fn settings(&mut self, entries: &DeTable<'_>, table: Table, pointer: &str) -> Vec<Given> {
        let mut all = Vec::new();
        for (name, value) in entries {
            let found = name.get_ref().as_ref();
            let pointer = format!("{pointer}/{found}");
            if table == Table::Profile && found == "description" {
                continue;
            }
            let Some(key) = keys::find(found) else {
                let hint = match nearest(found, KEYS.iter().map(|it| it.name)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => {
                        "settings are named as the flags of `ahma_mcp --help`, without the dashes"
                            .to_owned()
                    }
                };
                self.fault(
                    name.span(),
                    &pointer,
                    format!("unknown setting `{found}`"),
                    &hint,
                );
                continue;
            };
            if let Some((message, hint)) = misplaced(key, table) {
                self.fault(name.span(), &pointer, message, hint);
                continue;
            }
            let Some(values) = self.values(key, value, &pointer) else {
                continue;
            };
            if self.is_of_project
                && let Some((message, hint)) = widening(key, &values)
            {
                self.fault(value.span(), &pointer, message, &hint);
                continue;
            }
            let (line, _) = line_and_column(self.text, name.span().start);
            all.push(Given { key, values, line });
        }
        all
    }

    fn values(
        &mut self,
        key: &'static Key,
        value: &Spanned<DeValue<'_>>,
        pointer: &str,
    ) -> Option<Vec<String>> {
        let is_list = matches!(
            key.kind,
            Kind::Texts | Kind::Paths | Kind::PathsOfProject | Kind::Choices(_)
        );
        match (is_list, value.get_ref()) {
            (true, DeValue::Array(elements)) => {
                let mut all = Vec::new();
                for (index, element) in elements.iter().enumerate() {
                    all.push(self.value(key, element, &format!("{pointer}/{index}"))?);
                }
                Some(all)
            }
            (true, _) => {
                let hint = format!("write a list: `{} = [\"…\"]`", key.name);
                let message = format!("`{}` is a list", key.name);
                self.fault(value.span(), pointer, message, &hint);
                None
            }
            (false, _) => Some(vec![self.value(key, value, pointer)?]),
        }
    }

    fn value(
        &mut self,
        key: &'static Key,
        value: &Spanned<DeValue<'_>>,
        pointer: &str,
    ) -> Option<String> {
        let text = match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => None,
        };
        let (found, expected) = match key.kind {
            Kind::Switch => {
                let found = match value.get_ref() {
                    DeValue::Boolean(is_on) => Some(is_on.to_string()),
                    _ => None,
                };
                (found, "write `true` or `false`".to_owned())
            }
            Kind::Number(least, most) => {
                let number = match value.get_ref() {
                    DeValue::Integer(number) => {
                        u32::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
                    }
                    _ => None,
                };
                let found = number.filter(|it| (least..=most).contains(it));
                let expected = format!("write a whole number from {least} to {most}");
                (found.map(|it| it.to_string()), expected)
            }
            Kind::Choice(all) | Kind::Choices(all) => {
                let found = text.filter(|it| all.contains(it)).map(str::to_owned);
                let meant = text.and_then(|it| nearest(it, all.iter().copied()));
                let meant = meant.map_or_else(String::new, |it| format!("did you mean `{it}`? "));
                (found, format!("{meant}allowed: {}", all.join(", ")))
            }
            Kind::Text | Kind::Texts => {
                (nonempty(text), "write a text in double quotes".to_owned())
            }
            Kind::Path | Kind::Paths | Kind::PathsOfProject => {
                let path = nonempty(text);
                if let Some(path) = path.as_deref().filter(|it| !is_placed(key, it)) {
                    let hint = "begin with `/`, `~` or `${HOME}`: the file is for servers that start anywhere";
                    let message = format!("`{path}` does not say where it is");
                    self.fault(value.span(), pointer, message, hint);
                    return None;
                }
                (path, "write a path in double quotes".to_owned())
            }
        };
        if found.is_none() {
            let message = format!("this is not a value of `{}`", key.name);
            self.fault(value.span(), pointer, message, &expected);
        }
        found
    }

    fn fault(&mut self, span: Range<usize>, pointer: &str, message: String, hint: &str) {
        let start = span.start.min(self.text.len());
        let (line, column) = line_and_column(self.text, start);
        self.file.faults.push(Fault {
            severity: Severity::Error,
            line,
            column,
            span: start..span.end.clamp(start, self.text.len()),
            pointer: pointer.to_owned(),
            message,
            hint: Some(hint.to_owned()),
        });
    }
}

fn nonempty(text: Option<&str>) -> Option<String> {
    text.filter(|it| !it.is_empty() && !it.contains('\0'))
        .map(str::to_owned)
}

/// Whether a path means the same wherever a server is started.
fn is_placed(key: &Key, path: &str) -> bool {
    let is_anywhere = path.starts_with('/') || path.starts_with('~') || path.starts_with("${");
    is_anywhere || key.kind == Kind::PathsOfProject || (key.name == "audit-log" && path == "off")
}

/// Why a setting cannot stand in a table.
fn misplaced(key: &Key, table: Table) -> Option<(String, &'static str)> {
    let name = key.name;
    match table {
        Table::Profile if !OF_PROFILES.contains(&name) => Some((
            format!("`{name}` is not a part of a profile"),
            "a profile has `sandbox-read`, `sandbox-write`, `pass-env` and a `description`",
        )),
        Table::Scope if OF_SERVERS.contains(&name) => Some((
            format!("`{name}` belongs to the server, not to one project"),
            "put it below `[server]`",
        )),
        _ => None,
    }
}

/// Why a file of the project may not say this.
fn widening(key: &Key, values: &[String]) -> Option<(String, String)> {
    let name = key.name;
    let elsewhere =
        "put it into the `ahma.toml` of your configuration directory, or say it with a flag";
    match key.narrowing {
        Narrowing::No => Some((
            format!("a file of the project cannot set `{name}`: commands could have written it"),
            elsewhere.to_owned(),
        )),
        Narrowing::Only(value) if values.first().is_none_or(|it| it != value) => Some((
            format!(
                "a file of the project can only say `{name} = {}`",
                quoted(key, value)
            ),
            elsewhere.to_owned(),
        )),
        _ => None,
    }
}

fn quoted(key: &Key, value: &str) -> String {
    match key.kind {
        Kind::Switch | Kind::Number(..) => value.to_owned(),
        _ => format!("\"{value}\""),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
