//! How far the instructions of a conversation are: the call that comes next, or the report.

use std::collections::HashSet;

use crate::conversation::Event;
use crate::identity::Identity;
use crate::instruction::instructions;
use crate::report::{self, READY};
use crate::run::{Call, Pause, Run, is_decided};

#[derive(Default)]
pub(crate) struct Progress {
    /// The calls that instructions need, in the order of the instructions.
    calls: Vec<Call>,
    /// What was done since the last report, and what came.
    lines: Vec<String>,
    /// The mail that instructions need, in words.
    waits: Vec<String>,
}

impl Progress {
    /// Carries out each instruction as far as the conversation goes.
    pub(crate) fn new(events: &[Event], me: &Identity<'_>) -> Self {
        let mut progress = Self::default();
        let since = reported(events);
        let instructions = instructions(events, me);
        let mut taken: HashSet<usize> = instructions.iter().map(|found| found.at).collect();
        for instruction in &instructions {
            let mut run = Run {
                me,
                instruction,
                events,
                taken: &mut taken,
                now: instruction.at,
                report: Vec::new(),
                waits: Vec::new(),
                tasks: Vec::new(),
                plans: 0,
            };
            let pause = run.carry_out().err();
            // Work that waits for mail was reported before, unless something of it is new.
            if matches!(pause, Some(Pause::Call(_))) || run.now >= since {
                progress.lines.append(&mut run.report);
            }
            match pause {
                Some(Pause::Call(call)) => progress.calls.push(call),
                Some(Pause::Mail(what)) if progress.waits.contains(&what.in_words()) => {}
                Some(Pause::Mail(what)) => progress.waits.push(what.in_words()),
                Some(Pause::GivenUp) | None => {}
            }
        }
        let came = events.iter().enumerate().skip(since);
        let new = came.filter(|(at, _)| !taken.contains(at));
        let mails = new.filter_map(|(_, event)| event.mail());
        let open = mails.filter(|mail| !mail.was_fetched && !is_decided(mail, events));
        progress.lines.extend(open.map(report::mail));
        progress
    }

    /// The call that comes next. The answer to a shutdown request comes last.
    pub(crate) fn call(&self) -> Option<&Call> {
        let calls = self.calls.iter();
        calls.min_by_key(|call| call.0 == "shutdown_response")
    }

    pub(crate) fn report(mut self) -> String {
        if self.lines.len() + self.waits.len() > 1 {
            self.lines.retain(|line| !line.starts_with(READY));
        }
        if !self.waits.is_empty() {
            let waits = self.waits.join(" and ");
            self.lines.push(format!("Waiting for {waits}."));
        }
        if self.lines.is_empty() {
            return format!("Nothing to do. {}", report::EXAMPLES);
        }
        self.lines.join("\n")
    }
}

/// The first event that no report has covered. A process that has agreed to end says nothing more, and
/// what follows is for the next one.
fn reported(events: &[Event]) -> usize {
    let (mut reported, mut has_ended) = (0, false);
    for (at, event) in events.iter().enumerate() {
        if let Event::Result(outcome) = event {
            let agrees = outcome.tool == "shutdown_response" && outcome.input["approve"] == true;
            has_ended |= agrees && !outcome.failed;
        } else if has_ended || matches!(event, Event::Said { .. }) {
            (reported, has_ended) = (at, false);
        }
    }
    reported
}
