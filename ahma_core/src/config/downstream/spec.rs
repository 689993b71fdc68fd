//! The checked form of an `mcp.json`. Plain data; must not know how it was written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::super::fault::Fault;
use super::super::spec::Annotations;
use super::secret::Secret;

/// Stands for the port of a managed server in its arguments and variables.
pub const PORT_PLACEHOLDER: &str = "${PORT}";

/// What an `mcp.json` amounts to.
#[derive(Debug)]
pub struct DownstreamConfig {
    /// The file.
    pub path: PathBuf,
    /// Its text, for showing the faults in their lines: values that could be secrets are replaced by asterisks.
    pub text: String,
    /// The servers without a fault, in the order they stand in the file.
    pub servers: Vec<ServerSpec>,
    /// The servers that their entries switch off.
    pub disabled: Vec<String>,
    /// Everything that is wrong with the file.
    pub faults: Vec<Fault>,
}

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSpec {
    /// Its name: 1 to 32 letters, digits, `_` and `-`; unique.
    pub name: String,
    /// How it is reached.
    pub transport: TransportSpec,
    /// When it is started or connected to.
    pub start: StartMode,
    /// How long it may be unused before it is stopped; `None` means for ever.
    pub idle: Option<Duration>,
    /// What the names of its tools and prompts begin with; unique, may be empty.
    pub prefix: String,
    /// What is offered of its tools, and how.
    pub tools: ToolRules,
    /// Whether changed definitions have to be approved.
    pub pin: bool,
    /// How long a request may take.
    pub timeout: Duration,
    /// Whether its process is confined as commands are.
    pub sandbox: bool,
    /// Whether the confined process has the network; `None` means as commands have it.
    pub network: Option<bool>,
    /// Whether each session has a process of its own.
    pub per_session: bool,
    /// The only revision of the protocol that is spoken with it.
    pub protocol_version: Option<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum TransportSpec {
    /// A process that is started, over its standard streams.
    Stdio(Program),
    /// A server that runs elsewhere, over streamable HTTP.
    Http {
        /// Its endpoint: `http` or `https`, without credentials.
        url: String,
        /// Sent with every request.
        headers: BTreeMap<String, Secret>,
        /// How to sign in.
        oauth: Option<OAuthSpec>,
    },
    /// A process that is started and listens on the port it is given, over streamable HTTP. [`PORT_PLACEHOLDER`] stands
    /// for the port in its arguments, [`Reference::Port`](super::Reference::Port) in its variables.
    Managed(Program),
}

impl TransportSpec {
    /// As the file says it.
    pub fn kind(&self) -> &'static str {
        match self {
            TransportSpec::Stdio(_) => "stdio",
            TransportSpec::Http { .. } => "http",
            TransportSpec::Managed(_) => "managed_http",
        }
    }
}

/// A program to start.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// A name looked up on PATH, or a path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables set for it.
    pub env: BTreeMap<String, Secret>,
    /// Its working directory; relative paths of the file are joined to the directory of the file.
    pub cwd: Option<PathBuf>,
}

/// How to sign in to a server.
#[derive(Clone, PartialEq)]
pub struct OAuthSpec {
    /// The client's id, where it is registered by hand.
    pub client_id: Option<String>,
    /// The secret that belongs to it.
    pub client_secret: Option<Secret>,
    /// The authorization server that it is registered with.
    pub issuer: Option<String>,
    /// Where the browser is sent to afterwards.
    pub redirect_uri: Option<String>,
    /// A document that describes the client.
    pub client_metadata_url: Option<String>,
    /// Everything else, as written.
    pub settings: Map<String, Value>,
}

impl fmt::Debug for OAuthSpec {
    /// Settings are shown by name only: what they hold is not known here.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthSpec")
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .field("issuer", &self.issuer)
            .field("redirect_uri", &self.redirect_uri)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("settings", &self.settings.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// When a server is started or connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartMode {
    /// With the first call.
    #[default]
    Lazy,
    /// At once.
    Eager,
}

/// What is offered of a server's tools, and how. Names are those the server gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolRules {
    /// The only ones that are offered; `None` means all.
    pub allow: Option<Vec<String>>,
    /// Those that are not offered.
    pub deny: Vec<String>,
    /// Other names, each before the prefix is added.
    pub rename: BTreeMap<String, String>,
    /// Other descriptions.
    pub describe: BTreeMap<String, String>,
    /// More careful annotations than the server's own; fields left out are the server's.
    pub annotations: BTreeMap<String, Annotations>,
    /// Those that are listed; `None` means all.
    pub core: Option<Vec<String>>,
}
