//! Replays the events of a conversation to find out how far each instruction is.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use serde_json::json;

use crate::event::{Event, Outcome};
use crate::identity::Identity;
use crate::job::{Call, Job, Link, Next};
use crate::mail::Mail;
use crate::names::Known;
use crate::parse::{Clause, parse};
use crate::plan::READY;
use crate::report;
use crate::table::Verb;

struct Running<'a> {
    link: Rc<RefCell<Link>>,
    future: Pin<Box<dyn Future<Output = ()> + 'a>>,
}

impl Running<'_> {
    /// Brings the job to its next call, wait or end.
    fn poll(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        if self.future.as_mut().poll(&mut context).is_ready() {
            self.link.borrow_mut().next = Next::Finished;
        }
    }

    fn next(&self) -> Next {
        self.link.borrow().next.clone()
    }
}

/// The state of the agent after a part of its conversation.
#[derive(Default)]
pub(crate) struct Follower<'a> {
    pub(crate) me: Identity<'a>,
    jobs: Vec<Running<'a>>,
    inbox: Rc<RefCell<Vec<Mail>>>,
    known: Known,
    /// What the agent was asked to do so far.
    asked: Vec<String>,
    /// Whether it has agreed to end. Its process says nothing more, and what follows is for the next one.
    has_ended: bool,
}

impl<'a> Follower<'a> {
    pub(crate) fn replay(&mut self, event: Event) {
        if self.has_ended && !matches!(event, Event::Result(_)) {
            self.has_ended = false;
            self.forget_finished();
        }
        match event {
            Event::Instruction(text) => {
                let speaker = (!self.me.is_lead()).then_some("lead");
                self.order(&text, speaker, false);
            }
            Event::Mail(mail) => self.receive(mail),
            Event::Claimed { id, work } => self.claimed(id, &work),
            Event::Result(outcome) => self.result(outcome),
            Event::Said { .. } => self.forget_finished(),
        }
    }

    /// Leaves what is done out of the reports to come.
    fn forget_finished(&mut self) {
        self.jobs.retain(|job| job.next() != Next::Finished);
        for mail in self.inbox.borrow_mut().iter_mut() {
            mail.reported = true;
        }
    }

    /// The call that comes next, and its job. The answer to a shutdown request comes last.
    pub(crate) fn next_call(&self) -> Option<(usize, Call)> {
        let jobs = self.jobs.iter().enumerate();
        let calls = jobs.filter_map(|(at, job)| match job.next() {
            Next::Call(call) => Some((at, call)),
            Next::Wait(_) | Next::Finished => None,
        });
        calls.min_by_key(|(_, call)| call.0 == "shutdown_response")
    }

