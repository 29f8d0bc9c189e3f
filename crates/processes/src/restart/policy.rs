//! Applies a member's restart policy to its death.

use crate::exit_status::exit_cause;
use protocol::{
    AgentName, DeathCause, EventKind, Incarnation, Member, NoticeCause, Recipient, Timestamp,
};
use rules::{RestartDecision, RestartHistory, RestartLimits};
use team::notice;
use teamdir::{AppendError, RosterError, SendError, TeamDir};

/// Why the end of the restarts could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum GiveUpError {
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Notice(#[from] SendError),
    #[error(transparent)]
    Event(#[from] AppendError),
}

/// The limits of restarts in every team. What decides about a restart and what counts it use the same.
pub(super) fn limits() -> RestartLimits {
    RestartLimits::default()
}

/// The decision of a dead member's policy. It depends on the member's files alone, so a later lead decides
/// the same.
pub fn decide_restart(team: &TeamDir, member: &Member, now: Timestamp) -> RestartDecision {
    let owner = Recipient::Member(member.spec.name.clone());
    let cause = exit_cause(team, &owner, member.incarnation);
    decide(member, cause, now)
}

fn decide(member: &Member, cause: DeathCause, now: Timestamp) -> RestartDecision {
    // The policy has given up and the lead is notified; only a person restarts the member.
    if member.gave_up.is_some() {
        return RestartDecision::Leave;
    }
    let history = RestartHistory {
        name: member.spec.name.clone(),
        policy: member.spec.restart.clone().unwrap_or_default(),
        restarts: member.restarts.clone().unwrap_or_default(),
    };
    history.decide(cause, &limits(), now)
}

/// Records that a member's policy gave up, and notifies the lead. Idempotent.
pub fn give_up(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
    reason: &str,
    command: &str,
) -> Result<(), GiveUpError> {
    let text = format!("{reason}. It is not restarted any more. Restart it: {command}");
    let id = format!("gave-up/{name}/{incarnation}");
    notice(team, Recipient::Lead, NoticeCause::GaveUp, &id, &text)?;
    team.log_event(EventKind::GaveUp {
        member: Recipient::Member(name.clone()),
        incarnation,
        reason: reason.to_owned(),
    })?;
    team.update_roster(|roster| {
        // A later incarnation means that a person has restarted it since.
        let member = roster.member_mut(name);
        if let Some(member) = member.filter(|member| member.incarnation == incarnation) {
            member.gave_up = Some(reason.to_owned());
        }
        Ok::<_, RosterError>(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::RestartPolicy;
    use std::time::Duration;
    use teamdir::Options;
    use test_support::TempTeam;

    const KILLED: DeathCause = DeathCause::Signal(9);

    fn member(restarts: &[i64]) -> Member {
        let mut member = Member::new(AgentName::new("alice").unwrap(), "coder");
        member.spec.restart = Some(RestartPolicy::OnFailure);
        let restarts = restarts.iter().map(|at| Timestamp::from_secs(*at));
        member.restarts = Some(restarts.collect());
        member
    }

    #[test]
    fn restarts_by_earlier_leads_are_counted() {
        let now = Timestamp::from_secs(1000);
        let first = decide(&member(&[]), KILLED, now);
        let wait = Duration::from_secs(1);
        assert_eq!(first, RestartDecision::RestartAt(now.plus(wait)));
        let old = decide(&member(&[1, 2, 3, 4, 5]), KILLED, now);
        assert_eq!(old, first);
        let sixth = decide(&member(&[900, 910, 920, 930, 940]), KILLED, now);
        assert!(matches!(sixth, RestartDecision::GiveUp { .. }), "{sixth:?}");
        let mut given_up = member(&[]);
        given_up.gave_up = Some("enough".into());
        let leave = decide(&given_up, KILLED, now);
        assert_eq!(leave, RestartDecision::Leave);
        let never = Member::new(AgentName::new("bob").unwrap(), "coder");
        assert_eq!(decide(&never, KILLED, now), RestartDecision::Leave);
    }

    #[test]
    fn giving_up_is_recorded_for_that_incarnation_alone() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let team = temp.team();
        let name = AgentName::new("alice").unwrap();
        let gave_up = || team.roster().unwrap().members[0].gave_up.clone();
        give_up(team, &name, Incarnation(7), "too often", "do it").unwrap();
        assert_eq!(gave_up(), None);
        give_up(team, &name, Incarnation(0), "too often", "do it").unwrap();
        assert_eq!(gave_up().as_deref(), Some("too often"));
        let events = std::fs::read_to_string(team.layout().events()).unwrap();
        let event = r#""event":"gave_up","member":"alice","incarnation":0,"reason":"too often""#;
        assert!(events.contains(event), "{events}");
    }
}
