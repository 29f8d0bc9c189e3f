//! Injects the planned faults.

use crate::disk::DiskFiller;
use crate::foreign;
use crate::plan::{Fault, Plan, Target};
use crate::world::{World, name, recipient};
use nix::sys::signal::Signal;
use processes::ProcessHandle;
use std::iter::Peekable;
use std::process::Child;
use std::time::{Duration, Instant};

/// Injects faults by a plan, and ends those that last for a while.
pub(crate) struct FaultInjector<'a> {
    world: &'a World,
    plan: Peekable<Plan>,
    start: Instant,
    filler: Option<DiskFiller>,
    stopped: Vec<(Instant, ProcessHandle)>,
    full_until: Option<Instant>,
    outage_until: Option<Instant>,
    commands: Vec<Child>,
}

impl<'a> FaultInjector<'a> {
    pub(crate) fn new(world: &'a World, plan: Plan, filler: Option<DiskFiller>) -> Self {
        Self {
            world,
            plan: plan.peekable(),
            start: Instant::now(),
            filler,
            stopped: Vec::new(),
            full_until: None,
            outage_until: None,
            commands: Vec::new(),
        }
    }

    /// Injects the faults that are due. Returns whether more will come.
    pub(crate) fn tick(&mut self) -> bool {
        self.end_expired(Instant::now());
        self.commands
            .retain_mut(|command| matches!(command.try_wait(), Ok(None)));
        let now = self.start.elapsed();
        while let Some((_, fault)) = self.plan.next_if(|(time, _)| *time <= now) {
            self.inject(fault);
        }
        self.plan.peek().is_some()
    }

    /// Ends all faults: no process is stopped, the disk has room, the server answers.
    pub(crate) fn stop(mut self) {
        for (_, process) in self.stopped.drain(..) {
            let _ = process.signal(Signal::SIGCONT);
        }
        if let Some(filler) = &mut self.filler {
            filler.free();
        }
        self.world.model.stop_faults();
        for command in &mut self.commands {
            crate::programs::wait(command, Duration::from_secs(60));
        }
    }

    /// Ends the faults whose time is over.
    fn end_expired(&mut self, now: Instant) {
        self.stopped.retain(|(until, process)| {
            let is_over = *until <= now;
            if is_over {
                let _ = process.signal(Signal::SIGCONT);
            }
            !is_over
        });
        if let (Some(until), Some(filler)) = (self.full_until, &mut self.filler) {
            if until <= now {
                filler.free();
                self.full_until = None;
            } else {
                // Other processes may have freed space.
                let _ = filler.fill();
            }
        }
        if self.outage_until.is_some_and(|until| until <= now) {
            self.world.model.set_outage(false);
            self.outage_until = None;
        }
    }

    fn inject(&mut self, fault: Fault) {
        let now = Instant::now();
        match fault {
            Fault::Kill(target) => self.kill(target),
            Fault::Stop(target, time) => {
                if let Some(process) = self.process(target)
                    && process.signal(Signal::SIGSTOP).is_ok()
                {
                    self.stopped.push((now + time, process));
                    self.world.count(|faults| faults.stopped += 1);
                }
            }
            Fault::FillDisk(time) => {
                if let Some(filler) = &mut self.filler
                    && filler.fill().is_ok()
                {
                    self.full_until = Some(now + time);
                    self.world.count(|faults| faults.disk_full += 1);
                }
            }
            Fault::Outage(time) => {
                self.world.model.set_outage(true);
                self.outage_until = Some(now + time);
            }
            Fault::Foreign(target, kind) => {
                let inbox = self.world.team.layout().inbox(&recipient(target));
                // Garbage need not be written on a full disk.
                foreign::append(&inbox, &foreign::garbage(kind));
                self.world.count(|faults| faults.garbage += 1);
            }
            Fault::Ask(number) => {
                let name = name(number);
                let mut command =
                    self.world
                        .runner
                        .command(&["shutdown", &name, "--timeout", "20"]);
                if let Ok(command) = command.spawn() {
                    self.commands.push(command);
                    self.world.count(|faults| faults.shutdowns += 1);
                }
            }
        }
    }

    fn kill(&self, target: Target) {
        let Some(process) = self.process(target) else {
            return;
        };
        if process.signal(Signal::SIGKILL).is_ok() {
            self.world.count(|faults| match target {
                Target::Lead => faults.leads_killed += 1,
                Target::Member(_) => faults.members_killed += 1,
            });
        }
    }

    fn process(&self, target: Target) -> Option<ProcessHandle> {
        ProcessHandle::of(&self.world.team, &recipient(target))
            .ok()
            .flatten()
    }
}
