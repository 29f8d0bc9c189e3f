//! Whose files are obeyed.

/// The variable with the numbers of other users whose files are obeyed, separated by commas.
pub const OWNERS_VARIABLE: &str = "TEAM_SAFE_OWNERS";

/// The users whose files are obeyed. It follows git's `safe.directory`: even root obeys only files of root,
/// because otherwise every owner of a file could give orders to root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owners {
    me: u32,
    others: Vec<u32>,
}

impl Owners {
    /// This user, and those in the value of [`OWNERS_VARIABLE`]. Parts of the value that are not numbers
    /// are ignored.
    pub fn new(me: u32, others: Option<&str>) -> Self {
        let others = others.into_iter().flat_map(|others| others.split(','));
        Self {
            me,
            others: others.filter_map(|uid| uid.trim().parse().ok()).collect(),
        }
    }

    pub fn accept(&self, owner: u32) -> bool {
        owner == self.me || self.others.contains(&owner)
    }
}
