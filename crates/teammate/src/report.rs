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
    message.id = report_id(runtime, n);
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

/// The same for the same report, whichever incarnation sends it. The time at which the member joined tells
/// it from one of its name that was removed, whose reports were counted from 1 too.
fn report_id(runtime: &MemberRuntime, n: u64) -> Option<MessageId> {
    let owner = runtime.owner();
    let joined = match (runtime.team().roster(), owner) {
        (Ok(roster), Recipient::Member(name)) => {
            roster.member(name).and_then(|member| member.joined_at)
        }
        (Err(_), _) | (_, Recipient::Lead) => None,
    };
    let joined = joined.map(|time| time.as_micros()).unwrap_or_default();
    MessageId::new(&format!("report/{owner}/{joined}/{n}")).ok()
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
