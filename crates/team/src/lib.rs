//! What members of a team do to each other through its files: mail, requests and the board.
//!
//! # Theory of operation
//!
//! The rules are those of `rules`; the files are those of `teamdir`. This crate joins the
//! two: it reads what a rule needs, asks the rule, stores what comes out of it under the right lock,
//! and notes in the event log what happened. Every function may be called by any process of the
//! team, and by several at once.
//!
//! **Invariant:** a change is stored before anybody is notified of it. The notification has an
//! identifier made from the change, so that sending it again after a crash has no effect.
//!
//! **Invariant:** nothing in here knows of processes beyond asking whether a member is alive.

pub mod board;
mod event_recovery;
mod limits;
mod mail;
mod requests;

pub use board::{
    BoardError, BoardView, Update, Worker, add_blocked_by, claim, claim_next, complete, create,
    delete, edit, get, list, release, release_all, release_all_of, remove_blocked_by, resume_claim,
    set_status, unfinished, update,
};
pub use event_recovery::{LoggedMail, pending_events, recently_logged};
pub use limits::{LimitedSendError, reset_traffic};
pub use mail::{broadcast, notice, send, send_event, send_message};
pub use protocol::Actor;
pub use requests::{
    AnswerError, AskError, MailedAnswer, Overdue, ShutdownOptions, SubmitError, addressee,
    answer_shutdown, ask_shutdown, decide_plan, deliver_shutdown, expire_overdue,
    mail_unrecorded_answer, overdue, pending, record_before_commit, record_mailed_answer,
    record_plan, submit_plan, unanswerable,
};
