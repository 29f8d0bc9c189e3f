//! Every step of every write: killed, torn, cut short or refused at each of its system calls.
//!
//! The crash points are the system calls themselves, struck from outside by a tracer, so that no
//! step can be forgotten and the product carries no code for tests.

mod checks;

use crate::support::{TestTeam, is_long, unsynced};
use std::process::{Command, Stdio};
use teamdir::{Durability, Options};
use test_support::faults::{self, Call, Fault, Outcome};
use test_support::report_skip;

/// One operation, the team it starts from, and what must hold however it was struck.
struct Case {
    op: &'static str,
    prepare: fn(&TestTeam),
    check: fn(&TestTeam, Struck),
}

/// What became of the struck process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Struck {
    /// It is gone.
    Killed,
    /// It reported an error, or the fault passed it by.
    Exited {
        /// Whether it reported that the work is done.
        done: bool,
    },
}

/// Calls that say nothing about files. Recovered and time have their own faults.
const NOT_ABOUT_FILES: [&str; 14] = [
    "mmap",
    "munmap",
    "brk",
    "mremap",
    "madvise",
    "futex",
    "sched_yield",
    "clock_nanosleep",
    "getrandom",
    "rt_sigprocmask",
    "rt_sigaction",
    "sigaltstack",
    "prlimit64",
    "uname",
];

fn errors(call: &Call) -> &'static [i32] {
    // A close that is refused leaves the descriptor open, which no system does.
    if NOT_ABOUT_FILES.contains(&call.name) || call.name == "close" {
        return &[];
    }
    match call.name {
        "write" | "pwrite64" => &[libc::ENOSPC, libc::EIO, libc::EDQUOT, libc::EINTR],
        "fdatasync" | "fsync" => &[libc::EIO, libc::ENOSPC],
        // Where the kernel does not have the call, the path is walked instead.
        "openat2" => &[
            libc::EMFILE,
            libc::ENOSPC,
            libc::EACCES,
            libc::EINTR,
            libc::ENOSYS,
        ],
        "openat" => &[libc::EMFILE, libc::ENOSPC, libc::EACCES, libc::EINTR],
        "flock" => &[libc::ENOLCK, libc::EINTR],
        _ => &[libc::EIO],
    }
}

fn fresh(case: &Case) -> TestTeam {
    let team = TestTeam::new();
    (case.prepare)(&team);
    team
}

/// The process that is struck. It tries again once, to show that it recovers by itself.
fn command(team: &TestTeam, case: &Case, tries: &str) -> Command {
    let mut command = team.bench(&["--seal-after-ms", "0", "--grace-ms", "0", "--sync", "op"]);
    command.args([case.op, "--tries", tries]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn strike(case: &Case, call: &Call, fault: Fault, tries: &str) {
    let team = fresh(case);
    let what = format!(
        "{}: {fault:?} at call {} ({})",
        case.op, call.index, call.name
    );
    let mut command = command(&team, case, tries);
    let (outcome, trace) = faults::inject_traced(&mut command, call.index, fault).unwrap();
    // How often files are checked depends on their age, so another call may have been hit:
    // one for memory, say, whose failure nobody survives.
    let hit = trace.calls.get(call.index - 1);
    if let (Fault::Errno(error), Some(hit)) = (fault, hit)
        && !errors(hit).contains(&error)
    {
        return;
    }
    let struck = match outcome {
        Outcome::Killed => Struck::Killed,
        Outcome::Exited(code) => {
            let out = String::from_utf8_lossy(&trace.stdout);
            let err = String::from_utf8_lossy(&trace.stderr);
            assert!(code == 0 || code == 1, "{what}: exit {code}: {err}");
            assert!(
                code == 0 || err.contains("error: "),
                "{what}: no error is shown: {err}"
            );
            if tries != "1" {
                assert_eq!(code, 0, "{what}: it does not recover: {out} {err}");
            }
            Struck::Exited { done: code == 0 }
        }
        // The number of calls may differ by a retry of a busy lock.
        Outcome::NotReached | Outcome::NotApplicable => return,
        Outcome::Signalled(signal) => panic!("{what}: died of signal {signal}"),
    };
    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        (case.check)(&team, struck);
    }));
    assert!(checked.is_ok(), "{what}, then {struck:?}: see above");
}

