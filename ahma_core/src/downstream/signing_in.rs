//! Signing in and out by the owner, server by server. Must not open a browser: the program does.

use ahma_http_mcp_client::auth::{SignIn, SignInStatus};

use super::servers::DownstreamServers;
use super::upstream::Upstream;
use crate::config::downstream::TransportSpec;

/// What came of the wish to sign in.
pub(crate) enum LoginStart {
    /// A URL has to be opened.
    Begun(Box<SignIn>),
    /// The server lets everybody in.
    NotAsked,
}

impl DownstreamServers {
    fn upstream(&self, server: &str) -> Result<std::sync::Arc<Upstream>, String> {
        let upstreams = self.members.current();
        let found = upstreams.iter().find(|it| it.name() == server);
        found
            .cloned()
            .ok_or_else(|| "there is no such server".to_owned())
    }

    /// Begins to sign in.
    pub(crate) async fn begin_login(
        &self,
        server: &str,
        in_keyring: bool,
    ) -> Result<LoginStart, String> {
        let store = self.means.tokens.clone();
        let store = match in_keyring {
            true => store,
            false => store.without_keyring(),
        };
        Ok(match self.upstream(server)?.begin_login(store).await? {
            Some(sign_in) => LoginStart::Begun(Box::new(sign_in)),
            None => LoginStart::NotAsked,
        })
    }

    /// Who is signed in to a server, or why that cannot be found out.
    pub(crate) async fn sign_in_status(
        &self,
        server: &str,
    ) -> Result<Option<SignInStatus>, String> {
        self.upstream(server)?.status().await
    }

    /// Forgets a sign-in; whether there was one.
    pub(crate) async fn log_out(&self, server: &str) -> Result<bool, String> {
        let upstream = self.upstream(server)?;
        let TransportSpec::Http { url, .. } = &upstream.spec().transport else {
            return Ok(false);
        };
        let forgotten = self.means.tokens.forget(url).await;
        forgotten.map_err(|error| error.to_string())
    }
}
