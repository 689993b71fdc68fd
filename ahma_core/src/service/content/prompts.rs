//! Prompts of files: filled in with what a client gives, and with what whoever uses it answers. Must not run anything.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use rmcp::ErrorData;
use rmcp::model::{
    ContentBlock, EmbeddedResource, GetPromptResponse, GetPromptResult, PromptMessage,
    ResourceContents, Role,
};
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use super::project_file::{self, FileFault};
use crate::config::content::{
    BodySpec, MediaSource, MediaSpec, PartSpec, PromptArgumentSpec, PromptSpec, Template,
};
use crate::config::nearest;
use crate::service::caller::Caller;
use crate::service::context::ServiceContext;
use crate::service::questions::{Abilities, Brought, ELICITATION, OpenClient, fits, required};
use crate::service::sealed_state::{open, seal};

/// Bytes of all files that one prompt brings along.
const MAX_FILES: usize = 16 << 20;

/// How whoever uses a client is asked.
pub(crate) enum PromptClient {
    /// While the request is open.
    Open(OpenClient),
    /// By the answer to the request, which is made again. With what this one brings.
    Calling(Abilities, Brought),
}

impl PromptClient {
    /// The client of a request, with what it brings.
    pub(crate) fn of(caller: &Caller, brought: Brought) -> Self {
        match caller.open_client() {
            Some(client) => PromptClient::Open(client),
            None => PromptClient::Calling(caller.abilities(), brought),
        }
    }
}

type Values = BTreeMap<String, String>;

/// The messages of a prompt, or the questions that come before them.
pub(crate) async fn filled(
    context: &ServiceContext,
    spec: &PromptSpec,
    given: Option<Map<String, Value>>,
    (client, caller): (PromptClient, &Caller),
) -> Result<GetPromptResponse, ErrorData> {
    let mut values = values(spec, given.unwrap_or_default())?;
    let wanted: Vec<&PromptArgumentSpec> = spec
        .arguments
        .iter()
        .filter(|it| it.ask.is_some() && !values.contains_key(&it.name))
        .collect();
    if !wanted.is_empty() {
        match client {
            PromptClient::Open(client) => tokio::select! {
                () = ask(&client, &wanted, &mut values) => {}
                why = caller.gives_up() => return Err(ErrorData::internal_error(why, None)),
            },
            PromptClient::Calling(abilities, brought) => {
                let asks = ask_by_answer(spec, &wanted, abilities, brought, &mut values)?;
                if let Some(asks) = asks {
                    let (asks, whole) = asks;
                    caller.leave_whole(whole);
                    return Ok(asks.into());
                }
            }
        }
    }
    for argument in &spec.arguments {
        if values.contains_key(&argument.name) {
            continue;
        }
        match &argument.default {
            Some(default) => drop(values.insert(argument.name.clone(), default.clone())),
            None if argument.required => {
                let name = &argument.name;
                let why = format!("the prompt `{}` needs a value for `{name}`", spec.name);
                return Err(ErrorData::invalid_params(why, None));
            }
            None => {}
        }
    }
    let mut messages = Vec::new();
    let mut room = MAX_FILES;
    for message in &spec.messages {
        let is_given = |name: &String| values.get(name).is_some_and(|it| !it.is_empty());
        if message.if_given.as_ref().is_some_and(|it| !is_given(it)) {
            continue;
        }
        let role = match message.is_assistants {
            true => Role::Assistant,
            false => Role::User,
        };
        let block = block(context, &message.part, &values, &mut room).await?;
        messages.push(PromptMessage::new(role, block));
    }
    let result = GetPromptResult::new(messages).with_description(&*spec.description);
    Ok(result.into())
}

