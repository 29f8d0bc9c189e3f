//! The decision about a call.

use std::path::PathBuf;

use crate::call::Call;
use crate::decision::{Conditions, Decision, Reason, RuleList, Verdict};
use crate::defaults::only_reads;
use crate::needs::{Access, FilePart, Needs, Part};
use crate::path_pattern::{Folders, absolute, exact};
use crate::rule::{ListKind, Rule, Touch, is_wrapper};
use crate::shell::SimpleCommand;
use protocol::Effect;

/// The rules that hold for one member.
///
/// The rules of a role only narrow: its deny and ask rules hold besides all others, and if it has allow
/// rules, then what they do not cover asks, though the lead may do it. So a member is never allowed what
/// its lead would be asked about.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    lists: Vec<RuleList>,
    conditions: Conditions,
}

impl Permissions {
    pub fn new(lists: Vec<RuleList>, conditions: Conditions) -> Self {
        Self { lists, conditions }
    }

    pub fn lists(&self) -> &[RuleList] {
        &self.lists
    }

    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Decides about a call: the strictest verdict about any of its parts.
    pub fn decide(&self, call: &Call<'_>) -> Decision {
        let of_web = self.decide_web(call);
        of_web.unwrap_or_else(|| self.decide_needs(&Needs::of(call, self.folders(call))))
    }

    pub(crate) fn decide_needs(&self, needs: &Needs<'_>) -> Decision {
        for part in &needs.parts {
            if let Some((list, rule)) = self.denied(part, needs, Touch::Surely) {
                return Decision::new(Verdict::Deny, by_rule(list, rule, part, needs));
            }
        }
        let mut decisions = needs.parts.iter().map(|part| self.decide_part(part, needs));
        let mut result = decisions.next();
        for decision in decisions {
            let is_stricter = result.as_ref().is_none_or(|result| {
                let tells_more = matches!(decision.reason, Reason::Rule { .. })
                    && !matches!(result.reason, Reason::Rule { .. });
                decision.verdict > result.verdict
                    || (decision.verdict == result.verdict && tells_more)
            });
            if is_stricter {
                result = Some(decision);
            }
        }
        result.unwrap_or(Decision::new(Verdict::Ask, Reason::Unparsable))
    }

