use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let mut receive = |frame: Frame<'_>| {
        seen.push((
            String::from_utf8_lossy(frame.event).into_owned(),
            String::from_utf8_lossy(frame.data).into_owned(),
        ));
        Ok::<(), Infallible>(())
    };
    let mut parser = SseParser::new();
    for piece in pieces {
        parser.push(piece, &mut receive).unwrap();
    }
    parser.finish(&mut receive).unwrap();
    seen
}

fn check(stream: &str, expected: &[(&str, &str)]) {
    let owned: Vec<_> = expected
        .iter()
        .map(|(event, data)| ((*event).to_owned(), (*data).to_owned()))
        .collect();
    assert_eq!(
        frames([stream.as_bytes()]),
        owned,
        "{stream:?} in one piece"
    );
    let bytes = stream.as_bytes();
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(frames([head, tail]), owned, "{stream:?} cut at {cut}");
    }
    assert_eq!(frames(bytes.chunks(1)), owned, "{stream:?} byte by byte");
}

#[test]
fn all_line_ends_are_understood() {
    let expected = [("a", "1"), ("", "2")];
    check("event: a\ndata: 1\n\ndata: 2\n\n", &expected);
    check("event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &expected);
    check("event: a\rdata: 1\r\rdata: 2\r\r", &expected);
    check("event: a\rdata: 1\n\ndata: 2\r\n\n", &expected);
}

#[test]
fn a_byte_order_mark_is_dropped_only_at_the_start() {
    check("\u{feff}data: 1\n\n", &[("", "1")]);
    check("data: 1\n\n\u{feff}data: 2\n\n", &[("", "1")]);
}

#[test]
fn comments_and_unknown_fields_are_ignored() {
    check(
        ": OPENROUTER PROCESSING\n\nid: 7\nretry: 5\nfoo\ndatax: 1\ndata: 2\n\n",
        &[("", "2")],
    );
}

#[test]
fn several_data_lines_are_joined() {
    check("data: {\ndata:  1\ndata\ndata:}\n\n", &[("", "{\n 1\n\n}")]);
}

#[test]
fn an_event_without_data_is_none_and_its_name_is_forgotten() {
    check("event: a\n\ndata: 1\n\n", &[("", "1")]);
}

#[test]
fn a_last_event_without_line_ends_counts() {
    check("data: 1\n\ndata: [DONE]", &[("", "1"), ("", "[DONE]")]);
    check("data: 1\n", &[("", "1")]);
}

#[test]
fn a_receiver_may_refuse() {
    let mut parser = SseParser::new();
    let result = parser.push(b"data: 1\n\n", &mut |_| Err("no"));
    assert_eq!(result, Err(SseError::Receiver("no")));
}

#[test]
fn an_endless_line_is_refused() {
    let mut parser = SseParser::new();
    let piece = vec![b'x'; 1 << 20];
    let mut receive = |_: Frame<'_>| Ok::<(), Infallible>(());
    let result = (0..100).try_for_each(|_| parser.push(&piece, &mut receive));
    assert_eq!(result, Err(SseError::TooLarge));
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_events(
        lines in prop::collection::vec("(data|event|id|:|)?:? ?[a-z\u{feff}é]{0,3}(\r|\n|\r\n){1,2}", 0..20),
        cuts in prop::collection::vec(0_usize..400, 0..8),
    ) {
        let stream = lines.concat();
        let bytes = stream.as_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for cut in cuts {
            pieces.push(&bytes[start..cut]);
            start = cut;
        }
        pieces.push(&bytes[start..]);
        prop_assert_eq!(frames(pieces), frames([bytes]));
    }
}
