//! Every shutdown ends in time, and only the addressed process is signalled.

use crate::request::{response, shutdown_request};
use proptest::prelude::*;
use protocol::{Incarnation, RequestStatus, Timestamp};
use rules::{
    Addressee, Response, Shutdown, ShutdownAction, ShutdownEvent, ShutdownLimits, Verdict, answer,
};
use std::time::Duration;

/// An event of the member, its request file or its process.
#[derive(Debug, Clone)]
enum Step {
    /// A party answers, and the file is read.
    Answer(Response),
    Event(ShutdownEvent),
}

fn event() -> impl Strategy<Value = Step> {
    let incarnation = || (1..6_u64).prop_map(Incarnation);
    prop_oneof![
        6 => response().prop_map(Step::Answer),
        2 => Just(Step::Event(ShutdownEvent::Tick)),
        1 => incarnation().prop_map(|incarnation| Step::Event(ShutdownEvent::Gone { incarnation })),
        1 => incarnation()
            .prop_map(|incarnation| Step::Event(ShutdownEvent::Replaced { incarnation })),
    ]
}

/// A shutdown with the actions it has returned so far.
struct Run {
    shutdown: Shutdown,
    force: bool,
    end: Timestamp,
    /// Whether the addressed incarnation has ended.
    gone: bool,
    terminated: bool,
    killed: bool,
    finished: usize,
}

impl Run {
    fn new(force: bool, limits: ShutdownLimits) -> Self {
        let now = Timestamp::from_secs(0);
        let (shutdown, _) = Shutdown::start(shutdown_request(force), limits, now)
            .expect("a complete request starts");
        let deadline = Timestamp::from_secs(60);
        Self {
            shutdown,
            force,
            end: deadline.plus(limits.grace).plus(limits.kill),
            gone: false,
            terminated: false,
            killed: false,
            finished: 0,
        }
    }

    /// The event that the shutdown gets for a step.
    fn event(&self, step: Step, now: Timestamp) -> ShutdownEvent {
        let response = match step {
            Step::Event(event) => return event,
            Step::Answer(response) => response,
        };
        let alive = match self.gone {
            true => Addressee::Gone,
            false => Addressee::Alive(Incarnation(3)),
        };
        match answer(self.shutdown.request(), &response, alive, now) {
            Verdict::Resolved(request) | Verdict::Ignored { request, .. } => {
                ShutdownEvent::Stored(Box::new(request))
            }
        }
    }

    /// Handles one event and checks every action.
    fn step(&mut self, event: ShutdownEvent, now: Timestamp) -> Result<(), TestCaseError> {
        match event {
            ShutdownEvent::Gone { incarnation } => {
                self.gone |= incarnation >= Incarnation(3);
            }
            ShutdownEvent::Replaced { incarnation } => {
                self.gone |= incarnation > Incarnation(3);
            }
            ShutdownEvent::Stored(_) | ShutdownEvent::Tick => {}
        }
        for action in self.shutdown.handle(event, now) {
            match action {
                ShutdownAction::Terminate => {
                    prop_assert!(self.force && !self.gone && !self.terminated);
                    prop_assert!(now >= Timestamp::from_secs(60));
                    self.terminated = true;
                }
                ShutdownAction::Kill => {
                    prop_assert!(self.terminated && !self.gone && !self.killed);
                    self.killed = true;
                }
                ShutdownAction::Finished(outcome) => {
                    prop_assert!(now <= self.end, "ended too late");
                    prop_assert!(outcome.is_gone() == self.gone, "{outcome:?}");
                    self.finished += 1;
                }
                ShutdownAction::WakeAt(time) => prop_assert!(time > now),
                ShutdownAction::Record(_) => {}
                ShutdownAction::Deliver(_) => prop_assert!(false, "delivered twice"),
            }
        }
        Ok(())
    }

    /// Wakes the shutdown at each time it asks for, up to `until`.
    fn wake_up_to(&mut self, until: Timestamp) -> Result<(), TestCaseError> {
        while let Some(at) = self.shutdown.wake_at().filter(|at| *at <= until) {
            self.step(ShutdownEvent::Tick, at)?;
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_shutdown_always_ends_in_time(
        force in any::<bool>(),
        grace in 0..20_u64,
        kill in 0..20_u64,
        events in prop::collection::vec((event(), 0..12_i64), 0..30),
    ) {
        let limits = ShutdownLimits {
            grace: Duration::from_secs(grace),
            kill: Duration::from_secs(kill),
        };
        let mut run = Run::new(force, limits);
        let mut now = 0;
        for (event, wait) in events {
            now += wait;
            run.wake_up_to(Timestamp::from_secs(now))?;
            // Events of the process after the end do not matter here.
            if run.finished > 0 && !matches!(event, Step::Answer(_)) {
                continue;
            }
            let event = run.event(event, Timestamp::from_secs(now));
            run.step(event, Timestamp::from_secs(now))?;
        }
        let end = run.end;
        run.wake_up_to(end)?;
        prop_assert_eq!(run.finished, 1);
        prop_assert_eq!(run.shutdown.wake_at(), None);
        prop_assert_ne!(run.shutdown.request().status(), RequestStatus::Pending);
    }
}