/// Strikes each call of the operation with everything that can happen to it.
fn strike_everywhere(case: &Case) {
    if let Err(reason) = faults::available() {
        return report_skip(case.op, reason);
    }
    let team = fresh(case);
    let trace = faults::record(&mut command(&team, case, "1")).unwrap();
    assert!(
        trace.status.success(),
        "{}",
        String::from_utf8_lossy(&trace.stderr)
    );
    (case.check)(&team, Struck::Exited { done: true });
    assert!(trace.calls.len() > 3, "the operation is not marked");
    for call in &trace.calls {
        strike(case, call, Fault::Kill, "1");
        if call.writes {
            strike(case, call, Fault::Tear, "1");
            strike(case, call, Fault::Short, "1");
            strike(case, call, Fault::Short, "2");
        }
        for error in errors(call) {
            strike(case, call, Fault::Errno(*error), "1");
            strike(case, call, Fault::Errno(*error), "2");
        }
    }
}

/// Kills the operation at each of its calls.
fn kill_everywhere(case: &Case) {
    if let Err(reason) = faults::available() {
        return report_skip(case.op, reason);
    }
    let team = fresh(case);
    let trace = faults::record(&mut command(&team, case, "1")).unwrap();
    (case.check)(&team, Struck::Exited { done: true });
    assert!(trace.calls.len() > 20, "it did not wait");
    for call in &trace.calls {
        strike(case, call, Fault::Kill, "1");
    }
}

/// A view of the folder as a later process has it.
fn later(team: &TestTeam) -> TestTeam {
    let options = Options {
        durability: Durability::ProcessDeath,
        seal_after: std::time::Duration::ZERO,
        segment_grace: std::time::Duration::ZERO,
        ..unsynced()
    };
    let workspace = team.team.layout().root().parent().unwrap().to_path_buf();
    TestTeam::at(&workspace, options)
}

#[test]
fn inv_01_send_is_all_or_nothing_at_every_call() {
    strike_everywhere(&Case {
        op: "send",
        prepare: checks::one_unread,
        check: checks::sent_once,
    });
}

#[test]
fn inv_01_send_is_all_or_nothing_at_every_call_while_it_waits_for_the_sync_of_another() {
    kill_everywhere(&Case {
        op: "send-beside-leader",
        prepare: checks::one_unread,
        check: checks::sent_once,
    });
}

/// It hands its line over, nobody leads, and so it appends what was handed over by itself.
#[test]
fn inv_01_send_is_all_or_nothing_at_every_call_of_who_leads_a_crowd() {
    strike_everywhere(&Case {
        op: "send",
        prepare: checks::one_unread_in_a_crowd,
        check: checks::sent_once,
    });
}

/// It hands its line over to somebody who does not take it.
#[test]
fn inv_01_send_is_all_or_nothing_at_every_call_of_who_hands_its_line_over_in_vain() {
    kill_everywhere(&Case {
        op: "send-beside-leader",
        prepare: checks::one_unread_in_a_crowd,
        check: checks::sent_once,
    });
}

#[test]
fn inv_02_claim_and_acknowledge_are_one_step_at_every_call() {
    strike_everywhere(&Case {
        op: "receive",
        prepare: checks::mixed_mail,
        check: checks::received_once,
    });
}

