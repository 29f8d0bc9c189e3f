//! How much of what a team's models read is coordination, and how much is the work.
//!
//! A real lead and three real teammates do a fixed piece of work. Their model is a server that
//! answers by fixed rules, so that every run asks the same. Each request is cut into its parts, and
//! each part is either coordination or work; see [`parts`].

mod parts;
mod script;

use super::context::cache::Anthropic;
use super::programs::{PATIENCE, team_lead};
use super::report::{Row, Section, Value};
use super::{Plan, end, progress};
use agent::Estimator;
use anyhow::ensure;
use parts::{PARTS, Part, Piece, pieces};
pub(crate) use script::agent;
pub(super) use script::told_task;
use script::{Script, Work};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use teamdir::{Durability, TeamDir};
use test_support::Worker;
use test_support::llm_server::{CapturedRequest, LlmServer};

/// The share of coordination that is the aim.
const MOST: f64 = 0.15;

/// What the requests of a run were made of, in bytes.
#[derive(Debug, Default)]
pub(super) struct Sums {
    requests: usize,
    /// Everything that was sent.
    sent: BTreeMap<Part, usize>,
    /// What came after the part that was the same in the agent's request before.
    own: BTreeMap<Part, usize>,
    /// What the provider did not find in its cache.
    uncached: BTreeMap<Part, usize>,
    /// The same without the first request of each agent: what more work costs a team that is there.
    further: BTreeMap<Part, usize>,
    cache: Anthropic,
    /// The tools and the system text of each agent, and its last request.
    first: BTreeMap<String, Vec<u8>>,
    last: BTreeMap<String, Vec<Piece>>,
    /// Requests that did not begin with the bytes of the agent's first one, tools and system text.
    changed: usize,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let work = Work {
        tasks: plan.pick(12, 3),
    };
    progress(&format!("a team does {} tasks", work.tasks));
    let mut section = Section::new(
        "tokens",
        "a lead and 3 teammates, a scripted model, tasks of three tool calls each (read, write, run); \
         request tokens of all agents together, per finished task; bare = the part of the same \
         requests that is the work itself",
    );
    let sums = run(plan, work)?;
    section.rows.extend(sums.rows(work.tasks));
    section.note(
        "coordination = system texts with the rules of the team, schemas of team tools, <team-state> \
         (roster and board), <mail> (mail and notices), calls and results of team tools, questions \
         for the outcome of a task; work = the prompt, the text of the task, the model's own text, \
         and schemas, calls and results of the shell and file tools",
    );
    section.note(format!(
        "counted on {} requests as bytes of their JSON, four to a token, as the product's own \
         estimate begins; read anew = behind the part that is the same as in the agent's request \
         before; uncached = what a provider with an empty cache at the start does not find in it, by the \
         rules of the Messages API (see `context`), one cache for all agents as within one account; once \
         the team is there = the same without the first request of each agent",
        sums.requests
    ));
    section.note(
        "what an agent that works alone has too counts as work: schemas and calls of ask_user, todo and explore, \
         and in the system text the environment, how to work, the role and the instructions of the repository",
    );
    section.note(
        "the share falls with the size of a task: these are as small as tasks get, 5 requests each",
    );
    section.note(
        "what others publish is of whole runs and not the same measure: 20 agents used 8 M tokens \
         where one agent alone had used 1.2 M (Overstory, STEELMAN.md)",
    );
    Ok(section)
}

/// Lets the team do its work, and counts.
fn run(plan: &Plan<'_>, work: Work) -> anyhow::Result<Sums> {
    let dir = plan.folder("tokens")?;
    end::create_team(&dir, &[])?;
    work.prepare(&dir)?;
    let server = LlmServer::start();
    let sums = Arc::new(Mutex::new(Sums::default()));
    let script = Script::new(work);
    let counted = Arc::clone(&sums);
    server.decide("team", move |request| {
        let mut sums = counted.lock().unwrap_or_else(PoisonError::into_inner);
        sums.add(&request);
        drop(sums);
        script.answer(&request)
    });
    let arguments = [
        "run",
        "--quiet",
        "Do the work on the board with three teammates.",
    ];
    let mut command = team_lead(&dir, &server.base_url("team"), &arguments)?;
    let mut lead = Worker::spawn(command.stderr(Stdio::null()))?;
    lead.close_stdin();
    let status = lead.wait(PATIENCE);
    ensure!(status.success(), "the lead ended with {status}");
    let team = TeamDir::open(&dir, end::options(Durability::ProcessDeath))?;
    let done = team::list(&team)?.board;
    let done = done
        .tasks()
        .filter(|task| task.status == protocol::TaskStatus::Completed);
    let done = done.count();
    ensure!(
        done == work.tasks,
        "{done} of {} tasks are done",
        work.tasks
    );
    drop(server);
    let sums = std::mem::take(&mut *sums.lock().unwrap_or_else(PoisonError::into_inner));
    ensure!(sums.requests > 0, "the model was not asked");
    Ok(sums)
}

