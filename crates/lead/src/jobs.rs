//! Work that waits for files, locks and processes: on threads of its own, with a report at the end.

use crate::inspect::{Calm, Inspection, calm, inspect};
use crate::leave;
use crate::machine::Manner;
use processes::{Cause, ProcessHandle, Programs, follow_shutdown, give_up, restart};
use protocol::{AgentName, Incarnation, Request, RequestId};
use rules::ShutdownLimits;
use std::collections::BTreeMap;
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

/// What a job found or did.
pub(crate) enum Report {
    /// The process of this life is gone.
    Gone,
    Inspected(Box<Inspection>),
    Looked(Calm),
    /// An attempt to bring a member back is over.
    Restarted {
        name: AgentName,
        /// What went wrong.
        problem: Option<String>,
    },
    /// Nobody has to follow this shutdown any more.
    Followed(RequestId),
    /// The team was shut down.
    Left {
        manner: Manner,
        words: Vec<String>,
    },
    /// The lead's model may not be asked any more.
    BudgetSpent,
    Problem(String),
}

/// Starts jobs.
pub(crate) struct Jobs {
    team: TeamDir,
    me: Actor,
    programs: Programs,
    reports: UnboundedSender<Report>,
    /// Set when nothing is to be followed any more.
    stop: Arc<AtomicBool>,
}

impl Jobs {
    pub(crate) fn new(
        team: TeamDir,
        me: Actor,
        programs: Programs,
    ) -> (Self, UnboundedReceiver<Report>) {
        let (reports, received) = unbounded_channel();
        let jobs = Self {
            team,
            me,
            programs,
            reports,
            stop: Arc::default(),
        };
        (jobs, received)
    }

    /// Where reports go.
    pub(crate) fn reports(&self) -> UnboundedSender<Report> {
        self.reports.clone()
    }

    fn start(&self, work: impl FnOnce(&TeamDir) -> Report + Send + 'static) {
        let (team, reports) = (self.team.clone(), self.reports.clone());
        spawn_blocking(move || {
            // Nobody listens at the end of the process, and nobody needs to.
            let _ = reports.send(work(&team));
        });
    }

    /// Waits for the end of a process.
    pub(crate) fn watch(&self, process: ProcessHandle) {
        let reports = self.reports.clone();
        tokio::spawn(async move {
            process.ended().await;
            let _ = reports.send(Report::Gone);
        });
    }

    /// Looks at the team and sets right what can be.
    pub(crate) fn inspect(&self, watched: BTreeMap<AgentName, Incarnation>) {
        self.start(move |team| Report::Inspected(Box::new(inspect(team, &watched))));
    }

    /// Looks, after a pause, whether the team is at rest.
    pub(crate) fn look(&self, after: Duration) {
        let (team, reports) = (self.team.clone(), self.reports.clone());
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let looked = spawn_blocking(move || calm(&team)).await;
            let _ = reports.send(Report::Looked(looked.unwrap_or(Calm::No)));
        });
    }

    /// Brings a member back, as its policy says.
    pub(crate) fn restart(&self, name: AgentName) {
        let programs = self.programs.clone();
        self.start(move |team| {
            let problem = restart(team, &name, &programs, Cause::Policy).err();
            Report::Restarted {
                problem: problem.map(|error| format!("{name} was not restarted: {error}")),
                name,
            }
        });
    }

    /// Notes that a member's policy has had enough.
    pub(crate) fn give_up(&self, lost: crate::restarts::GivenUp) {
        self.start(move |team| {
            let noted = give_up(
                team,
                &lost.name,
                lost.incarnation,
                &lost.reason,
                &lost.command,
            );
            match noted {
                Ok(()) => Report::Gone,
                Err(error) => Report::Problem(error.to_string()),
            }
        });
    }

    /// Carries a shutdown to its end.
    pub(crate) fn follow(&self, request: Request) {
        let stop = Arc::clone(&self.stop);
        self.start(move |team| {
            let id = request.id.clone();
            let stop = || stop.load(Ordering::Relaxed);
            // What came of it is in the request's file.
            let _ = follow_shutdown(team, request, LIMITS, &stop);
            Report::Followed(id)
        });
    }

    /// Shuts the team down. A hurried shutdown ends a graceful one.
    pub(crate) fn leave(&self, manner: Manner, patience: Duration) {
        let me = self.me.clone();
        if manner == Manner::Now {
            self.stop.store(true, Ordering::Relaxed);
        }
        let stop = Arc::clone(&self.stop);
        self.start(move |team| {
            let words = match manner {
                Manner::Gracefully => {
                    let stop = || stop.load(Ordering::Relaxed);
                    leave::gracefully(team, &me, patience, &stop)
                }
                Manner::Now => leave::now(team, &me),
            };
            Report::Left { manner, words }
        });
    }

    /// Lets go of everything that is followed.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
