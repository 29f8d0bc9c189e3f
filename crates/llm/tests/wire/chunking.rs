//! Neither the cutting of a reply nor nonsense in it can do harm.

use llm::{DecodeError, Event, Reply};
use proptest::prelude::*;

use crate::harness::decode;
use crate::streams::{SAMPLES, Sample, Wire};

type Decoded = (Result<Reply, DecodeError>, Vec<Event>);

fn in_pieces(sample: &Sample, cuts: &[usize]) -> Decoded {
    let bytes = sample.text.as_bytes();
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut start = 0;
    let pieces = cuts.into_iter().map(|cut| {
        let piece = &bytes[start..cut];
        start = cut;
        piece
    });
    decode(sample.wire.decoder(), pieces)
}

#[test]
fn every_single_cut_gives_the_same_reply() {
    for sample in &SAMPLES {
        let whole = in_pieces(sample, &[]);
        for cut in 0..sample.text.len() {
            let cut_once = in_pieces(sample, &[cut]);
            assert_eq!(cut_once, whole, "{} cut at {cut}", sample.name);
        }
    }
}

#[test]
fn byte_by_byte_gives_the_same_reply() {
    for sample in &SAMPLES {
        let bytes = sample.text.as_bytes();
        let single = decode(sample.wire.decoder(), bytes.chunks(1));
        assert_eq!(single, in_pieces(sample, &[]), "{}", sample.name);
    }
}

#[test]
fn a_reply_that_ends_early_is_never_a_success() {
    for sample in &SAMPLES {
        let bytes = sample.text.as_bytes();
        let Ok(whole) = in_pieces(sample, &[]).0 else {
            continue;
        };
        for end in 0..bytes.len() {
            match decode(sample.wire.decoder(), [&bytes[..end]]).0 {
                // All that counts may have come before the end of the stream;
                // what the usage says comes last of all.
                Ok(reply) => {
                    assert_eq!(reply.blocks, whole.blocks, "{} up to {end}", sample.name);
                    assert_eq!(reply.stop, whole.stop, "{} up to {end}", sample.name);
                }
                Err(error) => assert_eq!(error, DecodeError::Cut, "{} up to {end}", sample.name),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn many_cuts_give_the_same_reply(
        which in 0..SAMPLES.len(),
        cuts in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        let sample = &SAMPLES[which];
        prop_assert_eq!(in_pieces(sample, &cuts), in_pieces(sample, &[]));
    }

    #[test]
    fn nonsense_never_panics(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..10),
    ) {
        for wire in [Wire::Anthropic, Wire::OpenAi, Wire::Responses] {
            let slices = pieces.iter().map(Vec::as_slice);
            let _ = decode(wire.decoder(), slices);
        }
    }

    #[test]
    fn damaged_replies_never_panic_and_cuts_still_do_not_matter(
        which in 0..SAMPLES.len(),
        damage in prop::collection::vec((any::<usize>(), any::<u8>(), any::<bool>()), 1..20),
        cut in any::<usize>(),
    ) {
        let sample = &SAMPLES[which];
        let mut bytes = sample.text.as_bytes().to_vec();
        for (place, byte, insert) in damage {
            let place = place % bytes.len();
            if insert {
                bytes.insert(place, byte);
            } else {
                bytes[place] = byte;
            }
        }
        let whole = decode(sample.wire.decoder(), [&bytes[..]]);
        let (head, tail) = bytes.split_at(cut % bytes.len());
        prop_assert_eq!(decode(sample.wire.decoder(), [head, tail]), whole);
    }

    #[test]
    fn json_of_any_shape_never_panics(value in any_json(), event in "[a-z_]{0,12}") {
        let stream = format!("event: {event}\ndata: {value}\n\ndata: [DONE]\n\n");
        for wire in [Wire::Anthropic, Wire::OpenAi, Wire::Responses] {
            let _ = decode(wire.decoder(), [stream.as_bytes()]);
            let _ = decode(wire.decoder(), [value.to_string().as_bytes()]);
        }
    }
}

/// Words that mean something to one of the decoders.
const WORDS: [&str; 16] = [
    "content_block_start",
    "content_block_delta",
    "message_start",
    "message_delta",
    "message_stop",
    "message",
    "tool_use",
    "text",
    "thinking",
    "input_json_delta",
    "response.output_item.done",
    "response.completed",
    "function_call",
    "reasoning",
    "completed",
    "\u{d7ff}",
];

/// JSON in which the names of the wire formats occur in the wrong places.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value, json};
    let names = [
        "type",
        "index",
        "delta",
        "message",
        "choices",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "usage",
        "content_block",
        "finish_reason",
        "error",
        "input",
        "text",
        "input_tokens",
        "prompt_tokens",
        "response",
        "item",
        "output",
        "status",
        "call_id",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|it| json!(it)),
        any::<i64>().prop_map(|it| json!(it)),
        any::<f64>().prop_map(|it| json!(it)),
        prop::sample::select(WORDS.to_vec()).prop_map(|it| json!(it)),
        ".{0,5}".prop_map(|it| json!(it)),
    ];
    leaf.prop_recursive(5, 60, 5, move |inner| {
        let name = prop::sample::select(names.to_vec());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
