//! Gives the team its work: orders, tasks and plans, each with an id of its own.

use crate::foreign;
use crate::ledger::Outcome;
use crate::plan::Target;
use crate::tags::{Mark, Tag, Verb};
use crate::world::{World, name, recipient};
use serde_json::json;
use std::thread;
use std::time::Duration;
use test_support::Rng;

/// How many open orders a member may have, on average, before the operator waits: a slow machine gets
/// less work, not a longer queue.
const OPEN_ORDERS: usize = 3;
/// How often the operator checks whether it may continue.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Gives work, determined by a seed.
pub(crate) struct Operator<'a> {
    world: &'a World,
    rng: Rng,
    orders: usize,
    plans: usize,
    tasks: usize,
}

/// How a message is delivered.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// By `team-lead send`.
    Command,
    /// By `team-lead send`, which is killed after this long.
    Killed(Duration),
    /// As a line of plain text, by a program that takes no locks.
    Plain,
    /// As a JSON object, by a program that takes no locks.
    Object,
}

impl<'a> Operator<'a> {
    pub(crate) fn new(world: &'a World, seed: u64) -> Self {
        Self {
            world,
            rng: Rng::new(seed ^ 0xb055),
            orders: 0,
            plans: 0,
            tasks: 0,
        }
    }

    /// Gives work until the time is over.
    pub(crate) fn work_while(&mut self, goes_on: impl Fn() -> bool) {
        let gap = Duration::from_secs(3) / u32::try_from(self.world.members).unwrap_or(u32::MAX);
        let gap = u64::try_from(gap.as_millis()).unwrap_or(u64::MAX);
        while goes_on() {
            if self.is_busy() {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            self.next();
            thread::sleep(Duration::from_millis(self.rng.below(2 * gap)));
        }
    }

    fn is_busy(&self) -> bool {
        let open: usize = self.world.model.open().values().sum();
        open > OPEN_ORDERS * self.world.members
    }

    fn next(&mut self) {
        match self.rng.below(100) {
            0..70 => self.order(),
            70..80 => self.note(),
            80..96 => self.task(),
            _ => self.plan(),
        }
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.rng.below(count as u64)).unwrap_or_default()
    }

    /// Orders a member to write to another, or to the lead.
    fn order(&mut self) {
        self.orders += 1;
        let members = self.world.members;
        let from = self.below(members);
        let other = (from + 1 + self.below(members.max(2) - 1)) % members;
        let to = match self.rng.below(8) {
            0 => "lead".to_owned(),
            _ if other == from => "lead".to_owned(),
            _ => name(other),
        };
        let tag = Tag::order(&format!("A-{:06}", self.orders), &to);
        self.deliver(Target::Member(from), &tag);
    }

    /// Sends a note, which asks for nothing.
    fn note(&mut self) {
        self.orders += 1;
        let members = self.world.members;
        let target = match self.below(members + 1) {
            number if number < members => Target::Member(number),
            _ => Target::Lead,
        };
        let tag = Tag::plain(Verb::Note, &format!("F-{:06}", self.orders));
        self.deliver(target, &tag);
    }

    /// Orders a member to submit a plan.
    fn plan(&mut self) {
        self.plans += 1;
        let from = self.below(self.world.members);
        let tag = Tag::plain(Verb::Plan, &format!("P-{:06}", self.plans));
        self.deliver(Target::Member(from), &tag);
    }

    /// Creates a task; some are blocked by the one before.
    fn task(&mut self) {
        self.tasks += 1;
        let mark = Mark::new(Verb::Task, &format!("T-{:06}", self.tasks));
        let subject = mark.to_string();
        let mut args = vec!["task", "create", &subject];
        let before = self
            .world
            .notes()
            .tasks
            .last()
            .map(|(_, number)| number.to_string());
        if let Some(before) = &before
            && self.rng.below(3) == 0
        {
            args.extend(["--blocked-by", before]);
        }
        if let Some((0, said)) = self.world.runner.run(&args)
            && let Some(number) = said.trim().strip_prefix("Created task #")
            && let Ok(number) = number.parse()
        {
            self.world.notes().tasks.push((mark, number));
        }
    }

    fn deliver(&mut self, target: Target, tag: &Tag) {
        let way = match self.rng.below(100) {
            0..60 => Way::Command,
            60..68 => {
                // The kill hits right after the start, or any moment of a slow run.
                let most = if self.rng.below(2) == 0 { 15 } else { 120 };
                Way::Killed(Duration::from_millis(self.rng.below(most)))
            }
            68..84 => Way::Plain,
            _ => Way::Object,
        };
        let owner = recipient(target);
        let to = owner.to_string();
        let inbox = self.world.team.layout().inbox(&owner);
        let text = tag.to_string();
        let outcome = match way {
            Way::Command => match self.world.runner.run(&["send", &to, &text]) {
                Some((0, _)) => Outcome::Done,
                Some(_) => Outcome::Failed,
                None => Outcome::Unknown,
            },
            Way::Killed(after) => self.send_and_kill(&to, &text, after),
            // The newline before it ends a line that another writer may have left unfinished.
            Way::Plain => foreign::append(&inbox, format!("\n{text}\n").as_bytes()),
            Way::Object => {
                let object = json!({"type": "message", "from": "stranger", "content": text});
                foreign::append(&inbox, format!("{object}\n").as_bytes())
            }
        };
        self.world.note_attempt(&tag.mark, &to, outcome);
    }

    fn send_and_kill(&self, to: &str, text: &str, after: Duration) -> Outcome {
        let Ok(mut child) = self.world.runner.command(&["send", to, text]).spawn() else {
            return Outcome::Failed;
        };
        thread::sleep(after);
        let _ = child.kill();
        match child.wait().map(|status| status.code()) {
            Ok(Some(0)) => Outcome::Done,
            Ok(Some(_)) => Outcome::Failed,
            Ok(None) | Err(_) => {
                self.world.count(|faults| faults.commands_killed += 1);
                Outcome::Unknown
            }
        }
    }
}
