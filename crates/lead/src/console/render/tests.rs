use super::*;

fn render(mode: Mode) -> Render {
    Render::new(mode, Talk::Usual, Colour::Off, 20)
}

/// All that is shown, with `1` before lines of standard output and `2` before the others.
fn shown(render: &mut Render, all: &[Said<'_>]) -> String {
    let pieces = all.iter().flat_map(|said| render.say(said)).collect();
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
    let said = [Said::Text("Hello\u{1b}[2J wor"), Said::Text("ld\nand mo")];
    assert_eq!(shown(&mut render, &said), "1 Hello[2J world\n");
    let said = [Said::Text("re words than fit"), Said::Text(" there")];
    assert_eq!(shown(&mut render, &said), "1 and more words than\n");
    assert_eq!(shown(&mut render, &[Said::BlockEnd]), "1 fit there\n");
    assert_eq!(shown(&mut render, &[Said::BlockEnd]), "");
}

#[test]
fn on_a_terminal_others_may_speak_in_between() {
    let mut render = render(Mode::Terminal);
    let said = [
        Said::Text("I am "),
        Said::Member {
            name: "alice",
            text: "one\n\u{7}two\n",
        },
        Said::Text("here"),
        Said::BlockEnd,
        Said::Tool {
            name: "bash",
            output: "a\nb",
        },
    ];
    let expected = "1 I am \n1 alice: one\n1 alice: two\n1 here\n1 > bash: a b\n";
    assert_eq!(shown(&mut render, &said), expected);
}

#[test]
fn a_long_line_without_spaces_is_cut_at_the_edge() {
    let mut render = render(Mode::Terminal);
    let said = [Said::Text("123456789012345678901234")];
    assert_eq!(shown(&mut render, &said), "1 12345678901234567890\n");
}

#[test]
fn void_text_is_told_if_it_was_seen_and_dropped_if_not() {
    let said = [
        Said::Text("first\nhal"),
        Said::Void,
        Said::Text("again"),
        Said::BlockEnd,
    ];
    let expected = "1 first\n1 [this reply was cut off and begins again]\n1 again\n";
    assert_eq!(shown(&mut render(Mode::Terminal), &said), expected);
    assert_eq!(shown(&mut render(Mode::Piped), &said), "1 again\n");
}

#[test]
fn piped_output_is_the_text_of_the_lead_and_nothing_else() {
    let said = [
        Said::Text("I look."),
        Said::BlockEnd,
        Said::Tool {
            name: "bash",
            output: "",
        },
        Said::Notice("alice died"),
        Said::Text("Done.\n"),
        Said::BlockEnd,
        Said::Data("No tasks."),
    ];
    let expected = "1 I look.\n2 > bash: \n2 alice died\n1 Done.\n1 No tasks.\n";
    assert_eq!(shown(&mut render(Mode::Piped), &said), expected);
}

#[test]
fn one_shot_output_is_the_answer_alone() {
    let said = [
        Said::Text("I look."),
        Said::BlockEnd,
        Said::Text("Done."),
        Said::BlockEnd,
        Said::Answer("Done."),
    ];
    let expected = "2 lead: I look.\n1 Done.\n";
    assert_eq!(shown(&mut render(Mode::OneShot), &said), expected);
}

#[test]
fn what_was_held_back_is_shown_if_no_answer_comes() {
    let mut render = render(Mode::OneShot);
    let said = [Said::Text("I try."), Said::BlockEnd, Said::Text("And")];
    assert_eq!(shown(&mut render, &said), "");
    assert_eq!(lines(render.finish()), "2 lead: I try.\n2 lead: And\n");
}

#[test]
fn a_long_message_is_cut() {
    let mut render = render(Mode::Piped);
    let text = "line\n".repeat(MOST_LINES + 2);
    let said = Said::Member {
        name: "bob",
        text: &text,
    };
    let shown = shown(&mut render, &[said]);
    assert!(shown.ends_with("2 bob: (and 2 more lines)\n"), "{shown}");
    assert_eq!(shown.lines().count(), MOST_LINES + 1);
}

#[test]
fn names_are_coloured_and_their_text_is_not() {
    let mut render = Render::new(Mode::Terminal, Talk::Usual, Colour::On, 80);
    let said = Said::Member {
        name: "alice",
        text: "hi",
    };
    let shown = shown(&mut render, &[said]);
    assert_eq!(shown, "1 \u{1b}[96malice\u{1b}[0m: hi\n");
}

#[test]
fn a_quiet_console_shows_answers_and_errors() {
    let mut render = Render::new(Mode::OneShot, Talk::Quiet, Colour::Off, 80);
    let said = [
        Said::Text("I look."),
        Said::BlockEnd,
        Said::Notice("alice is restarted"),
        Said::Problem("the disk is full"),
        Said::Answer("Done."),
    ];
    assert_eq!(
        shown(&mut render, &said),
        "2 error: the disk is full\n1 Done.\n"
    );
}