    /// What was done, what came, and what is awaited.
    pub(crate) fn report(&self) -> String {
        let (mut lines, mut waits) = (Vec::new(), Vec::new());
        for job in &self.jobs {
            let link = job.link.borrow();
            lines.extend(link.report.iter().cloned());
            match &link.next {
                Next::Wait(what) if !waits.contains(what) => waits.push(what.clone()),
                _ => {}
            }
        }
        let inbox = self.inbox.borrow();
        let new = inbox.iter().filter(|mail| !mail.used && !mail.reported);
        lines.extend(new.map(report::mail));
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

    fn start(&mut self, mut job: Job<'a>, clauses: Vec<Clause>) {
        (job.me, job.inbox) = (self.me, Rc::clone(&self.inbox));
        let link = Rc::clone(&job.link);
        let future = Box::pin(job.run(clauses));
        let mut running = Running { link, future };
        running.poll();
        self.jobs.push(running);
    }

    /// Takes mail. A teammate follows messages and agrees to a shutdown; the lead follows the user.
    fn receive(&mut self, mut mail: Mail) {
        mail.used = match mail.kind.as_str() {
            "message" if self.me.is_lead() && mail.from == "user" => {
                let text = mail.content.trim();
                self.order(text, None, true)
            }
            _ if self.me.is_lead() => false,
            "message" => {
                // Nobody can write to a user or to an unsigned line: the answer goes to the lead.
                let speaker = match mail.from.as_str() {
                    "user" | "unsigned" => "lead",
                    from => from,
                };
                let text = mail.content.trim();
                let asks = !text.is_empty() && !text.starts_with("Re:");
                asks && self.order(text, Some(speaker), true)
            }
            "shutdown_request" => {
                let id = mail.request_id.as_deref().unwrap_or_default();
                let reason = "Nothing is in hand.";
                let input = json!({"request_id": id, "approve": true, "reason": reason});
                let last = Some(Call("shutdown_response", input));
                self.start(
                    Job {
                        last,
                        ..Job::default()
                    },
                    Vec::new(),
                );
                true
            }
            _ => false,
        };
        self.inbox.borrow_mut().push(mail);
        let waiting = |job: &&mut Running<'_>| matches!(job.next(), Next::Wait(_));
        self.jobs.iter_mut().filter(waiting).for_each(Running::poll);
    }

    /// Starts the job of an instruction. Mail may ask for nothing.
    fn order(&mut self, text: &str, speaker: Option<&str>, is_mail: bool) -> bool {
        self.known.speaker = speaker.map(str::to_owned);
        let parsed = parse(text, &mut self.known);
        let understood = !parsed.clauses.is_empty();
        let asks = text.contains('?');
        let thanks = report::opens_with(text, "thanks thank ok okay noted great good");
        if is_mail && !understood && !asks && (speaker != Some("lead") || thanks) {
            return false;
        }
        let unclear = parsed.unclear.iter();
        let mut notes: Vec<String> = unclear.map(|text| report::not_understood(text)).collect();
        let greets = is_mail && report::opens_with(text, "hello hi hey");
        if !understood && (asks || greets) {
            notes = vec![report::open_answer(text, &self.asked, &self.me)];
        }
        if understood {
            self.asked.push(text.to_owned());
        } else if !is_mail {
            notes.push(report::EXAMPLES.to_owned());
        }
        let answers = |clause: &Clause| match clause.verb {
            Verb::Send => clause.names.iter().any(|to| Some(to.as_str()) == speaker),
            verb => verb == Verb::SubmitPlan,
        };
        let answered = !is_mail || parsed.clauses.iter().any(answers);
        let sender = speaker.filter(|name| !answered && !name.is_empty());
        let last = sender.map(|to| Call("send_message", json!({"to": to, "content": null})));
        let topic = |clause: &&Clause| clause.verb == Verb::Topic;
        let topic = parsed.clauses.iter().find(topic).and_then(Clause::text);
        let topic = topic.map(str::to_owned);
        let job = Job {
            topic,
            notes,
            last,
            ..Job::default()
        };
        self.start(job, parsed.clauses);
        true
    }

    fn claimed(&mut self, id: i64, work: &str) {
        let parsed = parse(work, &mut self.known);
        let subject = work.lines().next().unwrap_or_default().to_owned();
        let input = json!({"task_id": id, "status": "completed", "result": null});
        let mut job = Job {
            last: Some(Call("task_update", input)),
            ..Job::default()
        };
        job.say(format!("Task #{id}: {subject}"));
        job.topic = Some(subject);
        if parsed.clauses.is_empty() {
            job.notes.push(report::not_understood(work));
        }
        self.start(job, parsed.clauses);
    }

    /// Takes the result of the call that was next.
    fn result(&mut self, outcome: Outcome) {
        if outcome.tool == "read_inbox" && !outcome.failed {
            for mut mail in Mail::read_all(&outcome.content) {
                mail.reported = true;
                self.receive(mail);
            }
        }
        let decided = outcome.input["request_id"].as_str();
        if let Some(id) = decided.filter(|_| outcome.tool == "plan_approval") {
            let mut inbox = self.inbox.borrow_mut();
            let same = |mail: &&mut Mail| mail.request_id.as_deref() == Some(id);
            inbox
                .iter_mut()
                .filter(same)
                .for_each(|mail| mail.used = true);
        }
        self.has_ended |= outcome.ends_the_process();
        let Some((at, call)) = self.next_call() else {
            return;
        };
        // A file of a list may have been read before the list was lost.
        let lists = call.1["command"].as_str().is_some_and(report::is_list);
        let answers = call.0 == outcome.tool || lists && outcome.tool == "read_file";
        if let Some(job) = self.jobs.get_mut(at).filter(|_| answers) {
            job.link.borrow_mut().result = Some(outcome);
            job.poll();
        }
    }
}
