//! What a person sees at the terminal of `team-lead run`, on terminals of three sizes.

use crate::harness::{LIMIT, Terminal, Workspace, bash, call, script_bash, spawn_teammate};
use protocol::Phase;
use serde_json::json;
use test_support::llm_server::{Gate, ServerReply};

pub(super) const PROMPT: &str = "team >>";
/// Rows and columns.
pub(super) const SIZES: [(u16, u16); 3] = [(24, 80), (40, 120), (80, 300)];
/// The smallest that everything is still shown on.
const SMALL: (u16, u16) = (12, 50);
/// A command that runs until a file is there, and then prints nine lines.
const UNTIL_GO: &str = "while [ ! -e go ]; do sleep 0.02; done; seq 9";

/// Plays a scene on each size.
fn at_each_size(args: &[&str], scene: impl Fn(&Workspace, &mut Terminal)) {
    for (rows, columns) in SIZES.into_iter().chain([SMALL]) {
        let workspace = Workspace::new();
        let mut terminal = Terminal::start(workspace.lead_command(args), rows, columns);
        terminal.wait_for_last_line(PROMPT);
        scene(&workspace, &mut terminal);
        terminal.assert_restored();
    }
}

pub(super) fn leave(terminal: &mut Terminal) {
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn what_runs_is_shown_with_its_time_and_then_with_its_output() {
    at_each_size(&[], |workspace, terminal| {
        let gate = Gate::new();
        let reply = bash(UNTIL_GO).gate_head(&gate).usage(900, 40, 0, 0);
        workspace.reply(reply);
        workspace.reply(ServerReply::text("Counted."));
        terminal.type_keys("count\r");
        terminal.wait_for(&["team >> count", "0s · Esc interrupts · waiting for the"]);
        // The clock goes on while nothing comes.
        terminal.wait_for(&["1s · "]);
        gate.open();
        terminal.wait_for(&["40 tokens · ", "· $ while", "context 940"]);
        assert!(!terminal.text().contains("Ctrl-O"));
        workspace.write("go", "");
        terminal.wait_for_line_above("Counted.", PROMPT);
        terminal.wait_for(&["4 earlier lines (Ctrl-O shows all)", "\n  9\n"]);
        assert!(!terminal.text().contains("\n  4\n"), "{}", terminal.text());
        terminal.wait_until("nothing that runs", |screen| {
            !screen.contains("Esc interrupts")
        });
        terminal.type_keys("\u{f}");
        terminal.wait_for(&["\n  4\n  5\n  6\n  7\n  8\n  9\n"]);
        leave(terminal);
    });
}

#[test]
fn changes_of_files_are_shown_as_changes() {
    at_each_size(&[], |workspace, terminal| {
        let content = json!({"path": "a.txt", "content": "one\ntwo\n"});
        workspace.reply(call("write_file", content));
        let edit = json!({"path": "a.txt", "old_text": "two\n", "new_text": "zwei\n"});
        workspace.reply(call("edit_file", edit));
        workspace.reply(bash("echo broken; exit 3"));
        terminal.type_keys("change\r");
        terminal.wait_for_line_above("Standing by.", PROMPT);
        let output = terminal.output();
        for part in [
            "\u{1b}[1mwrite a.txt\u{1b}[0m",
            "\u{1b}[32m  + two\u{1b}[0m",
            "\u{1b}[31m  - two\u{1b}[0m",
            "\u{1b}[32m  + zwei\u{1b}[0m",
            "\u{1b}[1m$ echo broken; exit 3\u{1b}[0m",
        ] {
            assert!(output.contains(part), "{part:?}: {output:?}");
        }
        leave(terminal);
    });
}

#[test]
fn escape_stops_the_model_and_the_model_is_told() {
    at_each_size(&[], |workspace, terminal| {
        let gate = Gate::new();
        workspace.reply(ServerReply::text("Never.").gate_head(&gate));
        terminal.type_keys("first\r");
        gate.wait_until_reached(LIMIT);
        terminal.type_keys("\u{1b}");
        terminal.wait_for_line_above("Interrupted. Say what", PROMPT);
        workspace.wait_alive("lead", Phase::Idle);
        terminal.type_keys("second\r");
        terminal.wait_for_line_above("Standing by.", PROMPT);
        let asked = workspace.lead_requests();
        assert_eq!(asked.len(), 2, "{asked:?}");
        let last = &asked[1];
        let told = ["first", "The person interrupted this turn", "second"].map(|t| last.find(t));
        assert!(
            told[0] < told[1] && told[1] < told[2] && told[0].is_some(),
            "{last}"
        );
        gate.open();
        leave(terminal);
    });
}

#[test]
fn the_first_ctrl_c_stops_a_command_and_the_second_leaves() {
    at_each_size(&[], |workspace, terminal| {
        workspace.reply(bash("echo x > began; exec sleep 3600"));
        terminal.type_keys("wait\r");
        workspace.wait_for_file("began");
        terminal.type_keys("\u{3}");
        terminal.wait_for_line_above("Interrupted. Say what", PROMPT);
        terminal.wait_for(&["✗ $ echo x > began; exec sleep 3600"]);
        workspace.wait_until_commands_ended();
        terminal.type_keys("\u{3}");
        assert_eq!(terminal.end().code(), Some(130));
        assert_eq!(workspace.lead_requests().len(), 1);
    });
}

#[test]
fn a_resumed_lead_does_not_take_up_what_was_stopped_and_shows_where_it_was() {
    let workspace = Workspace::new();
    workspace.reply(ServerReply::text("The **answer** is 42."));
    let mut terminal = Terminal::start(workspace.lead_command(&[]), 24, 80);
    terminal.wait_for_last_line(PROMPT);
    terminal.type_keys("ask\r");
    terminal.wait_for_line_above("The answer is 42.", PROMPT);
    let gate = Gate::new();
    workspace.reply(ServerReply::text("Never.").gate_head(&gate));
    terminal.type_keys("go on\r");
    gate.wait_until_reached(LIMIT);
    terminal.type_keys("\u{1b}");
    terminal.wait_for(&["Interrupted."]);
    leave(&mut terminal);
    gate.open();
    for (rows, columns) in SIZES {
        let resumed = workspace.lead_command(&["--resume"]);
        let mut terminal = Terminal::start(resumed, rows, columns);
        terminal.wait_for_line_above("The answer is 42.", PROMPT);
        terminal.wait_for(&["You said: go on"]);
        leave(&mut terminal);
    }
    assert_eq!(workspace.lead_requests().len(), 2);
}

#[test]
fn what_is_typed_during_a_turn_is_seen_and_steers_its_next_request() {
    at_each_size(&[], |workspace, terminal| {
        workspace.reply(bash(UNTIL_GO));
        terminal.type_keys("start\r");
        terminal.wait_for(&["· $ while"]);
        terminal.type_keys("also\\\rthe\u{1b}\rtests\r");
        terminal.wait_for(&["queued: also the tests"]);
        // The screen shows the line before the lead has it. It answers this one after that.
        terminal.type_keys("/team now\r");
        terminal.wait_for(&["/team takes no arguments."]);
        workspace.write("go", "");
        terminal.wait_for_line_above("Standing by.", PROMPT);
        terminal.wait_for(&["team >> also\n        the\n        tests"]);
        let asked = workspace.lead_requests();
        let starts: Vec<String> = asked
            .iter()
            .map(|a| a.chars().take(1500).collect())
            .collect();
        assert_eq!(asked.len(), 2, "{starts:#?}");
        assert!(asked[1].contains("also\\nthe\\ntests"), "{}", asked[1]);
        leave(terminal);
    });
}

#[test]
fn what_was_queued_is_done_when_the_turn_is_stopped() {
    let workspace = Workspace::new();
    workspace.reply(bash("echo x > began; exec sleep 3600"));
    let mut terminal = Terminal::start(workspace.lead_command(&[]), 24, 80);
    terminal.wait_for_last_line(PROMPT);
    terminal.type_keys("wait\r");
    workspace.wait_for_file("began");
    terminal.type_keys("rather this\r");
    terminal.wait_for(&["queued: rather this"]);
    terminal.type_keys("\u{1b}");
    terminal.wait_for_line_above("Standing by.", PROMPT);
    let asked = workspace.lead_requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("rather this"), "{}", asked[1]);
    leave(&mut terminal);
}

