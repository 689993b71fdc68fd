//! What a command has made, once it has ended well: a JSON document that agrees with its schema, a picture that is one. Says what
//! is wrong with it where it is not what its tool promises. Must not change what the command wrote.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::task::spawn_blocking;

use super::event_stream::STRUCTURED;
use super::plan::CommandPlan;
use super::well_formed;
use crate::config::OutputKind;
use crate::lexical_path::normal;
use crate::operation::{Completion, OperationHandle, OperationState, ResultParts};
use crate::output::media_type;

/// Bytes of a JSON document.
pub(crate) const MAX_JSON: u64 = 4 << 20;
/// Bytes of a picture or sound.
const MAX_MEDIA: u64 = 10 << 20;
/// A longer document is read beside the runtime.
const LONG: u64 = 16 * 1024;

/// What a command has made.
pub(super) struct Product<'r> {
    pub(super) operation: &'r OperationHandle,
    pub(super) plan: &'r CommandPlan,
    pub(super) scope: &'r Path,
}

impl Product<'_> {
    /// The end of the command, which has failed when it did not make what it should have. `held` is what was held back of its
    /// output: a path, or a very small picture.
    pub(super) async fn checked(&self, completion: Completion, held: Vec<u8>) -> Completion {
        let dialogue = self.plan.events.as_ref().map(|it| &it.dialogue);
        let has_failed = dialogue.is_some_and(|it| it.error().is_some());
        let Some(result) = self.operation.result() else {
            // A step of a sequence, which is asked for nothing but whether it did well.
            return match (completion.state, has_failed) {
                (OperationState::Completed, true) => Completion {
                    state: OperationState::Failed,
                    ..completion
                },
                _ => completion,
            };
        };
        let checked = match (completion.state, result.kind()) {
            (OperationState::Completed, OutputKind::Json) => self.json(result).await,
            (OperationState::Completed, OutputKind::Image | OutputKind::Audio) => {
                self.media(result, held).await
            }
            (OperationState::Completed, OutputKind::Events) if has_failed => Err(None),
            (OperationState::Completed, OutputKind::Events) => events(result).await.map_err(Some),
            (_, OutputKind::Image | OutputKind::Audio) => {
                // It explains a failure, perhaps.
                if std::str::from_utf8(&held).is_ok() {
                    self.operation.write(held).await;
                }
                Ok(())
            }
            _ => Ok(()),
        };
        match checked {
            Ok(()) => completion,
            Err(explanation) => Completion {
                state: OperationState::Failed,
                explanation,
                ..completion
            },
        }
    }

    async fn json(&self, result: &ResultParts) -> Result<(), Option<String>> {
        let spec = result.spec().clone();
        let output = self.operation.output();
        let length = output.totals().bytes;
        if length > MAX_JSON {
            let most = MAX_JSON >> 20;
            return Err(Some(format!(
                "the JSON document has {length} bytes; at most {most} MiB are passed on. `read_output` reads it in parts; \
                 arguments that ask for less help too"
            )));
        }
        let bytes = output
            .all(MAX_JSON)
            .await
            .map_err(|error| Some(not_kept(&error)))?;
        let checking = move || {
            let none = |error| format!("the output is not a JSON document: {error}");
            match &spec.schema {
                None => well_formed::check(&bytes).map_err(none),
                Some(schema) => {
                    let value = serde_json::from_slice(&bytes).map_err(none)?;
                    described(schema.faults(&value))
                }
            }
        };
        match length > LONG {
            false => checking(),
            true => spawn_blocking(checking).await.unwrap_or_else(stops),
        }
        .map_err(Some)
    }

    async fn media(&self, result: &ResultParts, held: Vec<u8>) -> Result<(), Option<String>> {
        let kind = match result.kind() {
            OutputKind::Audio => "sound",
            _ => "picture",
        };
        if !held.is_empty() {
            let bytes = match path_of(&held) {
                Some(path) => self.file(&path, kind).await.map_err(Some)?,
                None => held,
            };
            let kept = result.product().append(bytes).await;
            kept.map_err(|error| Some(not_kept(&error)))?;
        }
        let length = result.product().totals().bytes;
        if length == 0 {
            return Err(Some(format!("the command wrote no {kind}")));
        }
        if length > MAX_MEDIA {
            return Err(Some(too_large(kind, length)));
        }
        let head = result
            .product()
            .all(4096)
            .await
            .map_err(|error| Some(not_kept(&error)))?;
        let found = media_type(&head);
        let wanted = match result.kind() {
            OutputKind::Audio => "audio/",
            _ => "image/",
        };
        match (found, &result.spec().mime_type) {
            (_, Some(_)) => Ok(()),
            (Some(found), None) if found.starts_with(wanted) => Ok(()),
            (Some(found), None) => Err(Some(format!(
                "what the command wrote is of the type {found}, and not a {kind}"
            ))),
            (None, None) => Err(Some(format!(
                "what the command wrote is not a {kind} of a known type; `mime_type` of its tool file can say which it is"
            ))),
        }
    }

    /// A file that the command names. The server is not confined: no link is followed, and nothing outside the scope is opened.
    async fn file(&self, path: &Path, kind: &'static str) -> Result<Vec<u8>, String> {
        let named = normal(&self.plan.working_directory.join(path));
        let shown = path.display().to_string();
        let Ok(below) = named.strip_prefix(self.scope) else {
            let scope = self.scope.display();
            return Err(format!(
                "the {kind} {shown} is not in the scope; the command has to write it below {scope}, or to its standard output"
            ));
        };
        let (scope, below): (PathBuf, PathBuf) = (self.scope.to_owned(), below.to_owned());
        let reading = spawn_blocking(move || {
            let scope = ahma_sandbox::open_directory(&scope)?;
            ahma_sandbox::read_beneath(scope, &below, MAX_MEDIA + 1)
        });
        let read = reading
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the server stops")));
        let bytes = read.map_err(|error| {
            format!("the {kind} {shown}, which the command names, cannot be read: {error}")
        })?;
        match bytes.len() as u64 > MAX_MEDIA {
            true => Err(too_large(kind, bytes.len() as u64)),
            false => Ok(bytes),
        }
    }
}

