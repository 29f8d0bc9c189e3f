//! Members whose model is the agent of another program.

mod agents;
mod player;
mod real;
mod scripted;
