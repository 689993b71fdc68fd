//! A server that wants to know who asks: its token, and what a call gets while nobody has signed in.
//!
//! Must not open a browser, and must not show a token.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ahma_http_mcp_client::auth::{
    AuthError, AuthOptions, RegisteredClient, SignIn, SignInStatus, TokenSource, TokenStore,
};
use ahma_http_mcp_client::{Client, RequestError, UrlEntry};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::super::backoff::Backoff;
use super::super::sign_in_desk::{OpenSignIn, PATIENCE};
use super::super::token_changes::TokenChanges;
use super::{Connection, NoConnection, Status, Upstream};
use crate::config::downstream::{OAuthSpec, TransportSpec};
use crate::registry::{Asking, ForeignError, ForeignResult, ServerEventKind};
use ahma_transport::QUESTION;

/// A call that is refused more often, although somebody has signed in, is given up.
const MAX_SIGN_INS: usize = 2;
/// Our question among those of a result, and its answer among those of the next call.
const OUR_QUESTION: &str = "ahma_sign_in";
const ANSWERS: &str = "inputResponses";

/// What came of a call that found that somebody has to sign in.
pub(super) enum SignedIn {
    /// Somebody has. The call can be made.
    Done,
    /// The client is asked to have the URL opened; its next call says whether that happened.
    Asks(ForeignResult),
}

