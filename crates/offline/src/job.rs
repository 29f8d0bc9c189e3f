//! One instruction that is being carried out.
//!
//! A job is a future. Its code reads as if tools answered at once: it makes a call and awaits the
//! result, or awaits mail. The follower polls it after each event of the conversation.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use serde_json::{Value, json};

use crate::event::Outcome;
use crate::identity::Identity;
use crate::mail::{Awaited, Mail};
use crate::parse::Clause;
use crate::report;

/// How many plans are submitted for one instruction.
const MOST_PLANS: u32 = 4;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call(pub(crate) &'static str, pub(crate) Value);

/// What a job does next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Next {
    Call(Call),
    /// It waits for this.
    Wait(String),
    #[default]
    Finished,
}

/// What a job shares with the follower.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) next: Next,
    /// The result of the call that was next.
    pub(crate) result: Option<Outcome>,
    pub(crate) report: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Job<'a> {
    pub(crate) me: Identity<'a>,
    pub(crate) link: Rc<RefCell<Link>>,
    pub(crate) inbox: Rc<RefCell<Vec<Mail>>>,
    /// What has to come before the next step that may depend on it.
    pub(crate) waits: Vec<Awaited>,
    /// The ids of the tasks that were created; `None` if a result was cleared.
    pub(crate) tasks: Vec<Option<i64>>,
    /// What the work is about, if it was only named.
    pub(crate) topic: Option<String>,
    /// What is reported after the work.
    pub(crate) notes: Vec<String>,
    /// The call that ends the job, with `null` for the report.
    pub(crate) last: Option<Call>,
    /// How many plans were submitted, and whether the last was one too many.
    pub(crate) plans: u32,
    pub(crate) is_given_up: bool,
}

