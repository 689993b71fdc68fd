//! Limits for everything that a command starts, taken together: a cgroup (version 2) for each command that has any.
//!
//! Must not touch a cgroup that was not delegated to the user of this process.

mod command_group;
mod delegated;
mod own_place;

pub(super) use command_group::CommandGroup;
pub(super) use delegated::CommandGroups;