#[test]
fn commands_are_completed_and_wrong_ones_never_reach_the_model() {
    at_each_size(&["--keep"], |workspace, terminal| {
        workspace.ok(&["spawn", "alice", "coder", "--model", "offline"]);
        terminal.wait_for(&[" of 1 at work"]);
        terminal.type_keys("/se");
        terminal.wait_for(&["/send NAME TEXT"]);
        terminal.type_keys("\tal\t");
        terminal.wait_for_last_line("team >> /send alice");
        terminal.type_keys("Write hi to a.txt\r");
        // Her report wakes the lead.
        terminal.wait_for(&["alice reports: Wrote 2 bytes"]);
        terminal.wait_for_line_above("Standing by.", PROMPT);
        workspace.wait_alive("lead", Phase::Idle);
        let asked = workspace.lead_requests().len();
        for (line, said) in [
            ("/sned alice hi", "There is no command /sned."),
            ("/send alice", "Type /send NAME TEXT."),
            ("/team now", "/team takes no arguments."),
            ("/send nobody hi", "nobody"),
            ("/logs alice", "Wrote 2 bytes to a.txt"),
        ] {
            terminal.type_keys(&format!("{line}\r"));
            terminal.wait_for_line_above(said, PROMPT);
        }
        assert_eq!(workspace.lead_requests().len(), asked);
        workspace.write("notes.md", "");
        terminal.type_keys("see @no\t");
        terminal.wait_for_last_line("team >> see @notes.md");
        terminal.type_keys("\u{15}ask @al\t");
        terminal.wait_for_last_line("team >> ask @alice");
        terminal.type_keys("\u{3}");
        terminal.wait_for_last_line(PROMPT);
        leave(terminal);
    });
}

