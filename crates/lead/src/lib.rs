//! The lead agent and the terminal it talks at.

mod console;
mod life;
mod typed;

pub use console::{Console, Input, Mode, Said, Speaker, Surroundings};
pub use typed::{Command, Typed};
