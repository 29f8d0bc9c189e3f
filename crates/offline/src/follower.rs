//! How far the work is, found out by living through the conversation again.

use super::grammar;
use super::intent::Intent;
use super::letters::{Mail, News, mails};
use super::names::Known;
use super::plan::{self, not_understood};
use super::step::{Answered, Call, Job, Step};
use super::summary::{self, Line};
use super::who::Me;
use super::words;

mod advance;
mod settle;

pub(super) use settle::Next;

/// Mail that has come, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) mail: Mail,
    /// A plan has gone on with it.
    pub(super) used: bool,
    /// It was told to the user.
    pub(super) told: bool,
}

/// The state of the agent after some part of its conversation.
#[derive(Debug)]
pub(super) struct Follower<'a> {
    pub(super) me: Me<'a>,
    pub(super) jobs: Vec<Job>,
    pub(super) pool: Vec<Entry>,
    pub(super) known: Known,
    /// What it was asked to do so far, for someone who asks what it remembers.
    asked: Vec<String>,
    /// Whether the conversation begins with a summary of this model's own, which
    /// has all that came before it.
    restored: bool,
}

impl<'a> Follower<'a> {
    pub(super) fn new(me: Me<'a>) -> Self {
        Self {
            me,
            jobs: Vec::new(),
            pool: Vec::new(),
            known: Known::default(),
            asked: Vec::new(),
            restored: false,
        }
    }

    /// Takes in a text of the user's side.
    pub(super) fn hear(&mut self, news: News) {
        match news {
            News::Instruction(text) => self.instruction(&text),
            News::Mail(mail) => self.mail(mail),
            News::Claimed { id, work } => self.claimed(id, &work),
            News::Background(text) => self.background(&text),
            News::Summary(text) => self.restore(&text),
            News::Unanswered(_) if self.restored => {}
            News::Unanswered(text) => self.live(&summary::of_transcript(&text)),
        }
    }

    fn instruction(&mut self, text: &str) {
        self.known.speaker = (!self.me.is_lead()).then(|| "lead".to_owned());
        let parsed = grammar::parse(text, &mut self.known);
        let mut steps = plan::steps(&parsed.intents, &self.me);
        if parsed.intents.is_empty() && words::is_question(text) {
            steps.push(Step::Note(self.open_answer(text)));
        } else {
            steps.extend(
                parsed
                    .unclear
                    .iter()
                    .map(|text| Step::Note(not_understood(text))),
            );
        }
        if parsed.intents.is_empty() {
            steps.push(Step::Note(words::EXAMPLES.to_owned()));
        } else {
            self.asked.push(text.to_owned());
        }
        let topic = parsed.intents.iter().find_map(topic);
        self.jobs.push(Job {
            instruction: Some(text.to_owned()),
            topic,
            ..Job::new(steps)
        });
    }

    fn mail(&mut self, mail: Mail) {
        let mut used = false;
        if !self.me.is_lead() {
            let job = match mail.kind.as_str() {
                "message" => self.answer(&mail),
                "shutdown_request" => Some(farewell(&mail)),
                _ => None,
            };
            used = job.is_some();
            self.jobs.extend(job);
        }
        self.pool.push(Entry {
            mail,
            used,
            told: false,
        });
    }

    /// The job that a message gives a teammate, if it asks for something.
    fn answer(&mut self, mail: &Mail) -> Option<Job> {
        let text = mail.content.trim();
        if text.starts_with("Re:") || text.is_empty() {
            return None;
        }
        // Nobody can be written to who has not said his name: the answer goes to the lead.
        let person = matches!(mail.from.as_str(), "user" | "unsigned");
        let speaker = if person { "lead" } else { &mail.from };
        self.known.speaker = Some(speaker.to_owned());
        let parsed = grammar::parse(text, &mut self.known);
        let from_above = person || mail.from == "lead";
        let asks = words::is_question(text);
        if parsed.intents.is_empty() && !asks && (!from_above || words::is_thanks(text)) {
            return None;
        }
        let mut steps = plan::steps(&parsed.intents, &self.me);
        if parsed.intents.is_empty() && (asks || words::is_greeting(text)) {
            steps.push(Step::Note(self.open_answer(text)));
        } else {
            steps.extend(
                parsed
                    .unclear
                    .iter()
                    .map(|text| Step::Note(not_understood(text))),
            );
        }
        if !parsed.intents.is_empty() {
            self.asked.push(text.to_owned());
        }
        let to = speaker;
        let answered = parsed.intents.iter().any(|intent| match intent {
            Intent::Send { to: others, .. } => others.iter().any(|other| other == to),
            Intent::SubmitPlan { .. } => true,
            _ => false,
        });
        if !answered && !to.is_empty() {
            steps.push(Step::Reply { to: to.to_owned() });
        }
        let topic = parsed.intents.iter().find_map(topic);
        Some(Job {
            topic,
            ..Job::new(steps)
        })
    }

    /// The answer to words that ask for no work.
    fn open_answer(&self, text: &str) -> String {
        if words::asks_for_memory(text) {
            words::memory(&self.asked)
        } else {
            words::status(&self.me)
        }
    }

