//! The wire formats, tested from outside: what is decoded, what is sent, and
//! what happens when something goes wrong.
//!
//! The modules are marked as tests so that clippy takes their helpers for such.

#[cfg(test)]
mod anthropic_replies;
#[cfg(test)]
mod anthropic_requests;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod chunking;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod images;
#[cfg(test)]
mod keep_alive;
#[cfg(test)]
mod learning;
#[cfg(test)]
mod openai_replies;
#[cfg(test)]
mod openai_requests;
#[cfg(test)]
mod responses_replies;
#[cfg(test)]
mod responses_requests;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod script;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tuned;
#[cfg(test)]
mod validity;
#[cfg(test)]
mod web;