impl Upstream {
    /// Whether somebody can sign in: it runs elsewhere, and its entry has no token.
    pub(super) fn can_sign_in(&self) -> bool {
        matches!(&self.spec.transport, TransportSpec::Http { headers, .. }
            if !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")))
    }

    /// What has to be known to sign in; none where nobody can.
    async fn auth_options(&self, store: TokenStore) -> Result<Option<AuthOptions>, String> {
        let TransportSpec::Http { url, oauth, .. } = &self.spec.transport else {
            return Ok(None);
        };
        if !self.can_sign_in() {
            return Ok(None);
        }
        let options = AuthOptions::new(url, store).map_err(|error| error.to_string())?;
        let Some(oauth) = oauth else {
            return Ok(Some(options));
        };
        let url_of = |name: &str, url: &str| {
            let url = url.parse();
            url.map_err(|_| format!("`{name}` of `oauth` is not a URL"))
        };
        let options = match &oauth.client_id {
            None => options,
            Some(id) => options.with_client(RegisteredClient {
                id: id.clone(),
                secret: self.client_secret(oauth).await?,
                issuer: oauth.issuer.clone(),
            }),
        };
        let options = match &oauth.client_metadata_url {
            None => options,
            Some(url) => options.with_client_metadata_url(url_of("client_metadata_url", url)?),
        };
        Ok(Some(match &oauth.redirect_uri {
            None => options,
            Some(url) => options.with_redirect_uri(url_of("redirect_uri", url)?),
        }))
    }

    async fn client_secret(
        &self,
        oauth: &OAuthSpec,
    ) -> Result<Option<ahma_http_mcp_client::Secret>, String> {
        let name = "client_secret";
        let secret = oauth.client_secret.clone();
        let secret = secret.map(|it| (name.to_owned(), it));
        let mut values = self.values(BTreeMap::from_iter(secret), None).await?;
        Ok(values.remove(name).map(ahma_http_mcp_client::Secret::new))
    }

    /// The tokens of whoever has signed in. None where nobody has: nothing is looked up for each request then.
    pub(super) async fn token_source(&self) -> Result<Option<Arc<TokenSource>>, String> {
        // A keyring that is locked is no reason to sign in again.
        if !self.can_sign_in() || self.status().await?.is_none() {
            return Ok(None);
        }
        let options = self.auth_options(self.means.tokens.clone()).await?;
        Ok(options.map(|options| Arc::new(TokenSource::new(options))))
    }

    /// Who is signed in, or why that cannot be found out.
    pub(in crate::downstream) async fn status(&self) -> Result<Option<SignInStatus>, String> {
        let TransportSpec::Http { url, .. } = &self.spec.transport else {
            return Ok(None);
        };
        let status = self.means.tokens.status(url).await;
        status.map_err(|error| error.to_string())
    }

    /// Notes that it wants somebody to sign in.
    pub(super) async fn note_refusal(&self, challenge: Option<String>) {
        let signed_in = self.status().await.ok().flatten();
        let why = format!(
            "somebody has to sign in: `ahma_mcp auth login {}`, or open the URL that a call of one of its tools gives",
            self.name()
        );
        let mut state = self.state();
        let is_news = state.status != Status::NeedsSignIn && state.refused.is_none();
        state.refused = Some((challenge, signed_in));
        // It is not asked again for every call.
        state
            .backoff
            .failed(std::time::Duration::ZERO, false, Instant::now());
        drop(state);
        self.set(Status::NeedsSignIn, Some(why.clone()));
        if is_news {
            self.tell(ServerEventKind::Error { why });
        }
    }

    /// The challenge of a server that has refused us, while nobody has signed in since and it need not be asked again yet.
    pub(super) async fn waits_for_sign_in(&self) -> Option<Option<String>> {
        let refused = self.state().refused.clone();
        let (challenge, then) = refused?;
        // While nobody can say, it is as it was.
        if self.status().await.is_ok_and(|now| now != then) {
            self.forget_refusal();
            return None;
        }
        let wait = self.state().backoff.wait(Instant::now());
        (!wait.is_zero()).then_some(challenge)
    }

    fn forget_refusal(&self) {
        let mut state = self.state();
        state.refused = None;
        state.backoff = Backoff::default();
    }

    /// Has a connection made anew, with the token of whoever has signed in since.
    pub(super) fn sign_in_again(&self, connection: &Arc<Connection>) {
        self.give_up(connection, &RequestError::Unauthorized { challenge: None });
        self.forget_refusal();
    }

    /// Has whoever called sign in, if it can be asked to; else gives it the URL.
    pub(super) async fn sign_in(
        self: &Arc<Self>,
        challenge: Option<String>,
        asking: &Asking,
        count: usize,
    ) -> Result<SignedIn, ForeignError> {
        let server = self.name();
        let needs = |why: String, url: Option<String>| ForeignError::NeedsSignIn { why, url };
        if count > MAX_SIGN_INS {
            let why = format!(
                "the server `{server}` refuses the call even after signing in; ask whoever runs it"
            );
            return Err(needs(why, None));
        }
        let not_here = |why: String| {
            let why = format!(
                "the server `{server}` wants somebody to sign in, which cannot be begun here: {why}. Its owner can run \
                 `ahma_mcp auth login {server}`; then call again"
            );
            needs(why, None)
        };
        let options = self.auth_options(self.means.tokens.clone()).await;
        let options = options.map_err(not_here)?;
        let options = options.ok_or_else(|| not_here("its entry has a token".to_owned()))?;
        let open = self.sign_ins.open(options, challenge.as_deref()).await;
        let open = open.map_err(not_here)?;
        let with_url = || {
            let why = format!(
                "the server `{server}` wants somebody to sign in. Have its owner open the URL above in a browser on this \
                 machine within {} minutes, or run `ahma_mcp auth login {server}`; then call again",
                PATIENCE.as_secs() / 60
            );
            needs(why, Some(open.url.clone()))
        };
        match asking {
            Asking::ByRequest(client) if client.takes_urls() => {
                // It may be done before the client says so, or somewhere else.
                tokio::select! {
                    biased;
                    done = self.signed_in_here_or_elsewhere(&open) => return self.after(done),
                    answer = client.ask(question(server, &open)) => match answer {
                        Ok(answer) if answer["action"] == "accept" => {}
                        Ok(_) | Err(_) => return Err(with_url()),
                    }
                }
            }
            Asking::ByResult {
                capability,
                answers,
            } if capability.get("url").is_some() => {
                match &answers.get(ANSWERS).and_then(|it| it.get(OUR_QUESTION)) {
                    None => return Ok(SignedIn::Asks(question_result(server, &open))),
                    Some(answer) if answer["action"] == "accept" => {}
                    Some(_) => return Err(with_url()),
                }
            }
            Asking::ByRequest(_) | Asking::ByResult { .. } | Asking::Never(_) => {
                return Err(with_url());
            }
        }
        let done = self.signed_in_here_or_elsewhere(&open).await;
        self.after(done)
    }

    fn after(&self, done: Result<(), String>) -> Result<SignedIn, ForeignError> {
        let server = self.name();
        done.map_err(|why| ForeignError::NeedsSignIn {
            why: format!(
                "nobody has signed in to the server `{server}`: {why}. Call again for another URL"
            ),
            url: None,
        })?;
        self.forget_refusal();
        Ok(SignedIn::Done)
    }

    /// Waits until somebody has signed in, by the URL that was given or by `auth login`.
    async fn signed_in_here_or_elsewhere(&self, open: &OpenSignIn) -> Result<(), String> {
        let before = self.status().await;
        let elsewhere = async {
            let mut changes = TokenChanges::watch(&self.means.tokens).await;
            // What happened before is not missed.
            while self.status().await == before {
                changes.next().await;
            }
        };
        tokio::select! {
            biased;
            done = open.done() => done,
            () = elsewhere => Ok(()),
        }
    }

    /// Begins a sign-in for whoever runs this program. None where the server asks for none.
    pub(in crate::downstream) async fn begin_login(
        &self,
        store: TokenStore,
    ) -> Result<Option<SignIn>, String> {
        let TransportSpec::Http {
            url,
            headers,
            oauth,
        } = &self.spec.transport
        else {
            return Err("it is not reached over HTTP, so that nobody signs in to it".to_owned());
        };
        let options = self.auth_options(store).await?;
        let options = options.ok_or("its entry has a token in `headers`: remove that first")?;
        let is_asked_for = oauth.is_some();
        let headers = self.values(headers.clone(), None).await?;
        let entry = UrlEntry::new(url.clone(), headers);
        // As somebody whom it does not know.
        let challenge = match Client::at(&entry, self.client_options()).await {
            Err(RequestError::Unauthorized { challenge }) => Some(challenge),
            Err(error) => return Err(error.to_string()),
            Ok(client) => {
                client.close().await;
                None
            }
        };
        let is_refused = challenge.is_some();
        let challenge = challenge.flatten();
        match begin(options, challenge.as_deref()).await {
            Ok(sign_in) => Ok(Some(sign_in)),
            // It lets everybody in, and knows nothing of signing in.
            Err(_) if !is_refused && !is_asked_for => Ok(None),
            Err(error) => Err(format!("{error}\nhint: {}", error.hint())),
        }
    }

    /// Why there is no connection, for whoever cannot be asked to sign in.
    pub(super) fn in_words(&self, why: NoConnection) -> String {
        match why {
            NoConnection::Failed(why) => why,
            NoConnection::Unauthorized(_) => format!(
                "the server `{server}` wants somebody to sign in: `ahma_mcp auth login {server}` does that",
                server = self.name()
            ),
        }
    }
}

/// Begins to sign in. Where the port of the redirect URI is taken, perhaps by a server of ours that waits for the same
/// sign-in, the answer has to be pasted.
async fn begin(options: AuthOptions, challenge: Option<&str>) -> Result<SignIn, AuthError> {
    match SignIn::begin(options.clone(), challenge).await {
        Err(AuthError::Listen { .. }) => SignIn::begin(options.without_listener(), challenge).await,
        begun => begun,
    }
}

fn question(server: &str, open: &OpenSignIn) -> Value {
    json!({
        "mode": "url",
        // The URL is another one each time.
        "elicitationId": hex(&Sha256::digest(&open.url)),
        "url": open.url,
        "message": format!("The server {server} wants you to sign in. The page opens in your browser; the call goes on afterwards."),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn question_result(server: &str, open: &OpenSignIn) -> ForeignResult {
    let question = json!({ "method": "elicitation/create", "params": question(server, open) });
    let mut result = Map::new();
    result.insert("resultType".to_owned(), json!(QUESTION));
    result.insert(
        "inputRequests".to_owned(),
        json!({ OUR_QUESTION: question }),
    );
    ForeignResult(result)
}

/// What a client has answered to a server, without what it has answered to us.
pub(super) fn without_our_answers(answers: &Map<String, Value>) -> Map<String, Value> {
    let mut answers = answers.clone();
    if let Some(Value::Object(given)) = answers.get_mut(ANSWERS) {
        given.shift_remove(OUR_QUESTION);
        if given.is_empty() {
            answers.shift_remove(ANSWERS);
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: C69.
    #[test]
    fn answers_to_us_are_not_passed_on() {
        let of = |value: Value| match value {
            Value::Object(map) => without_our_answers(&map),
            _ => Map::new(),
        };
        let both = of(json!({ ANSWERS: { OUR_QUESTION: 1, "who": 2 }, "requestState": "s" }));
        assert_eq!(
            json!(both),
            json!({ ANSWERS: { "who": 2 }, "requestState": "s" })
        );
        assert_eq!(
            json!(of(json!({ ANSWERS: { OUR_QUESTION: 1 } }))),
            json!({})
        );
    }
}
