//! Mail: from a sender's call to a record in the recipient's journal.
//!
//! In the order in which a message passes through them:
//!
//! * `send`: sends one message to one inbox.
//! * `inbox_writer`: appends a line to an inbox, beside others who do.
//! * `unsynced`: lines that are synced later, many at once.
//! * `segment`: an inbox file open for reading, live or set aside.
//! * `intake`: decides what each line of an inbox is.
//! * `seen`: recognises a message that was sent twice.
//! * `mailbox`: receives a batch and commits it to the journal.
//! * `state`: how far an inbox has been read, as the journal says.
//! * `unread`: reads unread mail without receiving it.
//! * `dead_letters`: mail that could not be delivered.

mod dead_letters;
pub(crate) mod inbox_writer;
pub(crate) mod intake;
pub(crate) mod mailbox;
pub(crate) mod seen;
pub(crate) mod segment;
pub(crate) mod send;
pub(crate) mod state;
mod unread;
pub(crate) mod unsynced;

pub use mailbox::{CommitHook, Delivery, ForwardHook, Mailbox, ReceiveError, WaitPlan};
pub use send::{SendError, Sent, new_message_id};
pub use state::MailState;
pub use unsynced::UnsyncedInboxes;
