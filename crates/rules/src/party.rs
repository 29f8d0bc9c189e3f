//! Compares parties and recipients.

use protocol::{Party, Recipient};

/// Whether both are the same party: the case of a member's name makes no difference.
pub(crate) fn same_party(left: &Party, right: &Party) -> bool {
    match (left, right) {
        (Party::Member(left), Party::Member(right)) => left.same_as(right),
        (Party::Lead, Party::Lead) | (Party::User, Party::User) => true,
        (Party::System, Party::System) => true,
        (Party::Lead | Party::User | Party::System | Party::Member(_), _) => false,
    }
}

/// Whether the owner of the inbox `recipient` is `party`.
pub(crate) fn is_recipient(recipient: &Recipient, party: &Party) -> bool {
    match (recipient, party) {
        (Recipient::Lead, Party::Lead) => true,
        (Recipient::Member(left), Party::Member(right)) => left.same_as(right),
        (Recipient::Lead | Recipient::Member(_), _) => false,
    }
}
