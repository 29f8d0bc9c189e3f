//! What the loop does because its time has come: taking mail, restarting members, inspecting the team.

use super::{Inspecting, Lead};
use crate::machine::Event;
use crate::mail_handler::wakes;
use member::TurnOutcome;
use protocol::Phase;
use std::time::{Duration, Instant};
use teamdir::now;

/// How often the roster is read, and how often the whole team is inspected.
const ROSTER_EVERY: Duration = Duration::from_millis(500);
const INSPECT_EVERY: Duration = Duration::from_secs(10);
/// How long changes of files are collected before the team is inspected.
const CHANGE_DELAY: Duration = Duration::from_millis(50);

impl Lead {
    /// Takes mail, handles the times that have come, and sets the phase.
    pub(super) fn check_due(&mut self) {
        if self.agent.is_free() || self.machine.is_leaving() {
            self.take_mail();
        }
        let at = Instant::now();
        if self.machine.wake_at().is_some_and(|due| due <= at) {
            self.handle(Event::Tick);
        }
        if self.deadline.is_some_and(|due| due <= at) {
            self.deadline = None;
            self.handle(Event::TimedOut);
        }
        if self.state.abandon_at.is_some_and(|due| due <= at) {
            self.agent.abandon();
            self.turn_ended(TurnOutcome::Interrupted);
        }
        if !self.machine.is_leaving() {
            for name in self.state.restarts.due(now()) {
                self.writer.notice(&format!("{name} is restarted."));
                self.jobs.restart(name);
            }
        }
        self.check_roster(at);
        let is_idle = self.agent.is_free() && self.machine.wake_at().is_none();
        if is_idle && self.runtime.phase() != Phase::Idle && self.runtime.phase() != Phase::Failed {
            self.runtime.set_phase(Phase::Idle, None, None);
        }
    }

    /// Takes mail while no turn does.
    fn take_mail(&mut self) {
        // Mail may come while notifications are being asked for.
        for _ in 0..3 {
            if self.runtime.has_unread() {
                self.runtime.set_phase(Phase::Working, None, None);
                if let Err(error) = self.runtime.receive_mail() {
                    self.problem(format!("The lead's mail cannot be read: {error}"));
                }
                self.handle_pending_mail();
            }
            match self.runtime.prepare_to_wait() {
                Ok(plan) => {
                    self.state.mail_wake_at = plan.wake_at;
                    if !plan.check_again {
                        return;
                    }
                }
                Err(error) => {
                    self.state.mail_wake_at = Some(Instant::now() + ROSTER_EVERY);
                    self.problem(format!("The lead's mail cannot be watched: {error}"));
                    return;
                }
            }
        }
        self.state.mail_wake_at = Some(Instant::now());
    }

    pub(super) fn handle_pending_mail(&mut self) {
        let pending = self.runtime.pending_mail();
        let waking = pending.iter().filter(|item| wakes(item));
        let newest = waking.map(|item| item.number).max();
        if !pending.is_empty() {
            self.handle(Event::Mail {
                newest: newest.unwrap_or(0),
            });
        }
    }

    fn check_roster(&mut self, at: Instant) {
        if self.state.next_roster.is_none_or(|due| due <= at) {
            self.state.next_roster = Some(at + ROSTER_EVERY);
            let rev = self.runtime.team().roster().ok().map(|roster| roster.rev);
            if rev != self.state.roster_rev {
                self.state.roster_rev = rev;
                self.inspect();
            }
        }
        if self.state.next_inspection.is_none_or(|due| due <= at) {
            self.inspect();
        }
    }

    pub(super) fn wake_at(&self) -> Instant {
        let restart = self.state.restarts.next();
        let restart = restart.map(|at| Instant::now() + at.since(now()));
        let times = [
            self.machine.wake_at(),
            self.deadline,
            self.state.abandon_at,
            self.state.next_roster,
            self.state.next_inspection,
            self.state.mail_wake_at.filter(|_| self.agent.is_free()),
            restart.filter(|_| !self.machine.is_leaving()),
        ];
        let soonest = times.into_iter().flatten().min();
        soonest.unwrap_or_else(|| Instant::now() + ROSTER_EVERY)
    }

    /// Inspects the team in a moment: changes of files come in bursts.
    pub(super) fn inspect_soon(&mut self) {
        let soon = Instant::now() + CHANGE_DELAY;
        let planned = self.state.next_inspection.unwrap_or(soon);
        self.state.next_inspection = Some(planned.min(soon));
    }

    pub(super) fn inspect(&mut self) {
        self.state.next_inspection = Some(Instant::now() + INSPECT_EVERY);
        self.state.inspection = match self.state.inspection {
            Inspecting::No => {
                self.jobs.inspect(self.state.watched.clone());
                Inspecting::Yes
            }
            Inspecting::Yes | Inspecting::Again => Inspecting::Again,
        };
    }
}
