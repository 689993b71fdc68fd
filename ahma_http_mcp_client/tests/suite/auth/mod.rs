//! Signing in, against a server of our own that is a resource and an authorization server in one, and as hostile as it is told to be.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests look at the files that are written, and fail by panicking"
)]

mod callback;
mod hostile;
mod leaks;
mod listener;
mod names;
mod realm;
mod registering;
mod renewing;
mod scopes;
mod signing_in;
mod token_endpoint;
