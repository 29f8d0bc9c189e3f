//! Whether a host may have a member started on another one, and as what.
//!
//! The host that is asked decides by its own settings. What it is told can name a member and narrow what that may
//! do, and nothing else.

use crate::names::check_new_name;
use protocol::{
    AgentName, HostId, MemberRules, MemberSpec, Roster, SpawnAsk, SpawnOptions, SpawnOutcome,
    SpawnRefusal,
};

/// How many asks of a host may be open at a time.
pub const MAX_OPEN_SPAWNS: usize = 8;
/// The most characters of a role or of the name of a model.
const MAX_WORDS: usize = 200;
/// The most bytes of a prompt.
const MAX_PROMPT: usize = 100_000;
/// The most permission rules, and the most characters of each.
const MAX_RULES: (usize, usize) = (100, 1000);

/// Why a member is not started for another host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SpawnRefused {
    pub why: SpawnRefusal,
    pub text: String,
}

impl SpawnRefused {
    pub fn new(why: SpawnRefusal, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { why, text }
    }
}

impl From<SpawnRefused> for SpawnOutcome {
    fn from(refused: SpawnRefused) -> Self {
        let SpawnRefused { why, text } = refused;
        Self::Refused { why, text }
    }
}

/// Whether `from` may have this member started here, where `open` of its asks are open. What depends on the settings
/// of the workspace is checked by whoever starts it.
pub fn check_spawn(
    roster: &Roster,
    from: &HostId,
    (accepts, open): (bool, usize),
    ask: &SpawnAsk,
) -> Result<(), SpawnRefused> {
    if !accepts {
        let text = "the bridge of this host runs without --accept-spawns";
        return Err(SpawnRefused::new(SpawnRefusal::NotAccepted, text));
    }
    if roster.lead_host.as_ref() != Some(from) {
        let text = format!("the lead is not at home on the host '{from}'");
        return Err(SpawnRefused::new(SpawnRefusal::NotTheLead, text));
    }
    if open >= MAX_OPEN_SPAWNS {
        let text = format!("{open} members that '{from}' has asked for are not started yet");
        return Err(SpawnRefused::new(SpawnRefusal::TooMany, text));
    }
    let spec = spawn_spec(&ask.member)?;
    let known = roster.member(&spec.name);
    if let Some(known) = known.filter(|known| known.asked.as_ref() != Some(&ask.id)) {
        let (name, host) = (&known.spec.name, known.host.as_ref());
        let place = host.map(|host| format!(" on the host '{host}'"));
        let text = format!(
            "somebody has the name '{name}' already{}",
            place.unwrap_or_default()
        );
        return Err(SpawnRefused::new(SpawnRefusal::NameTaken, text));
    }
    let names = roster.members.iter().map(|member| &member.spec.name);
    check_new_name(&spec.name, names)
        .map_err(|refusal| SpawnRefused::new(SpawnRefusal::Name, refusal.to_string()))
}

