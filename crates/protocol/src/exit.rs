//! Exit codes of `team-lead` and `teammate`, a stable part of the command line.

/// Everything asked for was done.
pub const DONE: u8 = 0;
/// The command failed; the error on stderr says why.
pub const FAILED: u8 = 1;
/// The command line was wrong.
pub const USAGE: u8 = 2;
/// There is no such team, member, request or task.
pub const NOT_FOUND: u8 = 3;
/// A deadline passed first.
pub const TIMED_OUT: u8 = 4;
/// The work finished, but a teammate or a task failed, or work was left undone because nobody could be asked.
pub const TEAM_FAILED: u8 = 5;
/// A budget was reached.
pub const BUDGET: u8 = 6;
/// Another process holds the place: a second lead on the folder, or a second process for a member.
pub const HELD: u8 = 7;
/// Somebody else has answered the request, or it is closed.
pub const ALREADY_ANSWERED: u8 = 8;
/// A signal from the person at the terminal ended the command.
pub const INTERRUPTED: u8 = 130;

/// Every code with its meaning, in the words of the help text.
pub const ALL: &[(u8, &str)] = &[
    (DONE, "done"),
    (FAILED, "failed, refused, or a member still runs"),
    (USAGE, "wrong use"),
    (NOT_FOUND, "no such team, member, request or task"),
    (TIMED_OUT, "timed out"),
    (
        TEAM_FAILED,
        "finished, but a teammate or task failed, or nobody could be asked",
    ),
    (BUDGET, "budget reached"),
    (
        HELD,
        "another lead holds the folder, or another process the member",
    ),
    (ALREADY_ANSWERED, "somebody else has answered already"),
    (INTERRUPTED, "interrupted by Ctrl-C"),
];
