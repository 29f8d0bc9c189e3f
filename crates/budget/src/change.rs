//! Changes of limits.

use crate::account::{Limit, Sum};
use protocol::{Allowance, Budget, Caps, EventKind, Extra, Incarnation, Recipient, RunBudget};
use teamdir::{TeamDir, TeamFileError};

/// Sets the limits in `caps` for the team or a member; the others stay. Returns the new limits.
pub fn change(
    team: &TeamDir,
    member: Option<&Recipient>,
    caps: &Caps,
) -> Result<Caps, TeamFileError> {
    update(team, member, |allowance| allowance.limits.take_over(caps))
}

/// Begins a run of the lead, with limits of its own or without. Those of an earlier run end.
pub fn begin_run(team: &TeamDir, lead: Incarnation, caps: &Caps) -> Result<(), TeamFileError> {
    if caps.is_empty() && team.budget()?.run.is_none() {
        return Ok(());
    }
    team.update_budget(|budget| {
        budget.run = (!caps.is_empty()).then(|| RunBudget {
            lead,
            allowance: Allowance {
                limits: caps.clone(),
                ..Allowance::default()
            },
            before: Sum::of(budget, None).to_stored(),
            extra: Extra::new(),
        });
        Ok(())
    })
}

/// Ends the run of this lead together with its limits.
pub fn end_run(team: &TeamDir, lead: Incarnation) -> Result<(), TeamFileError> {
    let is_its = |budget: &Budget| budget.run.as_ref().is_some_and(|run| run.lead == lead);
    if !is_its(&team.budget()?) {
        return Ok(());
    }
    team.update_budget(|budget| {
        if is_its(budget) {
            budget.run = None;
        }
        Ok(())
    })
}

/// Sets the limits in `caps` for the run that is going on; the others stay. Returns the new limits, if
/// the run has any.
pub fn change_run(team: &TeamDir, caps: &Caps) -> Result<Option<Caps>, TeamFileError> {
    team.update_budget(|budget| {
        let Some(run) = &mut budget.run else {
            return Ok(None);
        };
        run.allowance.limits.take_over(caps);
        run.allowance.rev = run.allowance.rev.saturating_add(1);
        Ok(Some(run.allowance.limits.clone()))
    })
}

/// Restores the allowance of a member, if the operation that changed it failed.
pub fn restore(
    team: &TeamDir,
    member: &Recipient,
    before: Option<Allowance>,
) -> Result<(), TeamFileError> {
    team.update_budget(|budget| {
        match before {
            Some(before) => budget.members.insert(member.clone(), before),
            None => budget.members.remove(member),
        };
        Ok(())
    })
}

/// Applies the limits of a configuration, as far as the configuration has changed: limits that were
/// changed in the folder stay until the configuration changes them too.
pub fn adopt(
    team: &TeamDir,
    member: Option<&Recipient>,
    configured: &Caps,
) -> Result<(), TeamFileError> {
    let before = team.budget()?;
    let known = before.allowance(member).and_then(|a| a.configured.as_ref());
    let is_applied = match known {
        Some(known) => known == configured,
        None => configured.is_empty(),
    };
    if is_applied {
        return Ok(());
    }
    update(team, member, |allowance| {
        let old = allowance.configured.take().unwrap_or_default();
        let limits = &mut allowance.limits;
        let now = configured;
        apply_change(&mut limits.max_tokens, old.max_tokens, now.max_tokens);
        apply_change(&mut limits.max_cost, old.max_cost, now.max_cost);
        apply_change(&mut limits.max_turns, old.max_turns, now.max_turns);
        apply_change(&mut limits.max_minutes, old.max_minutes, now.max_minutes);
        allowance.configured = Some(configured.clone());
    })?;
    Ok(())
}

/// A limit that the configuration changed gets the configured value. One that was removed from the
/// configuration is removed unless it was changed in the folder.
fn apply_change<T: PartialEq + Copy>(limit: &mut Option<T>, old: Option<T>, now: Option<T>) {
    if now == old {
        return;
    }
    if now.is_some() || *limit == old {
        *limit = now;
    }
}

fn update(
    team: &TeamDir,
    member: Option<&Recipient>,
    change: impl FnOnce(&mut Allowance),
) -> Result<Caps, TeamFileError> {
    let (caps, has_changed) = team.update_budget(|budget: &mut Budget| {
        let allowance = budget.allowance_mut(member);
        let before = allowance.limits.clone();
        change(allowance);
        let has_changed = allowance.limits != before;
        if has_changed {
            allowance.rev = allowance.rev.saturating_add(1);
        }
        Ok::<_, TeamFileError>((allowance.limits.clone(), has_changed))
    })?;
    if has_changed {
        // The event is only informative; the limits apply without it.
        let _ = team.log_event(EventKind::Budget {
            member: member.cloned(),
            action: "changed".to_owned(),
            limits: describe(&caps),
        });
    }
    Ok(caps)
}

/// The limits as text, as in `max_tokens 1000, max_turns 5`.
pub fn describe(caps: &Caps) -> String {
    let all = [
        caps.max_tokens.map(Limit::Tokens),
        caps.max_cost.map(Limit::Cost),
        caps.max_turns.map(Limit::Turns),
        caps.max_minutes.map(Limit::Minutes),
    ];
    let all: Vec<String> = all.iter().flatten().map(Limit::to_string).collect();
    match all.is_empty() {
        true => "no limits".to_owned(),
        false => all.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamdir::Options;
    use test_support::TempTeam;

    fn caps(max_tokens: Option<u64>, max_turns: Option<u64>) -> Caps {
        Caps {
            max_tokens,
            max_turns,
            ..Caps::default()
        }
    }

    #[test]
    fn a_change_keeps_the_other_limits_and_increases_the_revision() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let team = temp.team();
        change(team, None, &caps(Some(10), None)).unwrap();
        let now = change(team, None, &caps(None, Some(3))).unwrap();
        assert_eq!(describe(&now), "max_tokens 10, max_turns 3");
        assert_eq!(team.budget().unwrap().team.rev, 2);
        // The same again is no change.
        change(team, None, &caps(Some(10), None)).unwrap();
        assert_eq!(team.budget().unwrap().team.rev, 2);
        let events = std::fs::read_to_string(team.layout().events()).unwrap();
        assert_eq!(events.matches(r#""event":"budget""#).count(), 2, "{events}");
    }

    #[test]
    fn a_raise_stays_until_the_configuration_changes() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let (team, alice) = (temp.team(), "alice".parse().unwrap());
        let limit = || team.budget().unwrap().members[&alice].limits.max_tokens;
        adopt(team, Some(&alice), &caps(Some(10), None)).unwrap();
        assert_eq!(limit(), Some(10));
        change(team, Some(&alice), &caps(Some(20), None)).unwrap();
        adopt(team, Some(&alice), &caps(Some(10), None)).unwrap();
        assert_eq!(limit(), Some(20));
        // A limit that was raised by hand stays when it is removed from the configuration.
        adopt(team, Some(&alice), &caps(None, Some(1))).unwrap();
        assert_eq!(limit(), Some(20));
        adopt(team, Some(&alice), &caps(Some(15), None)).unwrap();
        assert_eq!(limit(), Some(15));
        adopt(team, Some(&alice), &Caps::default()).unwrap();
        assert_eq!(limit(), None);
    }

    #[test]
    fn a_configuration_without_limits_creates_nothing() {
        let temp = TempTeam::new(&[], Options::default());
        adopt(temp.team(), None, &Caps::default()).unwrap();
        assert!(!temp.team().layout().budget().exists());
    }
}
