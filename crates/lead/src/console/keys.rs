//! The keys with which a person answers what waits: a line of nothing else, then Enter. Where no lines
//! are typed the key is enough.

use protocol::RequestId;

/// The request that is shown, and the keys that answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) id: RequestId,
    pub(crate) keys: Vec<OfferedKey>,
}

/// A key that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfferedKey {
    pub(crate) key: char,
    /// The prompt for the text that belongs to the answer, if it needs one.
    pub(crate) text: Option<&'static str>,
}

/// A key that was pressed, for the request that was shown then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pressed {
    pub(crate) id: RequestId,
    pub(crate) key: OfferedKey,
}
