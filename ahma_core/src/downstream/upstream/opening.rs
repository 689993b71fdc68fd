//! The way to a server: its program is started, or its URL is reached, and a conversation begins.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use ahma_http_mcp_client::{
    Client, ClientFacts, ClientOptions, RequestError, ServerEvents, UrlEntry,
};
use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::super::command_values;
use super::super::events::UpstreamEvents;
use super::super::managed;
use super::super::ports::LeasedPort;
use super::super::process::{Process, ProcessSpec};
use super::super::secret_values::SecretValues;
use super::super::trust;
use super::{CONNECT_TIMEOUT, MAX_MESSAGE, NoConnection, Opened, QUIET, Upstream};
use crate::config::Restrictions;
use crate::config::downstream::{
    MissingReference, PORT_PLACEHOLDER, Program, Reference, Secret, TransportSpec,
};

impl Upstream {
    /// Begins a conversation.
    pub(super) async fn open(&self) -> Result<Opened, NoConnection> {
        let options = self.client_options();
        match &self.spec.transport {
            TransportSpec::Stdio(program) => Ok(self.open_program(program, options).await?),
            TransportSpec::Http { url, headers, .. } => {
                let headers = self.values(headers.clone(), None).await?;
                let entry = UrlEntry::new(url.clone(), headers);
                let entry = match self.token_source().await? {
                    Some(source) => entry.authorized_by(source),
                    None => entry,
                };
                match Client::at(&entry, options).await {
                    Ok(client) => Ok(Opened {
                        client,
                        process: None,
                        port: None,
                    }),
                    Err(RequestError::Unauthorized { challenge }) if self.can_sign_in() => {
                        Err(NoConnection::Unauthorized(challenge))
                    }
                    Err(error) => Err(error.to_string().into()),
                }
            }
            TransportSpec::Managed(program) => {
                let hosts = self.means.hosts(self.spec.sandbox)?;
                let spec = |port| self.process_spec(program, Some(port));
                let about = (self.name(), &self.stderr);
                let started = managed::start(&self.means.ports, &hosts, about, &options, spec);
                let managed = started.await?;
                Ok(Opened {
                    client: managed.client,
                    process: Some(managed.process),
                    port: Some(managed.port),
                })
            }
        }
    }

    /// How it is spoken with.
    pub(super) fn client_options(&self) -> ClientOptions {
        let events: Arc<dyn ServerEvents> = Arc::new(UpstreamEvents::new(
            self.name(),
            &self.lists_changed,
            &self.tool_changes,
            &self.means.messages,
            &self.calls,
        ));
        ClientOptions {
            facts: ClientFacts {
                name: "ahma_mcp".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                // Always the same: servers offer other tools to clients that can be asked. Whether a client really can is
                // said when one is.
                capabilities: json!({ "elicitation": { "form": {}, "url": {} } }),
                revision: self.spec.protocol_version.clone(),
            },
            connect_timeout: CONNECT_TIMEOUT,
            timeout: self.spec.timeout,
            max_message: MAX_MESSAGE,
            events,
            listens: true,
        }
    }

    async fn open_program(
        &self,
        program: &Program,
        options: ClientOptions,
    ) -> Result<Opened, String> {
        let spec = self.process_spec(program, None).await?;
        let hosts = self.means.hosts(self.spec.sandbox)?;
        let started = Process::start(&hosts, spec, self.name(), &self.stderr);
        let (process, pipes) = started.await?;
        let speaking = Client::over_streams(pipes.output, pipes.input, options);
        match speaking.await {
            Ok(client) => Ok(Opened {
                client,
                process: Some(process),
                port: None,
            }),
            Err(error) => Err(self.silent(&process, &error).await),
        }
    }

    /// Why a process that was started does not answer.
    async fn silent(&self, process: &Process, error: &RequestError) -> String {
        let ended = timeout(QUIET, process.ended()).await;
        let said = match self.stderr.last_line() {
            Some(line) => format!("; it said: {line}"),
            None => String::new(),
        };
        match ended {
            Ok(ended) => format!("{}{said}", ended.words),
            Err(_) => format!("{error}{said}"),
        }
    }

    async fn process_spec(
        &self,
        program: &Program,
        port: Option<Arc<LeasedPort>>,
    ) -> Result<ProcessSpec, String> {
        let listens = port.as_ref().map(|it| it.number);
        let mut environment: BTreeMap<OsString, OsString> = match self.spec.sandbox {
            true => self.means.confined_environment().into_iter().collect(),
            false => self.means.environment.clone(),
        };
        // What was meant for us, keys among it.
        environment.retain(|name, _| !name.as_encoded_bytes().starts_with(b"AHMA_"));
        let own = self.values(program.env.clone(), listens).await?;
        let own = own
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        environment.extend(own);
        let number = listens.map(|it| it.to_string()).unwrap_or_default();
        let args = program.args.iter();
        let args = args.map(|it| match listens {
            Some(_) => it.replace(PORT_PLACEHOLDER, &number),
            None => it.clone(),
        });
        let words = [program.command.clone()].into_iter().chain(args);
        let restrictions = Restrictions {
            no_network: self.spec.network == Some(false),
            ..Restrictions::default()
        };
        Ok(ProcessSpec {
            restrictions,
            port,
            words: words.map(OsString::from).collect(),
            environment: environment.into_iter().collect(),
            directory: trust::directory(&self.spec, program, &self.means.places),
        })
    }

    /// What variables or headers hold, which may be read from files, or printed by commands.
    pub(super) async fn values(
        &self,
        secrets: BTreeMap<String, Secret>,
        port: Option<u16>,
    ) -> Result<BTreeMap<String, String>, String> {
        let means = Arc::clone(&self.means);
        let printed = command_values::printed(&means, &secrets).await;
        let reading = spawn_blocking(move || {
            let source = SecretValues {
                environment: &means.environment,
                port,
                printed: &printed,
            };
            let value = |(name, secret): (String, Secret)| match secret.resolve(&source) {
                Ok(value) => Ok((name, value)),
                Err(MissingReference(Reference::Command(line))) => {
                    let why = printed.get(&line).and_then(|it| it.as_ref().err());
                    let why = why.map(|it| format!(": {it}")).unwrap_or_default();
                    let reference = Reference::Command(line);
                    Err(format!("{name}: there is no value for `{reference}`{why}"))
                }
                Err(MissingReference(reference)) => {
                    Err(format!("{name}: there is no value for `{reference}`"))
                }
            };
            secrets.into_iter().map(value).collect()
        });
        reading.await.map_err(|error| error.to_string())?
    }
}
