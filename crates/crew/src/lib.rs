//! The processes of a team: starting, watching and ending them.
