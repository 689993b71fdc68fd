//! The paths of workspaces: `/mcp/w/NAME`, with or without a slash behind.

/// The name of a workspace in a path, as it was written: one that has to be decoded is another name.
pub(crate) fn workspace_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/mcp/w/")?;
    Some(name.strip_suffix('/').unwrap_or(name))
}
