//! A request as the model sees it.

use crate::tags::{Mark, Tag, Verb};
use protocol::{MAIL_TAG, TextBlock};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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
    /// The state of the team as the program last told it.
    pub(crate) state: String,
    /// The shutdown requests in its mail that count and were not answered. The state repeats them later.
    asked: Vec<String>,
    /// The calls since then, which may have changed that state.
    since: SinceState,
    /// The number and the subject of the task that it was told last and has not changed since.
    told_task: Option<(u64, String)>,
}

/// The calls since the program last told the state of the team.
#[derive(Debug, Clone, Default, PartialEq)]
struct SinceState {
    /// The requests that were answered.
    answered: BTreeSet<String>,
    submitted_plan: bool,
}

/// The state as it is after a message that tells of it whole or, behind `Changed:`, only what has changed.
fn with_changes(before: &str, told: &str) -> String {
    let Some(changes) = told.strip_prefix("\nChanged:\n") else {
        return told.to_owned();
    };
    let (gone, new): (Vec<&str>, Vec<&str>) =
        changes.lines().partition(|line| line.starts_with("Gone: "));
    let gone = gone.iter().filter_map(|line| line.strip_prefix("Gone: "));
    let gone: Vec<&str> = gone.flat_map(|line| line.split(", ")).collect();
    let is_old = |line: &&str| {
        let about = subject(line);
        gone.contains(&about) || new.iter().any(|line| subject(line) == about)
    };
    let kept = before.lines().filter(|line| !is_old(line));
    kept.chain(new.iter().copied())
        .collect::<Vec<_>>()
        .join("\n")
}

/// What a line of the state is about.
fn subject(line: &str) -> &str {
    let line = line.trim_start();
    let marked = line
        .starts_with('[')
        .then(|| line.split_once("] "))
        .flatten();
    let line = marked.map_or(line, |(_, rest)| rest);
    line.split([':', '(']).next().unwrap_or(line).trim_end()
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
                        view.since.add(block);
                        let answered = block["input"]["request_id"].as_str();
                        view.asked.retain(|id| answered != Some(id));
                        let changed = block["input"]["task_id"].as_u64();
                        let is_changed = |task: &(u64, String)| changed == Some(task.0);
                        if block["name"] == "task_update" {
                            view.told_task.take_if(|task| is_changed(task));
                        }
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
        let text = &without_answered(text);
        let mail = TextBlock::read_all(text, MAIL_TAG).into_iter();
        // A plan that waits for the lead is part of the team's state. It is not an order to the lead to
        // submit one.
        let messages = mail.filter(|mail| mail.get("type") != Some("plan_approval_request"));
        for mail in messages {
            let is_void = mail.get("remark").is_some();
            let request = mail.get("request_id").filter(|_| !is_void);
            if mail.get("type") == Some("shutdown_request") {
                self.asked.extend(request.map(str::to_owned));
            }
            for tag in Tag::all(&mail.text) {
                *self.mail.entry(tag).or_default() += 1;
            }
        }
        for claimed in ["<auto-claimed>Task #", "<your-task>\n#"] {
            self.hear_of_task(text.rsplit_once(claimed));
        }
        if let Some((_, state)) = text.rsplit_once("<team-state>") {
            self.state = with_changes(&self.state, state);
            self.since = SinceState::default();
            if self.state.contains("You hold no task.") {
                self.told_task = None;
            }
            let state = self.state.clone();
            self.hear_of_task(state.split_once("Your task: #"));
        }
    }

    /// Takes note of a task by the text that follows the words before its number.
    fn hear_of_task(&mut self, found: Option<(&str, &str)>) {
        let line = found.and_then(|(_, after)| after.lines().next());
        let parts = line.and_then(|line| line.split_once(':'));
        let task = parts.and_then(|(number, subject)| Some((number.parse().ok()?, subject)));
        if let Some((number, subject)) = task {
            self.told_task = Some((number, subject.to_owned()));
        }
    }

    /// Whether a tool was used for a mark and has succeeded, or may have. It is not called again then.
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
        let (number, subject) = self.told_task.as_ref()?;
        let tags = Tag::all(subject);
        let mark = tags.into_iter().find(|tag| tag.mark.verb == Verb::Task)?;
        Some((*number, mark.mark))
    }

    /// The shutdown request that waits for this member's answer.
    pub(crate) fn shutdown(&self) -> Option<String> {
        let lines = self.lines("Shutdown request ");
        let mut ids = lines.filter_map(|line| line.split(' ').next());
        let id = ids.find(|id| !self.since.answered.contains(*id));
        let id = id.or(self.asked.first().map(String::as_str))?;
        Some(id.to_owned())
    }

    /// Whether a plan of this member waits for a decision.
    pub(crate) fn waits_for_plan(&self) -> bool {
        let mut lines = self.lines("Your plan ");
        self.since.submitted_plan || lines.any(|line| line.contains("waits for a decision"))
    }

    /// The plans that wait for the lead.
    pub(crate) fn plans_to_decide(&self) -> Vec<String> {
        let lines = self.lines("plan ");
        let lines = lines.filter(|line| line.contains("waits for a decision"));
        let ids = lines.filter_map(|line| line.split(' ').next());
        let open = ids.filter(|id| !self.since.answered.contains(*id));
        open.map(str::to_owned).collect()
    }

    fn lines<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.state.lines().map(str::trim_start);
        lines.filter_map(move |line| line.strip_prefix(start))
    }
}

