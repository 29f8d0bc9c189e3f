//! Finds the instructions in a conversation: what each asks for, and how it ends.

use crate::conversation::{Event, Mail};
use crate::identity::Identity;
use crate::parse::{Clause, Known, Parsed, parse};
use crate::report;
use crate::table::Verb;

#[derive(Default)]
pub(crate) struct Instruction {
    /// Where it stands among the events.
    pub(crate) at: usize,
    pub(crate) clauses: Vec<Clause>,
    /// What is reported after the work.
    pub(crate) notes: Vec<String>,
    pub(crate) end: End,
}

/// What is done when the clauses have been followed.
#[derive(Default)]
pub(crate) enum End {
    #[default]
    Silent,
    /// The report is sent to whoever asked.
    Reply(String),
    /// The task is completed, with the report as its result.
    Complete { id: i64, subject: String },
    /// The shutdown request with this id is approved.
    Leave(String),
}

impl Instruction {
    /// What the work is about, if it was only named.
    pub(crate) fn topic(&self) -> Option<&str> {
        if let End::Complete { subject, .. } = &self.end {
            return Some(subject);
        }
        let mut clauses = self.clauses.iter();
        clauses.find(|clause| clause.verb == Verb::Topic)?.text()
    }
}

/// The instructions among the events. Each learns from those before who was named.
pub(crate) fn instructions(events: &[Event], me: &Identity<'_>) -> Vec<Instruction> {
    let (known, asked) = (Known::default(), Vec::new());
    let mut reader = Reader { me, known, asked };
    let all = events.iter().enumerate();
    let found = all.filter_map(|(at, event)| {
        Some(Instruction {
            at,
            ..reader.read(event)?
        })
    });
    found.collect()
}

struct Reader<'a> {
    me: &'a Identity<'a>,
    known: Known,
    /// What the agent was asked to do so far.
    asked: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, event: &Event) -> Option<Instruction> {
        match event {
            Event::Instruction(text) => {
                let speaker = (!self.me.is_lead).then_some("lead");
                self.order(text, speaker, false)
            }
            Event::Mail(mail) => self.mail(mail),
            Event::Claimed { id, work } => Some(self.claimed(*id, work)),
            Event::Result(_) | Event::Said { .. } | Event::SummaryRequest => None,
        }
    }

    /// A teammate follows messages and agrees to a shutdown; the lead follows the user.
    fn mail(&mut self, mail: &Mail) -> Option<Instruction> {
        let text = mail.text.trim();
        match (mail.kind.as_str(), mail.from.as_str()) {
            ("message", "user") if self.me.is_lead => self.order(text, None, true),
            _ if self.me.is_lead => None,
            ("message", _) if text.is_empty() || text.starts_with("Re:") => None,
            // Nobody can write to a user or to an unsigned line: the answer goes to the lead.
            ("message", "user" | "unsigned") => self.order(text, Some("lead"), true),
            ("message", from) => self.order(text, Some(from), true),
            ("shutdown_request", _) => Some(Instruction {
                end: End::Leave(mail.request_id.clone()),
                ..Instruction::default()
            }),
            _ => None,
        }
    }

    /// Reads an instruction that the speaker typed or sent.
    fn order(&mut self, text: &str, speaker: Option<&str>, is_mail: bool) -> Option<Instruction> {
        self.known.speaker = speaker.map(str::to_owned);
        let Parsed { clauses, unclear } = parse(text, &mut self.known);
        let mut notes: Vec<String> = unclear
            .iter()
            .map(|text| report::not_understood(text))
            .collect();
        let asks = text.contains('?');
        let thanks = report::opens_with(text, "thanks thank ok okay noted great good");
        if !clauses.is_empty() {
            self.asked.push(text.to_owned());
        } else if is_mail && !asks && (speaker != Some("lead") || thanks) {
            return None;
        } else if asks || is_mail && notes.is_empty() {
            notes = vec![report::open_answer(text, &self.asked, self.me)];
        }
        if clauses.is_empty() && !is_mail {
            notes.push(report::EXAMPLES.to_owned());
        }
        let is_speaker = |name: &String| Some(name.as_str()) == speaker;
        let answers = |clause: &Clause| {
            let sends = clause.verb == Verb::Send && clause.names.iter().any(is_speaker);
            sends || clause.verb == Verb::SubmitPlan
        };
        let end = match speaker {
            Some(to) if is_mail && !clauses.iter().any(answers) => End::Reply(to.to_owned()),
            Some(_) | None => End::Silent,
        };
        Some(Instruction {
            clauses,
            notes,
            end,
            ..Instruction::default()
        })
    }

    fn claimed(&mut self, id: i64, work: &str) -> Instruction {
        let clauses = parse(work, &mut self.known).clauses;
        let unclear = clauses.is_empty().then(|| report::not_understood(work));
        let subject = work.lines().next().unwrap_or_default().to_owned();
        Instruction {
            clauses,
            notes: unclear.into_iter().collect(),
            end: End::Complete { id, subject },
            ..Instruction::default()
        }
    }
}
