//! How a server is reached: which kind it is, and the fields that belong to that kind.

use std::collections::BTreeMap;

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::raw::List;
use super::super::suggest::nearest;
use super::http::http;
use super::port::{is_port, refuse_port, report_port};
use super::raw::RawServer;
use super::secret::Secret;
use super::secret_maps::{refuse_references, secrets, variable_fault};
use super::spec::{PORT_PLACEHOLDER, Program, TransportSpec};
use super::surroundings::Surroundings;

pub(super) fn transport(
    raw: &RawServer,
    place: &JsonLocation<'_>,
    (surroundings, checks): (Surroundings<'_>, Checks<'_>),
) -> Option<TransportSpec> {
    let kind = kind(raw, place, checks)?;
    for (field, is_present, belongs_to_programs) in [
        ("command", raw.command.is_present(), true),
        ("args", raw.args.is_present(), true),
        ("env", raw.env.is_present(), true),
        ("cwd", raw.cwd.is_present(), true),
        ("url", raw.url.is_present(), false),
        ("headers", raw.headers.is_present(), false),
        ("oauth", raw.oauth.is_present(), false),
        (
            "atlassian_client_id",
            raw.atlassian_client_id.is_present(),
            false,
        ),
        (
            "atlassian_client_secret",
            raw.atlassian_client_secret.is_present(),
            false,
        ),
    ] {
        if is_present && belongs_to_programs == (kind == Kind::Http) {
            let where_it_belongs = match belongs_to_programs {
                true => "servers that are started: `\"type\": \"stdio\"` or `\"managed_http\"`",
                false => "servers that run elsewhere: `\"type\": \"http\"`",
            };
            checks.misplaced(field, where_it_belongs, place);
        }
    }
    match kind {
        Kind::Http => http(raw, place, (surroundings, checks)),
        Kind::Stdio | Kind::Managed | Kind::SomeProgram => {
            let program = program(raw, place, (surroundings, checks))?;
            check_port(raw, &program, place, (kind, checks));
            Some(match kind {
                Kind::Managed => TransportSpec::Managed(program),
                _ => TransportSpec::Stdio(program),
            })
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Managed,
    /// A program, whose `type` is wrong: its other fields are still checked.
    SomeProgram,
}

/// The kind of a server, by its type or by what it has.
fn kind(raw: &RawServer, place: &JsonLocation<'_>, checks: Checks<'_>) -> Option<Kind> {
    match raw.kind.value().map(String::as_str) {
        Some("stdio") => return Some(Kind::Stdio),
        Some("managed_http") => return Some(Kind::Managed),
        Some("http" | "streamable-http" | "streamableHttp") => return Some(Kind::Http),
        Some("sse") => {
            checks.faults.add_with_hint(
                &place.key("type"),
                "the old transport over HTTP with SSE is not supported",
                "most servers speak streamable HTTP too: use `\"type\": \"http\"` with its URL, which often ends in `/mcp`",
            );
            return None;
        }
        Some(other) => {
            let allowed = "allowed: stdio, http, managed_http";
            let hint = match nearest(other, ["stdio", "http", "managed_http"]) {
                Some(meant) => format!("did you mean `{meant}`? {allowed}"),
                None => allowed.to_owned(),
            };
            let message = format!("`{other}` is not a type of server");
            checks
                .faults
                .add_with_hint(&place.key("type"), message, hint);
        }
        None => {}
    }
    let is_known = raw.kind.is_absent();
    match (raw.command.is_present(), raw.url.is_present()) {
        (true, false) if is_known => Some(Kind::Stdio),
        (true, false) => Some(Kind::SomeProgram),
        (false, true) => Some(Kind::Http),
        (true, true) => {
            if is_known {
                checks.faults.add_with_hint(
                    place,
                    "the entry has `command` and `url`",
                    "keep `command` for a server that is started, or `url` for one that runs elsewhere",
                );
            }
            None
        }
        (false, false) => {
            let is_misspelt = ["command", "url"]
                .iter()
                .any(|field| checks.faults.is_misspelt(place, field));
            if is_known && !is_misspelt {
                checks.faults.add_with_hint(
                    place,
                    "the entry has neither `command` nor `url`",
                    "add `command` for a server that is started, or `url` for one that runs elsewhere",
                );
            }
            None
        }
    }
}

fn program(
    raw: &RawServer,
    place: &JsonLocation<'_>,
    (surroundings, checks): (Surroundings<'_>, Checks<'_>),
) -> Option<Program> {
    checks.required(&raw.command, place, "command");
    let at = place.key("command");
    let command = checks.text(&raw.command, &at);
    if let Some(command) = &command {
        refuse_references(command, &at, checks);
        refuse_port(command, &at, checks);
        // A path may hold blanks; a bare name that does is a command line written as one word.
        if command.contains(char::is_whitespace) && !command.contains('/') {
            checks.faults.add_with_hint(
                &at,
                "this is not the name of one program",
                "put the program into `command` and the words after it into `args`",
            );
        }
    }
    let args = checks.strings(&raw.args, &place.key("args"));
    each_string(&raw.args, &place.key("args"), |arg, at| {
        refuse_references(arg, at, checks);
    });
    let env = secrets(
        &raw.env,
        &place.key("env"),
        (surroundings, checks),
        variable_fault,
    );
    let at = place.key("cwd");
    let cwd = checks.text(&raw.cwd, &at);
    if let Some(cwd) = &cwd {
        refuse_references(cwd, &at, checks);
        refuse_port(cwd, &at, checks);
    }
    let full = |written: &String, field: &str| {
        let path = surroundings.path(written);
        if path.is_none() {
            checks.faults.add_with_hint(
                &place.key(field),
                "the path begins with `~`, and there is no home directory",
                "write the path in full",
            );
        }
        path
    };
    let cwd = cwd.as_ref().and_then(|it| full(it, "cwd"));
    let command = command.map(|written| match written.starts_with("~/") {
        true => full(&written, "command").map_or(written, |path| path.to_string_lossy().into()),
        false => written,
    });
    Some(Program {
        command: command?,
        args,
        env,
        cwd,
    })
}

fn each_string(
    list: &List<String>,
    place: &JsonLocation<'_>,
    check: impl Fn(&str, &JsonLocation<'_>),
) {
    for (index, given) in list.elements().iter().enumerate() {
        if let Field::Value(text) = given {
            check(text, &place.index(index));
        }
    }
}

/// A port is given to managed servers only, and is of use only to those that ask for it.
fn check_port(
    raw: &RawServer,
    program: &Program,
    place: &JsonLocation<'_>,
    (kind, checks): (Kind, Checks<'_>),
) {
    let wants_port = |secret: &Secret| secret.references().any(is_port);
    match kind {
        Kind::Managed => {
            let is_wanted = program.args.iter().any(|it| it.contains(PORT_PLACEHOLDER))
                || program.env.values().any(wants_port);
            // Where a value is wrong itself, nobody knows whether it should have been there.
            let is_readable = !matches!(raw.args, Field::Invalid)
                && !matches!(raw.env, Field::Invalid)
                && raw.args.elements().len() == program.args.len()
                && raw.env.value().map_or(0, BTreeMap::len) == program.env.len();
            if !is_wanted && is_readable {
                let at = place.key("args");
                checks.faults.add_with_hint(
                    if raw.args.is_present() { &at } else { place },
                    "`${PORT}` stands neither in `args` nor in `env`",
                    "tell the server its port, e.g. `\"args\": [\"--port\", \"${PORT}\"]`",
                );
            }
        }
        Kind::Stdio => {
            each_string(&raw.args, &place.key("args"), |arg, at| {
                refuse_port(arg, at, checks);
            });
            for (name, value) in &program.env {
                if wants_port(value) {
                    report_port(&place.key("env").key(name), checks);
                }
            }
        }
        Kind::SomeProgram | Kind::Http => {}
    }
}
