//! Who is at home on this host, as other hosts are told.

use protocol::{HostMember, HostMembers, Roster};

/// What a host was told of who is at home here.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whom it knows.
    names: Option<HostMembers>,
    /// What it knows of them.
    states: Option<HostMembers>,
}

impl Told {
    /// Whether the host may not know all of these. Then they are named before mail of theirs crosses.
    pub(crate) fn misses_names(&self, home: &HostMembers) -> bool {
        let names = self.names.as_ref();
        !names.is_some_and(|names| same_people(names, home))
    }

    /// The host was told these names.
    pub(crate) fn named(&mut self, home: &HostMembers) {
        self.names = Some(home.clone());
        // What it knew of somebody may have ended with the name.
        self.states = None;
    }

    /// Whether the host is to be told these states. `is_waiting` says that it has yet to hear the last ones.
    pub(crate) fn misses_states(&self, home: &HostMembers, is_waiting: bool) -> bool {
        match &self.states {
            None => true,
            Some(states) => states != home && !is_waiting,
        }
    }

    /// The host was told these states.
    pub(crate) fn described(&mut self, home: &HostMembers) {
        self.states = Some(home.clone());
    }
}

/// Who is at home on this host.
pub(crate) fn at_home(roster: &Roster) -> HostMembers {
    let here = roster.members.iter().filter(|member| member.host.is_none());
    HostMembers {
        names_only: false,
        lead: roster
            .lead_host
            .is_none()
            .then_some(roster.lead_incarnation),
        members: here
            .map(|member| HostMember {
                name: member.spec.name.clone(),
                role: member.spec.role.clone(),
                status: member.status.clone(),
                incarnation: member.incarnation,
            })
            .collect(),
    }
}

/// Whether the same are at home, whatever they are doing.
fn same_people(one: &HostMembers, other: &HostMembers) -> bool {
    one.lead.is_some() == other.lead.is_some()
        && one.members.len() == other.members.len()
        && one
            .members
            .iter()
            .zip(&other.members)
            .all(|(one, other)| one.name == other.name)
}
