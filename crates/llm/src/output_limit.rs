//! The limit of output tokens that a server names when it refuses more.
//!
//! Servers refuse a request that asks for more with status 400, and name the limit in a sentence. No
//! provider has a field for it, so this reads the numbers of the sentence.

use crate::error::ModelError;

/// Part of the error of a server that does not know the field's name. Such an error names no limit.
const UNKNOWN_FIELD: &str = "not supported";
/// The text before the size of the window.
const BEFORE_WINDOW: &str = "context length is";
/// A word of every sentence about the window.
const WINDOW: &str = "context";
/// Smaller numbers in an error are not taken for a limit.
pub(crate) const LEAST_LIMIT: u32 = 256;

/// How many tokens of output to ask for instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputLimit {
    /// The most that the model can produce.
    OfModel(u32),
    /// What the window has left beside this conversation. A shorter conversation leaves more.
    BesideConversation(u32),
}

impl OutputLimit {
    pub(crate) const fn tokens(self) -> u32 {
        match self {
            Self::OfModel(tokens) | Self::BesideConversation(tokens) => tokens,
        }
    }

    /// The limit that an error names for a request of `asked` tokens, if the request was refused because of
    /// that number. It is always less than `asked`.
    pub(crate) fn in_error(error: &ModelError, asked: u32) -> Option<Self> {
        let message = match error {
            ModelError::BadRequest {
                status: 200 | 400 | 422,
                detail,
            }
            | ModelError::ContextTooLong { detail, .. } => detail.message.to_lowercase(),
            _ => return None,
        };
        if !is_about_output(&message) {
            return None;
        }
        if let Some(left) = left_in_window(&message) {
            let left = u32::try_from(left).ok()?;
            return (LEAST_LIMIT..asked)
                .contains(&left)
                .then_some(Self::BesideConversation(left));
        }
        if message.contains(WINDOW) {
            // The conversation itself is too long.
            return None;
        }
        let named = numbers(&message)
            .filter_map(|(_, number)| u32::try_from(number).ok())
            .filter(|number| (LEAST_LIMIT..asked).contains(number))
            .max();
        let halved = || Some(asked / 2).filter(|half| *half >= LEAST_LIMIT);
        named.or_else(halved).map(Self::OfModel)
    }
}

/// Whether a sentence says that the output asked for is too much.
fn is_about_output(message: &str) -> bool {
    let names_it = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "output tokens",
        "completion tokens",
        "in the completion",
    ];
    let complains = [
        "too large",
        "too high",
        "at most",
        "maximum",
        "exceed",
        "less than",
        "must be",
        ">",
        "limit",
    ];
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    has(&names_it) && has(&complains) && !message.contains(UNKNOWN_FIELD)
}

/// The window less the conversation, of the sentences that name both:
/// `190000 + 32000 > 200000`, `context length is 4096 tokens and your request has 100 input tokens`,
/// `context length is 4097 tokens, however you requested 8100 tokens (100 in the messages, ...)`.
fn left_in_window(message: &str) -> Option<u64> {
    let found: Vec<(&str, u64)> = numbers(message).collect();
    if let [.., (rest, input), (_, _), (_, window)] = found.as_slice()
        && rest.trim_start().starts_with('+')
        && message.contains('>')
    {
        return window.checked_sub(*input);
    }
    let (_, after) = message.split_once(BEFORE_WINDOW)?;
    let (_, window) = numbers(after).next()?;
    let input = numbers(after).find(|(rest, _)| {
        let rest = rest.trim_start();
        let words = [
            "input tokens",
            "in the messages",
            "prompt tokens",
            "in the prompt",
        ];
        words.iter().any(|word| rest.starts_with(word))
    });
    window.checked_sub(input?.1)
}

