//! Who is at home on this host, as other hosts are told.

use protocol::{HostMember, HostMembers, Roster};

/// Who is at home on this host.
pub(crate) fn at_home(roster: &Roster) -> HostMembers {
    let here = roster.members.iter().filter(|member| member.host.is_none());
    HostMembers {
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
pub(crate) fn same_people(one: &HostMembers, other: &HostMembers) -> bool {
    one.lead.is_some() == other.lead.is_some()
        && one.members.len() == other.members.len()
        && one
            .members
            .iter()
            .zip(&other.members)
            .all(|(one, other)| one.name == other.name)
}
