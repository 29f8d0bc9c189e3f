//! The rules of a team as pure functions: requests, shutdowns, plans, tasks, delivery and restarts.
//!
//! # Theory of operation
//!
//! Members of a team share nothing but files, so any process may apply a rule, and the result must be the
//! same in each. Every rule here is therefore a pure function or a small state machine: facts, identifiers
//! and the time are arguments, and the result is a value that the caller stores or carries out.
//!
//! * [`request`]: `pending -> approved | rejected | expired`. [`answer`] decides whether an answer counts;
//!   one that does not is listed as ignored and changes nothing else.
//! * [`Shutdown`]: one shutdown, from the request to the end of the process. It always ends, whatever the
//!   member does.
//! * [`PlanGate`]: whether a member may change anything yet.
//! * [`board`]: who may claim, release and complete which task. Completing a task changes one file:
//!   `blockedBy` stays as declared, and whether a task is blocked is computed from the status of
//!   its dependencies.
//! * [`MemberState`]: the state of a member. The operating system's lock decides whether it is alive.
//! * [`judge`]: whether mail for an earlier incarnation is delivered to a later one.
//! * [`advance`]: `submitted -> checking -> merged | conflict | failed`, for the work that members submit.
//! * [`check_spawn`]: whether a host may have a member started here, and as what.
//! * [`RestartHistory`]: whether and when a dead member is restarted by its policy.
//!
//! Refusals are values whose text names the object, the cause and, where there is one, the next step.
//! Callers show them unchanged to people and models.
//!
//! **Invariant:** no I/O, no clock, no randomness in this crate.

pub mod board;
mod call;
mod conflict;
mod delivery;
mod host_spawn;
mod member;
mod names;
mod party;
mod plan;
pub mod request;
mod restart;
mod sent_submission;
mod shutdown;
mod submission;

pub use board::{
    Board, ClaimLimit, ClaimRefusal, Claimant, CompleteRefusal, CreateRefusal, DeleteRefusal,
    Deleted, EdgeRefusal, Edit, EditRefusal, LeaseOver, NewTask, NoSuchTask, ReleaseRefusal,
    StatusRefusal, UnknownStatus, check_lease, end_lease, parse_status,
};
pub use call::{call_line, main_argument};
pub use conflict::short_conflict;
pub use delivery::{Conversation, Delivery, judge};
pub use host_spawn::{MAX_OPEN_SPAWNS, SpawnRefused, check_spawn, spawn_spec};
pub use member::{Facts, MemberState, member_state};
pub use names::{NameRefusal, check_new_name};
pub use plan::{GateRefusal, Permission, PlanFacts, PlanFile, PlanGate, SubmittedPlan, plan_hash};
pub use request::{
    Addressee, AdoptRefusal, AnswerSource, AskState, Author, ExpireReason, ExpireRefusal,
    MAX_CHOICES, MAX_IGNORED, OpenAskRefusal, OpenPlanRefusal, OpenShutdownRefusal, Opening,
    Response, Verdict, WhyIgnored, abandoned, adopt, answer, answer_text, ask_state, asked_hash,
    author_text, call_hash, call_text, decider, due, expire, granted, lead_may_answer,
    name_elsewhere, not_run_text, notified, open_permission, open_plan, open_question,
    open_shutdown, question_hash, request_line, subject_text,
};
pub use restart::{RestartDecision, RestartHistory, RestartLimits, restarts_text};
pub use sent_submission::{as_brought, as_told, refused, send_to, take_state};
pub use shutdown::{
    SHUTDOWN_TIMEOUT, Shutdown, ShutdownAction, ShutdownEvent, ShutdownLimits, ShutdownOutcome,
    StartRefusal,
};
pub use submission::{StepRefusal, SubmissionCount, SubmissionStep, advance, is_due};
