//! A request as the model sees it.

use crate::tags::{Mark, Tag, Verb};
use serde_json::Value;
use std::collections::BTreeMap;

/// The start of the result of a tool call that was interrupted by the death of its process.
const INTERRUPTED: &str = "interrupted, outcome unknown";

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolOutcome {
    Bad,
    Unknown,
    Good,
}

/// What a model can know from a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct View {
    /// The tags in its mail, with how often each occurs.
    pub(crate) mail: BTreeMap<Tag, usize>,
    /// The outcome of its tool calls, by tool and purpose. One success outweighs all failures.
    pub(crate) outcomes: BTreeMap<(String, Mark), ToolOutcome>,
    /// Whether one of the last tool calls failed.
    pub(crate) failed: bool,
    /// The state of the team, which the program adds to each request.
    pub(crate) state: String,
}

impl View {
    /// Reads the messages of a request in the form of the Messages API.
    pub(crate) fn of(messages: &[Value]) -> Self {
        let mut view = Self::default();
        let mut uses: BTreeMap<String, Vec<(String, Mark)>> = BTreeMap::new();
        for message in messages {
            let is_user = message["role"] == "user";
            if is_user {
                view.failed = false;
            }
            for block in &blocks(&message["content"]) {
                match block["type"].as_str() {
                    Some("text") if is_user => view.hear(block["text"].as_str().unwrap_or("")),
                    Some("tool_use") => {
                        let id = block["id"].as_str().unwrap_or("").to_owned();
                        uses.insert(id, purposes(block));
                    }
                    Some("tool_result") => {
                        let outcome = tool_outcome(block);
                        view.failed |= outcome == ToolOutcome::Bad;
                        let id = block["tool_use_id"].as_str().unwrap_or("");
                        for purpose in uses.remove(id).unwrap_or_default() {
                            let known = view.outcomes.entry(purpose).or_insert(outcome);
                            *known = (*known).max(outcome);
                        }
                    }
                    _ => {}
                }
            }
        }
        view
    }

    fn hear(&mut self, text: &str) {
        for part in text.split("<inbox>").skip(1) {
            let Some((inside, _)) = part.split_once("</inbox>") else {
                continue;
            };
            let note: Value = serde_json::from_str(inside.trim()).unwrap_or_default();
            for tag in Tag::all(note["content"].as_str().unwrap_or("")) {
                *self.mail.entry(tag).or_default() += 1;
            }
        }
        if let Some((_, state)) = text.rsplit_once("<team-state>") {
            state.clone_into(&mut self.state);
        }
    }

    /// Whether a tool was used for a mark, and nothing more is to be done about it.
    pub(crate) fn is_settled(&self, tool: &str, mark: &Mark) -> bool {
        matches!(
            self.came_of(tool, mark),
            Some(ToolOutcome::Good | ToolOutcome::Unknown)
        )
    }

    /// Whether a tool was used for a mark and is known to have succeeded.
    pub(crate) fn is_done(&self, tool: &str, mark: &Mark) -> bool {
        self.came_of(tool, mark) == Some(ToolOutcome::Good)
    }

    fn came_of(&self, tool: &str, mark: &Mark) -> Option<ToolOutcome> {
        self.outcomes.get(&(tool.to_owned(), mark.clone())).copied()
    }

    /// The orders that were not carried out yet, each with its recipient.
    pub(crate) fn open_orders(&self) -> Vec<(Mark, String)> {
        let options = self.mail.keys().filter_map(|tag| {
            let note = Mark::new(Verb::Note, &tag.mark.id);
            Some((note, tag.to.clone()?))
        });
        let open = options.filter(|(note, _)| !self.is_settled("send_message", note));
        open.collect()
    }

    /// The plans that are to be submitted.
    pub(crate) fn open_plans(&self) -> Vec<Mark> {
        let marks = self.mail.keys().map(|tag| &tag.mark);
        let plans = marks.filter(|mark| mark.verb == Verb::Plan);
        let open = plans.filter(|mark| !self.is_settled("plan_approval", mark));
        open.cloned().collect()
    }

    /// The number and the mark of the task in hand.
    pub(crate) fn task(&self) -> Option<(u64, Mark)> {
        let line = self.lines("Your task: #").next()?;
        let (number, subject) = line.split_once(':')?;
        let tags = Tag::all(subject);
        let mark = tags.into_iter().find(|tag| tag.mark.verb == Verb::Task)?;
        Some((number.parse().ok()?, mark.mark))
    }