impl Job<'_> {
    /// Follows the clauses. The last call is made also if the work was given up.
    pub(crate) async fn run(mut self, clauses: Vec<Clause>) {
        self.follow(&clauses).await;
        self.link.borrow_mut().report.append(&mut self.notes);
        self.is_given_up = false;
        let Some(Call(tool, mut input)) = self.last.take() else {
            return;
        };
        let reply = report::reply(&self.link.borrow().report);
        for (_, value) in input.as_object_mut().into_iter().flatten() {
            if value.is_null() {
                *value = json!(reply);
            }
        }
        match tool {
            "send_message" => self.call(tool, input).await,
            _ => self.act(tool, input).await,
        };
    }

    /// Adds a line to the report.
    pub(crate) fn say(&self, line: impl Into<String>) {
        self.link.borrow_mut().report.push(line.into());
    }

    /// Makes a call and reports its result.
    pub(crate) async fn act(&mut self, tool: &'static str, input: Value) -> Outcome {
        let outcome = self.call(tool, input).await;
        if !outcome.failed {
            self.say(report::outcome(&outcome));
        }
        outcome
    }

    /// Makes a call and reports its failure. A call that is refused until a plan is approved is made
    /// again after the approval, and an interrupted one once. A file that is to be replaced is read first
    /// where that is asked for.
    pub(crate) async fn call(&mut self, tool: &'static str, input: Value) -> Outcome {
        let (mut interrupted, mut has_read) = (false, false);
        let outcome = loop {
            let outcome = self.ask(tool, &input).await;
            if self.is_gated(&outcome) {
                let step = report::describe(tool, &input);
                let plan = report::plan(&self.me, self.topic.as_deref(), &step);
                self.submit(&plan).await;
            } else if !interrupted && may_repeat(&outcome) {
                interrupted = true;
            } else if !has_read && wants_reading(&outcome) {
                has_read = true;
                self.ask("read_file", &json!({"path": outcome.text("path")}))
                    .await;
            } else {
                break outcome;
            }
        };
        if outcome.failed {
            self.say(report::outcome(&outcome));
        }
        outcome
    }

    async fn ask(&self, tool: &'static str, input: &Value) -> Outcome {
        let content = match self.me.has(tool) {
            false => format!("I have no tool {tool} here, so that step is left out."),
            true if self.is_given_up => "My plan was not approved, so I give it up.".to_owned(),
            true => {
                let next = Next::Call(Call(tool, input.clone()));
                return self.until(next, |link, _| link.result.take()).await;
            }
        };
        let (tool, input, failed) = (tool.to_owned(), input.clone(), true);
        Outcome {
            tool,
            input,
            content,
            failed,
        }
    }

    /// Submits a plan until it is approved. It is revised after each rejection.
    pub(crate) async fn submit(&mut self, plan: &str) {
        let mut text = plan.to_owned();
        loop {
            self.plans += 1;
            let outcome = self.ask("plan_approval", &json!({"plan": text})).await;
            self.say(report::outcome(&outcome));
            if outcome.failed {
                return;
            }
            let id = report::request_id(&outcome.content);
            let decision = self.wait(&Awaited::Decision(id.to_owned())).await;
            if decision.approve == Some(true) {
                return;
            }
            if self.plans >= MOST_PLANS {
                self.is_given_up = true;
                return;
            }
            text = format!("{plan}\nRevised after the feedback: {}", decision.text());
        }
    }

    /// Whether a tool was refused because a plan has to be approved first.
    fn is_gated(&self, outcome: &Outcome) -> bool {
        let text = outcome.content.to_lowercase();
        let says = text.contains("plan") && (text.contains("approv") || text.contains("submit"));
        let may = self.me.has("plan_approval") && !self.me.is_lead() && self.plans < MOST_PLANS;
        outcome.failed && says && may && outcome.tool != "plan_approval"
    }

    /// Waits before the next step that may depend on a call, if the call worked. Only the lead
    /// waits for teammates.
    pub(crate) fn wait_later(&mut self, call: &Outcome, awaited: Awaited) {
        if !call.failed && (self.me.is_lead() || matches!(awaited, Awaited::Background)) {
            self.waits
                .retain(|other| other.waiting() != awaited.waiting());
            self.waits.push(awaited);
        }
    }

    /// The report about work that is given now.
    pub(crate) fn report_of(&self, name: &str) -> Awaited {
        Awaited::Report(name.to_owned(), Some(self.inbox.borrow().len()))
    }

    pub(crate) async fn wait_now(&mut self) {
        for awaited in std::mem::take(&mut self.waits) {
            self.wait(&awaited).await;
        }
    }

    /// Waits for mail and reports it.
    pub(crate) async fn wait(&self, awaited: &Awaited) -> Mail {
        let look = |_: &mut Link, inbox: &mut [Mail]| awaited.take(inbox);
        let mail = self.until(Next::Wait(awaited.waiting()), look).await;
        self.say(awaited.words(&mail).1);
        mail
    }

    /// Waits until there is what the function looks for; `next` says what that is.
    async fn until<T>(&self, next: Next, look: impl Fn(&mut Link, &mut [Mail]) -> Option<T>) -> T {
        let looked = poll_fn(|_| {
            let link = &mut *self.link.borrow_mut();
            let found = look(link, &mut self.inbox.borrow_mut());
            link.next = next.clone();
            found.map_or(Poll::Pending, Poll::Ready)
        });
        looked.await
    }
}

/// Whether a file was not replaced because it was not read before.
fn wants_reading(outcome: &Outcome) -> bool {
    outcome.failed && outcome.tool == "write_file" && outcome.content.contains("not read it")
}

/// Whether a call was interrupted before it had an effect, or can be made twice without harm.
fn may_repeat(outcome: &Outcome) -> bool {
    let harmless = ["read_file", "write_file", "task_list", "list_teammates"];
    let says = outcome.content.to_lowercase();
    let early = says.contains("interrupted before") || harmless.contains(&outcome.tool.as_str());
    outcome.failed && says.contains("interrupted") && early
}
