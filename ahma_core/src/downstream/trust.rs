//! What of a server that is not confined commands could change: its program, its arguments, its directory. May block.

use std::path::{Path, PathBuf};

use super::servers::Places;
use crate::config::downstream::{Program, ServerSpec, TransportSpec};
use crate::scope::in_reach;

/// Where a program works.
pub(super) fn directory(spec: &ServerSpec, program: &Program, places: &Places) -> PathBuf {
    let usual = match spec.sandbox {
        true => &places.scope,
        false => &places.trusted,
    };
    program.cwd.clone().unwrap_or_else(|| usual.clone())
}

/// What commands could change of a server that runs with all rights of its owner.
pub(super) fn warnings(spec: &ServerSpec, places: &Places) -> Vec<String> {
    let (TransportSpec::Stdio(program) | TransportSpec::Managed(program)) = &spec.transport else {
        return Vec::new();
    };
    if spec.sandbox {
        return Vec::new();
    }
    let directory = directory(spec, program, places);
    let is_changeable = |path: &Path| in_reach(path, &places.writable);
    let words = [&program.command].into_iter().chain(&program.args);
    let paths = words.filter(|it| it.contains('/') && !it.contains("://"));
    let paths = paths.map(|it| directory.join(it));
    let changeable = [directory.clone()].into_iter().chain(paths);
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
