//! The client that `tests/conformance/client_run` has the conformance suite test. Its last argument is the URL of a server.
//!
//! Does what a client of a model would: signs in where that is wanted, lists what there is and uses all of it. A browser
//! is played by following the authorization URL by hand.

#![expect(
    clippy::print_stderr,
    reason = "an example says what it does; the suite keeps it"
)]

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use ahma_http_mcp_client::auth::{AuthOptions, RegisteredClient, SignIn, TokenSource, TokenStore};
use ahma_http_mcp_client::{
    Client, ClientOptions, ErrorAnswer, KNOWN, Params, Request, RequestError, Secret, ServerEvents,
    UrlEntry,
};
use ahma_tests::Workspace;
use futures_util::future::BoxFuture;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Sign-ins that are tried for one conversation.
const MAX_SIGN_INS: usize = 3;
/// Answers that are given to one call.
const MAX_ROUNDS: usize = 5;
/// The document that the suite takes for a description of this client.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().next_back().ok_or("which URL?")?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let place = Workspace::new();
    let auth = auth_options(&url, TokenStore::new(place.path().join("tokens")), &context)?;
    let source = Arc::new(TokenSource::new(auth.clone()));
    let entry = UrlEntry::new(url, Default::default()).authorized_by(source);
    let mut sign_ins = 0;
    loop {
        let challenge = match converse(&entry, &context).await {
            Ok(()) => return Ok(()),
            Err(RequestError::Unauthorized { challenge }) => challenge,
            Err(error) => return Err(error.into()),
        };
        sign_ins += 1;
        eprintln!("refused: {challenge:?}");
        if sign_ins > MAX_SIGN_INS {
            return Err("the server refuses every token".into());
        }
        let sign_in = SignIn::begin(auth.clone(), challenge.as_deref()).await?;
        let answer = opened(sign_in.url().as_str()).await?;
        let status = sign_in.redirected(&answer).await?;
        eprintln!("signed in: {status:?}");
    }
}

fn auth_options(
    url: &str,
    store: TokenStore,
    context: &Value,
) -> Result<AuthOptions, Box<dyn Error>> {
    let options = AuthOptions::new(url, store)?;
    let options = options.with_client_metadata_url(CLIENT_METADATA.parse()?);
    let text = |name: &str| context.get(name).and_then(Value::as_str);
    Ok(match text("client_id") {
        None => options,
        Some(id) => options.with_client(RegisteredClient {
            id: id.to_owned(),
            secret: text("client_secret").map(Secret::new),
            issuer: None,
        }),
    })
}

/// What a browser does: where it is sent to.
async fn opened(url: &str) -> Result<String, Box<dyn Error>> {
    let policy = reqwest::redirect::Policy::none();
    let browser = reqwest::Client::builder().redirect(policy).build()?;
    let response = browser.get(url).send().await?;
    let location = response.headers().get("location");
    let location = location.ok_or("the browser was not sent back")?;
    Ok(location.to_str()?.to_owned())
}

async fn converse(entry: &UrlEntry, context: &Value) -> Result<(), RequestError> {
    let mut options = ClientOptions {
        events: Arc::new(Answering),
        ..ClientOptions::default()
    };
    options.facts.capabilities = json!({ "elicitation": {} });
    let revision = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    options.facts.revision = revision.filter(|it| KNOWN.contains(&it.as_str()));
    let client = Client::at(entry, options).await?;
    let peer = client.peer();
    eprintln!("{} speaks {}", peer.server, peer.revision);
    let outcome = use_all(&client, context).await;
    client.close().await;
    outcome
}

async fn use_all(client: &Client, context: &Value) -> Result<(), RequestError> {
    let tools = client.tools().await?;
    let tools: Vec<Value> = tools.items.iter().map(|it| value(it)).collect();
    match context.get("toolCalls").and_then(Value::as_array) {
        Some(calls) => {
            for given in calls {
                call(client, &given["name"], &given["arguments"]).await?;
            }
        }
        None => {
            for tool in &tools {
                let arguments = arguments(tool, &tools);
                call(client, &tool["name"], &arguments).await?;
            }
        }
    }
    if client.peer().offers("resources") {
        for resource in client.resources().await?.items {
            let params = Params::new().with("uri", &value(&resource)["uri"]);
            client
                .request(Request::new("resources/read", params))
                .await?;
        }
    }
    if client.peer().offers("prompts") {
        for prompt in client.prompts().await?.items {
            let params = Params::new().with("name", &value(&prompt)["name"]);
            client.request(Request::new("prompts/get", params)).await?;
        }
    }
    Ok(())
}

/// Something of the right kind for everything that a tool needs.
fn arguments(tool: &Value, tools: &[Value]) -> Value {
    let schema = &tool["inputSchema"];
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Value::as_str);
    let given = required.map(|name| {
        let given = match schema["properties"][name]["type"].as_str() {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            // A tool that takes a schema is shown that of the first one.
            Some("object") if name == "schema" => tools[0]["inputSchema"].clone(),
            Some("object") => json!({}),
            Some("null") => Value::Null,
            _ => json!("test"),
        };
        (name.to_owned(), given)
    });
    Value::Object(given.collect())
}

/// Calls a tool, and answers what it asks.
async fn call(client: &Client, name: &Value, arguments: &Value) -> Result<(), RequestError> {
    let mut answers: Vec<(&str, Value)> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let name = name.as_str().unwrap_or_default();
        let mut request = Request::call(name, &raw(arguments)?);
        request.timeout = Some(Duration::from_secs(20));
        for (field, answer) in std::mem::take(&mut answers) {
            request.params = request.params.with(field, &answer);
        }
        let result = value(&client.request(request).await?);
        if result["resultType"] != "input_required" {
            eprintln!("{name}: {result}");
            return Ok(());
        }
        let asked = result["inputRequests"].as_object();
        let given: Map<String, Value> = asked
            .into_iter()
            .flatten()
            .map(|(key, asked)| (key.clone(), answer(&asked["params"])))
            .collect();
        answers.push(("inputResponses", Value::Object(given)));
        let state = result.get("requestState");
        answers.extend(state.map(|it| ("requestState", it.clone())));
    }
    Ok(())
}

/// Answers questions with what they suggest.
struct Answering;

impl ServerEvents for Answering {
    fn asked(
        &self,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> BoxFuture<'static, Result<Box<RawValue>, ErrorAnswer>> {
        let answer = match (method, params) {
            ("elicitation/create", Some(params)) => to_raw_value(&answer(&value(&params)))
                .map_err(|error| ErrorAnswer::new(-32603, error.to_string())),
            _ => Err(ErrorAnswer::no_method(method)),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn answer(params: &Value) -> Value {
    let properties = params["requestedSchema"]["properties"].as_object();
    let content: Map<String, Value> = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| Some((name.clone(), schema.get("default")?.clone())))
        .collect();
    json!({ "action": "accept", "content": content })
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn raw(value: &Value) -> Result<Box<RawValue>, RequestError> {
    to_raw_value(value).map_err(|error| RequestError::BadAnswer(error.to_string()))
}