/// Checks the structured result of a command that writes events.
async fn events(result: &ResultParts) -> Result<(), String> {
    let Some(schema) = result.spec().schema.clone() else {
        return Ok(());
    };
    let lines = result.product().all(u64::MAX).await;
    let lines = lines.map_err(|error| not_kept(&error))?;
    let checking = move || {
        let lines = lines.split(|byte| *byte == b'\n').rev();
        let mut values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let found = values.find_map(|mut it| it.get_mut(STRUCTURED).map(Value::take));
        let Some(found) = found else {
            return Err(
                "the command wrote no structured result, which its tool promises".to_owned(),
            );
        };
        described(schema.faults(&found))
    };
    spawn_blocking(checking).await.unwrap_or_else(stops)
}

fn described(faults: Vec<(String, String)>) -> Result<(), String> {
    if faults.is_empty() {
        return Ok(());
    }
    let lines = faults
        .into_iter()
        .map(|(place, fault)| match place.as_str() {
            "" => fault,
            place => format!("{place}: {fault}"),
        });
    let lines: Vec<String> = lines.collect();
    Err(format!(
        "the structured result is not what the tool promises:\n{}",
        lines.join("\n")
    ))
}

/// The path that a command names: one line, and nothing else. The names of directories may be the first bytes of pictures.
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    let text = std::str::from_utf8(bytes).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    // Pictures that are text begin like that, and no path does.
    let is_text = !line.is_empty() && !line.chars().any(char::is_control);
    let is_path = is_text && !line.trim_start().starts_with('<');
    is_path.then(|| PathBuf::from(line))
}

fn too_large(kind: &str, length: u64) -> String {
    let most = MAX_MEDIA >> 20;
    format!(
        "the {kind} has {length} bytes or more; at most {most} MiB are passed on. Make it smaller, or pass its path on as text"
    )
}

fn not_kept(error: &io::Error) -> String {
    format!("what the command wrote could not be kept: {error}")
}

fn stops<T>(_: tokio::task::JoinError) -> Result<T, String> {
    Err("the server stops".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_line_of_text() {
        for (bytes, expected) in [
            (&b"shot.png\n"[..], Some("shot.png")),
            (b"a b.png", Some("a b.png")),
            (b"a.png\r\n", Some("a.png")),
            (b"", None),
            (b"\n", None),
            (b"a\nb\n", None),
            (b"<svg/>", None),
            (b"GIF/BM.gif\n", Some("GIF/BM.gif")),
            (b"GIF89a\x01\0\x01\0", None),
            (b"\x89PNG", None),
        ] {
            assert_eq!(
                path_of(bytes).as_deref(),
                expected.map(Path::new),
                "{bytes:?}"
            );
        }
    }
}
