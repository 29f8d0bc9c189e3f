//! Whether mail for one incarnation of a member is delivered to another.

use protocol::{Incarnation, Message};

/// Whether an incarnation has the conversation of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation {
    /// It continues the conversation.
    Kept,
    /// It began a new conversation.
    Fresh,
}

/// What to do with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Deliver it unchanged.
    Deliver,
    /// Deliver it with this remark.
    DeliverMarked(String),
    /// Make it a dead letter and notify the sender; never act on it.
    DeadLetter { reason: String },
    /// The message is for a later incarnation than the reader's, so another process has replaced the
    /// reader. The reader must stop at once and leave the message unread.
    ReaderReplaced,
}

/// Decides what the reader, which is incarnation `reader` of its member, does with `message`.
///
/// A message that names no incarnation, or the reader's own, is delivered. A plain message for an earlier
/// incarnation is delivered: unchanged if the conversation was kept, else with a remark. A control message
/// for an earlier incarnation is never acted on, since a shutdown of one incarnation must not end the next;
/// senders of answers leave the incarnation out, because the request itself says who may answer.
pub fn judge(message: &Message, reader: Incarnation, conversation: Conversation) -> Delivery {
    let Some(addressed) = message.to_incarnation else {
        return Delivery::Deliver;
    };
    if addressed == reader {
        return Delivery::Deliver;
    }
    if addressed > reader {
        return Delivery::ReaderReplaced;
    }
    if message.body.is_control() {
        let kind = message.body.kind();
        return Delivery::DeadLetter {
            reason: format!(
                "the {kind} was for incarnation {addressed}, which has been replaced by incarnation \
                 {reader}"
            ),
        };
    }
    match conversation {
        Conversation::Kept => Delivery::Deliver,
        Conversation::Fresh => Delivery::DeliverMarked(format!(
            "sent to your predecessor (incarnation {addressed}), whose conversation you do not have"
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
            for conversation in [Conversation::Kept, Conversation::Fresh] {
                assert_eq!(judge(&message, READER, conversation), Delivery::Deliver);
            }
        }
    }

    #[test]
    fn a_control_message_for_an_earlier_incarnation_never_acts() {
        for conversation in [Conversation::Kept, Conversation::Fresh] {
            match judge(&control(Some(2)), READER, conversation) {
                Delivery::DeadLetter { reason } => {
                    assert!(reason.contains("shutdown_request"), "{reason}");
                    assert!(reason.contains("incarnation 2"), "{reason}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn text_for_an_earlier_incarnation_is_marked_if_the_conversation_is_new() {
        let message = text(Some(2));
        assert_eq!(
            judge(&message, READER, Conversation::Kept),
            Delivery::Deliver
        );
        match judge(&message, READER, Conversation::Fresh) {
            Delivery::DeliverMarked(remark) => assert!(remark.contains("predecessor")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn mail_for_a_later_incarnation_means_the_reader_was_replaced() {
        for message in [text(Some(4)), control(Some(4))] {
            assert_eq!(
                judge(&message, READER, Conversation::Kept),
                Delivery::ReaderReplaced
            );
        }
    }
}
