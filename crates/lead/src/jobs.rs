//! Work that waits for files, locks and processes, on threads of its own. Each job sends a result.

use crate::inspect::{Inspection, Observation, cost, inspect, observe};
use crate::integrator::Integrator;
use crate::machine::ShutdownMode;
use crate::shut_down;
use crate::starter::TrustedStarter;
use processes::{ProcessHandle, follow_shutdown, give_up, restart_dead};
use protocol::{AgentName, Incarnation, Request, RequestId};
use rules::ShutdownLimits;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use team::Actor;
use teamdir::TeamDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_blocking;

/// How long members have after SIGTERM and SIGKILL when a shutdown with force is followed.
const LIMITS: ShutdownLimits = ShutdownLimits {
    grace: Duration::from_secs(5),
    kill: Duration::from_secs(5),
};

/// The result of a job.
pub(crate) enum JobResult {
    /// A watched process has ended, or a record about a member was written: the team is inspected again.
    TeamChanged,
    Inspected(Box<Inspection>),
    TeamObserved(Observation),
    /// An attempt to restart a member has ended.
    Restarted {
        name: AgentName,
        problem: Option<String>,
    },
    /// This shutdown has ended, or needs nobody to follow it.
    Followed(RequestId),
    /// The team was shut down.
    TeamEnded {
        mode: ShutdownMode,
        notices: Vec<String>,
    },
    /// A verb that the person typed has ended.
    VerbEnded {
        output: String,
        problem: Option<String>,
    },
    /// The budget does not allow more calls of the lead's model.
    BudgetSpent,
    Problem(String),
}

/// Starts jobs.
pub(crate) struct Jobs {
    team: TeamDir,
    me: Actor,
    starter: Arc<TrustedStarter>,
    integrator: Arc<Integrator>,
    results: UnboundedSender<JobResult>,
    /// Whether what only a person could answer is ended at once.
    deny_asks: bool,
    /// Whether somebody sees what the team has spent.
    has_screen: bool,
    /// Set when jobs that follow something are to end.
    stop: Arc<AtomicBool>,
}

impl Jobs {
    pub(crate) fn new(
        team: TeamDir,
        me: Actor,
        starter: Arc<TrustedStarter>,
        (deny_asks, has_screen): (bool, bool),
        integrator: Integrator,
    ) -> (Self, UnboundedReceiver<JobResult>) {
        let (results, received) = unbounded_channel();
        let jobs = Self {
            team,
            me,
            starter,
            integrator: Arc::new(integrator),
            results,
            deny_asks,
            has_screen,
            stop: Arc::default(),
        };
        (jobs, received)
    }

    /// Where results are sent.
    pub(crate) fn results(&self) -> UnboundedSender<JobResult> {
        self.results.clone()
    }

    fn start(&self, work: impl FnOnce(&TeamDir) -> JobResult + Send + 'static) {
        let (team, results) = (self.team.clone(), self.results.clone());
        spawn_blocking(move || {
            // At the end of the process nobody needs the result.
            let _ = results.send(work(&team));
        });
    }

    /// Waits for the end of a process, and records how it ended.
    pub(crate) fn watch(&self, process: ProcessHandle) {
        let (team, results) = (self.team.clone(), self.results.clone());
        tokio::spawn(async move {
            process.ended_or_ending(&team).await;
            let _ = spawn_blocking(move || process.record_exit(&team)).await;
            let _ = results.send(JobResult::TeamChanged);
        });
    }

    /// Inspects the team and repairs what can be repaired. Submissions that nobody integrates any more are
    /// integrated besides.
    pub(crate) fn inspect(&self, watched: BTreeMap<AgentName, Incarnation>) {
        let (deny_asks, has_screen) = (self.deny_asks, self.has_screen);
        self.start(move |team| {
            let denied = match deny_asks {
                true => team::deny_unattended(team).unwrap_or_default(),
                false => Vec::new(),
            };
            let mut found = inspect(team, &watched);
            if has_screen {
                found.status.cost = cost(team);
            }
            JobResult::Inspected(Box::new(Inspection { denied, ..found }))
        });
        let (team, integrator) = (self.team.clone(), Arc::clone(&self.integrator));
        spawn_blocking(move || integrator.run(&team));
    }

    /// Checks, after a delay, whether the team is idle.
    pub(crate) fn observe_team(&self, after: Duration) {
        let (team, results) = (self.team.clone(), self.results.clone());
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let observed = spawn_blocking(move || observe(&team)).await;
            let observed = observed.unwrap_or(Observation::Busy);
            let _ = results.send(JobResult::TeamObserved(observed));
        });
    }

    /// Restarts a member, as its policy says.
    pub(crate) fn restart(&self, name: AgentName) {
        let programs = self.starter.programs();
        self.start(move |team| {
            let problem = restart_dead(team, &name, &programs).err();
            JobResult::Restarted {
                problem: problem.map(|error| format!("{name} was not restarted: {error}")),
                name,
            }
        });
    }

    /// Records that a member's restart policy gives up.
    pub(crate) fn give_up(&self, lost: crate::restart_queue::GivenUp) {
        self.start(move |team| {
            let noted = give_up(
                team,
                &lost.name,
                lost.incarnation,
                &lost.reason,
                &lost.command,
            );
            match noted {
                Ok(()) => JobResult::TeamChanged,
                Err(error) => JobResult::Problem(error.to_string()),
            }
        });
    }

    /// Carries a shutdown to its end.
    pub(crate) fn follow(&self, request: Request) {
        let stop = Arc::clone(&self.stop);
        self.start(move |team| {
            let id = request.id.clone();
            let stop = || stop.load(Ordering::Relaxed);
            // The outcome is in the request's file.
            let _ = follow_shutdown(team, request, LIMITS, &stop);
            JobResult::Followed(id)
        });
    }

    /// Shuts the team down. An immediate shutdown ends a graceful one.
    pub(crate) fn shut_down(&self, mode: ShutdownMode, timeout: Duration) {
        let me = self.me.clone();
        if mode == ShutdownMode::Immediate {
            self.stop.store(true, Ordering::Relaxed);
        }
        let stop = Arc::clone(&self.stop);
        self.start(move |team| {
            let notices = match mode {
                ShutdownMode::Graceful => {
                    let stop = || stop.load(Ordering::Relaxed);
                    shut_down::gracefully(team, &me, timeout, &stop)
                }
                ShutdownMode::Immediate => shut_down::immediately(team, &me),
            };
            JobResult::TeamEnded { mode, notices }
        });
    }

    /// Runs a verb of the program for this team, as the person could in another terminal.
    pub(crate) fn run_verb(&self, words: Vec<String>) {
        self.start(move |team| {
            let program = std::env::current_exe();
            let run = program.and_then(|program| {
                let mut command = Command::new(program);
                command.arg("-C").arg(team.workspace()).args(words);
                command.stdin(Stdio::null()).output()
            });
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            match run {
                Ok(output) => JobResult::VerbEnded {
                    problem: Some(text(&output.stderr)).filter(|text| !text.trim().is_empty()),
                    output: text(&output.stdout),
                },
                Err(error) => JobResult::VerbEnded {
                    output: String::new(),
                    problem: Some(format!("error: the command cannot be run: {error}")),
                },
            }
        });
    }

    /// Ends the jobs that follow something.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