impl Sums {
    pub(super) fn add(&mut self, request: &CapturedRequest) {
        let body = request.body();
        let pieces = pieces(body);
        let agent = agent(request);
        let cached = self.cache.read_blocks(body);
        let start = prefix(request.raw_body());
        let is_first = !self.first.contains_key(&agent);
        let first = self.first.entry(agent.clone());
        self.changed += usize::from(*first.or_insert_with(|| start.clone()) != start);
        let before = self.last.remove(&agent).unwrap_or_default();
        let same = pieces
            .iter()
            .zip(&before)
            .take_while(|(now, then)| now == then);
        let same = same.count();
        for (place, piece) in pieces.iter().enumerate() {
            for (part, bytes) in &piece.bytes {
                *self.sent.entry(*part).or_default() += bytes;
                if place >= same {
                    *self.own.entry(*part).or_default() += bytes;
                }
                if place >= cached {
                    *self.uncached.entry(*part).or_default() += bytes;
                }
                if place >= cached && !is_first {
                    *self.further.entry(*part).or_default() += bytes;
                }
            }
        }
        self.last.insert(agent, pieces);
        self.requests += 1;
    }

    /// The bytes of coordination that a provider did not find in its cache.
    pub(super) fn coordination(&self) -> usize {
        let parts = self
            .uncached
            .iter()
            .filter(|(part, _)| **part != Part::Work);
        parts.map(|(_, bytes)| bytes).sum()
    }

    fn rows(&self, tasks: usize) -> Vec<Row> {
        let tokens = |bytes: usize| Estimator::default().tokens(bytes) as f64 / tasks as f64;
        let mut rows = Vec::new();
        for (name, sums, most) in [
            ("sent", &self.sent, None),
            ("read anew", &self.own, None),
            ("uncached", &self.uncached, Some(MOST)),
            (
                "uncached, once the team is there",
                &self.further,
                Some(MOST),
            ),
        ] {
            let of = |part: &Part| sums.get(part).copied().unwrap_or(0);
            let work = tokens(of(&Part::Work));
            let all = tokens(PARTS.iter().map(of).sum());
            let coordination = all - work;
            rows.push(
                Row::new(format!("{name}: all tokens per task"), Value::Count(all))
                    .bare(Value::Count(work), all / work),
            );
            rows.push(Row::new(
                format!("{name}: coordination per task"),
                Value::Count(coordination),
            ));
            let share = coordination / all;
            let row = Row::new(
                format!("{name}: share of coordination"),
                Value::Share(share),
            );
            rows.push(match most {
                Some(most) => row.bar("under 15 %", share < most),
                None => row,
            });
            for part in PARTS.iter().filter(|part| **part != Part::Work) {
                let what = format!("{name}:   {}", part.label());
                rows.push(Row::new(what, Value::Count(tokens(of(part)))));
            }
        }
        let what = "requests with other tools or another system text than the agent's first";
        let changed = Row::new(what, Value::Count(self.changed as f64));
        rows.push(changed.bar("none", self.changed == 0));
        rows
    }
}

/// The bytes of a body from its tools to its messages: what a provider reads before the conversation. The marks
/// for its cache are always in the same places there.
fn prefix(body: &[u8]) -> Vec<u8> {
    let body: BTreeMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_slice(body).unwrap_or_default();
    let parts = ["tools", "system"].iter().filter_map(|key| body.get(*key));
    parts.flat_map(|part| part.get().bytes()).collect()
}