    /// The shutdown request that waits for this member's answer.
    pub(crate) fn shutdown(&self) -> Option<String> {
        let line = self.lines("Shutdown request ").next()?;
        Some(line.split(' ').next()?.to_owned())
    }

    /// Whether a plan of this member waits for a decision.
    pub(crate) fn waits_for_plan(&self) -> bool {
        let mut lines = self.lines("Your plan ");
        lines.any(|line| line.contains("waits for a decision"))
    }

    /// The plans that wait for the lead.
    pub(crate) fn plans_to_decide(&self) -> Vec<String> {
        let lines = self.lines("plan ");
        let lines = lines.filter(|line| line.contains("waits for a decision"));
        let ids = lines.filter_map(|line| line.split(' ').next());
        ids.map(str::to_owned).collect()
    }

    fn lines<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.state.lines().map(str::trim_start);
        lines.filter_map(move |line| line.strip_prefix(start))
    }
}

/// What a tool is used for, by its arguments.
fn purposes(used: &Value) -> Vec<(String, Mark)> {
    let tool = used["name"].as_str().unwrap_or("");
    let fields = used["input"].as_object().into_iter().flatten();
    let texts = fields.filter_map(|(_, value)| value.as_str());
    let tags = texts.flat_map(Tag::all);
    tags.map(|tag| (tool.to_owned(), tag.mark)).collect()
}

/// The outcome of a tool call, by its result.
pub(crate) fn tool_outcome(result: &Value) -> ToolOutcome {
    let text = match &result["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains(INTERRUPTED) {
        ToolOutcome::Unknown
    } else if result["is_error"] == true {
        ToolOutcome::Bad
    } else {
        ToolOutcome::Good
    }
}

/// The blocks of a content, which may be plain text.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mail(content: &str) -> String {
        let note = json!({"type": "message", "from": "user", "content": content});
        format!("<inbox>\n{note}\n</inbox>")
    }

    fn sent(id: &str, note: &str) -> Value {
        let input = json!({"to": "m07", "content": note});
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "send_message", "input": input}
        ]})
    }

    fn result(id: &str, text: &str, is_error: bool) -> Value {
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}
        ]})
    }

    #[test]
    fn an_order_is_open_until_its_note_was_sent_or_its_outcome_is_unknown() {
        let order = json!({"role": "user", "content": mail("[order A-000001 m07]")});
        let open = |rest: &[Value]| {
            let messages: Vec<Value> = [std::slice::from_ref(&order), rest].concat();
            View::of(&messages).open_orders().len()
        };
        assert_eq!(open(&[]), 1);
        let use_one = sent("a", "[note A-000001]");
        assert_eq!(open(&[use_one.clone(), result("a", "Sent", false)]), 0);
        assert_eq!(open(&[use_one.clone(), result("a", "disk full", true)]), 1);
        let torn = result("a", &format!("{INTERRUPTED}: the process"), true);
        assert_eq!(open(&[use_one.clone(), torn]), 0);
        let other = sent("b", "[note A-000002]");
        assert_eq!(open(&[other, result("b", "Sent", false)]), 1);
    }

    #[test]
    fn mail_is_counted() {
        let text = format!("{}{}", mail("[note A-000001]"), mail("[note A-000001]"));
        let view =
            View::of(&[json!({"role": "user", "content": [{"type": "text", "text": text}]})]);
        assert_eq!(view.mail[&Tag::plain(Verb::Note, "A-000001")], 2);
    }

    #[test]
    fn the_state_tells_of_task_shutdown_and_plan() {
        let text = "<team-state>\nTeam default: lead, you\nYour task: #7: [task T-000042]\n\
            Shutdown request 1a2b3c4d waits for your answer: use shutdown_response.\n\
            Your plan 5e6f7a8b waits for a decision.\n</team-state>";
        let view = View::of(&[json!({"role": "user", "content": text})]);
        assert_eq!(view.task(), Some((7, Mark::new(Verb::Task, "T-000042"))));
        assert_eq!(view.shutdown().as_deref(), Some("1a2b3c4d"));
        assert!(view.waits_for_plan());
        let text = "<team-state>\nPending requests:\n  plan 5e6f7a8b of m03 waits for a decision\n</team-state>";
        let view = View::of(&[json!({"role": "user", "content": text})]);
        assert_eq!(view.plans_to_decide(), ["5e6f7a8b"]);
    }
}
