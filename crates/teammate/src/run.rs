//! Turns and rests, from the first breath to the last.

mod outcome;

use crate::build_agent::build_agent;
use crate::hooks::TeammateHooks;
use crate::mail_handler::TeammateMailHandler;
use crate::shutdown::ShutdownRequests;
use crate::start_options::{Ended, StartOptions, TeammateError};
use crate::wait::{owners, rest};
use crate::work::Work;
use crate::{foreign, prompt, settings, signals};
use agent::{Agent, Message, Outcome, TurnError};
use member::{MemberRuntime, Recovered, RuntimeHost, gate};
use processes::mark_of;
use protocol::{AgentName, Member, Phase, Recipient, RequestId};
use rules::PlanGate;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::Background;

/// The first pause before a turn is tried again that failed because its model could not be reached.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The same for one whose journal could not be written: a full disk is often empty soon.
const FIRST_PAUSE_FOR_ROOM: Duration = Duration::from_secs(2);
/// The longest such pause. Each is twice as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long the mail about a decided plan may take after the decision itself.
const MAIL_AFTER_DECISION: Duration = Duration::from_secs(2);
/// How long to wait before looking again at a task whose owner is gone, or trying again what could not
/// be written.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a model that is being waited for may take to answer a shutdown itself, if the deadline
/// allows.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lives as a teammate until the end of it.
pub async fn run(options: StartOptions) -> Result<Ended, TeammateError> {
    let ending = signals::ending()?;
    let owner = Recipient::Member(options.name.clone());
    let (runtime, memory) = MemberRuntime::open(&options.team, &owner, options.echo)?;
    let member = entry(&runtime, &options.name)?;
    let member = settings::adopt(&options.team, member, &options.config)?;
    // What a killed former life has left running would work on unseen.
    let mark = mark_of(&options.team, runtime.owner());
    if runtime.incarnation().0 > 1 {
        command::kill_survivors(|found| found.starts_with(&format!("{mark}.")));
    }
    if let Some(program) = member.exec.clone() {
        return foreign::run(&runtime, &program, &mark, &ending).await;
    }
    let teammate = Teammate::new(options, &member, runtime, memory, ending)?;
    teammate.live().await
}

/// The member's entry in the roster.
fn entry(runtime: &MemberRuntime, name: &AgentName) -> Result<Member, TeammateError> {
    let roster = runtime.team().roster()?;
    let known = roster.member(name).cloned();
    known.ok_or_else(|| TeammateError::Dismissed(name.clone()))
}

/// Why a turn is not tried at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stuck {
    /// For good, until somebody writes.
    Failed,
    /// Until this time, or until somebody writes.
    Until(Instant),
}

pub(crate) struct Teammate {
    runtime: MemberRuntime,
    name: AgentName,
    agent: Agent,
    host: RuntimeHost<TeammateHooks>,
    shutdown_requests: Arc<ShutdownRequests>,
    background: Background,
    ending: CancellationToken,
    stuck_rings: Arc<Notify>,
    /// What is to be said first: the prompt, and what became of background commands.
    first: Vec<Message>,
    stuck: Option<Stuck>,
    /// The next pause, after one that was in vain.
    pause: Option<Duration>,
    /// Whether a background command is over.
    has_results: bool,
    /// A plan whose decision is awaited, and since when it is known to be decided.
    plan: Option<(RequestId, Option<Instant>)>,
    idle_since: Option<Instant>,
    /// How many turns of this life failed.
    failures: u64,
    /// The report of the last turn, until it is sent.
    unsent: Option<String>,
}