/// The values that a client gives.
fn values(spec: &PromptSpec, given: Map<String, Value>) -> Result<Values, ErrorData> {
    let mut values = Values::new();
    for (name, value) in given {
        let mut known = spec.arguments.iter().map(|it| it.name.as_str());
        if !known.clone().any(|it| it == name) {
            let hint = match nearest(&name, known.by_ref()) {
                Some(meant) => format!("; did you mean `{meant}`?"),
                None => String::new(),
            };
            let name = crate::service::respond::cut(&name);
            let why = format!("the prompt `{}` has no argument `{name}`{hint}", spec.name);
            return Err(ErrorData::invalid_params(why, None));
        }
        let text = match value {
            Value::String(text) => text,
            // Some clients give numbers as they are.
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            _ => {
                let why = format!("`{name}` has to be a text");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        values.insert(name, text);
    }
    Ok(values)
}

/// The question for the value of an argument.
fn question(argument: &PromptArgumentSpec) -> Value {
    let name = &argument.name;
    let mut field = json!({ "type": "string" });
    if let Some(title) = &argument.title {
        field["title"] = json!(title);
    }
    if let Some(description) = &argument.description {
        field["description"] = json!(description);
    }
    let needed: &[&String] = if argument.required { &[name] } else { &[] };
    let schema = json!({ "type": "object", "properties": { name: field }, "required": needed });
    json!({
        "method": ELICITATION,
        "params": { "mode": "form", "message": argument.ask, "requestedSchema": schema },
    })
}

/// Takes the answer to a question, if it is one.
fn take(argument: &PromptArgumentSpec, answer: &Value, values: &mut Values) {
    let text = answer["content"][&argument.name].as_str();
    if let ("accept", Some(text)) = (answer["action"].as_str().unwrap_or_default(), text) {
        values.insert(argument.name.clone(), text.to_owned());
    }
}

/// Asks one question after the other.
async fn ask(client: &OpenClient, wanted: &[&PromptArgumentSpec], values: &mut Values) {
    for argument in wanted {
        let question = question(argument);
        // One that is not asked has no value, as if nobody had answered.
        if client.abilities.takes(&question) {
            let answer = client.answer(&question).await;
            take(argument, &answer, values);
        }
    }
}

type Asks = (rmcp::model::InputRequiredResult, Value);

/// Takes what the client brings; the questions that are still open otherwise.
fn ask_by_answer(
    spec: &PromptSpec,
    wanted: &[&PromptArgumentSpec],
    abilities: Abilities,
    brought: Brought,
    values: &mut Values,
) -> Result<Option<Asks>, ErrorData> {
    let what_for = format!("prompt {}", spec.name);
    let mut answers = brought.answers;
    if let Some(state) = brought.state {
        let Some(before) = open::<BTreeMap<String, Value>>(&state, &what_for) else {
            let why = "requestState: it is not of this server and this prompt, or too old; ask again without it";
            return Err(ErrorData::invalid_params(why, None));
        };
        for (key, answer) in before {
            answers.entry(key).or_insert(answer);
        }
    }
    let (mut missing, mut known) = (Map::new(), BTreeMap::new());
    for argument in wanted {
        let question = question(argument);
        if !abilities.takes(&question) {
            continue;
        }
        match answers
            .remove(&argument.name)
            .filter(|it| fits(&question, it))
        {
            Some(answer) => {
                take(argument, &answer, values);
                known.insert(argument.name.clone(), answer);
            }
            None => drop(missing.insert(argument.name.clone(), question)),
        }
    }
    if missing.is_empty() {
        return Ok(None);
    }
    Ok(Some(required(&missing, seal(&known, &what_for))))
}

async fn block(
    context: &ServiceContext,
    part: &PartSpec,
    values: &Values,
    room: &mut usize,
) -> Result<ContentBlock, ErrorData> {
    let fill = |template: &Template| template.filled(|name| values.get(name).map(String::as_str));
    Ok(match part {
        PartSpec::Text(text) => ContentBlock::text(fill(text)),
        PartSpec::Image(spec) => {
            let kind = ("image/", "picture");
            let (data, mime_type) = media(context, spec, kind, fill, room).await?;
            ContentBlock::image(data, mime_type)
        }
        PartSpec::Audio(spec) => {
            let kind = ("audio/", "sound");
            let (data, mime_type) = media(context, spec, kind, fill, room).await?;
            ContentBlock::audio(data, mime_type)
        }
        PartSpec::Resource {
            uri,
            body,
            mime_type,
        } => {
            let uri = fill(uri);
            let given = mime_type.clone();
            let contents = match body {
                BodySpec::Text(text) => {
                    let mime_type = given.unwrap_or_else(|| "text/plain".to_owned());
                    ResourceContents::text(fill(text), uri).with_mime_type(mime_type)
                }
                BodySpec::File(file) => {
                    let path = fill(file);
                    let bytes = file_of(context, &path, room).await?;
                    let mime_type = given.unwrap_or_else(|| project_file::type_of(&path, &bytes));
                    contents(bytes, uri, mime_type).await?
                }
            };
            ContentBlock::Resource(EmbeddedResource::new(contents))
        }
    })
}

/// A picture or sound, of a type that begins so and that its author or its bytes tell.
async fn media(
    context: &ServiceContext,
    spec: &MediaSpec,
    (kind, name): (&str, &str),
    fill: impl Fn(&Template) -> String,
    room: &mut usize,
) -> Result<(String, String), ErrorData> {
    match &spec.source {
        MediaSource::Data(data) => {
            let mime_type = spec.mime_type.clone().unwrap_or_default();
            Ok((data.clone(), mime_type))
        }
        MediaSource::File(file) => {
            let path = fill(file);
            let bytes = file_of(context, &path, room).await?;
            let mime_type = match spec.mime_type.clone() {
                Some(given) => given,
                None => project_file::type_of(&path, &bytes),
            };
            if spec.mime_type.is_none() && !mime_type.starts_with(kind) {
                let why = format!("the file `{path}` is of the type {mime_type}, and no {name}");
                return Err(not_filled(&why));
            }
            let encoded = spawn_blocking(move || BASE64.encode(&bytes)).await;
            Ok((encoded.map_err(|_| stops())?, mime_type))
        }
    }
}

/// Text as text, anything else in Base64.
pub(super) async fn contents(
    bytes: Vec<u8>,
    uri: String,
    mime_type: String,
) -> Result<ResourceContents, ErrorData> {
    let making = move || match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(mime_type),
        Err(error) => {
            let encoded = BASE64.encode(error.as_bytes());
            ResourceContents::blob(encoded, uri).with_mime_type(mime_type)
        }
    };
    spawn_blocking(making).await.map_err(|_| stops())
}

async fn file_of(
    context: &ServiceContext,
    path: &str,
    room: &mut usize,
) -> Result<Vec<u8>, ErrorData> {
    let read = project_file::read(context, path).await;
    let bytes =
        read.map_err(|(FileFault::Missing(why) | FileFault::Unreadable(why))| not_filled(&why))?;
    match room.checked_sub(bytes.len()) {
        Some(rest) => {
            *room = rest;
            Ok(bytes)
        }
        None => {
            let most = MAX_FILES >> 20;
            let why = format!("the files of this prompt have more than {most} MiB together");
            Err(ErrorData::invalid_params(why, None))
        }
    }
}

fn not_filled(why: &str) -> ErrorData {
    ErrorData::invalid_params(format!("the prompt cannot be filled in: {why}"), None)
}

pub(super) fn stops() -> ErrorData {
    ErrorData::internal_error("the server stops", None)
}
