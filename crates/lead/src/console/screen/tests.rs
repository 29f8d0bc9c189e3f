use super::super::keys::OfferedKey;
use super::*;
use crossterm::event::{KeyCode, KeyModifiers};
use protocol::RequestId;
use std::time::Duration;

/// A screen that somebody types at.
struct Stage {
    screen: Screen,
    now: Instant,
}

impl Stage {
    fn new(columns: usize, rows: usize) -> Self {
        let screen = Screen::new(Setup {
            colour: Colour::Off,
            verbosity: Verbosity::Normal,
            history: Some(Vec::new()),
            columns,
            rows,
        });
        let now = Instant::now();
        Self { screen, now }
    }

    /// The lines that are printed for these.
    fn show(&mut self, outputs: &[Output<'_>]) -> Vec<String> {
        let now = self.now;
        let actions = outputs
            .iter()
            .flat_map(|output| self.screen.handle(Event::Output(output), now));
        printed(actions.collect())
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        let key = KeyEvent::new(code, modifiers);
        self.screen.handle(Event::Key(key), self.now)
    }

    fn types(&mut self, text: &str) -> Vec<Action> {
        let keys = text.chars().map(|char| match char {
            '\r' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            char => KeyCode::Char(char),
        });
        let keys: Vec<KeyCode> = keys.collect();
        let pressed = keys.into_iter();
        pressed
            .flat_map(|key| self.press(key, KeyModifiers::NONE))
            .collect()
    }

    fn bottom(&self) -> Vec<String> {
        self.screen.bottom(self.now).lines
    }
}

fn printed(actions: Vec<Action>) -> Vec<String> {
    let lines = actions.into_iter().flat_map(|action| match action {
        Action::Print(lines) => lines,
        _ => Vec::new(),
    });
    lines.collect()
}

#[test]
fn nothing_wakes_a_screen_on_which_nothing_runs() {
    let mut stage = Stage::new(80, 24);
    let now = stage.now;
    assert_eq!(stage.screen.wake_at(now), None);
    stage.show(&[Output::TurnStarted]);
    assert_eq!(stage.screen.wake_at(now), Some(now + spinner::FRAME));
    stage.show(&[Output::TurnEnded]);
    assert_eq!(stage.screen.wake_at(now), None);
    let working = Status {
        working: vec!["alice".to_owned()],
        members: vec!["alice".to_owned()],
        ..Status::default()
    };
    stage.show(&[Output::Status(&working)]);
    assert_eq!(stage.screen.wake_at(now), Some(now + spinner::SLOW_FRAME));
    assert!(stage.bottom()[0].contains("alice works"));
    stage.show(&[Output::Status(&Status::default())]);
    assert_eq!(stage.screen.wake_at(now), None);
}

#[test]
fn a_turn_is_shown_while_it_runs_and_its_calls_when_they_end() {
    for (columns, rows) in [(40, 10), (80, 24), (200, 60)] {
        let mut stage = Stage::new(columns, rows);
        stage.show(&[Output::TurnStarted, Output::Text("Let me lo")]);
        let bottom = stage.bottom();
        assert_eq!(bottom[0], "Let me lo");
        assert!(bottom[1].contains(" · the"), "{bottom:?}");
        let started = Output::ToolStarted {
            id: "1",
            name: "bash",
            arguments: r#"{"command":"ls"}"#,
        };
        let ended = Output::Tool {
            id: "1",
            name: "bash",
            output: "a.txt\nb.txt",
            is_error: false,
            took: Duration::from_secs(3),
        };
        let reply = Output::BlockEnd {
            tokens: Some(10),
            context: Some(1_000),
        };
        assert_eq!(
            stage.show(&[Output::Text("ok."), reply, started]),
            ["Let me look."]
        );
        assert!(
            stage.bottom()[0].contains("0s · 10 tokens · Esc interrupts"),
            "{:?}",
            stage.bottom()
        );
        assert_eq!(stage.show(&[ended]), ["● $ ls  (3s)", "  a.txt", "  b.txt"]);
        for line in stage.bottom() {
            assert!(width::columns(&line) < columns, "{line:?}");
        }
    }
}

#[test]
fn typed_lines_wait_visibly_until_the_lead_takes_them() {
    let mut stage = Stage::new(80, 24);
    let actions = stage.types("do this\r");
    let line = "do this".to_owned();
    let expected = [
        Action::Remember(line.clone()),
        Action::Send(Input::Line(line)),
    ];
    assert_eq!(actions, expected);
    assert_eq!(stage.bottom()[0], "queued: do this");
    assert_eq!(stage.show(&[Output::Taken("do this")]), ["team >> do this"]);
    assert!(!stage.bottom()[0].contains("queued"));
    // A command is done at once.
    assert_eq!(printed(stage.types("/team\r")), ["team >> /team"]);
    assert_eq!(stage.types("  \r"), []);
}

#[test]
fn escape_and_ctrl_c_stop_a_turn_and_take_back_what_is_typed() {
    let mut stage = Stage::new(80, 24);
    assert_eq!(stage.press(KeyCode::Esc, KeyModifiers::NONE), []);
    stage.types("half");
    let ctrl_c = |stage: &mut Stage| stage.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(ctrl_c(&mut stage), []);
    assert_eq!(stage.bottom().last().map(String::as_str), Some(PROMPT));
    assert_eq!(ctrl_c(&mut stage), [Action::Send(Input::Interrupt)]);
    stage.show(&[Output::TurnStarted]);
    let stop = stage.press(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(stop, [Action::Send(Input::Stop)]);
    assert!(stage.bottom()[0].contains("interrupting"));
}

#[test]
fn a_line_of_one_key_answers_once_and_a_longer_one_is_a_message() {
    let mut stage = Stage::new(80, 24);
    let id = RequestId::new("1a2b3c4d").unwrap();
    let key = |key, text| OfferedKey { key, text };
    let keys = vec![key('y', None), key('n', Some("why not >> "))];
    let offer = |id: &RequestId| {
        let (id, keys) = (id.clone(), keys.clone());
        Some(Offered { id, keys })
    };
    let clear = |stage: &mut Stage| stage.press(KeyCode::Char('u'), KeyModifiers::CONTROL);
    stage.types("y");
    stage.show(&[Output::Offer(&offer(&id))]);
    assert!(is_message(&stage.types("\r")), "nothing was shown then");
    assert!(is_message(&stage.types("you could wait\r")));
    stage.types("y");
    assert!(
        stage
            .bottom()
            .iter()
            .any(|line| line.contains("Enter answers request 1a2b3c4d"))
    );
    stage.types("es");
    assert!(
        !stage
            .bottom()
            .iter()
            .any(|line| line.contains("Enter answers"))
    );
    clear(&mut stage);
    let answer = |key, text: Option<&str>| {
        let id = id.clone();
        let pressed = Pressed { id, key };
        let text = text.map(str::to_owned);
        Action::Send(Input::Answer { pressed, text })
    };
    assert_eq!(stage.types("y"), []);
    assert_eq!(stage.types("\r"), [answer(key('y', None), Some(""))]);
    assert!(is_message(&stage.types("y\r")), "it was answered");
    stage.show(&[Output::Offer(&offer(&id))]);
    assert_eq!(stage.types("n\r"), []);
    assert_eq!(
        stage.bottom().last().map(String::as_str),
        Some("why not >> ")
    );
    let no = key('n', Some("why not >> "));
    assert_eq!(stage.types("too slow\r"), [answer(no, Some("too slow"))]);
    stage.show(&[Output::Offer(&offer(&id))]);
    stage.types("n\r");
    let taken_back = stage.press(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(taken_back, [answer(no, None)]);
    // Another request is shown before Enter: neither is answered.
    stage.show(&[Output::Offer(&offer(&id))]);
    stage.types("y");
    let other = RequestId::new("5e6f7a8b").unwrap();
    stage.show(&[Output::Offer(&offer(&other))]);
    let told = stage.types("\r");
    assert!(
        matches!(&told[..], [Action::Print(lines)] if lines[0].contains("1a2b3c4d does not wait")),
        "{told:?}"
    );
}

/// Whether a line was sent to the lead.
fn is_message(actions: &[Action]) -> bool {
    let is_line = |action: &Action| matches!(action, Action::Send(Input::Line(_)));
    actions.iter().any(is_line)
}

#[test]
fn commands_members_and_files_are_completed() {
    let mut stage = Stage::new(80, 24);
    let status = Status {
        members: vec!["alice".to_owned(), "bob".to_owned()],
        ..Status::default()
    };
    stage.show(&[Output::Status(&status)]);
    stage.types("/se");
    assert!(
        stage.bottom()[0].contains("/send NAME TEXT"),
        "{:?}",
        stage.bottom()
    );
    stage.types("\tal\tlook at @RE");
    let typed = |stage: &Stage| stage.bottom().last().cloned().unwrap();
    assert_eq!(typed(&stage), "team >> /send alice look at @RE");
    assert_eq!(stage.types("\t"), [Action::ListFiles("RE".to_owned())]);
    let files = vec!["README.md".to_owned(), "RELEASES.md".to_owned()];
    stage.screen.handle(Event::Files(files), stage.now);
    let bottom = stage.bottom();
    assert_eq!(bottom[..2], ["  README.md", "  RELEASES.md"]);
    stage.types("A\t");
    let files = vec!["README.md".to_owned(), "RELEASES.md".to_owned()];
    stage.screen.handle(Event::Files(files), stage.now);
    assert_eq!(typed(&stage), "team >> /send alice look at @README.md ");
}

#[test]
fn the_bottom_never_fills_more_than_the_terminal() {
    for (columns, rows) in [(20, 5), (40, 10), (80, 24)] {
        let mut stage = Stage::new(columns, rows);
        let text = "many words that take several lines each ".repeat(40);
        stage.show(&[Output::TurnStarted, Output::Text(&text)]);
        stage
            .screen
            .handle(Event::Paste(&"one more line\n".repeat(50)), stage.now);
        let bottom = stage.screen.bottom(stage.now);
        assert!(bottom.lines.len() < rows, "{bottom:?}");
        assert!(bottom.cursor.0 < bottom.lines.len(), "{bottom:?}");
        assert!(
            bottom
                .lines
                .iter()
                .all(|line| width::columns(line) < columns)
        );
    }
}

#[test]
fn the_answer_is_shown_once() {
    let mut stage = Stage::new(80, 24);
    let end = Output::BlockEnd {
        tokens: None,
        context: None,
    };
    let said = [
        Output::TurnStarted,
        Output::Text("Done."),
        end,
        Output::TurnEnded,
    ];
    assert_eq!(stage.show(&said), ["Done."]);
    assert_eq!(stage.show(&[Output::Answer("Done.")]), [""; 0]);
    assert_eq!(stage.show(&[Output::Answer("More.")]), ["More."]);
    assert_eq!(stage.show(&[Output::End]), [""; 0]);
    assert_eq!(stage.bottom(), [""; 0]);
}