impl Teammate {
    fn new(
        options: StartOptions,
        member: &Member,
        runtime: MemberRuntime,
        memory: Recovered,
        ending: CancellationToken,
    ) -> Result<Self, TeammateError> {
        let name = member.name.clone();
        let shutdown_requests = Arc::new(ShutdownRequests::new(runtime.team(), runtime.me()));
        runtime.employ(Box::new(TeammateMailHandler {
            team: runtime.team().clone(),
            name: name.clone(),
            incarnation: runtime.incarnation(),
            shutdown_requests: Arc::clone(&shutdown_requests),
        }));
        let background = Background::new();
        // What a former life owed the lead.
        let unsent = memory.unreported.clone();
        let unsent = unsent.filter(|_| !memory.conversation.is_waiting());
        let (agent, first) = build_agent(
            &options,
            member,
            &runtime,
            memory,
            (&shutdown_requests, &background),
        )?;
        let stuck_rings = Arc::new(Notify::new());
        let hooks = TeammateHooks {
            runtime: runtime.clone(),
            system: prompt::system(&runtime, &name, &member.role)
                + &settings::role_words(&options.config, member),
            name: name.clone(),
            shutdown_requests: Arc::clone(&shutdown_requests),
            work: Work::new(&runtime, &member.role, &background),
            stuck: Arc::clone(&stuck_rings),
            was_asked: false,
        };
        Ok(Self {
            host: RuntimeHost::new(runtime.clone(), hooks),
            runtime,
            name,
            agent,
            shutdown_requests,
            background,
            ending,
            stuck_rings,
            first,
            stuck: None,
            pause: None,
            has_results: false,
            plan: None,
            idle_since: None,
            failures: 0,
            unsent,
        })
    }

    async fn live(mut self) -> Result<Ended, TeammateError> {
        if let Err(error) = self.host.hooks().work.settle_earlier_lives() {
            self.runtime
                .note(&format!("tasks of an earlier life stay claimed: {error}"));
        }
        if self.host.hooks().work.claims() {
            self.runtime.watch_board();
        }
        let is_told = self.send_report();
        if self.has_work() || !is_told {
            self.runtime.set_phase(Phase::Working, None, None);
            if self.agent.conversation().is_waiting() {
                // It goes on in the middle of its task, and must hold it again before it does.
                self.host.hooks().work.take_up_again();
            }
        } else {
            self.settle_down();
        }
        self.runtime.announce();
        loop {
            if let Some(ended) = self.is_over() {
                return self.leave(ended);
            }
            if self.runtime.is_replaced() {
                return Err(TeammateError::Replaced(self.name));
            }
            if self.has_work() {
                let outcome = self.turn().await;
                self.after_turn(outcome);
            } else {
                self.rest().await;
            }
        }
    }

    /// Whether it is time to go, and why.
    fn is_over(&self) -> Option<Ended> {
        if let Some(request) = self.shutdown_requests.leaving() {
            return Some(Ended::Agreed(request));
        }
        if self.ending.is_cancelled() {
            return Some(Ended::Signal);
        }
        let idle_at = self.idle_end()?;
        // Mail that came at the last moment is not left for a next life.
        let is_late = Instant::now() >= idle_at && !self.runtime.has_unread();
        is_late.then_some(Ended::IdleForLong)
    }

    /// When it has been idle for as long as it may be.
    fn idle_end(&self) -> Option<Instant> {
        let since = self.idle_since?;
        let seconds = entry(&self.runtime, &self.name).ok()?.idle_timeout?;
        since.checked_add(Duration::from_secs(seconds))
    }

    /// Whether there is something to do. Takes nothing: whoever finds something says that it works
    /// before it takes it.
    fn has_work(&mut self) -> bool {
        let mail = self.runtime.has_unread();
        match self.stuck {
            Some(Stuck::Failed) => return mail,
            Some(Stuck::Until(at)) => return mail || Instant::now() >= at,
            None => {}
        }
        mail || !self.first.is_empty()
            || self.has_results
            || self.agent.conversation().is_waiting()
            || !self.runtime.waiting_letters().is_empty()
            || self.is_plan_decided()
            || self.host.hooks().work.is_waiting()
    }

    /// Whether the awaited decision on a plan is there, and its mail is not coming.
    fn is_plan_decided(&mut self) -> bool {
        let Some((id, decided_at)) = &mut self.plan else {
            return false;
        };
        let own = self.runtime.plan();
        let state = gate(self.runtime.team(), &self.name, own.as_ref());
        if matches!(state, PlanGate::Pending { .. }) {
            return false;
        }
        let since = *decided_at.get_or_insert_with(Instant::now);
        if since.elapsed() < MAIL_AFTER_DECISION {
            return false;
        }
        let words = format!("<plan-decided>Your plan {id} was decided.</plan-decided>");
        self.first.push(Message::new(words));
        self.plan = None;
        true
    }

