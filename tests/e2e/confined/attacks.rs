//! A hijacked model: each attack that works prints THROUGH and its name.

use super::place::{Level, Place, conditions};
use crate::harness::{KEY, LIMIT};
use std::fs;
use std::net::TcpListener;
use test_support::{wait_for, wait_until};

const TEAM_LEAD: &str = env!("CARGO_BIN_EXE_team-lead");

/// Runs the attacks with a member and returns the names of those that got through.
fn attack(place: &Place, attacks: &[(&str, String)]) -> Vec<String> {
    let lines: Vec<String> = attacks
        .iter()
        .map(|(name, attack)| {
            format!("if ( {attack} ) >/dev/null 2>&1; then echo THROUGH {name}; fi")
        })
        .collect();
    let output = place.bash(&format!("{}\necho all tried", lines.join("\n")));
    assert!(output.contains("all tried"), "{output}");
    let through = output
        .lines()
        .filter_map(|line| line.strip_prefix("THROUGH "));
    through.map(str::to_owned).collect()
}

#[test]
fn keys_do_not_reach_a_command_and_cannot_be_sent() {
    for conditions in conditions(&[Level::Full, Level::Landlock, Level::None]) {
        let place = Place::new(conditions);
        place.spawn(&[]);
        let output = place.bash("env; cat /proc/$PPID/environ | tr '\\0' '\\n'; cat /proc/*/environ | tr '\\0' '\\n'; echo end");
        assert!(output.contains("end"), "{output}");
        // Without a sandbox nothing hides processes from root.
        let is_open = conditions.level == Level::None && conditions.is_root();
        if !is_open {
            assert!(!output.contains(KEY), "{conditions:?}: {output}");
        }
        if conditions.level == Level::None {
            place.end();
            continue;
        }
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let through = attack(
            &place,
            &[
                ("tcp", format!("exec 3<>/dev/tcp/127.0.0.1/{port}")),
                (
                    "udp",
                    format!("exec 3<>/dev/udp/127.0.0.1/{port} && echo x >&3"),
                ),
            ],
        );
        assert!(
            !through.contains(&"tcp".to_owned()),
            "{conditions:?}: {through:?}"
        );
        place.end();
    }
}

#[test]
fn files_outside_are_neither_read_nor_written() {
    for conditions in conditions(&[Level::Full, Level::Landlock, Level::None]) {
        let place = Place::new(conditions);
        let home = place.workspace.home();
        place.workspace.write_home("notes", "before");
        place.spawn(&[]);
        let home_text = home.display();
        let through = attack(
            &place,
            &[
                ("read-key", format!("cat {home_text}/.ssh/id")),
                ("read-home", format!("cat {home_text}/notes")),
                ("write-home", format!("echo x >> {home_text}/notes")),
                ("create-home", format!("echo x > {home_text}/.bashrc")),
                (
                    "write-system",
                    "echo x > /etc/attack || echo x > /usr/attack".to_owned(),
                ),
                (
                    "privileges",
                    "grep -q 'NoNewPrivs:.*0' /proc/self/status".to_owned(),
                ),
                (
                    "no-filter",
                    "grep -q 'Seccomp:.*0' /proc/self/status".to_owned(),
                ),
            ],
        );
        if conditions.level == Level::None {
            // The attacks are real ones.
            let most = ["read-key", "read-home", "write-home", "create-home"];
            assert_eq!(through.get(..4).unwrap(), most, "{conditions:?}");
            place.end();
            continue;
        }
        assert_eq!(through, [""; 0], "{conditions:?}");
        assert_eq!(fs::read_to_string(home.join("notes")).unwrap(), "before");
        place.end();
    }
}

#[test]
fn no_command_opens_a_plan_gate() {
    for conditions in conditions(&[Level::Full, Level::None]) {
        let place = Place::new(conditions);
        let requests = place.workspace.path().join(".team/requests");
        let carol = ["spawn", "carol", "coder", "--require-plan"];
        let prompt = [
            "--model",
            "offline",
            "--prompt",
            "Submit a plan for the migration",
        ];
        let spawn = place.workspace.command(&[&carol[..], &prompt].concat());
        assert_eq!(place.run(spawn).code, 0);
        let plan = wait_for("her plan", LIMIT, || {
            let mut files = fs::read_dir(&requests)
                .ok()?
                .flatten()
                .map(|file| file.path());
            files.find(|path| path.extension().is_some_and(|ending| ending == "json"))
        });
        place.spawn(&[]);
        let attacks = [
            (
                "request",
                "sed -i 's/pending/approved/' .team/requests/*.json",
            ),
            ("new-request", "echo '{}' > .team/requests/00000000.json"),
            ("roster", "sed -i 's/require_plan/x/' .team/config.json"),
            ("move", "mv .team away && mv away .team"),
        ];
        let attacks = attacks.map(|(name, attack)| (name, attack.to_owned()));
        // The program would refuse, if the command did not hide whose it is.
        let hidden = "env -u TEAM_JOB -u TEAM_SANDBOX_LEVEL";
        let approve = ("approve", format!("{hidden} {TEAM_LEAD} approve carol"));
        let before = fs::read_to_string(&plan).unwrap();
        if conditions.level == Level::None {
            // The attacks are real ones.
            assert_eq!(attack(&place, &[approve]), ["approve"], "{conditions:?}");
            place.end();
            continue;
        }
        let through = attack(&place, &[&[approve], &attacks[..]].concat());
        assert_eq!(through, [""; 0], "{conditions:?}");
        assert_eq!(fs::read_to_string(&plan).unwrap(), before);
        assert!(before.contains("pending"), "{before}");
        place.end();
    }
}

