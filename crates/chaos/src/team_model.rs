//! The model of the whole team: it reads a request, takes the next step, and fails now and then.
//!
//! A member carries out its orders and its task by tool calls only. The model has no memory: like a real
//! one it knows what was done from the conversation alone. So whatever the program forgets or repeats
//! shows in what is sent.

pub(crate) mod view;

use crate::tags::Mark;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use test_support::Rng;
use test_support::llm_server::{CapturedRequest, ServerReply};
use view::View;

/// The name of the lead's model. Each member's model has the name of the member.
pub(crate) const LEAD: &str = "lead";
/// How many orders are carried out in one reply.
const AT_ONCE: usize = 3;
/// How long the model waits after a failed tool call before it tries again: a full disk may have space by
/// then.
const AFTER_FAILURE: Duration = Duration::from_millis(700);

/// The model of the whole team.
#[derive(Debug)]
pub(crate) struct TeamModel {
    state: Mutex<State>,
    /// Whether no request fails any more.
    no_faults: AtomicBool,
    /// Whether every request fails.
    outage: AtomicBool,
    errors: AtomicUsize,
    requests: AtomicUsize,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    agents: BTreeMap<String, Observed>,
}

/// What was observed of an agent's requests. The answers do not depend on it.
#[derive(Debug, Clone, Default)]
struct Observed {
    /// How often each message occurred at most in one request.
    shown: BTreeMap<Mark, usize>,
    /// How many orders were open in its last request.
    open: usize,
}

/// What a model does next.
#[derive(Debug, Clone, PartialEq)]
enum NextStep {
    /// Uses tools.
    Call(Vec<(&'static str, Value)>),
    /// Ends its turn.
    Say(String),
}

impl TeamModel {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: Mutex::new(State {
                rng: Rng::new(seed ^ 0xb4a1),
                agents: BTreeMap::new(),
            }),
            no_faults: AtomicBool::new(false),
            outage: AtomicBool::new(false),
            errors: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
        }
    }

    /// From now on no request fails.
    pub(crate) fn stop_faults(&self) {
        self.set_outage(false);
        self.no_faults.store(true, Ordering::SeqCst);
    }

    /// Whether every request fails from now on.
    pub(crate) fn set_outage(&self, outage: bool) {
        self.outage.store(outage, Ordering::SeqCst);
    }

