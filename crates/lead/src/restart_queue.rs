//! Keeps the restarts that were decided until they are due. Pure.

use protocol::{AgentName, Incarnation, Timestamp};
use rules::RestartDecision;
use std::collections::BTreeMap;

/// A member that was found dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dead {
    pub(crate) name: AgentName,
    pub(crate) incarnation: Incarnation,
    /// What its policy says, as of now.
    pub(crate) decision: RestartDecision,
}

/// A member whose restart policy gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) name: AgentName,
    pub(crate) incarnation: Incarnation,
    pub(crate) reason: String,
    pub(crate) command: String,
}

/// The restarts that are due, by member.
#[derive(Debug, Default)]
pub(crate) struct RestartQueue {
    plans: BTreeMap<AgentName, (Incarnation, Planned)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planned {
    Due(Timestamp),
    /// It is being started.
    Running,
    StaysDead,
}

impl RestartQueue {
    /// Takes in all members that are dead now. Each incarnation is decided once: a later inspection
    /// does not put a restart off. Returns the members whose policy gives up.
    pub(crate) fn update(&mut self, dead: Vec<Dead>) -> Vec<GivenUp> {
        self.plans.retain(|name, (incarnation, plan)| {
            let is_it = |dead: &Dead| dead.name == *name && dead.incarnation == *incarnation;
            *plan == Planned::Running || dead.iter().any(is_it)
        });
        let mut given_up = Vec::new();
        for Dead {
            name,
            incarnation,
            decision,
        } in dead
        {
            if self.plans.contains_key(&name) {
                continue;
            }
            let plan = match decision {
                RestartDecision::Leave => Planned::StaysDead,
                RestartDecision::RestartAt(at) => Planned::Due(at),
                RestartDecision::GiveUp { reason, command } => {
                    given_up.push(GivenUp {
                        name: name.clone(),
                        incarnation,
                        reason,
                        command,
                    });
                    Planned::StaysDead
                }
            };
            self.plans.insert(name, (incarnation, plan));
        }
        given_up
    }

    /// The members to restart now.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<AgentName> {
        let mut names = Vec::new();
        for (name, (_, plan)) in &mut self.plans {
            if matches!(plan, Planned::Due(at) if *at <= now) {
                *plan = Planned::Running;
                names.push(name.clone());
            }
        }
        names
    }

    /// An attempt has ended, with success or without. The next inspection decides anew.
    pub(crate) fn ended(&mut self, name: &AgentName) {
        self.plans.remove(name);
    }

    /// When the next restart is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let due = self.plans.values().filter_map(|(_, plan)| match plan {
            Planned::Due(at) => Some(*at),
            Planned::Running | Planned::StaysDead => None,
        });
        due.min()
    }

    /// Whether a restart is due or runs.
    pub(crate) fn is_busy(&self) -> bool {
        let mut plans = self.plans.values();
        plans.any(|(_, plan)| *plan != Planned::StaysDead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(incarnation: u64, decision: RestartDecision) -> Vec<Dead> {
        let name = alice();
        let incarnation = Incarnation(incarnation);
        vec![Dead {
            name,
            incarnation,
            decision,
        }]
    }

    fn alice() -> AgentName {
        AgentName::new("alice").unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn a_later_inspection_does_not_put_a_restart_off() {
        let mut restarts = RestartQueue::default();
        restarts.update(dead(1, RestartDecision::RestartAt(at(10))));
        restarts.update(dead(1, RestartDecision::RestartAt(at(20))));
        assert_eq!((restarts.next(), restarts.is_busy()), (Some(at(10)), true));
        assert_eq!(restarts.due(at(9)), []);
        assert_eq!(restarts.due(at(10)), [alice()]);
        assert_eq!(restarts.due(at(11)), []);
        // It is being started, although it is not among the dead any more.
        restarts.update(Vec::new());
        assert!(restarts.is_busy());
        restarts.ended(&alice());
        assert!(!restarts.is_busy());
    }

    #[test]
    fn each_incarnation_is_decided_by_itself() {
        let mut restarts = RestartQueue::default();
        assert_eq!(restarts.update(dead(1, RestartDecision::Leave)), []);
        assert!(!restarts.is_busy());
        restarts.update(dead(2, RestartDecision::RestartAt(at(5))));
        assert_eq!(restarts.next(), Some(at(5)));
        // A person was faster.
        restarts.update(Vec::new());
        assert_eq!(restarts.next(), None);
    }

    #[test]
    fn giving_up_is_told_once() {
        let mut restarts = RestartQueue::default();
        let decision = RestartDecision::GiveUp {
            reason: "too often".to_owned(),
            command: "team-lead restart alice".to_owned(),
        };
        let given_up = restarts.update(dead(6, decision.clone()));
        assert_eq!(given_up.len(), 1);
        assert_eq!(given_up[0].incarnation, Incarnation(6));
        assert_eq!(restarts.update(dead(6, decision)), []);
    }
}