#[test]
fn a_new_conversation_forgets_the_old_one() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::start(workspace.lead_command(&[]), 24, 80);
    terminal.wait_for_last_line(PROMPT);
    terminal.type_keys("a secret word\r");
    terminal.wait_for_line_above("Standing by.", PROMPT);
    terminal.type_keys("/clear\rzebra\r");
    workspace.wait_for_lead_request("zebra");
    terminal.wait_for(&["A new conversation begins."]);
    let asked = workspace.lead_requests();
    let last = asked.last().unwrap();
    assert!(!last.contains("a secret word"), "{last}");
    leave(&mut terminal);
}

#[test]
fn markdown_is_rendered_block_by_block_while_it_comes() {
    at_each_size(&[], |workspace, terminal| {
        let gate = Gate::new();
        let text = "# Title\n\nSome **bold** text with `code`, and:\n\n- a list\n\n| a | b |\n|---|---|\n\
                    | 1 | 22 |\n\n```sh\nls -l\n```\n";
        workspace.reply(ServerReply::text(text).gate(4, &gate));
        terminal.type_keys("render\r");
        gate.wait_until_reached(LIMIT);
        terminal.wait_for(&["Title", "Some bold text with code, and:", "the mode"]);
        gate.open();
        terminal.wait_for_line_above("  ls -l", PROMPT);
        // Code has colours of its own.
        assert!(terminal.output().contains("\u{1b}[34mls\u{1b}[0m"));
        terminal.wait_for(&["• a list", "a │ b", "──┼──", "1 │ 22"]);
        assert!(!terminal.text().contains("**"), "{}", terminal.text());
        assert!(!terminal.text().contains("```"), "{}", terminal.text());
        assert!(terminal.output().contains("\u{1b}[1mbold\u{1b}[0m"));
        leave(terminal);
    });
}

