//! Tool calls that wait for a person: whether somebody is asked, and the waiting.
//!
//! A call that needs an answer is in the journal with the id of its request before the request exists, and once
//! more before it is started. Between the two the member may be killed at any point: the next incarnation
//! finds the id, takes the request over with its answer, or makes it, and goes on. What was answered stands in
//! the request's file alone, and so does what a rule granted meanwhile in its own.

mod by_hooks;
mod changed_tools;
mod notify;
mod old_asks;
mod results;
mod settings;
mod watch;

use changed_tools::{LOOK_EVERY, accepted_text};
pub use settings::AskSettings;
pub(crate) use watch::AnswerWatch;

use crate::call_rules::{CallDecision, CallRules, CallVerdict, Extent};
use crate::gate::plan_access;
use crate::runtime::MemberRuntime;
use crate::user_hooks::HookAnswers;
use agent::{Answered, AskedCall, MayRun, NOT_STARTED};
use llm::{CancellationToken, ToolUse};
use protocol::{
    Answer, PermissionAsk, Phase, QuestionAsk, Recipient, Request, RequestId, RequestKind,
    RequestState, WaitingFor,
};
use results::{access, act_on, allowed_by_rule, not_allowed};
use rules::{AskState, ask_state, asked_hash, request_line};
use serde_json::Value;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use team::{Ask, AskPersonError};
use teamdir::{MAX_SLEEP, RequestError, new_request_id, now};
use tools::{Access, AskUserArgs, Effect, ToolError, ToolOutput};
use tracing::{info, warn};

/// How long to wait after the request could not be read: the disk may be in trouble for a while.
const READ_RETRY: Duration = Duration::from_secs(1);

/// Decides which calls of a member wait for a person.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) settings: AskSettings,
    rules: CallRules,
}

/// How the waiting for a request ended.
enum Waited {
    /// With the request as it is then, if there is one.
    Decided(AskState, Option<Box<Request>>),
    /// A rule that was granted meanwhile allows the call.
    Allowed,
    /// The changed tools that it is about were accepted in another way, which the model is told.
    Accepted(String),
    Cancelled,
}

/// What is done with a call.
enum Next {
    Run(Access),
    Ask(Ask, Access),
}

impl MemberRuntime {
    /// Lets people decide about the calls of this member as they chose. Until then every call is allowed. To
    /// be called after [`MemberRuntime::confine`].
    pub fn set_asking(&self, settings: AskSettings) {
        let rules = CallRules::new(self, settings.calls.clone());
        *self.asking() = Some(Asking { settings, rules });
    }

    pub(crate) fn asking(&self) -> MutexGuard<'_, Option<Asking>> {
        // Rules that are half made are made again.
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the rules say about a call.
    pub(crate) fn decide(&self, tool: &str, arguments: &Value, effect: Effect) -> CallDecision {
        match self.asking().as_mut() {
            Some(asking) => asking.rules.decide(tool, arguments, effect),
            None => CallDecision {
                verdict: CallVerdict::Allow,
                why: String::new(),
                extent: Extent::default(),
            },
        }
    }

    /// Whether the rules may say something else than before.
    fn have_rules_changed(&self) -> bool {
        let mut asking = self.asking();
        asking
            .as_mut()
            .is_some_and(|asking| asking.rules.have_changed())
    }

    fn lead_decides(&self) -> bool {
        let asking = self.asking();
        asking
            .as_ref()
            .is_some_and(|asking| asking.settings.lead_decides)
    }

    fn ask_timeout(&self) -> Option<Duration> {
        self.asking().as_ref()?.settings.timeout
    }
}

/// Decides about one call, and asks a person about it if need be.
pub(crate) struct Asker<'a> {
    pub(crate) runtime: &'a MemberRuntime,
    /// What hooks have said about the call.
    pub(crate) said: &'a HookAnswers,
    /// Is called when the waiting for a person begins.
    pub(crate) begins: &'a mut (dyn FnMut(&Request) + Send),
    /// The watch for the answer, which outlasts the waiting: to end it takes longer than to start the tool.
    pub(crate) answer_watch: &'a mut Option<AnswerWatch>,
}

