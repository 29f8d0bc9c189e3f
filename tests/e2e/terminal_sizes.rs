//! What commands print on terminals of three sizes: aligned, coloured, and nothing wider than the terminal.

use crate::harness::{LIMIT, Terminal, Workspace};
use protocol::RequestKind;
use std::process::Command;
use test_support::wait_until;

/// The rows and the columns.
const SIZES: [(u16, u16); 3] = [(24, 80), (40, 120), (80, 300)];

/// A name that no column of a small terminal has room for.
const LONG: &str = "the-teammate-who-writes-all-the-documentation-pages";

/// A team that has worked, asks for something, and has long names everywhere.
fn team() -> (Workspace, String) {
    let workspace = Workspace::empty();
    let folder = "a-project-with-a-long-name/in-a-deep-folder/of-several-levels/and-one-more/below-which-is-another/and-the-last";
    std::fs::create_dir_all(workspace.path().join(folder)).unwrap();
    workspace.ok(&["-C", folder, "init", "--name", "parser"]);
    let start = |name: &str, role: &str, prompt: &str| {
        workspace.ok(&["-C", folder, "spawn", name, role, "--prompt", prompt]);
    };
    start("al", "coder", "Write hello to a.txt");
    start(
        LONG,
        "documentation-writer",
        "Write a long sentence to b.txt",
    );
    workspace.ok(&[
        "-C",
        folder,
        "spawn",
        "carol",
        "reviewer",
        "--require-plan",
        "--prompt",
        "Write x to c.txt",
    ]);
    workspace.ok(&["-C", folder, "wait", "--timeout", "120"]);
    let text = "A message of many words ".repeat(8);
    workspace.ok(&["-C", folder, "send", "al", text.trim()]);
    workspace.ok(&["-C", folder, "wait", "--timeout", "120"]);
    let waiting = workspace.json(&["-C", folder, "requests", "--waiting"]);
    let kind = RequestKind::Plan.as_str();
    assert_eq!(waiting["requests"][0]["kind"], kind, "{waiting}");
    (workspace, folder.to_owned())
}

/// What a command printed at a terminal.
struct Printed {
    /// As it was printed.
    raw: String,
    /// Without colours.
    text: String,
}

impl Printed {
    /// Checks that no line is wider than the terminal, and that something is coloured.
    fn of(workspace: &Workspace, args: &[&str], (rows, columns): (u16, u16)) -> Self {
        let raw = raw_output(workspace, args, (rows, columns));
        let text = without_colours(&raw);
        for line in text.lines() {
            let width = line.chars().count();
            assert!(
                width <= usize::from(columns),
                "{args:?} at {columns}: {line}"
            );
        }
        assert!(raw.contains("\u{1b}["), "{args:?} at {columns}: {raw}");
        Self { raw, text }
    }

    /// Checks that the text is there, in this colour.
    fn has_coloured(&self, text: &str, colour: u8) {
        let begin = format!("\u{1b}[{colour}m");
        let mut painted = self.raw.split(&begin).skip(1);
        let is_there = painted.any(|rest| {
            let end = rest.find("\u{1b}[0m").unwrap_or(rest.len());
            rest.get(..end).is_some_and(|part| part.contains(text))
        });
        assert!(is_there, "{text} in {colour}: {:?}", self.raw);
    }

    fn has(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.text.contains(text), "{text}: {}", self.text);
        }
    }

    /// The place of a text in the line that begins with another.
    fn place(&self, start: &str, text: &str) -> usize {
        let line = self.text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("{start}: {}", self.text));
        let place = line.find(text);
        let place = place.unwrap_or_else(|| panic!("{text}: {line}"));
        line.get(..place).unwrap().chars().count()
    }
}

/// All that a command prints at a terminal.
fn raw_output(workspace: &Workspace, args: &[&str], (rows, columns): (u16, u16)) -> String {
    // What was printed last may come after the end of the program was noticed.
    const END: &str = "END";
    let inner = workspace.command(args);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "\"$@\" && printf END", "sh"]);
    shell.arg(inner.get_program()).args(inner.get_args());
    shell.current_dir(workspace.path()).env_clear();
    let variables = inner.get_envs();
    shell.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let terminal = Terminal::start(shell, rows, columns);
    wait_until("all output", LIMIT, || terminal.output().ends_with(END));
    terminal.output().trim_end_matches(END).to_owned()
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').unwrap().1);
    (first + &rest.collect::<String>()).replace('\r', "")
}

