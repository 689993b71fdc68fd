//! Temporary files of other programs, which commands do not see: they have a `/tmp` of their own.
//!
//! Speaks only of what the command itself names and has not made. Must not tell whether somebody else has such a file.

use std::path::Path;

use super::case::Case;
use super::denied::{Denial, DenialKind};
use super::places::shown;
use super::script::Mention;

/// Where everybody has temporary files.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A path among temporary files that was not found.
pub(super) fn missing(case: &Case<'_>, path: &Path) -> Option<Denial> {
    let top = SHARED.into_iter().find(|top| path.starts_with(top))?;
    let directory = path.parent()?;
    let mentions = &case.script.mentions;
    let is_meant = |it: &&Mention| {
        it.path == path && !it.printed && !it.searched && !it.text.contains(['*', '?', '$'])
    };
    let mention = mentions.iter().find(is_meant)?;
    // What the command was to make itself is missing for another reason; so is a file in what is there.
    let is_made = |it: &Mention| {
        it.writes && path.starts_with(&it.path) && !(mention.writes && it.path == path)
    };
    if path.starts_with(case.view.private_tmp)
        || mentions.iter().any(is_made)
        || (mention.writes && directory == Path::new(top))
    {
        return None;
    }
    let (name, scope) = (&mention.text, case.view.scope.display());
    let begin = format!(
        "Commands have a {top} of their own, with what they have made there and nothing of other programs, so {name} is \
         not there for them, whoever else has it: trying again will not help"
    );
    Some(match mention.writes {
        true => Denial {
            kind: DenialKind::WriteOutside,
            subject: name.clone(),
            owner_can: format!("--sandbox-write {}", directory.display()),
            text: format!(
                "{begin}. Make its directory first, or write below {scope}; the owner can let commands write to the \
                 directory that others have with `--sandbox-write {}`.",
                shown(directory)
            ),
        },
        false => Denial {
            kind: DenialKind::ReadOutside,
            subject: name.clone(),
            owner_can: format!("--sandbox-read {}", path.display()),
            text: format!(
                "{begin}. Files that both use belong below {scope}; the owner can let commands read it with \
                 `--sandbox-read {}`.",
                shown(path)
            ),
        },
    })
}