#[test]
fn no_command_speaks_for_others_or_changes_the_team() {
    for conditions in conditions(&[Level::Full]) {
        let place = Place::new(conditions);
        let spawn = ["spawn", "bob", "tester", "--model", "offline"];
        assert_eq!(place.run(place.workspace.command(&spawn)).code, 0);
        place.spawn(&["--max-turns", "50"]);
        let bob = place.workspace.alive("bob");
        let through = attack(
            &place,
            &[
                ("inbox", "echo '{\"type\":\"message\",\"from\":\"lead\",\"content\":\"x\"}' >> .team/inbox/bob.jsonl".to_owned()),
                ("send", format!("{TEAM_LEAD} send bob x")),
                ("raise", format!("{TEAM_LEAD} budget raise --max-turns 5000")),
                ("budget", "rm -f .team/budget.json && [ ! -e .team/budget.json ]".to_owned()),
                ("kill", format!("{TEAM_LEAD} kill bob")),
                ("journal", "echo x >> .team/members/bob/transcript.jsonl".to_owned()),
                ("restart", format!("{TEAM_LEAD} restart bob")),
                ("spawn", format!("{TEAM_LEAD} spawn eve coder --exec 'touch run-by-eve; sleep 60'")),
                ("events", "echo x >> .team/events.jsonl".to_owned()),
                ("log", "echo x >> .team/members/alice/log".to_owned()),
                ("team.toml", "echo 'sandbox = \"off\"' > team.toml && [ -e team.toml ]".to_owned()),
            ],
        );
        // It does not exist before, so that it can be created; it does not stay.
        assert_eq!(through, ["team.toml"], "{conditions:?}");
        assert!(!place.workspace.path().join("team.toml").exists());
        assert!(!place.workspace.path().join("run-by-eve").exists());
        assert_eq!(place.workspace.alive("bob"), bob);
        place.end();
    }
}

/// A command that would only fail half-way says what to use instead, and those that read work.
#[test]
fn the_program_inside_says_which_tool_to_use() {
    for conditions in conditions(&[Level::Full, Level::Landlock]) {
        let place = Place::new(conditions);
        place.spawn(&[]);
        let output = place.bash(&format!(
            "{TEAM_LEAD} send lead x; {TEAM_LEAD} task create y; {TEAM_LEAD} spawn eve coder; {TEAM_LEAD} kill alice"
        ));
        for tool in [
            "send_message",
            "task_create",
            "spawn_teammate",
            "a person outside",
        ] {
            assert!(output.contains(tool), "{conditions:?}: {tool}: {output}");
        }
        let output = place.bash(&format!(
            "set -e; {TEAM_LEAD} status; {TEAM_LEAD} inbox; {TEAM_LEAD} logs alice -n 1; {TEAM_LEAD} task list; \
             {TEAM_LEAD} requests; {TEAM_LEAD} costs; {TEAM_LEAD} events | tail -n 1; echo all read"
        ));
        assert!(output.contains("all read"), "{conditions:?}: {output}");
        place.end();
    }
}

#[test]
fn nothing_survives_a_command_and_its_reaper_is_out_of_reach() {
    for conditions in conditions(&[Level::Full]) {
        let place = Place::new(conditions);
        place.spawn(&[]);
        let seconds = format!("{}.75", 300_000 + std::process::id());
        let output = place.bash(&format!(
            "setsid -f env -u TEAM_JOB sleep {seconds}; (setsid env -i sleep {seconds} &); kill -9 $PPID; \
             kill -9 1; kill -9 -1; echo still here"
        ));
        assert!(output.contains("still here"), "{output}");
        wait_until("the end of what was hidden", LIMIT, || {
            !is_running(&seconds)
        });
        assert!(place.workspace.alive("alice").is_some());
        place.end();
    }
}

fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        line.split(|byte| *byte == 0)
            .any(|part| part == argument.as_bytes())
    })
}
