//! The raw form of an `mcp.json`: an exact mirror of its JSON.
//!
//! serde decodes it, and schemars makes the published schema from it: doc comments are what users read in their editor.
//! Nothing is defaulted or checked here. None of these types may be printed: they hold plain secrets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::{Map, Value};

use super::super::field::Field;
use super::super::raw::{List, RawAnnotations, TextMap};

/// The keys that hold servers.
pub(super) const LISTS: [&str; 2] = ["servers", "mcpServers"];

/// An `mcp.json`: other MCP servers, whose tools, prompts and resources are offered beside the own ones. Further keys,
/// as the files of other clients have them, are passed over.
#[derive(JsonSchema)]
#[schemars(
    rename = "McpConfig",
    extend("anyOf" = [{ "required": ["servers"] }, { "required": ["mcpServers"] }])
)]
#[expect(
    dead_code,
    reason = "for the schema; the loader decodes one entry after the other"
)]
pub(super) struct RawMcpConfig {
    /// Servers by name: 1 to 32 letters, digits, `_` and `-`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]{1,32}$" }, "maxProperties" = 100))]
    servers: Field<BTreeMap<String, RawServer>>,
    /// The same under the key that other clients use. A name may stand in one of them only.
    #[serde(rename = "mcpServers", default)]
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]{1,32}$" }, "maxProperties" = 100))]
    mcp_servers: Field<BTreeMap<String, RawServer>>,
}

/// One server: a program to start (`command`), or one that runs elsewhere (`url`).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(
    rename = "Server",
    extend("anyOf" = [{ "required": ["command"] }, { "required": ["url"] }, { "required": ["disabled"] }])
)]
#[expect(
    dead_code,
    reason = "fields of other clients are known so that they are passed over"
)]
pub(super) struct RawServer {
    /// How the server is reached. Without it, `command` means `stdio` and `url` means `http`.
    #[serde(rename = "type", default)]
    #[schemars(with = "RawType")]
    pub(super) kind: Field<String>,
    /// The program to start: a name looked up on PATH, or a path.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(super) command: Field<String>,
    /// Its arguments. `${PORT}` stands for the port of a `managed_http` server, and has to occur here or in `env`.
    #[serde(default)]
    pub(super) args: List<String>,
    /// Variables set for the program. A value may hold `${env:NAME}`, `${file:PATH}` (relative to the directory of this file)
    /// and `${command:…}`, also inside longer text; a plain `${` is written `$${`.
    #[serde(default)]
    pub(super) env: TextMap,
    /// The directory the program runs in, relative to that of this file.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(super) cwd: Field<String>,
    /// The endpoint of a server that runs elsewhere.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://."))]
    pub(super) url: Field<String>,
    /// Headers of every request. Values may hold references as those of `env` may: `Bearer ${env:TOKEN}`.
    #[serde(default)]
    pub(super) headers: TextMap,
    /// How to sign in; without it, the server says so itself.
    #[serde(default)]
    #[schemars(with = "RawOAuth")]
    pub(super) oauth: Field<Map<String, Value>>,
    /// Id of the client at Atlassian: the same as `client_id` of `oauth`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(super) atlassian_client_id: Field<String>,
    /// Secret of the client at Atlassian: the same as `client_secret` of `oauth`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(super) atlassian_client_secret: Field<String>,
    /// `true` leaves the server out, and what else its entry holds is not looked at.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) disabled: Field<bool>,
    /// `lazy`: started by the first call. `eager`: at once.
    #[serde(default)]
    #[schemars(extend("default" = "lazy"))]
    pub(super) start: Field<RawStart>,
    /// Minutes after which an unused server is stopped; 0 means never.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_080), extend("default" = 15))]
    pub(super) idle_minutes: Field<i64>,
    /// What names of tools and prompts begin with, as in `{prefix}_{tool}`; without it, the name of the server. No two
    /// servers may have the same.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]*$"), length(max = 32))]
    pub(super) prefix: Field<String>,
    /// What is offered of the server's tools, and how; without it, all as they are.
    #[serde(default)]
    pub(super) tools: Field<RawToolRules>,
    /// `true`: definitions that change have to be approved before they are used.
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub(super) pin: Field<bool>,
    /// Seconds that a request may take.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3_600), extend("default" = 30))]
    pub(super) timeout_seconds: Field<i64>,
    /// `true`: the program is confined to the scope as commands are.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) sandbox: Field<bool>,
    /// Whether the confined program has the network; without it, as commands have it. Only with `"sandbox": true`.
    #[serde(default)]
    pub(super) network: Field<bool>,
    /// `true`: each session has a process of its own.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) per_session: Field<bool>,
    /// The only revision of the protocol to speak with the server; without it, they agree on one.
    #[serde(default)]
    pub(super) protocol_version: Field<RawRevision>,
    /// Of another client; passed over.
    #[serde(rename = "alwaysAllow", default)]
    always_allow: Field<PassedOver>,
    /// Of another client; passed over.
    #[serde(rename = "autoApprove", default)]
    auto_approve: Field<PassedOver>,
    /// What the server is for. For readers of this file; passed over.
    #[serde(default)]
    description: Field<PassedOver>,
    /// Of another client; passed over.
    #[serde(default)]
    env_file: Field<PassedOver>,
    /// Of another client; passed over.
    #[serde(rename = "envFile", default)]
    env_file_of_editors: Field<PassedOver>,
    /// Of another client; passed over.
    #[serde(default)]
    gallery: Field<PassedOver>,
    /// Of another client; passed over, because clients do not agree on its unit. Use `timeout_seconds`.
    #[serde(default)]
    timeout: Field<PassedOver>,
    /// Of another client; passed over.
    #[serde(default)]
    version: Field<PassedOver>,
}

