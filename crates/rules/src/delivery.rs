//! Whether mail for one incarnation of a member is delivered to another.

use protocol::{Incarnation, Message};

/// What a member's present incarnation knows of the incarnations before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Its conversation goes on where the last incarnation's ended.
    Kept,
    /// Its conversation began anew.
    Fresh,
}

/// What is to be done with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Show it as it is.
    Deliver,
    /// Show it with this remark.
    DeliverMarked(String),
    /// Put it among the dead letters and tell the sender; never act on it.
    DeadLetter {
        /// Why.
        reason: String,
    },
    /// A later incarnation than the reader's own was addressed, so the reader has been replaced: it must
    /// stop at once and leave the message where it lies.
    Zombie,
}

/// Decides what the reader, which is incarnation `reader` of its member, does with `message`.
///
/// A message that names no incarnation, or the reader's own, is delivered. One for an earlier incarnation is
/// delivered if it is plain: as it is when the memory was kept, else with a remark. A control
/// message for an earlier incarnation is never acted on, since a shutdown of one incarnation must not end the
/// next; senders of answers leave the incarnation out, because the request itself says who may answer.
pub fn judge(message: &Message, reader: Incarnation, memory: Recovered) -> Delivery {
    let Some(meant) = message.to_incarnation else {
        return Delivery::Deliver;
    };
    if meant == reader {
        return Delivery::Deliver;
    }
    if meant > reader {
        return Delivery::Zombie;
    }
    if message.body.is_control() {
        let kind = message.body.kind();
        return Delivery::DeadLetter {
            reason: format!(
                "the {kind} was for incarnation {meant}, which has been replaced by incarnation \
                 {reader}"
            ),
        };
    }
    match memory {
        Recovered::Kept => Delivery::Deliver,
        Recovered::Fresh => Delivery::DeliverMarked(format!(
            "sent to your predecessor (incarnation {meant}), whose memory you do not have"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Body, RequestId};

    const READER: Incarnation = Incarnation(3);

    fn text(to: Option<u64>) -> Message {
        let content = "hello".to_owned();
        Message {
            to_incarnation: to.map(Incarnation),
            ..Message::new(Body::Message { content })
        }
    }

    fn control(to: Option<u64>) -> Message {
        let body = Body::ShutdownRequest {
            request_id: RequestId::new("1a2b3c4d").unwrap(),
            content: String::new(),
        };
        Message { body, ..text(to) }
    }

    #[test]
    fn mail_for_this_incarnation_or_any_is_delivered() {
        for message in [text(None), text(Some(3)), control(None), control(Some(3))] {
            for memory in [Recovered::Kept, Recovered::Fresh] {
                assert_eq!(judge(&message, READER, memory), Delivery::Deliver);
            }
        }
    }

    #[test]
    fn a_control_message_for_an_earlier_incarnation_never_acts() {
        for memory in [Recovered::Kept, Recovered::Fresh] {
            match judge(&control(Some(2)), READER, memory) {
                Delivery::DeadLetter { reason } => {
                    assert!(reason.contains("shutdown_request"), "{reason}");
                    assert!(reason.contains("incarnation 2"), "{reason}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn text_for_an_earlier_incarnation_is_delivered_and_marked_if_the_memory_is_new() {
        let message = text(Some(2));
        assert_eq!(judge(&message, READER, Recovered::Kept), Delivery::Deliver);
        match judge(&message, READER, Recovered::Fresh) {
            Delivery::DeliverMarked(remark) => assert!(remark.contains("predecessor")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn mail_for_a_later_incarnation_means_the_reader_was_replaced() {
        for message in [text(Some(4)), control(Some(4))] {
            assert_eq!(judge(&message, READER, Recovered::Kept), Delivery::Zombie);
        }
    }
}