/// The whole numbers of a text, each with the text after it. Digits inside of a word or a name, as in
/// `claude-opus-4-20250514`, are skipped.
fn numbers(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let mut rest = text;
    let mut before = ' ';
    std::iter::from_fn(move || {
        loop {
            let (words, tail) = rest.split_at(rest.find(|c: char| c.is_ascii_digit())?);
            before = words.chars().next_back().unwrap_or(before);
            let is_other = |c: char| !c.is_ascii_digit() && c != ',' && c != '_';
            let (digits, _) = tail.split_at(tail.find(is_other).unwrap_or(tail.len()));
            let digits = digits.trim_end_matches([',', '_']);
            let (_, after) = tail.split_at(digits.len());
            rest = after;
            let is_name = before.is_alphanumeric() || matches!(before, '-' | '.' | '_' | '/');
            before = '0';
            let plain: String = digits.chars().filter(char::is_ascii_digit).collect();
            if !is_name && let Ok(number) = plain.parse() {
                return Some((after, number));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Detail;

    fn read(message: &str, asked: u32) -> Option<OutputLimit> {
        let detail = Detail {
            message: message.to_owned(),
            request_id: None,
        };
        let error = ModelError::BadRequest {
            status: 400,
            detail,
        };
        OutputLimit::in_error(&error, asked)
    }

    #[test]
    fn the_sentences_of_servers_are_understood() {
        use OutputLimit::{BesideConversation, OfModel};
        let cases = [
            (
                "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens \
                 for claude-opus-4-20250514",
                64_000,
                Some(OfModel(32_000)),
            ),
            (
                "max_tokens is too large: 32000. This model supports at most 4096 completion \
                 tokens, whereas you provided 32000.",
                32_000,
                Some(OfModel(4_096)),
            ),
            (
                "max_output_tokens must be at most 16,384 for this model",
                32_000,
                Some(OfModel(16_384)),
            ),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, \
                 decrease input length or `max_tokens` and try again",
                32_000,
                Some(BesideConversation(10_000)),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum \
                 context length is 4096 tokens and your request has 100 input tokens (8000 > 4096 \
                 - 100).",
                8_000,
                Some(BesideConversation(3_996)),
            ),
            (
                "This model's maximum context length is 4097 tokens, however you requested 8100 \
                 tokens (100 in the messages, 8000 in the completion). Please reduce the length.",
                8_000,
                Some(BesideConversation(3_997)),
            ),
            ("max_tokens is too large", 8_000, Some(OfModel(4_000))),
        ];
        for (message, asked, expected) in cases {
            assert_eq!(read(message, asked), expected, "{message}");
        }
    }

    #[test]
    fn other_refusals_name_no_limit() {
        let cases = [
            ("max_tokens is too large", 300),
            (
                "input length and `max_tokens` exceed context limit: 199990 + 32000 > 200000",
                32_000,
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", 32_000),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                 'max_completion_tokens' instead.",
                32_000,
            ),
            ("messages: at least one message is required", 32_000),
        ];
        for (message, asked) in cases {
            assert_eq!(read(message, asked), None, "{message}");
        }
    }

    #[test]
    fn only_a_refused_request_names_a_limit() {
        let detail = Detail {
            message: "max_tokens is too large".into(),
            request_id: None,
        };
        assert_eq!(
            OutputLimit::in_error(&ModelError::Billing(detail.clone()), 8_000),
            None
        );
        let error = ModelError::BadRequest {
            status: 403,
            detail,
        };
        assert_eq!(OutputLimit::in_error(&error, 8_000), None);
    }

    #[test]
    fn numbers_are_those_that_stand_alone() {
        let found = |text| numbers(text).map(|(_, number)| number).collect::<Vec<_>>();
        assert_eq!(
            found("gpt-4-0613 has 8,192, and v2 x9 has 1_000."),
            [8192, 1000]
        );
        assert_eq!(found("4096"), [4096]);
        assert_eq!(found(""), [0; 0]);
        assert_eq!(found("99999999999999999999999"), [0; 0]);
    }
}
