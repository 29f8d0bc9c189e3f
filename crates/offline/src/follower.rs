//! Replays the events of a conversation to find out how far each instruction is.

use serde_json::json;

use crate::clause::{Clause, parse};
use crate::event::{Event, Mail};
use crate::identity::Identity;
use crate::names::Known;
use crate::plan::{self, READY, decision};
use crate::report;
use crate::step::{Awaited, Call, Job, Step};
use crate::table::Verb;

mod advance;

/// How many plans are submitted for one instruction.
const MOST_PLANS: u32 = 4;

/// A message, and whether an instruction used it or the user was told about it.
#[derive(Clone, Debug)]
struct Received {
    mail: Mail,
    used: bool,
    reported: bool,
}

/// What a job does next.
#[derive(Clone, Debug, PartialEq)]
enum Next {
    Call(Call),
    /// It waits for this.
    Wait(String),
    Finished,
}

/// The state of the agent after a part of its conversation.
#[derive(Debug)]
pub(crate) struct Follower<'a> {
    me: Identity<'a>,
    jobs: Vec<Job>,
    inbox: Vec<Received>,
    known: Known,
    /// What the agent was asked to do so far.
    asked: Vec<String>,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(me: Identity<'a>) -> Self {
        Self {
            me,
            jobs: Vec::new(),
            inbox: Vec::new(),
            known: Known::default(),
            asked: Vec::new(),
        }
    }

    pub(crate) fn replay(&mut self, event: Event) {
        match event {
            Event::Instruction(text) => {
                let speaker = (!self.me.is_lead()).then_some("lead");
                let job = self.order(&text, speaker, false);
                self.jobs.extend(job);
            }
            Event::Mail(mail) => self.receive(mail),
            Event::Claimed { id, work } => self.claimed(id, &work),
            Event::Background(content) => self.receive(Mail {
                kind: "background".to_owned(),
                content,
                ..Mail::default()
            }),
            Event::Result(outcome) => self.result(&outcome),
            Event::Said => {
                let nexts = self.nexts();
                let mut nexts = nexts.iter();
                self.jobs.retain(|_| nexts.next() != Some(&Next::Finished));
                for received in &mut self.inbox {
                    received.reported = true;
                }
            }
        }
    }

    /// The call that comes next. The answer to a shutdown request comes last.
    pub(crate) fn next_call(&mut self) -> Option<Call> {
        self.jobs.sort_by_key(|job| job.is_shutdown);
        let mut nexts = self.nexts().into_iter();
        nexts.find_map(|next| match next {
            Next::Call(call) => Some(call),
            Next::Wait(_) | Next::Finished => None,
        })
    }

    /// What was done, what came, and what is awaited.
    pub(crate) fn report(&mut self) -> String {
        let mut waits = Vec::new();
        for next in self.nexts() {
            if let Next::Wait(what) = next
                && !waits.contains(&what)
            {
                waits.push(what);
            }
        }
        let done = self.jobs.iter().flat_map(|job| &job.report).cloned();
        let mut lines: Vec<String> = done.collect();
        let new = self.inbox.iter().filter(|new| !new.used && !new.reported);
        lines.extend(new.map(|new| report::mail(&new.mail)));
        if lines.len() + waits.len() > 1 {
            lines.retain(|line| !line.starts_with(READY));
        }
        if !waits.is_empty() {
            lines.push(format!("Waiting for {}.", waits.join(" and ")));
        }
        if lines.is_empty() {
            lines.push(format!("Nothing to do. {}", report::EXAMPLES));
        }
        lines.join("\n")
    }

    /// Takes mail. A teammate follows messages and agrees to a shutdown.
    fn receive(&mut self, mail: Mail) {
        let job = match mail.kind.as_str() {
            _ if self.me.is_lead() => None,
            "message" => self.message(&mail),
            "shutdown_request" => {
                let reason = "Nothing is in hand.";
                let id = &mail.request_id;
                let input = json!({"request_id": id, "approve": true, "reason": reason});
                let mut job = Job::new(vec![Step::Call(Call("shutdown_response", input))]);
                job.is_shutdown = true;
                Some(job)
            }
            _ => None,
        };
        let (used, reported) = (job.is_some(), false);
        self.inbox.push(Received {
            mail,
            used,
            reported,
        });
        self.jobs.extend(job);
    }

    fn message(&mut self, mail: &Mail) -> Option<Job> {
        // Nobody can write to a user or to an unsigned line: the answer goes to the lead.
        let speaker = match mail.from.as_str() {
            "user" | "unsigned" => "lead",
            from => from,
        };
        let text = mail.content.trim();
        let asks = !text.is_empty() && !report::is_reply(text);
        asks.then(|| self.order(text, Some(speaker), true))?
    }

    /// The job for an instruction; none for mail that asks for nothing.
    fn order(&mut self, text: &str, speaker: Option<&str>, is_mail: bool) -> Option<Job> {
        self.known.speaker = speaker.map(str::to_owned);
        let parsed = parse(text, &mut self.known);
        let understood = !parsed.clauses.is_empty();
        let asks = text.contains('?');
        let thanks = report::opens_with(text, "thanks thank ok okay noted great good");
        if is_mail && !understood && !asks && (speaker != Some("lead") || thanks) {
            return None;
        }
        let mut steps = plan::steps(&parsed.clauses, &self.me);
        let greets = is_mail && report::opens_with(text, "hello hi hey");
        if !understood && (asks || greets) {
            let answer = report::open_answer(text, &self.asked, &self.me);
            steps.push(Step::Note(answer));
        } else {
            let unclear = parsed.unclear.iter();
            let notes = unclear.map(|text| report::not_understood(text));
            steps.extend(notes.map(Step::Note));
        }
        if understood {
            self.asked.push(text.to_owned());
        } else if !is_mail {
            steps.push(Step::Note(report::EXAMPLES.to_owned()));
        }
        let answers = |clause: &Clause| match clause.verb {
            Verb::Send => clause.names.iter().any(|to| Some(to.as_str()) == speaker),
            verb => verb == Verb::SubmitPlan,
        };
        if is_mail && !parsed.clauses.iter().any(answers) {
            let sender = speaker.filter(|name| !name.is_empty());
            steps.extend(sender.map(|name| Step::Reply(name.to_owned())));
        }
        let topic = |clause: &&Clause| clause.verb == Verb::Topic;
        let mut job = Job::new(steps);
        job.topic = parsed.clauses.iter().find(topic).map(Clause::text);
        Some(job)
    }

    fn claimed(&mut self, id: i64, work: &str) {
        let parsed = parse(work, &mut self.known);
        let subject = work.lines().next().unwrap_or_default();
        let mut steps = vec![Step::Note(format!("Task #{id}: {subject}"))];
        steps.extend(plan::steps(&parsed.clauses, &self.me));
        if parsed.clauses.is_empty() {
            steps.push(Step::Note(report::not_understood(work)));
        }
        steps.push(Step::Complete(id));
        let mut job = Job::new(steps);
        job.topic = Some(subject.to_owned());
        self.jobs.push(job);
    }

    /// What each job does next.
    fn nexts(&mut self) -> Vec<Next> {
        let count = self.jobs.len();
        (0..count).map(|at| self.next(at)).collect()
    }

    /// Brings a job to its next call, wait or end.
    fn next(&mut self, at: usize) -> Next {
        let mut job = std::mem::take(&mut self.jobs[at]);
        let next = loop {
            if let Some(next) = self.settle(&mut job) {
                break next;
            }
        };
        self.jobs[at] = job;
        next
    }

    /// Carries out a step that needs no tool, or says what comes next.
    fn settle(&mut self, job: &mut Job) -> Option<Next> {
        let Some(step) = job.steps.pop_front() else {
            return Some(Next::Finished);
        };
        let next = match &step {
            Step::Await(Awaited::Decision) if self.decided(job) => return None,
            Step::Await(awaited) => match self.arrived(job, awaited) {
                Some(report) => {
                    job.report.push(report);
                    return None;
                }
                None => Next::Wait(report::awaited(awaited)),
            },
            Step::Decide { from, .. } if job.unreachable.contains(from) => return None,
            Step::Decide { from, .. } if self.plan_of(from).is_none() => {
                Next::Wait(report::awaited(&Awaited::Plan(from.clone())))
            }
            step => Next::Call(self.call_of(job, step)?),
        };
        if let Next::Call(Call(tool, _)) = next
            && !self.me.has(tool)
        {
            let note = format!("I have no tool {tool} here, so that step is left out.");
            job.report.push(note);
            return None;
        }
        job.steps.push_front(step);
        Some(next)
    }

    /// The call that a step makes; none if the step needs no call and is done.
    fn call_of(&self, job: &mut Job, step: &Step) -> Option<Call> {
        match step {
            Step::Call(call) => return Some(call.clone()),
            Step::Decide {
                from,
                approve,
                feedback,
            } => {
                let plan = &self.inbox.get(self.plan_of(from)?)?.mail;
                let id = plan.request_id.as_deref().unwrap_or_default();
                return Some(decision(id, *approve, feedback.as_ref()));
            }
            Step::ListFiles { command, .. } => {
                return Some(Call("bash", json!({"command": command})));
            }
            Step::ReadListed(path) => return Some(Call("read_file", json!({"path": path}))),
            Step::Reply(to) => {
                let content = report::reply(&job.report);
                return Some(Call("send_message", json!({"to": to, "content": content})));
            }
            Step::Complete(id) => {
                let mut input = json!({"task_id": id, "status": "completed"});
                if self.me.takes("task_update", "result") {
                    input["result"] = json!(report::reply(&job.report));
                }
                return Some(Call("task_update", input));
            }
            Step::Note(text) => job.report.push(text.clone()),
            Step::CountRead(dir) => job.report.push(report::read(dir, job)),
            Step::Chain => advance::chain(job),
            Step::ShutdownListed => advance::shut_down_listed(job),
            Step::Await(_) => {}
        }
        None
    }

    /// The place of a teammate's plan that nobody decided about.
    fn plan_of(&self, from: &str) -> Option<usize> {
        let is_plan = |mail: &Mail| mail.submits_plan() && mail.is_from(from);
        let mut inbox = self.inbox.iter();
        inbox.rposition(|received| !received.used && is_plan(&received.mail))
    }

    /// Uses the first message after `since` that fits.
    fn take(&mut self, since: usize, fits: impl Fn(&Mail) -> bool) -> Option<Mail> {
        let mut new = self.inbox.iter_mut().skip(since);
        let received = new.find(|received| !received.used && fits(&received.mail))?;
        received.used = true;
        Some(received.mail.clone())
    }

    /// The report about awaited mail, if it has come.
    fn arrived(&mut self, job: &Job, awaited: &Awaited) -> Option<String> {
        match awaited {
            Awaited::Idle(name) | Awaited::Shutdown(name) if job.unreachable.contains(name) => {
                Some(format!("I do not wait for {name}."))
            }
            Awaited::Idle(name) => {
                let since = job.contacted.get(name).copied().unwrap_or(0);
                let has_work = job.sent.contains(name);
                let mail = self.take(since, |mail| {
                    // A teammate that was just started says that it is ready.
                    let ready = mail.content.starts_with(READY) && !mail.content.contains('\n');
                    let idle = mail.is("idle_notification", name) && !(has_work && ready);
                    idle || report::reports_end(mail, name)
                })?;
                Some(format!("{name} reports: {}", report::short(&mail.content)))
            }
            Awaited::Shutdown(name) => {
                let ends = |mail: &Mail| {
                    mail.is("shutdown_response", name) || report::reports_end(mail, name)
                };
                let mail = self.take(0, ends)?;
                Some(report::shutdown_answer(name, &mail))
            }
            Awaited::Plan(name) => {
                let mail = &self.inbox.get(self.plan_of(name)?)?.mail;
                let plan = mail.plan.as_ref().unwrap_or(&mail.content);
                Some(format!("Plan of {name}: {}", report::short(plan)))
            }
            Awaited::Background => {
                let mail = self.take(0, |mail| mail.kind == "background")?;
                Some(format!("Background: {}", report::short(&mail.content)))
            }
            Awaited::Decision => None,
        }
    }

    /// Goes on with the lead's decision about the agent's own plan, if it has come.
    fn decided(&mut self, job: &mut Job) -> bool {
        let own = job.plan_id.clone();
        let decides = |mail: &Mail| {
            let same = mail.request_id.is_none() || own.is_none() || mail.request_id == own;
            mail.kind == "plan_approval_response" && !mail.submits_plan() && same
        };
        let Some(mail) = self.take(0, decides) else {
            return false;
        };
        if mail.approve == Some(true) {
            job.report.push("My plan was approved.".to_owned());
            return true;
        }
        let feedback = report::short(mail.feedback.as_ref().unwrap_or(&mail.content));
        job.report.push(format!("My plan was rejected: {feedback}"));
        if job.plans < MOST_PLANS {
            self.submit(job, &format!("\nRevised after the feedback: {feedback}"));
            return true;
        }
        job.report.push("I give this work up.".to_owned());
        let is_answer = |step: &Step| matches!(step, Step::Reply(_) | Step::Complete(_));
        job.steps.retain(is_answer);
        true
    }

    /// Puts a plan of all steps that are left before them.
    fn submit(&self, job: &mut Job, revision: &str) {
        job.plans += 1;
        let plan = report::plan(&self.me, job.topic.as_deref(), &job.steps);
        job.steps.push_front(Step::Await(Awaited::Decision));
        job.call_first(
            "plan_approval",
            json!({"plan": format!("{plan}{revision}")}),
        );
    }
}
