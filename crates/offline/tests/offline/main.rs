//! The offline model in small simulated teams: the tests answer its tool calls
//! with the texts of the real tools, and deliver its mail.

mod bounds;
mod documentation;
mod harness;
mod lead;
mod reading;
mod teammate;