impl Asker<'_> {
    /// Whether a call may run, before anybody was asked about it.
    pub(crate) fn first_decision(&self, tool_use: &ToolUse, effect: Option<Effect>) -> MayRun {
        match self.next(tool_use, effect) {
            Ok(Next::Run(access)) => MayRun::Yes(access),
            Ok(Next::Ask(..)) => MayRun::Ask(new_request_id()),
            Err(error) => MayRun::No(error),
        }
    }

    /// What the plan gate and the rules say about a call now.
    fn next(&self, tool_use: &ToolUse, effect: Option<Effect>) -> Result<Next, ToolError> {
        if let Some(reason) = &self.said.block {
            let name = &tool_use.name;
            return Err(ToolError::new(format!(
                "{name} was not run: a hook blocks it: {reason}"
            )));
        }
        let commands = plan_access(self.runtime, tool_use, effect)?;
        let Some(effect) = effect else {
            return Ok(Next::Run(commands.into()));
        };
        let text = tool_use.replayed_input().get();
        if effect == Effect::Ask {
            let question = self.question(AskUserArgs::parse(text)?);
            return Ok(Next::Ask(question, commands.into()));
        }
        let arguments: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let (name, arguments) = mcp::judged_call(&tool_use.name, arguments);
        let name = &name;
        let decision = self.runtime.decide(name, &arguments, effect);
        let (verdict, why) = self.with_hooks(decision.verdict, decision.why);
        if let (Some(changed), CallVerdict::Allow | CallVerdict::Ask { .. }) =
            (&self.said.changed_tools, &verdict)
        {
            let ask = self.ask_about_tools(changed);
            return Ok(Next::Ask(Ask::Permission(ask), commands.into()));
        }
        Ok(match verdict {
            CallVerdict::Allow => Next::Run(access(name, commands, decision.extent)?),
            CallVerdict::Deny => {
                return Err(ToolError::new(format!(
                    "{name} was not run: {why} does not allow it, and nobody is asked"
                )));
            }
            CallVerdict::Ask { grants, .. } => {
                let access = access(name, commands, decision.extent)?;
                let ask = PermissionAsk {
                    tool: name.clone(),
                    arguments,
                    call_hash: String::new(),
                    cwd: self.runtime.folder().display().to_string(),
                    why,
                    grants,
                    lead_decides: self.runtime.lead_decides(),
                };
                Next::Ask(Ask::Permission(ask), access)
            }
        })
    }

    fn question(&self, args: AskUserArgs) -> Ask {
        Ask::Question(QuestionAsk {
            question: args.question,
            choices: args.choices,
            free_text: args.free_text.unwrap_or(true),
            call_hash: String::new(),
            lead_decides: self.runtime.lead_decides(),
        })
    }

    /// Asks a person about a call, and waits for the answer.
    pub(crate) async fn ask_person(
        &mut self,
        call: AskedCall<'_>,
        cancel: &CancellationToken,
    ) -> Answered {
        let (ask, access) = match self.next(call.tool_use, call.effect) {
            Ok(Next::Ask(ask, access)) => (ask, access),
            // The rules have changed since it was asked.
            Ok(Next::Run(access)) => match self.withdraw(call.request_id) {
                Withdrawn::Refused(answer) => return not_allowed(call.tool_use, &answer),
                Withdrawn::Yes | Withdrawn::Decided => return allowed_by_rule(access),
            },
            Err(error) => return self.given_up(&call, ToolOutput::error(error.to_string())),
        };
        if let Ask::Permission(permission) = &ask
            && self.said.changed_tools.is_none()
            && let Some(answered) = self
                .asked_hooks(&call, permission, access.clone(), cancel)
                .await
        {
            return answered;
        }
        let team = self.runtime.team().clone();
        let timeout = self.runtime.ask_timeout();
        let prepared = team::prepare_ask(&self.runtime.me(), call.request_id, ask, timeout);
        let stored = prepared
            .map_err(AskPersonError::from)
            .and_then(|request| team::ask_person(&team, request));
        let request = match stored {
            Ok(request) => request,
            Err(error) => {
                let why = ToolError::from_error(&error);
                return Answered::NotRun(ToolOutput::error(format!(
                    "{} was not run: {why}",
                    call.tool_use.name
                )));
            }
        };
        self.begin_waiting(&request);
        let waited = self.wait(&request, &call, cancel).await;
        match waited {
            Waited::Decided(state, decided) => {
                // Whoever answered may have been killed before this.
                if let Some(decided) = decided
                    && let Err(error) = team::follow_up(&team, &decided)
                {
                    warn!("{error}");
                }
                let answered = match (&self.said.changed_tools, &state) {
                    (Some(changed), AskState::Approved(answer)) => {
                        let runtime = self.runtime;
                        runtime.accept_tools(changed, answer).await
                    }
                    (Some(changed), AskState::Rejected(_)) => {
                        self.runtime.refuse_tools(changed.hash.clone());
                        act_on(&request, state, access)
                    }
                    (Some(_) | None, _) => act_on(&request, state, access),
                };
                self.end_waiting(answered)
            }
            Waited::Accepted(text) => self.end_waiting(Answered::NotRun(ToolOutput::ok(text))),
            Waited::Allowed => self.end_waiting(allowed_by_rule(access)),
            Waited::Cancelled => self.cancelled(&call),
        }
    }

    /// Shows that the turn goes on. A tool that is run shows it itself.
    fn end_waiting(&mut self, answered: Answered) -> Answered {
        match &answered {
            Answered::Run { .. } => self.runtime.lock().resume(),
            Answered::NotRun(_) | Answered::StillWaiting => {
                self.runtime.set_phase(Phase::Working, None, None);
            }
        }
        answered
    }

    /// Shows that the turn waits, and runs the user's `notify` command.
    fn begin_waiting(&mut self, request: &Request) {
        let what = request_line(request);
        info!("waits for an answer: {what}");
        let waiting_for = match request.kind() {
            RequestKind::Question => WaitingFor::Answer,
            RequestKind::Permission | RequestKind::Plan | RequestKind::Shutdown => {
                WaitingFor::Permission
            }
        };
        let reason = Some(format!("request {}", request.id));
        self.runtime
            .set_phase(Phase::Waiting, Some(waiting_for), reason);
        self.runtime.notify_user(request);
        (self.begins)(request);
    }

    /// Waits until the request is decided, a granted rule allows the call, or the turn is cancelled.
    async fn wait(
        &mut self,
        request: &Request,
        call: &AskedCall<'_>,
        cancel: &CancellationToken,
    ) -> Waited {
        let hash = asked_hash(&request.subject).cloned().unwrap_or_default();
        let me = self.runtime.me();
        // Watched before it is read, so that no answer is missed in between.
        let watch = self.answer_watch.take();
        let watch = watch.unwrap_or_else(|| self.runtime.watch_answers());
        loop {
            let pause = match self.read(request) {
                Ok(found) => match ask_state(&found, &me, &hash) {
                    AskState::Pending => MAX_SLEEP,
                    state => {
                        *self.answer_watch = Some(watch);
                        return Waited::Decided(state, Some(Box::new(found)));
                    }
                },
                Err(RequestError::Unknown(_) | RequestError::Invalid { .. }) => {
                    return Waited::Decided(AskState::Void, None);
                }
                Err(error) => {
                    warn!("the request cannot be read: {error}");
                    READ_RETRY
                }
            };
            if request.kind() == RequestKind::Permission
                && self.runtime.have_rules_changed()
                && let Ok(Next::Run(_)) = self.next(call.tool_use, call.effect)
            {
                match self.withdraw(&request.id) {
                    Withdrawn::Yes => return Waited::Allowed,
                    // Somebody has just answered.
                    Withdrawn::Decided | Withdrawn::Refused(_) => continue,
                }
            }
            let mut pause = pause;
            if let Some(changed) = &self.said.changed_tools {
                if self.runtime.are_tools_accepted(changed)
                    && let Withdrawn::Yes = self.withdraw(&request.id)
                {
                    return Waited::Accepted(accepted_text(changed, "The user"));
                }
                pause = pause.min(LOOK_EVERY);
            }
            let deadline = request.deadline.map(|at| at.since(now()));
            let pause = deadline.map_or(pause, |left| left.min(pause));
            let until = Instant::now() + pause;
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Waited::Cancelled,
                () = watch.changed() => {}
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
    }

    /// The request as it is now. One whose deadline has passed is expired first.
    fn read(&self, request: &Request) -> Result<Request, RequestError> {
        let team = self.runtime.team();
        match request.deadline {
            Some(deadline) if deadline <= now() => team::expire_at_deadline(team, &request.id),
            _ => team.request(&request.id),
        }
    }

    fn given_up(&self, call: &AskedCall<'_>, output: ToolOutput) -> Answered {
        self.withdraw(call.request_id);
        Answered::NotRun(output)
    }

    /// A teammate's turn is cancelled when its process ends, and the next process goes on waiting. The
    /// lead's is cancelled by a person who wants something else.
    fn cancelled(&self, call: &AskedCall<'_>) -> Answered {
        match self.runtime.owner() {
            Recipient::Member(_) => Answered::StillWaiting,
            Recipient::Lead => self.given_up(call, ToolOutput::error(NOT_STARTED)),
        }
    }

    /// Ends a request that is still pending, and says whether somebody was faster.
    fn withdraw(&self, id: &RequestId) -> Withdrawn {
        let team = self.runtime.team();
        match team::withdraw_ask(team, id) {
            Ok(true) | Err(RequestError::Unknown(_)) => Withdrawn::Yes,
            Ok(false) => match team.request(id).map(|request| request.state) {
                Ok(RequestState::Rejected(answer)) => Withdrawn::Refused(answer),
                Ok(_) | Err(_) => Withdrawn::Decided,
            },
            Err(error) => {
                warn!("request {id} stays pending: {error}");
                Withdrawn::Decided
            }
        }
    }
}

/// What became of a request whose author needs no answer any more.
enum Withdrawn {
    Yes,
    /// It was over already, or cannot be changed now.
    Decided,
    /// Somebody has refused it.
    Refused(Answer),
}
