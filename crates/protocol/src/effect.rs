//! What the tools of a model can change.

/// What a tool may change. It decides how its calls are run, whether a plan must be approved first, and which
/// permissions they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only reads. Calls may run concurrently with other such calls, and may be cancelled at any
    /// point.
    Read,
    /// It changes only the state of its agent or team. Calls run in order.
    State,
    /// It changes the workspace, or starts programs that go on after the call. Calls run in order, and a
    /// caller may refuse them, for example until a plan is approved.
    Mutate,
    /// It starts programs that end with the call, in a sandbox where there is one. Calls run in order,
    /// and a caller may refuse them or have them run without the right to change anything.
    Execute,
    /// It asks a person. The caller asks, and the result of the call is the answer. Calls run in order.
    Ask,
}

impl Effect {
    /// Whether calls may run concurrently with each other.
    pub const fn is_concurrent(self) -> bool {
        match self {
            Self::Read => true,
            Self::State | Self::Mutate | Self::Execute | Self::Ask => false,
        }
    }

    /// Whether calls change at most the state of the agent or its team.
    pub const fn is_of_team(self) -> bool {
        match self {
            Self::State | Self::Ask => true,
            Self::Read | Self::Mutate | Self::Execute => false,
        }
    }
}
