//! How members of a team interact through its files: mail, requests, the task board and the shared notes.
//!
//! # Theory of operation
//!
//! `rules` decides and `teamdir` stores. This crate joins the two: it reads what a rule needs, applies the
//! rule, stores the result under the right lock, and appends an event to the event log. Any process of the
//! team may call any function, and several may do so at once.
//!
//! **Invariant:** a change is stored before its notification is sent. The id of the notification is derived
//! from the change, so that sending it again after a crash has no effect.
//!
//! **Invariant:** this crate knows nothing of processes except whether a member is alive.

pub mod board;
mod drain;
mod event_recovery;
mod limits;
mod mail;
mod notes;
mod requests;

pub use board::{
    BoardError, BoardView, MissingRole, Update, Worker, add_blocked_by, claim, claim_next,
    complete, complete_merged, create, decide, delete, describe_copy, edit, end_leases, get,
    give_back, give_back_late_claim, is_home_reachable, list, missing_roles, release, release_all,
    release_all_of, remove_blocked_by, resume_claim, set_status, unfinished, update,
};
pub use drain::{DrainError, DrainedMail};
pub use event_recovery::{LoggedMail, pending_events, pending_events_of, recently_logged};
pub use limits::{LimitedSendError, reset_traffic};
pub use mail::{broadcast, notice, send, send_event, send_message};
pub use notes::{
    NewNote, NoteError, NoteQuery, add_note, find_notes, newest_note_lines, note_line,
};
pub use protocol::Actor;
pub use requests::{
    AnswerError, Ask, AskError, AskPersonError, FollowUpError, MailedAnswer, Overdue, PersonAnswer,
    ShutdownOptions, SubmitError, addressee, all_pending, all_requests, answer_person,
    answer_shutdown, ask_person, ask_shutdown, by_whom, decide_plan, deliver_unsent_shutdown,
    deny_unattended, expire_at_deadline, expire_overdue, find_request, follow_up,
    mail_unrecorded_answer, notify_once, overdue, pending, prepare_ask, record_answer,
    record_before_commit, record_mailed_answer, record_plan, submit_plan, unanswerable, waiting,
    was_recorded, withdraw_ask, withdraw_asks,
};
