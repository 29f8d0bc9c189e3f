//! The two programs as people and other programs use them: real processes, real files, and a server
//! that plays the models. [`harness`] is the one way to run anything.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod board;
mod bridge;
mod budgets;
mod chaos;
mod completions;
mod confined;
mod demo;
mod drain;
mod engines;
mod fixture;
mod harness;
mod hooks;
mod hostile;
mod lead;
mod logs;
mod mail;
mod mcp;
mod mends;
mod models;
mod notes;
mod permissions;
mod prompts;
mod python_member;
mod readme;
mod requests;
mod sandbox;
mod second_day;
mod shutdown;
mod teammates;
mod terminal_sizes;
mod tour;
mod trees;
mod trust;
mod usage;
mod wait;
mod watch;
mod web;
mod web_tools;
mod wires;
