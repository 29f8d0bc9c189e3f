//! Restarts dead processes.

use crate::programs::wait;
use crate::world::{World, name};
use protocol::Recipient;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::process::Child;
use std::time::{Duration, Instant};
use teamdir::Liveness;
use test_support::Rng;

/// How many members are restarted at a time.
const AT_ONCE: usize = 4;
/// The longest time in milliseconds that a process stays dead. The lead, if it runs, restarts half of the
/// members sooner.
const LONGEST_DEATH: u64 = 2500;

/// Restarts dead processes: members by `team-lead restart`, the lead by `team-lead run --resume`.
pub(crate) struct Restarter<'a> {
    world: &'a World,
    rng: Rng,
    lead: Child,
    /// When each dead process is restarted.
    due: BTreeMap<Recipient, Instant>,
    helpers: Vec<(Recipient, Child)>,
    /// How many leads were started.
    pub(crate) leads: usize,
}

impl<'a> Restarter<'a> {
    /// Starts the lead.
    pub(crate) fn new(world: &'a World, seed: u64) -> anyhow::Result<Self> {
        Ok(Self {
            world,
            rng: Rng::new(seed ^ 0x9045),
            lead: world.runner.lead(true)?,
            due: BTreeMap::new(),
            helpers: Vec::new(),
            leads: 1,
        })
    }

    /// Restarts the processes that have been dead for long enough.
    pub(crate) fn restart_dead(&mut self) {
        self.helpers
            .retain_mut(|(_, helper)| matches!(helper.try_wait(), Ok(None)));
        let lead_is_gone = !matches!(self.lead.try_wait(), Ok(None));
        if self.is_due(Recipient::Lead, lead_is_gone)
            && let Ok(lead) = self.world.runner.lead(false)
        {
            self.lead = lead;
            self.leads += 1;
        }
        for number in 0..self.world.members {
            let Ok(owner) = name(number).parse::<Recipient>() else {
                continue;
            };
            let gone = self.world.team.liveness(&owner);
            let is_gone = matches!(gone, Ok(Liveness::Gone(_)));
            if self.is_due(owner.clone(), is_gone) {
                self.restart(owner);
            }
        }
    }

    /// Whether all processes run.
    pub(crate) fn all_live(&mut self) -> bool {
        let members = self.world.recipients();
        let gone = members
            .filter(|owner| !matches!(self.world.team.liveness(owner), Ok(Liveness::Alive(_))));
        gone.count() == 0 && self.helpers.is_empty() && matches!(self.lead.try_wait(), Ok(None))
    }

    /// Ends the lead, which shuts the team down. Returns what went wrong.
    pub(crate) fn end_team(mut self, limit: Duration) -> Option<String> {
        if let Some(mut stdin) = self.lead.stdin.take() {
            // If the lead has just died, its exit code says so below.
            let _ = stdin.write_all(b"q\n");
        }
        for (_, mut helper) in self.helpers.drain(..) {
            wait(&mut helper, limit);
        }
        match wait(&mut self.lead, limit) {
            // Exit code 1 means that its model could not be reached for a while.
            Some(0 | 1) => None,
            Some(code) => Some(format!("the lead left with exit code {code}")),
            None => Some(format!("the lead had not left after {} s", limit.as_secs())),
        }
    }

    /// Whether a dead process is due to be restarted.
    fn is_due(&mut self, owner: Recipient, is_gone: bool) -> bool {
        if !is_gone {
            self.due.remove(&owner);
            return false;
        }
        let pause = Duration::from_millis(200 + self.rng.below(LONGEST_DEATH));
        let due = *self
            .due
            .entry(owner.clone())
            .or_insert_with(|| Instant::now() + pause);
        let is_due = Instant::now() >= due;
        if is_due {
            self.due.remove(&owner);
        }
        is_due
    }

    fn restart(&mut self, owner: Recipient) {
        let is_helped = self.helpers.iter().any(|(helped, _)| *helped == owner);
        if is_helped || self.helpers.len() >= AT_ONCE {
            return;
        }
        let mut command = self.world.runner.command(&["restart", &owner.to_string()]);
        let log = self.world.runner.runtime.join("restarts.log");
        if let Ok(log) = File::options().append(true).create(true).open(log) {
            command.stderr(log);
        }
        if let Ok(helper) = command.spawn() {
            self.helpers.push((owner, helper));
        }
    }
}

impl Drop for Restarter<'_> {
    fn drop(&mut self) {
        let _ = self.lead.kill();
        let _ = self.lead.wait();
        for (_, helper) in &mut self.helpers {
            let _ = helper.kill();
            let _ = helper.wait();
        }
    }
}
