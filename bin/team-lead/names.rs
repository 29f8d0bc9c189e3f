//! Resolves typed names to members of the team.

use crate::failure::Failure;
use protocol::{AgentName, Recipient, Roster};

/// The member or the lead that a typed name means, in the roster's spelling.
pub(crate) fn recipient(roster: &Roster, typed: &str) -> Result<Recipient, Failure> {
    roster
        .recipient(typed)?
        .ok_or_else(|| unknown(roster, typed))
}

/// The member that a typed name means, in the roster's spelling.
pub(crate) fn member(roster: &Roster, typed: &str) -> Result<AgentName, Failure> {
    let name = AgentName::new(typed)?;
    let member = roster.member(&name);
    member
        .map(|member| member.spec.name.clone())
        .ok_or_else(|| unknown(roster, typed))
}

fn unknown(roster: &Roster, typed: &str) -> Failure {
    let known: Vec<&str> = roster
        .members
        .iter()
        .map(|m| m.spec.name.as_str())
        .collect();
    let known = if known.is_empty() {
        "the team has no members yet".to_owned()
    } else {
        format!("the members are {}", known.join(", "))
    };
    Failure::unknown_member(format!("there is no member called {typed}; {known}"))
}
