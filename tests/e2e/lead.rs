//! The lead as a person or a program uses it: real processes, real files, a model that is a script or
//! a server on this machine.

mod adoption;
mod asking;
mod commands;
mod deaths;
mod instructions;
mod leaving;
mod mail;
mod one_shot;
mod piped;
mod screen;
mod sessions;
mod terminal;
mod waiting;