#[test]
fn with_a_prompt_the_answer_is_on_the_terminal_once() {
    for (rows, columns) in SIZES {
        let workspace = Workspace::new();
        workspace.reply(spawn_teammate("alice", "Write hi to a.txt", "offline"));
        workspace.reply(ServerReply::text("Alice *works*."));
        workspace
            .server
            .always("lead", ServerReply::text("All is done."));
        let command = workspace.lead_command(&["spawn alice"]);
        let mut terminal = Terminal::start(command, rows, columns);
        assert_eq!(terminal.end().code(), Some(0));
        terminal.wait_for(&["spawn_teammate alice", "All is done."]);
        terminal.assert_restored();
        let text = terminal.text();
        let answers = text.matches("All is done.").count();
        assert_eq!(answers, workspace.lead_requests().len() - 2, "{text}");
        assert!(!text.contains("Esc interrupts"), "{text}");
    }
}

#[test]
fn without_colours_nothing_is_coloured() {
    let workspace = Workspace::new();
    workspace.reply(bash("echo hi"));
    let mut command = workspace.lead_command(&[]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command, 24, 80);
    terminal.wait_for_last_line(PROMPT);
    terminal.type_keys("go\r");
    terminal.wait_for_line_above("Standing by.", PROMPT);
    terminal.wait_for(&["● $ echo hi"]);
    leave(&mut terminal);
    let output = terminal.output();
    let coloured = output.split("\u{1b}[").skip(1).any(|part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        end.and_then(|end| part.chars().nth(end)) == Some('m')
    });
    assert!(!coloured, "{output:?}");
}

#[test]
fn a_terminal_that_changes_its_size_is_drawn_again() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::start(workspace.lead_command(&[]), 24, 80);
    terminal.wait_for_last_line(PROMPT);
    terminal.type_keys("hello\r");
    terminal.wait_for_line_above("Standing by.", PROMPT);
    let rule_of = |columns: usize| {
        move |screen: &str| {
            let mut rules = screen.lines().filter(|line| line.starts_with("──"));
            rules.any(|line| line.trim_end().chars().count() == columns - 1)
        }
    };
    terminal.resize(30, 120);
    terminal.wait_until("a longer line", rule_of(120));
    terminal.type_keys("half");
    terminal.wait_for_last_line("team >> half");
    terminal.resize(10, 60);
    terminal.wait_until("a shorter line", rule_of(60));
    terminal.wait_for_last_line("team >> half");
    terminal.type_keys("\u{15}");
    leave(&mut terminal);
}

#[test]
fn no_prompt_stands_there_while_the_lead_leaves_and_after_it() {
    for keys in ["q\r", "exit\r", "\u{4}", "\u{3}"] {
        let workspace = Workspace::new();
        let deaf = [script_bash("alice", "echo x > began; exec sleep 3600")];
        let deaf = workspace.script_file("deaf", &deaf);
        workspace.reply(spawn_teammate("alice", "go", &deaf));
        let command = workspace.lead_command(&["--leave-timeout", "1h"]);
        let mut terminal = Terminal::start(command, 24, 80);
        terminal.wait_for_last_line(PROMPT);
        terminal.type_keys("spawn\r");
        workspace.wait_for_file("began");
        terminal.wait_for_line_above("Standing by.", PROMPT);
        workspace.wait_phase("lead", Phase::Idle);
        terminal.type_keys(keys);
        terminal.wait_for_last_line("leaving; Ctrl-C hurries");
        // Nothing that is typed now seems to be heard.
        terminal.type_keys("hello\r\u{3}");
        assert!(matches!(terminal.end().code(), Some(130)), "{keys:?}");
        terminal.wait_until("no line of the lead's own", |screen| {
            let last = screen.trim_end().lines().last().unwrap_or_default();
            !last.trim_end().ends_with(PROMPT) && !screen.contains("leaving;")
        });
        assert!(!terminal.text().contains("hello"), "{}", terminal.text());
        terminal.assert_restored();
    }
}
