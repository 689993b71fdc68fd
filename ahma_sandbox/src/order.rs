//! What a host is told first: its policy, or what comes before it, and what the server knows of the machine.
//!
//! Plain data; [`wire`](crate::wire) carries it.

use serde::{Deserialize, Serialize};

use crate::public_etc::PublicPath;

/// The first message, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostOrder<P, E = Vec<PublicPath>> {
    /// The policy, or a [`PrewarmSpec`](crate::PrewarmSpec).
    #[serde(flatten)]
    pub(crate) what: P,
    /// What commands may read of `/etc`, besides what is fixed.
    #[serde(default)]
    pub(crate) etc: E,
}
