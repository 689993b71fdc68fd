//! A server and its authorization server, on one port. Well-behaved unless it is told otherwise, and strict with clients: PKCE,
//! redirect URI and resource are checked, and a refresh token is good once.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ahma_http_mcp_client::auth::{
    AuthError, AuthOptions, SignIn, SignInStatus, TokenSource, TokenStore,
};
use ahma_http_mcp_client::{Client, ClientOptions, RequestError, UrlEntry};
use ahma_tests::Workspace;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::listener::{Answer, Asked, Listener};
use super::names::Names;

/// Answers in place of a well-behaved server.
pub(super) type Trick = Box<dyn Fn(&Asked, &str) -> Option<Answer> + Send + Sync>;

/// How it behaves. Nothing said means well.
#[derive(Default)]
pub(super) struct Rules {
    /// Fields of the metadata that are others, or are not there where they are null.
    pub(super) metadata: Vec<(&'static str, Value)>,
    /// The same of the resource's metadata.
    pub(super) resource_metadata: Vec<(&'static str, Value)>,
    /// What a challenge says beside where the metadata is.
    pub(super) challenge: String,
    /// The `iss` of the answer; null means none.
    pub(super) iss: Option<Value>,
    /// How long tokens live, in seconds.
    pub(super) life: u64,
    /// What is answered instead.
    pub(super) trick: Option<Trick>,
}

/// What it has given out.
#[derive(Default)]
pub(super) struct Given {
    count: usize,
    code: Option<(String, Asked)>,
    pub(super) access: Option<String>,
    pub(super) refresh: Option<String>,
    /// Everything that ever was a secret.
    pub(super) secrets: HashSet<String>,
    /// What a client did that it must not.
    pub(super) offences: Vec<String>,
}

pub(super) struct Realm {
    pub(super) listener: Listener,
    pub(super) base: String,
    pub(super) rules: Arc<Mutex<Rules>>,
    pub(super) given: Arc<Mutex<Given>>,
    pub(super) names: Arc<Names>,
    pub(super) place: Workspace,
}

impl Realm {
    pub(super) async fn new() -> Self {
        Realm::named("127.0.0.1", &[]).await
    }

    /// One that is reached by a name, among others.
    pub(super) async fn named(host: &str, names: &[(&str, &str)]) -> Self {
        let rules = Arc::new(Mutex::new(Rules {
            life: 3600,
            ..Rules::default()
        }));
        let given = Arc::<Mutex<Given>>::default();
        let (its_rules, its_given, its_host) =
            (Arc::clone(&rules), Arc::clone(&given), host.to_owned());
        let listener = Listener::start(move |address| {
            let base = format!("http://{its_host}:{}", address.port());
            move |asked: &Asked| {
                let rules = its_rules.lock().unwrap();
                let trick = rules.trick.as_ref().and_then(|trick| trick(asked, &base));
                trick
                    .unwrap_or_else(|| answer(asked, &base, &rules, &mut its_given.lock().unwrap()))
            }
        })
        .await;
        let base = format!("http://{host}:{}", listener.address.port());
        Realm {
            listener,
            base,
            rules,
            given,
            names: Names::new(names),
            place: Workspace::new(),
        }
    }

    /// Its endpoints at another origin of this machine.
    pub(super) async fn second_origin(&self) -> Listener {
        let (rules, given) = (Arc::clone(&self.rules), Arc::clone(&self.given));
        let base = self.base.clone();
        let answering = move |asked: &Asked| {
            let (rules, mut given) = (rules.lock().unwrap(), given.lock().unwrap());
            answer(asked, &base, &rules, &mut given)
        };
        Listener::start(|_| answering).await
    }

    pub(super) fn rule(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.rules.lock().unwrap());
    }

    pub(super) fn trick(
        &self,
        trick: impl Fn(&Asked, &str) -> Option<Answer> + Send + Sync + 'static,
    ) {
        self.rule(|rules| rules.trick = Some(Box::new(trick)));
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    pub(super) fn tokens(&self) -> PathBuf {
        self.place.path().join("tokens")
    }

    pub(super) fn options(&self) -> AuthOptions {
        let store = TokenStore::new(self.tokens());
        let options = AuthOptions::new(&self.url(), store).unwrap();
        options.with_resolver(Arc::clone(&self.names) as _)
    }

    /// Signs in as somebody who pastes.
    pub(super) async fn sign_in(&self) -> Result<SignInStatus, AuthError> {
        self.sign_in_with(self.options(), None).await
    }

    pub(super) async fn sign_in_with(
        &self,
        options: AuthOptions,
        challenge: Option<&str>,
    ) -> Result<SignInStatus, AuthError> {
        let sign_in = SignIn::begin(options, challenge).await?;
        let redirect = self.opened(sign_in.url().as_str()).await;
        sign_in.redirected(&redirect).await
    }

    /// Where a browser is sent that opens a URL of this realm, by whichever name.
    pub(super) async fn opened(&self, url: &str) -> String {
        let mut url: reqwest::Url = url.parse().unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        let response = browser().get(url).send().await.unwrap();
        let location = response.headers().get("location").expect("a redirect");
        location.to_str().unwrap().to_owned()
    }

    pub(super) fn source(&self) -> Arc<TokenSource> {
        Arc::new(TokenSource::new(self.options()))
    }

    /// A conversation with the tokens of a source.
    pub(super) async fn converse(&self, source: &Arc<TokenSource>) -> Result<Client, RequestError> {
        let entry = UrlEntry::new(self.url(), Default::default());
        let source = Arc::clone(source);
        Client::at(&entry.authorized_by(source), ClientOptions::default()).await
    }

    /// The records on disk.
    pub(super) fn records(&self) -> Vec<Value> {
        let entries = std::fs::read_dir(self.tokens()).into_iter().flatten();
        let paths = entries.map(|it| it.unwrap().path());
        let records = paths.filter(|it| it.extension().is_some_and(|it| it == "json"));
        let read = |path: PathBuf| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        records.map(read).collect()
    }

    pub(super) fn offences(&self) -> Vec<String> {
        self.given.lock().unwrap().offences.clone()
    }

    /// Token requests of one kind.
    pub(super) fn token_requests(&self, grant: &str) -> Vec<Asked> {
        let mut asked = self.listener.asked_at("/token");
        asked.retain(|it| it.param("grant_type").as_deref() == Some(grant));
        asked
    }
}

/// Follows nothing, so that a test sees where it is sent.
pub(super) fn browser() -> reqwest::Client {
    let policy = reqwest::redirect::Policy::none();
    let builder = reqwest::Client::builder().redirect(policy).no_proxy();
    builder.build().unwrap()
}

fn changed(mut value: Value, changes: &[(&'static str, Value)]) -> Value {
    let fields = value.as_object_mut().unwrap();
    for (name, change) in changes {
        match change {
            Value::Null => fields.remove(*name),
            change => fields.insert((*name).to_owned(), change.clone()),
        };
    }
    value
}

fn answer(asked: &Asked, base: &str, rules: &Rules, given: &mut Given) -> Answer {
    match asked.path() {
        "/mcp" => mcp(asked, base, rules, given),
        "/.well-known/oauth-protected-resource/mcp" => Answer::json(&changed(
            json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }),
            &rules.resource_metadata,
        )),
        "/.well-known/oauth-authorization-server" => Answer::json(&changed(
            json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["everything", "under", "the", "sun"],
            }),
            &rules.metadata,
        )),
        "/register" => {
            let request: Value = serde_json::from_str(&asked.body).unwrap();
            let uris = &request["redirect_uris"];
            Answer::json(&json!({ "client_id": "registered-1", "redirect_uris": uris })).status(201)
        }
        "/authorize" => authorize(asked, base, rules, given),
        "/token" => token(asked, rules, given),
        _ => Answer::new(404),
    }
}

