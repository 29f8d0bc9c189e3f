use super::*;

const BLOCK_END: Output<'_> = Output::BlockEnd {
    tokens: None,
    context: None,
};

fn tool<'a>(name: &'a str, output: &'a str) -> Output<'a> {
    Output::Tool {
        id: "1",
        name,
        output,
        is_error: false,
        took: Duration::ZERO,
    }
}

fn render(mode: Mode) -> Render {
    Render::new(mode, Verbosity::Normal, Colour::Off, 20)
}

/// All that is shown, with `1` before lines of standard output and `2` before the others.
fn shown(render: &mut Render, all: &[Output<'_>]) -> String {
    let pieces = all.iter().flat_map(|output| render.write(output)).collect();
    lines(pieces)
}

fn lines(pieces: Vec<Piece>) -> String {
    let mut lines = String::new();
    for piece in pieces {
        assert!(piece.text.ends_with('\n'), "{piece:?}");
        let mark = match piece.stream {
            Stream::Out => '1',
            Stream::Err => '2',
        };
        for line in piece.text.lines() {
            lines.push_str(&format!("{mark} {line}\n"));
        }
    }
    lines
}

#[test]
fn on_a_terminal_text_comes_line_by_line() {
    let mut render = render(Mode::Terminal);
    let said = [
        Output::Text("Hello\u{1b}[2J wor"),
        Output::Text("ld\nand mo"),
    ];
    assert_eq!(shown(&mut render, &said), "1 Hello\u{fffd}[2J world\n");
    let said = [Output::Text("re words than fit"), Output::Text(" there")];
    assert_eq!(shown(&mut render, &said), "1 and more words than\n");
    assert_eq!(shown(&mut render, &[BLOCK_END]), "1 fit there\n");
    assert_eq!(shown(&mut render, &[BLOCK_END]), "");
}

#[test]
fn on_a_terminal_others_may_speak_in_between() {
    let mut render = render(Mode::Terminal);
    let said = [
        Output::Text("I am "),
        Output::Member {
            name: "alice",
            verb: None,
            text: "one\n\u{7}two\n",
        },
        Output::Text("here"),
        BLOCK_END,
        tool("bash", "a\nb"),
    ];
    let expected = "1 I am \n1 alice: one\n1 alice: \u{fffd}two\n1 here\n1 > bash: a b\n";
    assert_eq!(shown(&mut render, &said), expected);
}

#[test]
fn a_long_line_without_spaces_is_cut_at_the_edge() {
    let mut render = render(Mode::Terminal);
    let said = [Output::Text("123456789012345678901234")];
    assert_eq!(shown(&mut render, &said), "1 12345678901234567890\n");
}

#[test]
fn void_text_is_told_if_it_was_seen_and_dropped_if_not() {
    let said = [
        Output::Text("first\nhal"),
        Output::Discard,
        Output::Text("again"),
        BLOCK_END,
    ];
    let expected = "1 first\n1 [this reply was cut off and begins again]\n1 again\n";
    assert_eq!(shown(&mut render(Mode::Terminal), &said), expected);
    assert_eq!(shown(&mut render(Mode::Piped), &said), "1 again\n");
}

#[test]
fn piped_output_is_the_text_of_the_lead_and_nothing_else() {
    let said = [
        Output::Text("I look."),
        BLOCK_END,
        tool("bash", ""),
        Output::Notice("alice died"),
        Output::Text("Done.\n"),
        BLOCK_END,
        Output::Data("No tasks."),
    ];
    let expected = "1 I look.\n2 > bash: \n2 alice died\n1 Done.\n1 No tasks.\n";
    assert_eq!(shown(&mut render(Mode::Piped), &said), expected);
}

#[test]
fn one_shot_output_is_the_answer_alone() {
    let said = [
        Output::Text("I look."),
        BLOCK_END,
        Output::Text("Done."),
        BLOCK_END,
        Output::Answer("Done."),
    ];
    let expected = "2 lead: I look.\n1 Done.\n";
    assert_eq!(shown(&mut render(Mode::OneShot), &said), expected);
}

#[test]
fn what_was_held_back_is_shown_if_no_answer_comes() {
    let mut render = render(Mode::OneShot);
    let said = [Output::Text("I try."), BLOCK_END, Output::Text("And")];
    assert_eq!(shown(&mut render, &said), "");
    assert_eq!(
        shown(&mut render, &[Output::End]),
        "2 lead: I try.\n2 lead: And\n"
    );
}

#[test]
fn a_long_message_is_cut() {
    let mut render = render(Mode::Piped);
    let text = "line\n".repeat(MOST_LINES + 2);
    let said = Output::Member {
        name: "bob",
        verb: None,
        text: &text,
    };
    let shown = shown(&mut render, &[said]);
    assert!(shown.ends_with("2 bob: (and 2 more lines)\n"), "{shown}");
    assert_eq!(shown.lines().count(), MOST_LINES + 1);
}

#[test]
fn a_report_reads_like_a_sentence() {
    let mut render = render(Mode::Piped);
    let said = |text| Output::Member {
        name: "bob",
        verb: Some("reports"),
        text,
    };
    let shown = shown(&mut render, &[said("one\ntwo"), said("")]);
    assert_eq!(shown, "2 bob reports: one\n2 bob: two\n2 bob reports.\n");
}

#[test]
fn names_are_coloured_and_their_text_is_not() {
    let mut render = Render::new(Mode::Terminal, Verbosity::Normal, Colour::On, 80);
    let said = Output::Member {
        name: "alice",
        verb: None,
        text: "hi",
    };
    let shown = shown(&mut render, &[said]);
    assert_eq!(shown, "1 \u{1b}[96malice\u{1b}[0m: hi\n");
}

#[test]
fn a_quiet_console_shows_answers_and_errors() {
    let mut render = Render::new(Mode::OneShot, Verbosity::Quiet, Colour::Off, 80);
    let said = [
        Output::Text("I look."),
        BLOCK_END,
        Output::Notice("alice is restarted"),
        Output::Problem("the disk is full"),
        Output::Answer("Done."),
    ];
    assert_eq!(
        shown(&mut render, &said),
        "2 error: the disk is full\n1 Done.\n"
    );
}

#[test]
fn the_name_of_a_tool_is_text_of_a_server() {
    let name = "no\u{1b}]52;c;eA==\u{7}such\u{9b}2J";
    let text = shown(&mut render(Mode::Piped), &[tool(name, "x")]);
    assert!(text.contains("such") && text.ends_with(": x\n"), "{text}");
    assert!(!text.trim_end().chars().any(char::is_control), "{text:?}");
}
