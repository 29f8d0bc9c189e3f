//! Members whose model is the agent of another program.

mod real;
mod scripted;