fn mcp(asked: &Asked, base: &str, rules: &Rules, given: &Given) -> Answer {
    let expected = given.access.as_ref().map(|it| format!("Bearer {it}"));
    if expected.is_none_or(|it| asked.header("authorization") != it) {
        let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let challenge = format!("Bearer resource_metadata=\"{metadata}\"{}", rules.challenge);
        return Answer::new(401).with("www-authenticate", challenge);
    }
    let request: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let result = match request["method"].as_str() {
        Some("server/discover") => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
        }),
        Some("tools/list") => json!({ "resultType": "complete", "tools": [] }),
        _ => return Answer::new(202),
    };
    Answer::json(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
}

fn authorize(asked: &Asked, base: &str, rules: &Rules, given: &mut Given) -> Answer {
    let param = |name: &str| asked.param(name).unwrap_or_default();
    let code = given.fresh("code");
    let mut back: reqwest::Url = param("redirect_uri").parse().unwrap();
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &param("state"));
    match &rules.iss {
        None => drop(back.query_pairs_mut().append_pair("iss", base)),
        Some(Value::String(iss)) => drop(back.query_pairs_mut().append_pair("iss", iss)),
        Some(_) => {}
    }
    given.secrets.insert(param("state"));
    given.code = Some((code, asked.clone()));
    Answer::redirect(302, back)
}

fn token(asked: &Asked, rules: &Rules, given: &mut Given) -> Answer {
    let param = |name: &str| asked.param(name).unwrap_or_default();
    let refused = |code: &str| Answer::json(&json!({ "error": code })).status(400);
    match param("grant_type").as_str() {
        "authorization_code" => {
            let Some((code, authorized)) = given.code.take() else {
                given.offences.push("a code was used twice".to_owned());
                return refused("invalid_grant");
            };
            given.secrets.insert(param("code_verifier"));
            let digest = Sha256::digest(param("code_verifier").as_bytes());
            let of_authorize = |name: &str| authorized.param(name).unwrap_or_default();
            let is_right = param("code") == code
                && of_authorize("code_challenge_method") == "S256"
                && of_authorize("code_challenge") == BASE64URL_NOPAD.encode(&digest)
                && of_authorize("redirect_uri") == param("redirect_uri")
                && of_authorize("resource") == param("resource");
            if !is_right {
                given
                    .offences
                    .push("code, challenge, redirect or resource is wrong".to_owned());
                return refused("invalid_grant");
            }
        }
        "refresh_token" => {
            if given.refresh != Some(param("refresh_token")) {
                given
                    .offences
                    .push("a refresh token was used twice".to_owned());
                given.refresh = None;
                return refused("invalid_grant");
            }
        }
        _ => return refused("unsupported_grant_type"),
    }
    let (access, refresh) = (given.fresh("access"), given.fresh("refresh"));
    given.access = Some(access.clone());
    given.refresh = Some(refresh.clone());
    Answer::json(&json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": rules.life,
        "refresh_token": refresh,
    }))
}

impl Given {
    fn fresh(&mut self, kind: &str) -> String {
        self.count += 1;
        let fresh = format!("{kind}-{}-{}", self.count, ahma_tests::unique_mark());
        self.secrets.insert(fresh.clone());
        fresh
    }
}