/// A process that gets an error and goes on must show what it commits, each message once, also
/// when it is the checkpoint behind the mail that fails.
#[test]
fn inv_02_what_is_committed_is_shown_by_the_same_process() {
    if let Err(reason) = faults::available() {
        return report_skip("receive", reason);
    }
    let case = Case {
        op: "receive",
        prepare: checks::enough_for_a_checkpoint,
        check: |_, _| {},
    };
    let trace = faults::record(&mut command(&fresh(&case), &case, "1")).unwrap();
    let is_struck = |call: &&Call| call.writes || call.name == "fdatasync";
    let struck: Vec<&Call> = trace.calls.iter().filter(is_struck).collect();
    assert!(struck.len() > 3, "there is no checkpoint among {struck:?}");
    for call in struck {
        let team = fresh(&case);
        let mut command = command(&team, &case, "4");
        let fault = Fault::Errno(libc::ENOSPC);
        let (_, trace) = faults::inject_traced(&mut command, call.index, fault).unwrap();
        let out = String::from_utf8_lossy(&trace.stdout);
        let mut shown: Vec<&str> = out
            .lines()
            .filter_map(|l| l.strip_prefix("shown "))
            .collect();
        shown.sort_unstable();
        let mut recorded = team.journal();
        recorded.sort_unstable();
        assert_eq!(shown, recorded, "struck at {call:?}");
    }
}

#[test]
fn inv_09_setting_aside_and_deleting_lose_nothing_at_any_call() {
    strike_everywhere(&Case {
        op: "settle",
        prepare: checks::mixed_mail,
        check: checks::received_once,
    });
}

#[test]
fn joining_is_all_or_nothing_at_every_call() {
    strike_everywhere(&Case {
        op: "join",
        prepare: |_| {},
        check: checks::can_join,
    });
}

#[test]
fn inv_17_the_roster_is_old_or_new_at_every_call() {
    strike_everywhere(&Case {
        op: "roster",
        prepare: |_| {},
        check: checks::roster_whole,
    });
}

#[test]
fn a_request_is_created_whole_or_not_at_every_call() {
    strike_everywhere(&Case {
        op: "request-create",
        prepare: |_| {},
        check: checks::request_whole,
    });
}

#[test]
fn a_request_is_pending_or_answered_at_every_call() {
    strike_everywhere(&Case {
        op: "request-answer",
        prepare: checks::pending_request,
        check: checks::request_answered_or_not,
    });
}

#[test]
fn mail_about_an_answer_never_claims_what_the_request_does_not_say() {
    strike_everywhere(&Case {
        op: "shutdown-answer",
        prepare: checks::pending_request,
        check: checks::answer_recorded_before_mailed,
    });
}

#[test]
fn a_task_is_created_whole_or_not_at_every_call() {
    strike_everywhere(&Case {
        op: "task-create",
        prepare: checks::one_task,
        check: checks::tasks_whole,
    });
}

#[test]
fn a_task_is_claimed_or_not_at_every_call() {
    strike_everywhere(&Case {
        op: "task-claim",
        prepare: checks::one_task,
        check: checks::task_claimed_or_not,
    });
}

#[test]
fn a_task_is_completed_or_not_at_every_call() {
    strike_everywhere(&Case {
        op: "task-complete",
        prepare: checks::one_claimed_task,
        check: checks::task_completed_or_not,
    });
}

#[test]
fn a_task_of_the_dead_goes_back_or_not_at_every_call() {
    if !is_long() {
        return report_skip("task-release", "only with TEAM_TEST=long".to_owned());
    }
    strike_everywhere(&Case {
        op: "task-release",
        prepare: checks::one_claimed_task,
        check: checks::task_released_or_not,
    });
}

#[test]
fn a_dead_letter_is_kept_once_at_every_call() {
    strike_everywhere(&Case {
        op: "dead-letter",
        prepare: |_| {},
        check: checks::buried_once,
    });
}

#[test]
fn the_live_state_is_old_or_new_at_every_call() {
    strike_everywhere(&Case {
        op: "live-state",
        prepare: |_| {},
        check: checks::live_state_whole,
    });
}
