//! Granted rules: `permissions.json`, what people have allowed for more than one call.

use crate::{AgentName, Party, RequestId, Timestamp};
use serde::{Deserialize, Serialize};

/// For which calls an approval counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// This call alone.
    Once,
    /// Every call of the asking member that the granted rule covers.
    Member,
    /// Every call of any member, the lead included, that the granted rule covers.
    Team,
}

impl GrantScope {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Member => "member",
            Self::Team => "team",
        }
    }
}

record! {
    /// A rule that a person granted by an answer.
    pub struct Grant {
        /// The request that was answered; no other grant has it.
        req id: RequestId => "id",
        /// The rule, as in the settings.
        req rule: String => "rule",
        /// Whose calls it allows, by name or `lead`; absent for everybody in the team.
        opt member: Party => "member",
        /// Who granted it.
        req by: Party => "by",
        /// The name of the person who did, where it is known.
        opt by_name: String => "by_name",
        /// When.
        req at: Timestamp => "at",
        /// Since when it does not count any more.
        opt revoked_at: Timestamp => "revoked_at",
    }
}

record! {
    /// All granted rules of a team.
    pub struct Grants {
        /// Oldest first.
        def rules: Vec<Grant> => "rules",
    }
}

impl Default for Grants {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            extra: crate::Extra::new(),
        }
    }
}

impl Grant {
    /// Whether it allows calls of `party`.
    pub fn is_for(&self, party: &Party) -> bool {
        if self.revoked_at.is_some() {
            return false;
        }
        match (&self.member, party) {
            (None, Party::Lead | Party::Member(_)) => true,
            (Some(Party::Member(name)), Party::Member(own)) => AgentName::same_as(name, own),
            (Some(Party::Lead), Party::Lead) => true,
            (Some(_), _) | (None, Party::User | Party::System) => false,
        }
    }
}

impl Grants {
    /// The rules that allow calls of `party`.
    pub fn of(&self, party: &Party) -> impl Iterator<Item = &Grant> {
        self.rules.iter().filter(move |grant| grant.is_for(party))
    }

    /// Adds a rule, unless there is or was one of the same request. Returns whether it was added.
    pub fn add(&mut self, grant: Grant) -> bool {
        if self.rules.iter().any(|known| known.id == grant.id) {
            return false;
        }
        self.rules.push(grant);
        true
    }

    /// Takes a rule back. It stays in the list, so that the same answer cannot grant it again. Returns
    /// whether it counted until now.
    pub fn revoke(&mut self, id: &RequestId, now: Timestamp) -> bool {
        let known = self.rules.iter_mut().find(|grant| grant.id == *id);
        let Some(grant) = known.filter(|grant| grant.revoked_at.is_none()) else {
            return false;
        };
        grant.revoked_at = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extra;

    fn grant(id: &str, member: Option<&str>) -> Grant {
        Grant {
            id: RequestId::new(id).unwrap(),
            rule: "Bash(make)".to_owned(),
            member: member.map(|name| name.parse().unwrap()),
            by: Party::User,
            by_name: None,
            at: Timestamp::from_secs(1),
            revoked_at: None,
            extra: Extra::new(),
        }
    }

    #[test]
    fn a_rule_is_for_its_member_or_for_all_agents() {
        let alice: Party = "alice".parse().unwrap();
        let bob: Party = "bob".parse().unwrap();
        assert!(grant("1", Some("Alice")).is_for(&alice));
        assert!(!grant("1", Some("alice")).is_for(&bob));
        assert!(!grant("1", Some("alice")).is_for(&Party::Lead));
        assert!(grant("1", Some("lead")).is_for(&Party::Lead));
        for agent in [&alice, &bob, &Party::Lead] {
            assert!(grant("1", None).is_for(agent));
        }
        assert!(!grant("1", None).is_for(&Party::User));
    }

    #[test]
    fn an_answer_grants_once_also_after_its_rule_was_revoked() {
        let mut grants = Grants::default();
        assert!(grants.add(grant("1", None)));
        assert!(!grants.add(grant("1", None)));
        let id = RequestId::new("1").unwrap();
        assert!(grants.revoke(&id, Timestamp::from_secs(2)));
        assert!(!grants.revoke(&id, Timestamp::from_secs(3)));
        assert_eq!(grants.of(&Party::Lead).count(), 0);
        assert!(!grants.add(grant("1", None)), "revoked for good");
    }
}