    /// The narrowest rule that would allow exactly this call.
    pub fn rule_for(&self, call: &Call<'_>) -> String {
        let folders = self.folders(call);
        if let Some(command) = call.command() {
            let name = if call.needs_network() {
                "Network"
            } else {
                "Bash"
            };
            return format!("{name}(={})", command.trim());
        }
        let path = || {
            exact(
                &absolute(call.text("path").unwrap_or("."), folders),
                folders,
            )
        };
        match call.tool {
            "read_file" | "grep" | "glob" | "list_dir" | "edit_file" | "write_file" => {
                format!("{}({})", call.tool, path())
            }
            "spawn_teammate" => match call.text("role").map(str::trim) {
                Some(role) if !role.is_empty() => format!("Spawn({})", escaped(role)),
                Some(_) | None => "Spawn".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    pub(crate) fn folders<'a>(&'a self, call: &Call<'a>) -> Folders<'a> {
        Folders {
            workspace: call.workspace,
            home: self.conditions.home.as_deref(),
        }
    }

    fn denied(&self, part: &Part, needs: &Needs<'_>, touch: Touch) -> Option<(&RuleList, &Rule)> {
        let mut rules = self.rules(ListKind::Deny);
        rules.find(|(_, rule)| rule.touches(part, needs) == touch)
    }

    pub(crate) fn rules(&self, kind: ListKind) -> impl Iterator<Item = (&RuleList, &Rule)> {
        let lists = self.lists.iter();
        lists.flat_map(move |list| list.rules(kind).iter().map(move |rule| (list, rule)))
    }

    /// Decides about a part that no deny rule surely matches.
    fn decide_part(&self, part: &Part, needs: &Needs<'_>) -> Decision {
        let covering = |(_, rule): &(&RuleList, &Rule)| rule.covers(part, needs);
        let mut allowing = self
            .rules(ListKind::Allow)
            .filter(|(list, _)| list.role().is_none());
        let granted = self
            .rules(ListKind::Allow)
            .filter(|(list, _)| list.is_granted())
            .find(covering);
        if let Some((list, rule)) = granted {
            return Decision::new(Verdict::Allow, by_rule(list, rule, part, needs));
        }
        let mut asking = self.rules(ListKind::Ask);
        if let Some((list, rule)) = asking.find(|(_, rule)| rule.touches(part, needs) != Touch::No)
        {
            return Decision::new(Verdict::Ask, by_rule(list, rule, part, needs));
        }
        if let Some((list, rule)) = self.denied(part, needs, Touch::Perhaps) {
            let reason = match needs.is_unreadable {
                true => Reason::Unparsable,
                false => Reason::CouldMatch {
                    rule: rule.text().to_owned(),
                    origin: list.origin.clone(),
                    part: shown(part, needs),
                },
            };
            return Decision::new(Verdict::Ask, reason);
        }
        let is_harmless = is_wrapper(part) || self.is_harmless(part, needs);
        if let Some(role) = self.narrowing_role(part, needs).filter(|_| !is_harmless) {
            let (role, part) = (role.to_owned(), shown(part, needs));
            return Decision::new(Verdict::Ask, Reason::NotInRole { role, part });
        }
        if let Some((list, rule)) = allowing.find(covering) {
            return Decision::new(Verdict::Allow, by_rule(list, rule, part, needs));
        }
        if is_harmless {
            let is_team = needs.call.effect.is_of_team();
            let reason = if is_team {
                Reason::TeamOnly
            } else {
                Reason::ReadsOnly
            };
            return Decision::new(Verdict::Allow, reason);
        }
        self.default(part, needs)
    }

    /// A role with allow rules that do not cover a part.
    fn narrowing_role(&self, part: &Part, needs: &Needs<'_>) -> Option<&str> {
        let roles = self.lists.iter().filter(|list| !list.allow.is_empty());
        let mut roles = roles.filter_map(|list| list.role().map(|role| (role, list)));
        let narrowing =
            roles.find(|(_, list)| !list.allow.iter().any(|rule| rule.covers(part, needs)));
        narrowing.map(|(role, _)| role)
    }

    /// Whether a part changes nothing outside of the team.
    fn is_harmless(&self, part: &Part, needs: &Needs<'_>) -> bool {
        let readable = &self.conditions.readable;
        let inside = |path: &PathBuf| {
            path.starts_with(needs.folders.workspace)
                || readable.iter().any(|folder| path.starts_with(folder))
        };
        match part {
            Part::Command(command) => only_reads(command, needs.folders),
            // What only reads can still tell others what it read, so that something else in the call has
            // to be the reason for the network, and is decided about.
            Part::Network(command) => {
                let reads = |command: &SimpleCommand| only_reads(command, needs.folders);
                let does_more = |part: &Part| matches!(part, Part::Network(other) if !reads(other));
                reads(command) && needs.parts.iter().any(does_more)
            }
            Part::File(file) => {
                file.access == Access::Read && file.path.as_ref().is_some_and(inside)
            }
            Part::Tool => match needs.call.effect {
                Effect::Read | Effect::State | Effect::Ask => true,
                Effect::Mutate | Effect::Execute => false,
            },
        }
    }

    /// What holds for a part that changes something, if no rule mentions it.
    fn default(&self, part: &Part, needs: &Needs<'_>) -> Decision {
        let unconfined = || match () {
            () if self.conditions.confined => Decision::new(Verdict::Allow, Reason::Confined),
            () if self.conditions.yes => Decision::new(Verdict::Allow, Reason::Yes),
            () if needs.is_unreadable => Decision::new(Verdict::Ask, Reason::Unparsable),
            () => Decision::new(
                Verdict::Ask,
                Reason::Unconfined {
                    part: shown(part, needs),
                },
            ),
        };
        match part {
            Part::Network(_) => Decision::new(Verdict::Ask, Reason::NeedsNetwork),
            Part::Command(_) | Part::Tool => unconfined(),
            Part::File(FilePart { path: None, .. }) => unconfined(),
            Part::File(FilePart {
                path: Some(path), ..
            }) => {
                let is_inside = path.starts_with(needs.folders.workspace);
                // The sandbox, or its absence, decides about what a command opens; a file tool knows only
                // the workspace.
                match needs.call.command() {
                    Some(_) if is_inside || self.conditions.confined => unconfined(),
                    None if is_inside => Decision::new(Verdict::Allow, Reason::InWorkspace),
                    Some(_) | None => {
                        Decision::new(Verdict::Ask, Reason::OutsideWorkspace(path.clone()))
                    }
                }
            }
        }
    }
}

fn by_rule(list: &RuleList, rule: &Rule, part: &Part, needs: &Needs<'_>) -> Reason {
    Reason::Rule {
        rule: rule.text().to_owned(),
        origin: list.origin.clone(),
        part: shown(part, needs),
    }
}

/// The text of a part, if it is not the whole call.
fn shown(part: &Part, needs: &Needs<'_>) -> Option<String> {
    let text = part.text()?;
    let is_whole = needs
        .call
        .command()
        .is_none_or(|command| command.trim() == text);
    (!is_whole).then_some(text)
}

/// A text without the characters that a pattern gives a meaning.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
