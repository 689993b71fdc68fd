//! The beginning of a conversation: which revision of the protocol is spoken, and how.
//!
//! A server is asked with `server/discover` first. What does not know that answers with an error, or with nothing; then
//! `initialize` follows on the same connection. Whichever is answered first, and conclusively, counts.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::message::Params;
use crate::request_error::RequestError;

/// The revision without a handshake.
pub const STATELESS: &str = "2026-07-28";
/// What `initialize` asks for.
pub const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";
/// All that are spoken, the newest first.
pub const KNOWN: [&str; 5] = [
    STATELESS,
    NEWEST_WITH_HANDSHAKE,
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];
/// How long `server/discover` may stay without an answer before `initialize` follows.
const SILENCE: Duration = Duration::from_secs(2);
/// An error that means: a server of the newer kind refuses. Asking in the older way would not help.
const REFUSALS: [i64; 2] = [-32020, -32021];
/// An error that means: the revision is not spoken, with those that are.
const UNSUPPORTED: i64 = -32022;

/// Who we are, and what servers may ask of us.
#[derive(Debug, Clone)]
pub struct ClientFacts {
    /// Our name.
    pub name: String,
    /// Our version.
    pub version: String,
    /// What we can do, as the protocol says it.
    pub capabilities: Value,
    /// The only revision that is spoken, when somebody has decided that.
    pub revision: Option<String>,
}

/// What is known of a server once a conversation has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerFacts {
    /// The revision that is spoken.
    pub revision: String,
    /// Whether there is no handshake and no session, and every request says who asks.
    pub is_stateless: bool,
    /// What it can do, as it says it.
    pub capabilities: Value,
    /// Its name and version, as it says them.
    pub server: Value,
    /// What it says about itself to a model.
    pub instructions: Option<String>,
}

impl PeerFacts {
    /// Whether it says that it offers something.
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(|it| !it.is_null())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    #[serde(default)]
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Value,
    #[serde(default)]
    instructions: Option<String>,
}

/// Sends requests before a conversation has begun.
pub(crate) trait Asking: Sync {
    /// Asks, and waits for the answer for as long as it takes.
    fn ask(
        &self,
        method: &str,
        params: Params,
    ) -> impl Future<Output = Result<Box<RawValue>, RequestError>> + Send;
}

/// What every request of [`STATELESS`] carries, with other capabilities than usual where some are given.
pub(crate) fn stateless_meta(
    facts: &ClientFacts,
    capabilities: Option<&Value>,
) -> Map<String, Value> {
    let capabilities = capabilities.unwrap_or(&facts.capabilities);
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    [
        (key("protocolVersion"), json!(STATELESS)),
        (
            key("clientInfo"),
            json!({ "name": facts.name, "version": facts.version }),
        ),
        (key("clientCapabilities"), capabilities.clone()),
    ]
    .into_iter()
    .collect()
}

/// Agrees on a revision. `initialized` has still to be said where there is a handshake.
pub(crate) async fn begin(
    asking: &impl Asking,
    facts: &ClientFacts,
) -> Result<PeerFacts, RequestError> {
    match facts.revision.as_deref() {
        Some(STATELESS) => match discover(asking, facts).await? {
            Probe::Stateless(peer) => Ok(peer),
            Probe::Older => Err(RequestError::BadAnswer(format!(
                "it does not speak {STATELESS}"
            ))),
        },
        Some(revision) => initialize(asking, facts, revision).await,
        None => either(asking, facts).await,
    }
}

/// What a probe has shown.
enum Probe {
    Stateless(PeerFacts),
    Older,
}

async fn either(asking: &impl Asking, facts: &ClientFacts) -> Result<PeerFacts, RequestError> {
    let probing = discover(asking, facts);
    tokio::pin!(probing);
    tokio::select! {
        probe = &mut probing => match probe? {
            Probe::Stateless(peer) => return Ok(peer),
            Probe::Older => return initialize(asking, facts, NEWEST_WITH_HANDSHAKE).await,
        },
        () = sleep(SILENCE) => {}
    }
    // It is slow, or does not answer what it does not know. The older question follows; the first good answer counts.
    let initializing = initialize(asking, facts, NEWEST_WITH_HANDSHAKE);
    tokio::pin!(initializing);
    tokio::select! {
        biased;
        probe = &mut probing => match probe {
            Ok(Probe::Stateless(peer)) => Ok(peer),
            Ok(Probe::Older) | Err(_) => initializing.await,
        },
        peer = &mut initializing => peer,
    }
}

async fn discover(asking: &impl Asking, facts: &ClientFacts) -> Result<Probe, RequestError> {
    let params = Params::new().with("_meta", &stateless_meta(facts, None));
    let mut answer = asking.ask("server/discover", params.clone()).await;
    if answer.as_ref().is_err_and(is_invitation) {
        answer = asking.ask("server/discover", params).await;
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(RequestError::Refused(error)) if !REFUSALS.contains(&error.code) => {
            return Ok(Probe::Older);
        }
        // A server that knows no such thing may say so in its own way.
        Err(RequestError::BadAnswer(_)) => return Ok(Probe::Older),
        Err(error) => return Err(error),
    };
    let Ok(discovered) = serde_json::from_str::<Discovered>(answer.get()) else {
        return Ok(Probe::Older);
    };
    let mut supported = discovered.supported_versions.iter();
    if !supported.any(|it| it == STATELESS) {
        return Ok(Probe::Older);
    }
    let server = discovered.meta.get("io.modelcontextprotocol/serverInfo");
    Ok(Probe::Stateless(PeerFacts {
        revision: STATELESS.to_owned(),
        is_stateless: true,
        capabilities: discovered.capabilities,
        server: server.cloned().unwrap_or_default(),
        instructions: discovered.instructions,
    }))
}

/// Whether a server refuses the revision and names it among those that it speaks: it has changed its mind, and is asked again.
fn is_invitation(error: &RequestError) -> bool {
    let RequestError::Refused(error) = error else {
        return false;
    };
    let supported = error.data.as_ref().and_then(|it| it.get("supported"));
    let mut supported = supported.and_then(Value::as_array).into_iter().flatten();
    error.code == UNSUPPORTED && supported.any(|it| it == STATELESS)
}

async fn initialize(
    asking: &impl Asking,
    facts: &ClientFacts,
    revision: &str,
) -> Result<PeerFacts, RequestError> {
    let params = Params::new()
        .with("protocolVersion", revision)
        .with("capabilities", &facts.capabilities)
        .with(
            "clientInfo",
            &json!({ "name": facts.name, "version": facts.version }),
        );
    let answer = asking.ask("initialize", params).await?;
    let wrong = |why: String| RequestError::BadAnswer(format!("to `initialize`: {why}"));
    let initialized: Initialized =
        serde_json::from_str(answer.get()).map_err(|error| wrong(error.to_string()))?;
    let agreed = initialized.protocol_version;
    if agreed == STATELESS || !KNOWN.contains(&agreed.as_str()) {
        return Err(wrong(format!(
            "it wants to speak {agreed:?}, which has no handshake or is not known"
        )));
    }
    Ok(PeerFacts {
        revision: agreed,
        is_stateless: false,
        capabilities: initialized.capabilities,
        server: initialized.server_info,
        instructions: initialized.instructions,
    })
}
