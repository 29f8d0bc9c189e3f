//! Reports the end of a turn to the lead.

use member::MemberRuntime;
use protocol::{Body, Message, MessageId, Recipient};
use tracing::warn;

/// The report of a turn in which the model said nothing.
const NO_TEXT: &str = "The turn ended without text.";

/// Sends the report of a turn, and records that it was sent. Returns whether it was: one that was not
/// is sent later, by this incarnation or the next.
pub(crate) fn report(runtime: &MemberRuntime, text: &str) -> bool {
    let n = runtime.next_report();
    let content = if text.trim().is_empty() {
        NO_TEXT.to_owned()
    } else {
        text.to_owned()
    };
    let mut message = Message::new(Body::IdleNotification { content });
    message.id = MessageId::new(&format!("report/{}/{n}", runtime.owner())).ok();
    message.from = Some(runtime.me().party.into());
    message.from_incarnation = Some(runtime.incarnation());
    message.to = Some(Recipient::Lead);
    match team::send_message(runtime.team(), message) {
        Ok(_) => note_sent(runtime, n),
        Err(error) => {
            warn!("the report was not sent: {error}");
            return false;
        }
    }
    true
}

/// Records that the end of this turn needs no report.
pub(crate) fn no_report(runtime: &MemberRuntime) {
    note_sent(runtime, runtime.next_report() - 1);
}

fn note_sent(runtime: &MemberRuntime, n: u64) {
    if let Err(error) = runtime.record_report(n) {
        warn!("the report may be sent twice: {error}");
    }
}