/// How a server is reached.
#[derive(JsonSchema)]
#[schemars(rename = "Type", inline)]
#[expect(
    dead_code,
    reason = "for the schema; a wrong type of another client is answered with advice"
)]
pub(super) enum RawType {
    /// A program that is started, over its standard streams.
    #[serde(rename = "stdio")]
    Stdio,
    /// A server that runs elsewhere, over streamable HTTP.
    #[serde(rename = "http")]
    Http,
    /// The same as `http`.
    #[serde(rename = "streamable-http")]
    StreamableHttp,
    /// The same as `http`.
    #[serde(rename = "streamableHttp")]
    StreamableHttpOfEditors,
    /// A program that is started and listens on the port it is given.
    #[serde(rename = "managed_http")]
    Managed,
}

/// When a server is started.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Start", inline)]
pub(super) enum RawStart {
    Lazy,
    Eager,
}

/// A revision of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Revision", inline)]
pub(super) enum RawRevision {
    #[serde(rename = "2025-03-26")]
    March2025,
    #[serde(rename = "2025-06-18")]
    June2025,
    #[serde(rename = "2025-11-25")]
    November2025,
    #[serde(rename = "2026-07-28")]
    July2026,
}

impl RawRevision {
    pub(super) fn name(self) -> &'static str {
        match self {
            RawRevision::March2025 => "2025-03-26",
            RawRevision::June2025 => "2025-06-18",
            RawRevision::November2025 => "2025-11-25",
            RawRevision::July2026 => "2026-07-28",
        }
    }
}

/// How to sign in by OAuth 2.1. Nothing of it is needed where the server's own authorization server registers clients.
#[derive(JsonSchema)]
#[schemars(rename = "OAuth")]
#[expect(
    dead_code,
    reason = "for the schema; further settings are kept as they are"
)]
pub(super) struct RawOAuth {
    /// Id of the client, where it is registered by hand.
    #[serde(default)]
    #[schemars(length(min = 1))]
    client_id: Field<String>,
    /// The secret that belongs to it. May hold references as values of `headers` may.
    #[serde(default)]
    #[schemars(length(min = 1))]
    client_secret: Field<String>,
    /// The authorization server that the client is registered with. A server that sends elsewhere is not told of it.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://."))]
    issuer: Field<String>,
    /// Where the browser is sent to after signing in, where that had to be registered; without it, a free port of 127.0.0.1.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://."))]
    redirect_uri: Field<String>,
    /// The https URL of a document that describes the client, for authorization servers that read such documents.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]://."))]
    client_metadata_url: Field<String>,
}

/// What is offered of a server's tools, and how. Names are those that the server gives.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToolRules")]
pub(super) struct RawToolRules {
    /// The only tools that are offered.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub(super) allow: List<String>,
    /// Tools that are not offered.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub(super) deny: List<String>,
    /// Other names for tools, by the server's names; the prefix is added to them.
    #[serde(default)]
    pub(super) rename: TextMap,
    /// Other descriptions, by the server's names.
    #[serde(default)]
    pub(super) describe: TextMap,
    /// More careful annotations, by the server's names: they may take promises back, not make any.
    #[serde(default)]
    pub(super) annotations: Field<BTreeMap<String, Field<RawAnnotations>>>,
    /// Tools that are listed; the others are found with `find_tools` and called with `call_tool`. At most 40.
    #[serde(default)]
    #[schemars(length(max = 40), inner(length(min = 1)))]
    pub(super) core: List<String>,
}

/// A value that nobody looks at.
pub(super) struct PassedOver;

impl<'de> Deserialize<'de> for PassedOver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| PassedOver)
    }
}

impl JsonSchema for PassedOver {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PassedOver".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}
