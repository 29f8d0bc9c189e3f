//! The filter of `events`.

use crate::failure::Failure;
use crate::names;
use protocol::{Party, Roster, Timestamp};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The fields of an event that hold a name.
const NAMES: [&str; 5] = ["member", "from", "to", "inbox", "by"];

/// Selects events of the log.
pub(super) struct Filter {
    since: Option<Timestamp>,
    member: Option<Party>,
    /// The requests of the member: a `resolve` event names only the request.
    requests: BTreeSet<String>,
    /// The number of damaged lines since this was last reset.
    pub(super) broken: usize,
}

/// Resolves a typed name.
pub(super) fn party(roster: &Roster, name: &str) -> Result<Party, Failure> {
    match name {
        "lead" => Ok(Party::Lead),
        "user" => Ok(Party::User),
        "system" => Ok(Party::System),
        _ => names::member(roster, name).map(Party::Member),
    }
}

impl Filter {
    pub(super) const fn new(since: Option<Timestamp>, member: Option<Party>) -> Self {
        Self {
            since,
            member,
            requests: BTreeSet::new(),
            broken: 0,
        }
    }

    /// Whether this line of the log matches. Events of unknown kinds are matched by the same fields.
    pub(super) fn matches(&mut self, line: &[u8]) -> bool {
        if line.trim_ascii().is_empty() {
            return false;
        }
        let Ok(event) = serde_json::from_slice::<Map<String, Value>>(line) else {
            self.broken += 1;
            return false;
        };
        // Evaluated in any case, because it records the requests of the member.
        let concerns = self.concerns_member(&event);
        concerns && self.is_new_enough(&event)
    }

    fn is_new_enough(&self, event: &Map<String, Value>) -> bool {
        let Some(since) = self.since else {
            return true;
        };
        let time = event.get("time").cloned().map(serde_json::from_value);
        matches!(time, Some(Ok(time)) if since <= time)
    }

    fn concerns_member(&mut self, event: &Map<String, Value>) -> bool {
        let Some(member) = &self.member else {
            return true;
        };
        let text = |key| event.get(key).and_then(Value::as_str);
        let is_named = NAMES.into_iter().filter_map(text).any(|name| match member {
            Party::Member(member) => name.to_lowercase() == member.as_str().to_lowercase(),
            Party::Lead | Party::User | Party::System => name == member.as_str(),
        });
        let request = text("request_id");
        if let (true, Some(request)) = (is_named, request) {
            self.requests.insert(request.to_owned());
        }
        is_named || request.is_some_and(|request| self.requests.contains(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(filter: &mut Filter, lines: &[&str]) -> Vec<bool> {
        let lines = lines.iter();
        lines.map(|line| filter.matches(line.as_bytes())).collect()
    }

    #[test]
    fn the_end_of_a_request_matches_the_member_it_was_sent_to() {
        let alice = Party::Member("alice".parse().unwrap());
        let mut filter = Filter::new(None, Some(alice));
        let lines = [
            r#"{"time":1,"event":"request","request_id":"a","kind":"shutdown","from":"lead","to":"alice"}"#,
            r#"{"time":1,"event":"request","request_id":"b","kind":"shutdown","from":"lead","to":"bob"}"#,
            r#"{"time":2,"event":"resolve","request_id":"a","status":"approved"}"#,
            r#"{"time":2,"event":"resolve","request_id":"b","status":"approved"}"#,
            r#"{"time":3,"event":"sneeze","member":"ALICE"}"#,
        ];
        let expected = [true, false, true, false, true];
        assert_eq!(matching(&mut filter, &lines), expected);
    }

    #[test]
    fn lines_that_are_not_objects_are_counted() {
        let mut filter = Filter::new(Some(Timestamp::from_secs(5)), None);
        let lines = ["", r#"{"time":5}"#, r#"{"time":4}"#, "{}", "{torn", "[]"];
        let expected = [false, true, false, false, false, false];
        assert_eq!(matching(&mut filter, &lines), expected);
        assert_eq!(filter.broken, 2);
    }
}
