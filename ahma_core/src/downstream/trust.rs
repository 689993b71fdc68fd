//! What commands could change of what runs with all rights of its owner: program, arguments and directory of a server that is not
//! confined, and command lines among its settings. May block.

use std::path::{Path, PathBuf};

use super::servers::Places;
use crate::config::downstream::{Program, Reference, Secret, ServerSpec, TransportSpec};
use crate::scope::in_reach;

/// Where a program works.
pub(super) fn directory(spec: &ServerSpec, program: &Program, places: &Places) -> PathBuf {
    let usual = match spec.sandbox {
        true => &places.scope,
        false => &places.trusted,
    };
    program.cwd.clone().unwrap_or_else(|| usual.clone())
}

/// What commands could change of what runs with all rights of its owner.
pub(super) fn warnings(spec: &ServerSpec, places: &Places) -> Vec<String> {
    let mut warnings = of_program(spec, places);
    warnings.extend(of_command_lines(spec, places));
    warnings
}

/// Paths among words, as a program finds them that works in this directory.
fn paths<'w>(
    words: impl Iterator<Item = &'w String>,
    directory: &Path,
) -> impl Iterator<Item = PathBuf> {
    let paths = words.filter(|it| it.contains('/') && !it.contains("://"));
    paths.map(|it| directory.join(it))
}

fn of_command_lines(spec: &ServerSpec, places: &Places) -> Vec<String> {
    let secrets = match &spec.transport {
        TransportSpec::Stdio(program) | TransportSpec::Managed(program) => &program.env,
        TransportSpec::Http { headers, .. } => headers,
    };
    let server = &spec.name;
    let references = secrets.values().flat_map(Secret::references);
    let warnings = references.filter_map(|reference| {
        let Reference::Command(line) = reference else {
            return None;
        };
        let words = shell_words::split(line).ok()?;
        let path = paths(words.iter(), &places.trusted).find(|it| in_reach(it, &places.writable))?;
        let path = path.display();
        Some(format!(
            "`{reference}` of the server `{server}` uses {path}, which commands can change: what they write there may run with \
             your rights; move it out of the scope"
        ))
    });
    warnings.collect()
}

fn of_program(spec: &ServerSpec, places: &Places) -> Vec<String> {
    let (TransportSpec::Stdio(program) | TransportSpec::Managed(program)) = &spec.transport else {
        return Vec::new();
    };
    if spec.sandbox {
        return Vec::new();
    }
    let directory = directory(spec, program, places);
    let is_changeable = |path: &Path| in_reach(path, &places.writable);
    let words = [&program.command].into_iter().chain(&program.args);
    let changeable = [directory.clone()].into_iter();
    let changeable = changeable.chain(paths(words, &directory));
    let changeable = changeable.filter(|it| is_changeable(it));
    let server = &spec.name;
    changeable
        .map(|path| {
            let path = path.display();
            format!(
                "the server `{server}` is not confined and uses {path}, which commands can change: what they write there may run \
                 with your rights; set \"sandbox\": true, or move it out of the scope"
            )
        })
        .collect()
}
