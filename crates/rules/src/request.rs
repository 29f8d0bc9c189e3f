//! The states of a request: `pending -> approved | rejected | expired`.
//!
//! A request is a file that both sides may change and that any program may write, so every transition
//! checks who asks for it. A state other than `pending` is final: no function of this module ever changes
//! it.

mod answer;
mod ask;
mod describe;
mod expire;
mod open;

pub use answer::{
    AnswerSource, MAX_IGNORED, Response, Verdict, WhyIgnored, answer, decider, name_elsewhere,
};
pub use ask::{
    AdoptRefusal, AskState, adopt, ask_state, asked_hash, call_hash, granted, lead_may_answer,
    notified, question_hash,
};
pub use describe::{answer_text, author_text, call_text, not_run_text, request_line, subject_text};
pub use expire::{Addressee, Author, ExpireReason, ExpireRefusal, abandoned, due, expire};
pub use open::{
    MAX_CHOICES, OpenAskRefusal, OpenPlanRefusal, OpenShutdownRefusal, Opening, open_permission,
    open_plan, open_question, open_shutdown,
};

#[cfg(test)]
mod tests;