/// The member that is asked for, if everything said of it may be said.
pub fn spawn_spec(options: &SpawnOptions) -> Result<MemberSpec, SpawnRefused> {
    let SpawnOptions {
        name,
        role,
        prompt,
        model,
        require_plan,
        no_claim,
        deny,
        ask,
        unknown,
    } = options;
    if let Some(field) = unknown.keys().next() {
        let field: String = field.chars().take(MAX_WORDS).collect();
        let text = format!("a member cannot be asked for with {field:?}");
        return Err(SpawnRefused::new(SpawnRefusal::UnknownField, text));
    }
    let too_long = |what: &str, most: String| {
        let text = format!("the {what} is too long: at most {most}");
        SpawnRefused::new(SpawnRefusal::TooLong, text)
    };
    for (what, words) in [("role", Some(role)), ("model", model.as_ref())] {
        if words.is_some_and(|words| words.chars().count() > MAX_WORDS) {
            return Err(too_long(what, format!("{MAX_WORDS} characters")));
        }
    }
    if role.trim().is_empty() || role.chars().any(char::is_control) {
        let text = "the role is one line of text that is not empty";
        return Err(SpawnRefused::new(SpawnRefusal::Role, text));
    }
    if prompt
        .as_ref()
        .is_some_and(|prompt| prompt.len() > MAX_PROMPT)
    {
        return Err(too_long("prompt", format!("{MAX_PROMPT} bytes")));
    }
    let is_long = |rule: &String| rule.chars().count() > MAX_RULES.1;
    if deny.len() + ask.len() > MAX_RULES.0 || deny.iter().chain(ask).any(is_long) {
        let most = format!("{} rules of {} characters", MAX_RULES.0, MAX_RULES.1);
        return Err(too_long("list of permission rules", most));
    }
    let name = AgentName::new(name)
        .map_err(|error| SpawnRefused::new(SpawnRefusal::Name, error.to_string()))?;
    let rules = MemberRules {
        deny: deny.clone(),
        ask: ask.clone(),
        ..MemberRules::default()
    };
    Ok(MemberSpec {
        prompt: prompt.clone(),
        model: model.clone(),
        require_plan: require_plan.then_some(true),
        no_claim: no_claim.then_some(true),
        permissions: (!rules.is_empty()).then_some(rules),
        ..MemberSpec::new(name, role)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Member, RequestId};
    use serde_json::{Value, json};

    fn host(name: &str) -> HostId {
        HostId::new(name).unwrap()
    }

    fn ask(member: Value) -> SpawnAsk {
        SpawnAsk {
            id: RequestId::new("1a2b3c4d").unwrap(),
            member: serde_json::from_value(member).unwrap(),
        }
    }

    /// A team whose lead is at home on the laptop, with bob here and carol on another host.
    fn roster() -> Roster {
        let mut carol = Member::new(AgentName::new("carol").unwrap(), "coder");
        carol.host = Some(host("gpu2"));
        Roster {
            lead_host: Some(host("laptop")),
            members: vec![Member::new(AgentName::new("bob").unwrap(), "coder"), carol],
            ..Roster::default()
        }
    }

    fn why(from: &str, facts: (bool, usize), member: Value) -> Option<SpawnRefusal> {
        let checked = check_spawn(&roster(), &host(from), facts, &ask(member));
        checked.err().map(|refused| refused.why)
    }

    #[test]
    fn only_the_host_of_the_lead_asks_and_only_where_it_is_accepted() {
        let alice = json!({"name": "alice", "role": "coder"});
        assert_eq!(why("laptop", (true, 0), alice.clone()), None);
        let refused = why("laptop", (false, 0), alice.clone());
        assert_eq!(refused, Some(SpawnRefusal::NotAccepted));
        let refused = why("gpu2", (true, 0), alice.clone());
        assert_eq!(refused, Some(SpawnRefusal::NotTheLead));
        let here = Roster::default();
        let refused = check_spawn(&here, &host("gpu2"), (true, 0), &ask(alice)).unwrap_err();
        assert_eq!(refused.why, SpawnRefusal::NotTheLead);
    }

    #[test]
    fn a_host_has_a_bounded_number_of_open_asks() {
        let alice = json!({"name": "alice", "role": "coder"});
        let most = MAX_OPEN_SPAWNS;
        assert_eq!(why("laptop", (true, most - 1), alice.clone()), None);
        let refused = why("laptop", (true, most), alice);
        assert_eq!(refused, Some(SpawnRefusal::TooMany));
    }

    #[test]
    fn names_that_are_taken_look_alike_or_are_none_are_refused() {
        let named = |name: &str| why("laptop", (true, 0), json!({"name": name, "role": "coder"}));
        for name in ["bob", "BOB", "carol"] {
            assert_eq!(named(name), Some(SpawnRefusal::NameTaken), "{name}");
        }
        for name in [
            "",
            "../bob",
            "a/b",
            ".x",
            "lead",
            "1ead",
            "ｂｏｂ",
            "bοb",
            "a\nb",
        ] {
            assert_eq!(named(name), Some(SpawnRefusal::Name), "{name:?}");
        }
        assert_eq!(named(&"x".repeat(65)), Some(SpawnRefusal::Name));
    }

    #[test]
    fn the_name_that_was_entered_for_the_same_ask_is_not_taken() {
        let alice = ask(json!({"name": "bob", "role": "coder"}));
        let mut roster = roster();
        roster.members[0].asked = Some(alice.id.clone());
        check_spawn(&roster, &host("laptop"), (true, 0), &alice).unwrap();
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let long = "x".repeat(201);
        for (field, value) in [
            ("role", json!(long)),
            ("model", json!(long)),
            ("prompt", json!("x".repeat(100_001))),
            ("deny", json!([("x".repeat(1001))])),
            ("ask", json!(vec!["Bash"; 101])),
        ] {
            let mut member = json!({"name": "alice", "role": "coder"});
            member[field] = value;
            let refused = why("laptop", (true, 0), member);
            assert_eq!(refused, Some(SpawnRefusal::TooLong), "{field}");
        }
    }

    #[test]
    fn nothing_that_is_run_read_or_widens_rights_can_be_said() {
        for (field, value) in [
            ("exec", json!("sh -c id")),
            ("engine", json!("acp:claude")),
            ("allow", json!(["Bash"])),
            ("yes", json!(true)),
            ("sandbox", json!("off")),
            ("network", json!("on")),
            ("env", json!({"PATH": "/tmp"})),
            ("tree", json!("shared")),
        ] {
            let mut member = json!({"name": "alice", "role": "coder"});
            member[field] = value;
            let refused = why("laptop", (true, 0), member);
            assert_eq!(refused, Some(SpawnRefusal::UnknownField), "{field}");
        }
        for role in ["", " ", "a\u{1b}[2J", "a\nb"] {
            let refused = why("laptop", (true, 0), json!({"name": "alice", "role": role}));
            assert_eq!(refused, Some(SpawnRefusal::Role), "{role:?}");
        }
    }

    #[test]
    fn what_may_be_said_becomes_the_member() {
        let member = json!({"name": "alice", "role": "coder", "prompt": "Go.", "model": "offline",
            "require_plan": true, "no_claim": true, "deny": ["Bash(rm *)"], "ask": ["Edit"]});
        let spec = spawn_spec(&ask(member).member).unwrap();
        assert_eq!((spec.name.as_str(), spec.role.as_str()), ("alice", "coder"));
        assert_eq!((spec.require_plan, spec.no_claim), (Some(true), Some(true)));
        assert_eq!(
            (spec.exec, spec.engine, spec.sandbox, spec.network),
            (None, None, None, None)
        );
        let rules = spec.permissions.unwrap();
        assert_eq!(
            (
                rules.deny.len(),
                rules.ask.len(),
                rules.allow.len(),
                rules.yes
            ),
            (1, 1, 0, false)
        );
    }
}