    fn claimed(&mut self, id: i64, work: &str) {
        let parsed = grammar::parse(work, &mut self.known);
        let mut steps = vec![Step::Note(format!(
            "Task #{id}: {}",
            work.lines().next().unwrap_or_default()
        ))];
        steps.extend(plan::steps(&parsed.intents, &self.me));
        if parsed.intents.is_empty() {
            steps.push(Step::Note(not_understood(work)));
        }
        steps.push(Step::Complete { id });
        let topic = Some(work.lines().next().unwrap_or_default().to_owned());
        self.jobs.push(Job {
            topic,
            ..Job::new(steps)
        });
    }

    /// One entry for each command that has ended.
    fn background(&mut self, text: &str) {
        let mut parts: Vec<String> = Vec::new();
        for line in text.lines() {
            match parts.last_mut() {
                Some(last) if !line.starts_with("[bg:") => {
                    last.push('\n');
                    last.push_str(line);
                }
                _ => parts.push(line.to_owned()),
            }
        }
        for content in parts {
            let mail = Mail {
                kind: "background".to_owned(),
                content,
                ..Mail::default()
            };
            self.pool.push(Entry {
                mail,
                used: false,
                told: false,
            });
        }
    }

    fn restore(&mut self, text: &str) {
        let lines = summary::lines(text);
        self.restored |= text.contains(summary::HEAD);
        self.live(&lines);
        if let (true, Some(order)) = (lines.is_empty(), guess(text)) {
            self.instruction(&order);
        }
    }

    /// Lives through what a summary tells.
    fn live(&mut self, lines: &[Line]) {
        for line in lines {
            match line {
                Line::Instruction(text) => {
                    let open = self
                        .jobs
                        .iter()
                        .any(|job| job.instruction.as_ref() == Some(text));
                    if !open {
                        self.instruction(text);
                    }
                }
                Line::Mail(mail) => self.mail(mail.clone()),
                Line::Claimed(id, work) => self.claimed(*id, work),
                Line::Background(text) => self.background(text),
                Line::Result {
                    tool,
                    input,
                    content,
                    failed,
                } => self.result(Answered {
                    tool,
                    input,
                    content,
                    failed: *failed,
                }),
                Line::Said => self.said(),
            }
        }
    }

    /// Takes in the result of a tool.
    pub(super) fn result(&mut self, answered: Answered<'_>) {
        let heads: Vec<Next> = (0..self.jobs.len()).map(|job| self.head(job)).collect();
        let place = |same: &dyn Fn(&Call) -> bool| {
            let is_it = |next: &Next| matches!(next, Next::Call(call) if same(call));
            heads.iter().position(is_it)
        };
        let exact = place(&|call| call.tool == answered.tool && call.input == *answered.input);
        if exact.is_none() && answered.tool == "read_file" && self.absorb(answered) {
            return;
        }
        // Words in a call may have changed when older results were shortened.
        match exact.or_else(|| place(&|call| call.tool == answered.tool)) {
            Some(job) => self.advance(job, answered),
            None if answered.tool == "read_inbox" => {
                self.inbox(answered.content);
            }
            None => {}
        }
    }

    /// Mail that a tool brought.
    pub(super) fn inbox(&mut self, content: &str) -> usize {
        let mails = mails(content.trim()).unwrap_or_default();
        let count = mails.len();
        for mail in mails {
            self.mail(mail);
        }
        count
    }

    /// Takes in that the agent has ended a turn with words.
    pub(super) fn said(&mut self) {
        let finished: Vec<bool> = (0..self.jobs.len())
            .map(|job| matches!(self.head(job), Next::Finished))
            .collect();
        let mut finished = finished.into_iter();
        self.jobs.retain(|_| !finished.next().unwrap_or(false));
        for entry in &mut self.pool {
            entry.told = true;
        }
    }
}

fn topic(intent: &Intent) -> Option<String> {
    match intent {
        Intent::Topic { text } => Some(text.clone()),
        _ => None,
    }
}

/// The answer to a request to shut down.
fn farewell(mail: &Mail) -> Job {
    let step = Step::Call(Call {
        tool: "shutdown_response",
        input: serde_json::json!({
            "request_id": mail.request_id.clone().unwrap_or_default(),
            "approve": true,
            "reason": "Nothing is in hand.",
        }),
    });
    Job {
        farewell: true,
        ..Job::new(vec![step])
    }
}

/// The order in a summary that another model wrote. Only reading can be taken up
/// again, since doing it twice does no harm.
pub(super) fn guess(text: &str) -> Option<String> {
    let orders = text.lines().map(|line| {
        let order = line.rsplit(": ").next().unwrap_or(line);
        order.trim_matches(['"', '\'', '`', ' ', '-', '*'])
    });
    let mut reads = orders.filter(|order| {
        let parsed = grammar::parse(order, &mut Known::default());
        let reads = matches!(parsed.intents.as_slice(), [Intent::ReadEvery { .. }]);
        reads && parsed.unclear.is_empty()
    });
    reads.next().map(str::to_owned)
}
