//! The reports of the reaper to the owner: records of eight bytes.

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// The leader ended with this wait status.
    Ended(i32),
    /// The reaper has finished, and could not kill this many of its children.
    Swept(i32),
}

/// The length of a record, which a pipe writes atomically.
pub(crate) const LENGTH: usize = 8;

impl Record {
    pub(crate) fn encode(self) -> [u8; LENGTH] {
        let (tag, value): (u8, i32) = match self {
            Self::Ended(value) => (1, value),
            Self::Swept(value) => (2, value),
        };
        let [a, b, c, d] = value.to_ne_bytes();
        [tag, 0, 0, 0, a, b, c, d]
    }

    pub(crate) fn decode(bytes: [u8; LENGTH]) -> Option<Self> {
        let [tag, _, _, _, a, b, c, d] = bytes;
        let value = i32::from_ne_bytes([a, b, c, d]);
        match tag {
            1 => Some(Self::Ended(value)),
            2 => Some(Self::Swept(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_pipe() {
        for record in [Record::Ended(-1), Record::Swept(i32::MAX)] {
            assert_eq!(Record::decode(record.encode()), Some(record));
        }
        assert_eq!(Record::decode([9; LENGTH]), None);
    }
}
