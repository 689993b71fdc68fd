//! Names to addresses. What is reached is decided on addresses, so whoever tests that brings names of their own.

use std::io;
use std::net::IpAddr;

use futures_util::future::BoxFuture;

/// Finds the addresses of a name. Its answers are checked, and exactly they are connected to.
pub trait Resolver: Send + Sync + 'static {
    /// All addresses of a host.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|it| it.ip()).collect())
        })
    }
}
