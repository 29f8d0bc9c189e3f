//! The lead agent and the terminal it talks at.
