//! The directory a call runs in.

use std::path::PathBuf;

use super::call_error::CallError;
use super::context::ServiceContext;

/// Resolves the directory that a call asks for; the scope by default. Checked here for a helpful message; the kernel is
/// what holds a command back.
pub(super) async fn working_directory(
    context: &ServiceContext,
    asked: Option<&str>,
) -> Result<PathBuf, CallError> {
    let scope = &context.hosts.policy().scope;
    let Some(asked) = asked else {
        return Ok(scope.clone());
    };
    let path = scope.join(asked);
    let real = tokio::fs::canonicalize(&path).await.map_err(|error| {
        let path = path.display();
        CallError::new(format!(
            "the working directory {path} cannot be used: {error}"
        ))
    })?;
    let mut roots = context.commands.roots.iter();
    if context.commands.unconfined || roots.any(|root| real.starts_with(root)) {
        return Ok(real);
    }
    Err(CallError::new(format!(
        "the working directory {} is outside the sandbox scope {}",
        real.display(),
        scope.display()
    )))
}
