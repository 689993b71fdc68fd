//! Signing in to servers that want to know who asks (OAuth 2.1, as MCP profiles it).
//!
//! # Theory of operation
//!
//! [`SignIn::begin`] finds the authorization server of an MCP server, makes itself known there and gives the URL that a
//! person has to open. [`SignIn::wait`] takes the answer on a loopback port, [`SignIn::redirected`] takes it pasted.
//! The tokens go into a [`TokenStore`], one record for each issuer and resource. A [`TokenSource`] gives the requests of a
//! connection the current token (`UrlEntry::authorized_by`) and renews it: at 80 % of its life, and once when
//! a server refuses it. Processes that share a store renew a token one after the other, and only the first of them does it.
//!
//! # What is the SDK's
//!
//! `rmcp`'s `auth` does what needs many eyes: it reads challenges, finds the metadata of resource and authorization server at
//! all of their well-known places, checks that issuer and resource are those that were asked for, chooses scopes, registers
//! clients, and makes the authorization URL with its PKCE challenge. Every request of it goes through `CheckedHttp`, its
//! extension point. The rest is done here, because it is not reachable through its extension points:
//!
//! - **Which addresses are reached.** With a client of one's own it looks at names only, and its own client cannot be given a
//!   resolver, allows 1 MiB and 30 s, and follows redirects of registrations.
//! - **https except on this machine.** It takes any http(s) endpoint, and does not look at the one that a browser opens.
//! - **PKCE.** It goes on where a server does not say that it knows S256; MCP says that clients must not.
//! - **The code exchange.** Its own logs the code, and turns errors into text. Here it is done with the `oauth2` crate, which
//!   is beneath it.
//! - **Refreshing.** What it stores knows neither metadata nor the secret of a registration nor the resource, so after a
//!   restart it would find everything again, from servers that may have changed their mind; it asks for `offline_access`
//!   even where that was not granted, refreshes again after having waited for another process, and knows
//!   no 80 %.
//! - **Registration order**, in ten lines: its session does not give away the secret that a dynamic registration brings.
//!
//! One thing of it is stricter than wanted: an authorization server that is *named* by a private address (`https://10.0.0.9/`)
//! is refused even for a private MCP server. By name (`https://sso.corp/`) it is found.
//!
//! Requests to authorization servers do not go through a proxy: behind one it cannot be known which address is reached.

mod address;
mod callback;
mod challenge;
mod checked_http;
mod discovery;
mod error;
mod file_lock;
mod keyring;
mod options;
mod record;
mod record_file;
mod redirect;
mod registration;
mod resolver;
mod sign_in;
mod store;
mod token_request;
mod token_source;

pub use challenge::Challenge;
pub use error::AuthError;
pub use options::{AuthOptions, RegisteredClient};
pub use record::{KeptIn, SignInStatus};
pub use resolver::{Resolver, SystemResolver};
pub use sign_in::SignIn;
pub use store::TokenStore;
pub use token_source::TokenSource;