    /// How many requests were answered with an error, or not to the end.
    pub(crate) fn errors(&self) -> usize {
        self.errors.load(Ordering::SeqCst)
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// How many orders each agent had not carried out when it last asked, of those that had any.
    pub(crate) fn open(&self) -> BTreeMap<String, usize> {
        let state = self.state();
        let open = state.agents.iter().filter(|(_, memory)| memory.open > 0);
        open.map(|(name, memory)| (name.clone(), memory.open))
            .collect()
    }

    /// How often each message occurred at most in one request of its reader.
    pub(crate) fn shown(&self) -> BTreeMap<(String, Mark), usize> {
        let state = self.state();
        let all = state.agents.iter().flat_map(|(name, memory)| {
            let shown = memory.shown.iter();
            shown.map(|(mark, count)| ((name.clone(), mark.clone()), *count))
        });
        all.collect()
    }

    /// Answers a request. The answer is delayed by sleeping here.
    pub(crate) fn answer(&self, request: &CapturedRequest) -> ServerReply {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let name = request.model().to_owned();
        if request.asks_for_summary() {
            return ServerReply::summary("All mail was handled.");
        }
        let view = View::of(request.messages());
        let next = if name == LEAD {
            lead(&view)
        } else {
            member(&name, &view)
        };
        let (dice, think) = {
            let mut state = self.state();
            state.remember(&name, &view);
            (state.rng.below(1000), state.rng.below(60))
        };
        let pause = if view.failed {
            AFTER_FAILURE
        } else {
            Duration::from_millis(think)
        };
        thread::sleep(pause);
        let reply = match next {
            NextStep::Call(calls) => ServerReply::calls(calls),
            NextStep::Say(text) => ServerReply::text(&text),
        };
        self.perhaps_err(reply, dice)
    }

    fn perhaps_err(&self, reply: ServerReply, dice: u64) -> ServerReply {
        // Real servers send this header too. Without it, each failure would cost a second.
        let soon = |reply: ServerReply| reply.header("retry-after-ms", "80");
        let dice = match (
            self.outage.load(Ordering::SeqCst),
            self.no_faults.load(Ordering::SeqCst),
        ) {
            (true, _) => dice % 70,
            (false, true) => 1000,
            (false, false) => dice,
        };
        let bad = match dice {
            0..25 => soon(ServerReply::rate_limited(None)),
            25..50 => soon(ServerReply::overloaded()),
            50..70 => soon(ServerReply::failed()),
            70..85 => reply.cut_after(3),
            85..92 => reply.corrupt(2),
            92..98 => ServerReply::closed(),
            98..110 => {
                thread::sleep(Duration::from_secs(1 + dice % 3));
                return reply;
            }
            _ => return reply,
        };
        self.errors.fetch_add(1, Ordering::SeqCst);
        bad
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remember(&mut self, name: &str, view: &View) {
        let memory = self.agents.entry(name.to_owned()).or_default();
        for (tag, count) in &view.mail {
            let shown = memory.shown.entry(tag.mark.clone()).or_default();
            *shown = (*shown).max(*count);
        }
        memory.open = view.open_orders().len() + view.open_plans().len();
    }
}

/// The next step of the lead: it decides pending plans.
fn lead(view: &View) -> NextStep {
    let plans = view.plans_to_decide().into_iter();
    let decide = |id: String| ("plan_approval", json!({"request_id": id, "approve": true}));
    let calls: Vec<_> = plans.map(decide).take(AT_ONCE).collect();
    if calls.is_empty() {
        NextStep::Say("Noted.".to_owned())
    } else {
        NextStep::Call(calls)
    }
}

/// The next step of a member: it answers requests first, then carries out its orders, then its task.
fn member(name: &str, view: &View) -> NextStep {
    if let Some(id) = view.shutdown() {
        let answer = json!({"request_id": id, "approve": true});
        return NextStep::Call(vec![("shutdown_response", answer)]);
    }
    let options = view.open_orders();
    if !options.is_empty() {
        let send = |(note, to): (Mark, String)| {
            let content = format!("{note} from {name}");
            ("send_message", json!({"to": to, "content": content}))
        };
        return NextStep::Call(options.into_iter().map(send).take(AT_ONCE).collect());
    }
    if let Some(plan) = view.open_plans().first() {
        let plan = format!("{plan} of {name}: change nothing.");
        return NextStep::Call(vec![("plan_approval", json!({"plan": plan}))]);
    }
    match view.task() {
        Some((number, mark)) if !view.waits_for_plan() => {
            NextStep::Call(vec![work(name, view, number, &mark)])
        }
        Some(_) | None => NextStep::Say("Done.".to_owned()),
    }
}

/// The next step of a task: its work, and then its completion.
fn work(name: &str, view: &View, number: u64, mark: &Mark) -> (&'static str, Value) {
    if view.is_done("bash", mark) {
        let update = json!({"task_id": number, "status": "completed", "result": format!("{mark} by {name}")});
        ("task_update", update)
    } else {
        // The command takes long enough to be killed, and starts a second process that must be ended too.
        let command = format!("sleep 3600 & sleep 0.2; echo '{mark} {name}' >> work.log");
        ("bash", json!({"command": command}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::Verb;
    use protocol::{MAIL_TAG, TextBlock};

    fn heard(text: &str) -> View {
        View::of(&[json!({"role": "user", "content": text})])
    }

    fn mail(content: &str) -> String {
        TextBlock::new(content)
            .with("from", "user")
            .render(MAIL_TAG)
    }

    fn tools(next: &NextStep) -> Vec<&'static str> {
        match next {
            NextStep::Call(calls) => calls.iter().map(|(tool, _)| *tool).collect(),
            NextStep::Say(_) => Vec::new(),
        }
    }

    #[test]
    fn a_member_answers_first_and_works_last() {
        let state = "<team-state>\nYour task: #3: [task T-000003]\n</team-state>";
        let order = mail("[order A-000001 m02]");
        assert_eq!(tools(&member("m01", &heard(state))), ["bash"]);
        let both = format!("{order}{state}");
        assert_eq!(tools(&member("m01", &heard(&both))), ["send_message"]);
        let leave = format!(
            "{order}<team-state>\nShutdown request 1a waits for your answer\n</team-state>"
        );
        assert_eq!(tools(&member("m01", &heard(&leave))), ["shutdown_response"]);
        assert_eq!(tools(&member("m01", &heard("hello"))), [""; 0]);
    }

    #[test]
    fn a_task_is_completed_after_its_work() {
        let mark = Mark::new(Verb::Task, "T-000003");
        let mut view = heard("hello");
        assert_eq!(work("m01", &view, 3, &mark).0, "bash");
        view.outcomes
            .insert(("bash".to_owned(), mark.clone()), view::ToolOutcome::Good);
        assert_eq!(work("m01", &view, 3, &mark).0, "task_update");
    }

    #[test]
    fn the_lead_decides_each_plan_that_waits() {
        let state =
            "<team-state>\nPending requests:\n  plan 1a of m03 waits for a decision\n</team-state>";
        assert_eq!(tools(&lead(&heard(state))), ["plan_approval"]);
        assert_eq!(tools(&lead(&heard("hello"))), [""; 0]);
    }
}