const GREEN: u8 = 32;
const YELLOW: u8 = 33;
const CYAN: u8 = 36;

#[test]
fn lists_are_aligned_coloured_and_as_wide_as_the_terminal_allows() {
    let (workspace, folder) = team();
    for size in SIZES {
        let (_, columns) = size;
        let is_wide = columns == 300;
        let printed = |words: &[&str]| {
            let args = [&["-C", &folder], words].concat();
            Printed::of(&workspace, &args, size)
        };
        let status = printed(&["status"]);
        status.has_coloured("waiting", YELLOW);
        status.has(&["Team: parser", "NAME", "PROCESS", "Lead: not running"]);
        assert_eq!(status.place("al ", "idle"), status.place("NAME", "STATE"));
        assert_eq!(
            status.place("carol", "waiting"),
            status.place("NAME", "STATE")
        );
        assert_eq!(status.text.contains(LONG), is_wide, "{}", status.text);
        let whole = format!("{folder}/.team");
        assert_eq!(status.text.contains(&whole), is_wide, "{}", status.text);
        let line = status.text.lines().last().unwrap();
        assert!(
            line.starts_with("Folder: ") && line.ends_with("/.team"),
            "{line}"
        );

        let teams = printed(&["teams"]);
        teams.has_coloured("3 of 3 running", GREEN);
        assert_eq!(
            teams.place("parser", "3 of 3"),
            teams.place("TEAM", "MEMBERS")
        );
        assert_eq!(teams.text.contains(&folder), is_wide, "{}", teams.text);

        let costs = printed(&["costs"]);
        costs.has(&["MEMBER", LONG, "total"]);
        let end = |start: &str, text: &str| costs.place(start, text) + text.len();
        assert_eq!(end("al ", "$0.00"), end("total", "$0.00"));
        assert_eq!(costs.place("al ", "$0.00"), costs.place("MEMBER", "COST"));
    }
    workspace.ok(&["-C", &folder, "down"]);
}

#[test]
fn long_lines_go_on_below_their_text() {
    let (workspace, folder) = team();
    for size in SIZES {
        let (_, columns) = size;
        let printed = |words: &[&str]| {
            let args = [&["-C", &folder], words].concat();
            Printed::of(&workspace, &args, size)
        };
        let events = printed(&["events"]);
        events.has_coloured("+ al (coder) started", GREEN);
        events.has_coloured("? carol submits a plan to lead", YELLOW);
        let is_whole = |line: &&str| line.as_bytes()[2] == b':' || line.starts_with("         ");
        let is_event = |line: &str| {
            line.as_bytes().get(13) == Some(&b':') || line.starts_with(&" ".repeat(20))
        };
        assert!(events.text.lines().all(is_event), "{}", events.text);

        let logs = printed(&["logs"]);
        logs.has_coloured("al", CYAN);
        assert_eq!(
            logs.text.contains(&format!("{LONG} |")),
            columns == 300,
            "{}",
            logs.text
        );
        let bar = logs.place("al ", "|");
        for line in logs.text.lines() {
            assert_eq!(line.chars().nth(bar), Some('|'), "{line}");
        }
        let alone = printed_alone(&workspace, &folder, size);
        assert!(alone.lines().all(|line| is_whole(&line)), "{alone}");

        let requests = printed(&["requests"]);
        requests.has_coloured("plan carol -> lead: pending", YELLOW);
        requests.has(&["    1. write_file c.txt", "    decide: team-lead approve "]);
        let mut lines = requests.text.lines().skip(1);
        assert!(
            lines.all(|line| line.starts_with("    ")),
            "{}",
            requests.text
        );
    }
    workspace.ok(&["-C", &folder, "down"]);
}

/// The log of one member, which has no colours.
fn printed_alone(workspace: &Workspace, folder: &str, size: (u16, u16)) -> String {
    let text = without_colours(&raw_output(workspace, &["-C", folder, "logs", "al"], size));
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(usize::from(size.1)), "{text}");
    text
}
