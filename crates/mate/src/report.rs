//! Telling the lead how a turn ended.

use desk::Desk;
use protocol::{Body, Message, MessageId, Recipient};

/// What a report says if the model said nothing.
const NO_WORDS: &str = "The turn ended without words.";

/// Sends the report of a turn, and takes note that it was sent. Returns whether it was: one that was
/// not is to be sent later, by this life or by the next.
pub(crate) fn report(desk: &Desk, text: &str) -> bool {
    let n = desk.next_report();
    let content = if text.trim().is_empty() {
        NO_WORDS.to_owned()
    } else {
        text.to_owned()
    };
    let mut message = Message::new(Body::IdleNotification { content });
    message.id = MessageId::new(&format!("report/{}/{n}", desk.owner())).ok();
    message.from = Some(desk.me().party.into());
    message.from_incarnation = Some(desk.life());
    message.to = Some(Recipient::Lead);
    match dealings::post(desk.team(), message) {
        Ok(_) => note_sent(desk, n),
        Err(error) => {
            desk.note(&format!("the report was not sent: {error}"));
            return false;
        }
    }
    true
}

/// Takes note that the end of this turn needs no report.
pub(crate) fn no_report(desk: &Desk) {
    note_sent(desk, desk.next_report() - 1);
}

fn note_sent(desk: &Desk, n: u64) {
    if let Err(error) = desk.keep_report(n) {
        desk.note(&format!("the report may be sent twice: {error}"));
    }
}
