//! The tools with which a model takes part in a team.
