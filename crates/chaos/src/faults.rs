//! Blows, carried out.

use crate::disk::Balloon;
use crate::foreign;
use crate::plan::{Blow, Plan, Victim};
use crate::world::{World, name, recipient};
use processes::ProcessHandle;
use rustix::process::Signal;
use std::iter::Peekable;
use std::process::Child;
use std::time::{Duration, Instant};

/// Strikes the team by a plan, and ends what was to last for a while.
pub(crate) struct Striker<'a> {
    world: &'a World,
    plan: Peekable<Plan>,
    start: Instant,
    balloon: Option<Balloon>,
    stopped: Vec<(Instant, ProcessHandle)>,
    full_until: Option<Instant>,
    outage_until: Option<Instant>,
    commands: Vec<Child>,
}

impl<'a> Striker<'a> {
    pub(crate) fn new(world: &'a World, plan: Plan, balloon: Option<Balloon>) -> Self {
        Self {
            world,
            plan: plan.peekable(),
            start: Instant::now(),
            balloon,
            stopped: Vec::new(),
            full_until: None,
            outage_until: None,
            commands: Vec::new(),
        }
    }

    /// Does what is due. Returns whether more is to come.
    pub(crate) fn go_on(&mut self) -> bool {
        self.relent(Instant::now());
        self.commands
            .retain_mut(|command| matches!(command.try_wait(), Ok(None)));
        let now = self.start.elapsed();
        while let Some((_, blow)) = self.plan.next_if(|(time, _)| *time <= now) {
            self.strike(blow);
        }
        self.plan.peek().is_some()
    }

    /// Ends everything: nobody stands still, the disk has room, the server answers.
    pub(crate) fn stop(mut self) {
        for (_, process) in self.stopped.drain(..) {
            let _ = process.signal(Signal::CONT);
        }
        if let Some(balloon) = &mut self.balloon {
            balloon.burst();
        }
        self.world.brain.calm_down();
        for command in &mut self.commands {
            crate::programs::wait(command, Duration::from_secs(60));
        }
    }

    /// Ends what has lasted long enough.
    fn relent(&mut self, now: Instant) {
        self.stopped.retain(|(until, process)| {
            let is_over = *until <= now;
            if is_over {
                let _ = process.signal(Signal::CONT);
            }
            !is_over
        });
        if let (Some(until), Some(balloon)) = (self.full_until, &mut self.balloon) {
            if until <= now {
                balloon.burst();
                self.full_until = None;
            } else {
                // Others may have made room.
                let _ = balloon.blow_up();
            }
        }
        if self.outage_until.is_some_and(|until| until <= now) {
            self.world.brain.set_outage(false);
            self.outage_until = None;
        }
    }

    fn strike(&mut self, blow: Blow) {
        let now = Instant::now();
        match blow {
            Blow::Kill(victim) => self.kill(victim),
            Blow::Stop(victim, time) => {
                if let Some(process) = self.process(victim)
                    && process.signal(Signal::STOP).is_ok()
                {
                    self.stopped.push((now + time, process));
                    self.world.count(|blows| blows.stopped += 1);
                }
            }
            Blow::FillDisk(time) => {
                if let Some(balloon) = &mut self.balloon
                    && balloon.blow_up().is_ok()
                {
                    self.full_until = Some(now + time);
                    self.world.count(|blows| blows.disk_full += 1);
                }
            }
            Blow::Outage(time) => {
                self.world.brain.set_outage(true);
                self.outage_until = Some(now + time);
            }
            Blow::Foreign(victim, kind) => {
                let inbox = self.world.team.layout().inbox(&recipient(victim));
                // It may fail on a full disk, which is no matter for garbage.
                foreign::append(&inbox, &foreign::garbage(kind));
                self.world.count(|blows| blows.garbage += 1);
            }
            Blow::Ask(number) => {
                let name = name(number);
                let mut command =
                    self.world
                        .office
                        .command(&["shutdown", &name, "--timeout", "20"]);
                if let Ok(command) = command.spawn() {
                    self.commands.push(command);
                    self.world.count(|blows| blows.shutdowns += 1);
                }
            }
        }
    }

    fn kill(&self, victim: Victim) {
        let Some(process) = self.process(victim) else {
            return;
        };
        if process.signal(Signal::KILL).is_ok() {
            self.world.count(|blows| match victim {
                Victim::Lead => blows.leads_killed += 1,
                Victim::Member(_) => blows.members_killed += 1,
            });
        }
    }

    fn process(&self, victim: Victim) -> Option<ProcessHandle> {
        ProcessHandle::of(&self.world.team, &recipient(victim))
            .ok()
            .flatten()
    }
}