impl SinceState {
    /// Notes a tool call. Its success does not matter: the next state shows its effect.
    fn add(&mut self, used: &Value) {
        let (tool, input) = (used["name"].as_str().unwrap_or(""), &used["input"]);
        match (tool, input["request_id"].as_str()) {
            ("plan_approval" | "shutdown_response", Some(id)) => {
                self.answered.insert(id.to_owned());
            }
            ("plan_approval", None) => self.submitted_plan = true,
            _ => {}
        }
    }
}

/// The text without the messages that a compaction repeats although they were answered.
fn without_answered(text: &str) -> String {
    let Some(messages) = text.strip_prefix("<user-messages>") else {
        return text.to_owned();
    };
    let parts = messages.split("\n[message ");
    let open = parts.filter(|part| {
        let head = part.lines().next().unwrap_or("");
        head.ends_with("not answered yet]")
    });
    open.collect()
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
        let mail = TextBlock::new(content).with("from", "user");
        mail.with("type", "message").render(MAIL_TAG)
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
            Shutdown request 1a2b3c4d waits for your answer.\n\
            Your plan 5e6f7a8b waits for a decision.\n</team-state>";
        let view = View::of(&[json!({"role": "user", "content": text})]);
        assert_eq!(view.task(), Some((7, Mark::new(Verb::Task, "T-000042"))));
        assert_eq!(view.shutdown().as_deref(), Some("1a2b3c4d"));
        assert!(view.waits_for_plan());
        let text = "<team-state>\nPending requests:\n  plan 5e6f7a8b of m03 waits for a decision\n</team-state>";
        let view = View::of(&[json!({"role": "user", "content": text})]);
        assert_eq!(view.plans_to_decide(), ["5e6f7a8b"]);
    }

    #[test]
    fn a_shutdown_request_is_open_from_its_mail_to_its_answer() {
        let request = |remark: Option<&str>| {
            let block = TextBlock::new("The lead is leaving.")
                .with("from", "lead")
                .with("type", "shutdown_request")
                .with("request_id", "1a2b3c4d");
            let block = remark
                .into_iter()
                .fold(block, |block, remark| block.with("remark", remark));
            json!({"role": "user", "content": block.render(MAIL_TAG)})
        };
        let asked = request(None);
        let view = View::of(std::slice::from_ref(&asked));
        assert_eq!(view.shutdown().as_deref(), Some("1a2b3c4d"));
        let input = json!({"request_id": "1a2b3c4d", "approve": true});
        let answer = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "shutdown_response", "input": input}
        ]});
        assert_eq!(View::of(&[asked, answer]).shutdown(), None);
        let void = request(Some("this has no effect: it is over"));
        assert_eq!(View::of(&[void]).shutdown(), None);
    }

    #[test]
    fn a_state_that_has_changed_in_part_is_known_whole() {
        let text = "<team-state>\nTeam: lead, you\nYour task: #7: [task T-000042]\n\
            Your plan 5e6f7a8b waits for a decision.\n</team-state>";
        let told = json!({"role": "user", "content": text});
        let text = "<team-state>\nChanged:\nYour plan 5e6f7a8b is approved.\n\
            Gone: Your plan 5e6f7a8b waits for a decision.\n</team-state>";
        let changed = json!({"role": "user", "content": text});
        let view = View::of(&[told.clone(), changed]);
        assert_eq!(view.task(), Some((7, Mark::new(Verb::Task, "T-000042"))));
        assert!(!view.waits_for_plan());
        assert!(View::of(&[told]).waits_for_plan());
    }

    #[test]
    fn what_was_done_since_the_state_was_told_is_not_done_again() {
        let state = "<team-state>\nYour task: #7: [task T-000042]\n\
            Shutdown request 1a2b3c4d waits for your answer.\n</team-state>";
        let told = json!({"role": "user", "content": state});
        let call = |name: &str, input: Value| {
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": name, "input": input}
            ]})
        };
        let answer = call("shutdown_response", json!({"request_id": "1a2b3c4d"}));
        let update = call("task_update", json!({"task_id": 7}));
        let plan = call("plan_approval", json!({"plan": "look"}));
        let view = View::of(&[told.clone(), answer, update, plan]);
        assert_eq!((view.shutdown(), view.task()), (None, None));
        assert!(view.waits_for_plan());
        let view = View::of(&[told.clone(), told]);
        assert!(view.shutdown().is_some() && view.task().is_some());
    }

    #[test]
    fn a_message_that_a_compaction_repeats_is_heard_only_if_it_is_open() {
        let text = format!(
            "<user-messages>\nWord for word.\n[message 1]\n{}\n[message 2, not answered yet]\n{}\n\
             </user-messages>",
            mail("[order A-000001 m07]"),
            mail("[order A-000002 m07]")
        );
        let view = View::of(&[json!({"role": "user", "content": text})]);
        let open = view.open_orders();
        assert_eq!(open.len(), 1, "{open:?}");
        assert_eq!(open[0].0, Mark::new(Verb::Note, "A-000002"));
    }
}
