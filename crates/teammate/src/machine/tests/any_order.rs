use super::*;

/// Whatever happens and in whatever order: at most one turn runs at a time, and a member that was
/// asked to end comes to its end.
#[test]
fn every_order_of_events_comes_to_an_end() {
    let mut rng = test_support::Rng::new(11);
    for _ in 0..2_000 {
        let mut stage = Stage::idle();
        let mut world = World::default();
        for _ in 0..80 {
            stage.now += Duration::from_millis(rng.below(800));
            let event = world.event(rng.below(12));
            world.perform(&mut stage, event);
        }
        world.perform(&mut stage, Some(Event::TerminationRequested));
        if std::mem::take(&mut world.busy) {
            let end = World::end(TurnOutcome::Interrupted);
            world.perform(&mut stage, Some(end));
        }
        assert!(world.exited, "{:?}", stage.machine);
    }
}

/// Performs actions as the loop does, with everything going well or badly by turns.
#[derive(Default)]
struct World {
    busy: bool,
    exited: bool,
    flip: bool,
}

impl World {
    fn end(outcome: TurnOutcome) -> Event {
        Event::TurnEnded(Box::new(TurnEnd {
            outcome,
            was_model_asked: true,
            approved_shutdown: None,
            team: TeamState::default(),
        }))
    }

    fn failure(cause: FailureCause) -> TurnOutcome {
        let reason = "x".to_owned();
        TurnOutcome::Failed(TurnFailure { cause, reason })
    }

    fn event(&mut self, kind: u64) -> Option<Event> {
        let held = TaskState::Held {
            outcome_requested: false,
        };
        Some(match kind {
            0 => Event::Checked(unread()),
            1 => Event::Checked(LocalState::default()),
            2 if !self.busy => Event::TeamChecked(with_task(TaskState::Available)),
            3 if !self.busy => Event::TeamChecked(with_task(held)),
            4 if !self.busy => Event::BackgroundFinished,
            5 if self.busy => Event::TurnWaits,
            6 if std::mem::take(&mut self.busy) => Self::end(finished("x")),
            7 if std::mem::take(&mut self.busy) => {
                Self::end(Self::failure(FailureCause::Permanent))
            }
            8 if std::mem::take(&mut self.busy) => {
                Self::end(Self::failure(FailureCause::JournalUnwritable))
            }
            9 if std::mem::take(&mut self.busy) => Self::end(TurnOutcome::RoundLimit {
                text: "x".to_owned(),
            }),
            10 => Event::TeamChecked(with_pending_plan()),
            _ => return None,
        })
    }

    fn perform(&mut self, stage: &mut Stage, event: Option<Event>) {
        let mut events: Vec<Event> = event.into_iter().collect();
        for _ in 0..100 {
            if events.is_empty() {
                return;
            }
            for action in stage.tell(events.remove(0)) {
                assert!(!self.exited, "after the end: {action:?}");
                self.flip = !self.flip;
                match action {
                    Action::StartTurn(_) => {
                        assert!(!std::mem::replace(&mut self.busy, true), "two turns");
                    }
                    Action::CancelTurn => assert!(self.busy, "nothing to cancel"),
                    Action::Check => events.push(Event::Checked(LocalState::default())),
                    Action::CheckTeam => events.push(Event::TeamChecked(TeamState::default())),
                    Action::SendReport(_) => events.push(Event::ReportSent(self.flip)),
                    Action::SuspendTask { .. } => events.push(Event::TaskSuspended(self.flip)),
                    Action::AnswerShutdowns { .. } | Action::AnswerOverdueShutdowns => {
                        events.push(Event::ShutdownsAnswered(false));
                    }
                    Action::Exit(_) => self.exited = true,
                    Action::Announce
                    | Action::SetPhase { .. }
                    | Action::WatchRequests(_)
                    | Action::SkipReport
                    | Action::ReclaimTask
                    | Action::ReleaseTask { .. }
                    | Action::AllowClaims(_)
                    | Action::ReportFailure { .. } => {}
                }
            }
        }
        panic!("no end of events: {events:?}");
    }
}
