//! Starting commands by forking the host, one supervisor each.

use std::collections::HashMap;

use rustix::process::{Pid, kill_process};

use super::{Job, Launcher, Starter, supervisor};
use crate::wire::FromHost;

/// Supervisors that have not been reaped, by command.
#[derive(Default)]
pub(super) struct Forking {
    supervisors: HashMap<u64, Pid>,
}

impl Starter for Forking {
    fn run(&mut self, launcher: &Launcher, job: Job) {
        if let Some(supervisor) = launcher.start(&job) {
            self.supervisors.insert(job.request.id, supervisor);
        }
    }

    fn terminate(&mut self, id: u64) {
        if let Some(supervisor) = self.supervisors.get(&id) {
            let _ = kill_process(*supervisor, supervisor::TERMINATE);
        }
    }

    fn kill(&mut self, launcher: &Launcher, id: u64) {
        if let Some(supervisor) = self.supervisors.get(&id) {
            supervisor::end_tree(launcher, *supervisor);
        }
    }

    fn reaped(&mut self, launcher: &Launcher, pid: Pid) {
        let ended = self.supervisors.iter().find(|(_, it)| **it == pid);
        if let Some(id) = ended.map(|(id, _)| *id) {
            self.supervisors.remove(&id);
            // How many there were is not counted here.
            launcher.tell(&FromHost::Gone { id, killed: 0 });
        }
    }

    fn end_all(&mut self, launcher: &Launcher) {
        for supervisor in self.supervisors.values() {
            supervisor::end_tree(launcher, *supervisor);
        }
    }
}
