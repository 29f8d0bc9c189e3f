//! How much of what a team's models read is coordination, and how much is the work.
//!
//! A real lead and three real teammates do a fixed piece of work. Their model is a server that
//! answers by fixed rules, so that every run asks the same. Each request is cut into its parts, and
//! each part is either coordination or work; see [`parts`].

mod parts;
mod script;

use super::programs::{PATIENCE, team_lead};
use super::report::{Row, Section, Value};
use super::{Plan, end, progress};
use agent::Estimator;
use anyhow::ensure;
use parts::{PARTS, Part, Piece, pieces};
use script::{Script, Work};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use teamdir::{Durability, TeamDir};
use test_support::Worker;
use test_support::llm_server::{CapturedRequest, LlmServer};

/// What the requests of a run were made of, in bytes.
#[derive(Debug, Default)]
struct Sums {
    requests: usize,
    /// Everything that was sent.
    sent: BTreeMap<Part, usize>,
    /// What came after the part that was the same in the request before, which providers keep.
    new: BTreeMap<Part, usize>,
    /// The last request of each agent.
    last: BTreeMap<String, Vec<Piece>>,
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
         before, which a provider can keep",
        sums.requests
    ));
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
    fn add(&mut self, request: &CapturedRequest) {
        let pieces = pieces(request.body());
        let agent = script::agent(request);
        let before = self.last.remove(&agent).unwrap_or_default();
        let same = pieces
            .iter()
            .zip(&before)
            .take_while(|(now, then)| now == then);
        let same = same.count();
        for (place, piece) in pieces.iter().enumerate() {
            *self.sent.entry(piece.part).or_default() += piece.json.len();
            if place >= same {
                *self.new.entry(piece.part).or_default() += piece.json.len();
            }
        }
        self.last.insert(agent, pieces);
        self.requests += 1;
    }

    fn rows(&self, tasks: usize) -> Vec<Row> {
        let tokens = |bytes: usize| Estimator::default().tokens(bytes) as f64 / tasks as f64;
        let mut rows = Vec::new();
        for (name, sums) in [("sent", &self.sent), ("read anew", &self.new)] {
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
            rows.push(Row::new(
                format!("{name}: share of coordination"),
                Value::Share(coordination / all),
            ));
            for part in PARTS.iter().filter(|part| **part != Part::Work) {
                let what = format!("{name}:   {}", part.label());
                rows.push(Row::new(what, Value::Count(tokens(of(part)))));
            }
        }
        rows
    }
}
