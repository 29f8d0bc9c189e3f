//! Bringing dead teammates back: which of them, and when. Pure.

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

/// A policy that has had enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) name: AgentName,
    pub(crate) incarnation: Incarnation,
    pub(crate) reason: String,
    pub(crate) command: String,
}

/// Who is to be brought back.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    fates: BTreeMap<AgentName, (Incarnation, Fate)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Due(Timestamp),
    /// It is being started.
    UnderWay,
    /// It stays dead.
    Settled,
}

impl Restarts {
    /// Takes note of all who are dead now. A decision about a life is made once: looking again
    /// does not put it off. Returns whose policy has had enough.
    pub(crate) fn seen(&mut self, dead: Vec<Dead>) -> Vec<GivenUp> {
        self.fates.retain(|name, (incarnation, fate)| {
            let is_it = |dead: &Dead| dead.name == *name && dead.incarnation == *incarnation;
            *fate == Fate::UnderWay || dead.iter().any(is_it)
        });
        let mut given_up = Vec::new();
        for Dead {
            name,
            incarnation,
            decision,
        } in dead
        {
            if self.fates.contains_key(&name) {
                continue;
            }
            let fate = match decision {
                RestartDecision::Leave => Fate::Settled,
                RestartDecision::RestartAt(at) => Fate::Due(at),
                RestartDecision::GiveUp { reason, command } => {
                    given_up.push(GivenUp {
                        name: name.clone(),
                        incarnation,
                        reason,
                        command,
                    });
                    Fate::Settled
                }
            };
            self.fates.insert(name, (incarnation, fate));
        }
        given_up
    }

    /// Who is to be brought back now.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<AgentName> {
        let mut names = Vec::new();
        for (name, (_, fate)) in &mut self.fates {
            if matches!(fate, Fate::Due(at) if *at <= now) {
                *fate = Fate::UnderWay;
                names.push(name.clone());
            }
        }
        names
    }

    /// An attempt is over, with success or without. The next look decides anew.
    pub(crate) fn ended(&mut self, name: &AgentName) {
        self.fates.remove(name);
    }

    /// When somebody is due next.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let due = self.fates.values().filter_map(|(_, fate)| match fate {
            Fate::Due(at) => Some(*at),
            Fate::UnderWay | Fate::Settled => None,
        });
        due.min()
    }

    /// Whether somebody will come back or is coming.
    pub(crate) fn is_busy(&self) -> bool {
        let mut fates = self.fates.values();
        fates.any(|(_, fate)| *fate != Fate::Settled)
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
    fn looking_again_does_not_put_a_restart_off() {
        let mut care = Restarts::default();
        care.seen(dead(1, RestartDecision::RestartAt(at(10))));
        care.seen(dead(1, RestartDecision::RestartAt(at(20))));
        assert_eq!((care.next(), care.is_busy()), (Some(at(10)), true));
        assert_eq!(care.due(at(9)), []);
        assert_eq!(care.due(at(10)), [alice()]);
        assert_eq!(care.due(at(11)), []);
        // It is on its way, so it is not looked for among the dead.
        care.seen(Vec::new());
        assert!(care.is_busy());
        care.ended(&alice());
        assert!(!care.is_busy());
    }

    #[test]
    fn each_life_is_decided_by_itself() {
        let mut care = Restarts::default();
        assert_eq!(care.seen(dead(1, RestartDecision::Leave)), []);
        assert!(!care.is_busy());
        care.seen(dead(2, RestartDecision::RestartAt(at(5))));
        assert_eq!(care.next(), Some(at(5)));
        // A person was faster.
        care.seen(Vec::new());
        assert_eq!(care.next(), None);
    }

    #[test]
    fn giving_up_is_told_once() {
        let mut care = Restarts::default();
        let decision = RestartDecision::GiveUp {
            reason: "too often".to_owned(),
            command: "team-lead restart alice".to_owned(),
        };
        let given_up = care.seen(dead(6, decision.clone()));
        assert_eq!(given_up.len(), 1);
        assert_eq!(given_up[0].incarnation, Incarnation(6));
        assert_eq!(care.seen(dead(6, decision)), []);
    }
}