    /// Lets the model work until it stops, and takes no longer than a moment to stop it.
    async fn turn(&mut self) -> Outcome {
        self.runtime.begin_turn();
        self.idle_since = None;
        self.has_results = false;
        self.stuck = None;
        self.host.hooks().was_asked = false;
        let said = std::mem::take(&mut self.first);
        let mut input = said.clone();
        // Also where something else waits for an answer: mail that is not taken would start the same
        // turn again at once, even after one that failed.
        input.extend(self.runtime.letters());
        let cancel = CancellationToken::new();
        let (runtime, shutdown_requests) =
            (self.runtime.clone(), Arc::clone(&self.shutdown_requests));
        let outcome = {
            let turn = self.agent.run_turn(input, &mut self.host, &cancel);
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    outcome = &mut turn => break outcome,
                    () = self.ending.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                    () = unasked(&runtime, &shutdown_requests, &self.stuck_rings), if !cancel.is_cancelled() => {
                        cancel.cancel();
                    }
                }
            }
        };
        if let Outcome::Failed {
            error: TurnError::Log(_),
        } = &outcome
        {
            // Nothing was recorded, so it is said again.
            self.first = said;
        }
        outcome
    }

    /// Sleeps until there may be something to do.
    async fn rest(&mut self) {
        let mut until = [self.idle_end(), self.retry_at()]
            .into_iter()
            .flatten()
            .min();
        if self.catch_up() {
            until = sooner(until, AGAIN);
        }
        let mut others = Vec::new();
        if self.stuck.is_none() && self.host.hooks().work.claims() {
            let found = owners(&self.runtime);
            if found.is_one_gone {
                processes::repair(self.runtime.team());
                until = sooner(until, AGAIN);
            }
            others = found.alive;
        }
        // What came while the others were looked at is found by the look that comes next.
        if self.has_work() {
            return;
        }
        tokio::select! {
            () = rest(&self.runtime, &others, until) => {}
            () = self.background.finished(), if self.stuck.is_none() => self.has_results = true,
            () = self.ending.cancelled() => {}
        }
        if others.iter().any(processes::ProcessHandle::is_gone) {
            processes::repair(self.runtime.team());
        }
    }

    /// When something is to be looked at again.
    fn retry_at(&self) -> Option<Instant> {
        let stuck = match self.stuck {
            Some(Stuck::Until(at)) => Some(at),
            Some(Stuck::Failed) | None => None,
        };
        let decided = self.plan.as_ref().and_then(|(_, decided)| *decided);
        let mail = decided.map(|at| at + MAIL_AFTER_DECISION);
        let again = self.runtime.mail_again_at();
        [stuck, mail, again].into_iter().flatten().min()
    }

    /// Ends in good order: what is in hand goes back, and the roster says so.
    fn leave(mut self, ended: Ended) -> Result<Ended, TeammateError> {
        self.background.stop_all();
        let why = match &ended {
            Ended::Agreed(id) => format!("its owner shut down (request {id})"),
            Ended::Signal => "its owner was told to end".to_owned(),
            Ended::IdleForLong | Ended::ProgramEnded => "its owner ended".to_owned(),
        };
        self.host.hooks().work.give_back_for_now(&why);
        self.runtime.close()?;
        Ok(ended)
    }
}

/// The sooner of a time and this long from now.
fn sooner(until: Option<Instant>, pause: Duration) -> Option<Instant> {
    let at = Instant::now() + pause;
    Some(until.map_or(at, |until| until.min(at)))
}

/// Returns when the program has answered a shutdown in the place of a model that cannot be asked.
async fn unasked(runtime: &MemberRuntime, shutdown_requests: &ShutdownRequests, stuck: &Notify) {
    loop {
        stuck.notified().await;
        while runtime.phase() == Phase::Waiting {
            if runtime.take_mail().is_ok()
                && shutdown_requests.answer_for_model("it is being waited for", PATIENCE)
            {
                return;
            }
            let limit = Some(Instant::now() + Duration::from_secs(1));
            rest(runtime, &[], limit).await;
        }
    }
}
