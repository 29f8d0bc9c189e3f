//! Arguments that models write in more than one way.

use protocol::Priority;
use serde::{Deserialize, Deserializer};
use tools::ToolError;

/// A number as models write it: `3`, `"3"` or `"#3"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

impl Number {
    fn value<E: serde::de::Error>(self) -> Result<u64, E> {
        match self {
            Self::Plain(number) => Ok(number),
            Self::Text(text) => {
                let digits = text.trim().trim_start_matches('#');
                let wrong = |_| E::custom(format_args!("{text:?} is not a task number, such as 3"));
                digits.parse().map_err(wrong)
            }
        }
    }
}

/// The number of a task.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Number::deserialize(deserializer)?.value()
}

/// The number of a task that may be left out.
pub(crate) fn optional_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    number.map(Number::value).transpose()
}

/// A list of task numbers. `null` is none.
pub(crate) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let numbers = Option::<Vec<Number>>::deserialize(deserializer)?;
    let numbers = numbers.unwrap_or_default().into_iter();
    numbers.map(Number::value).collect()
}

/// A priority, checked.
pub(crate) fn priority(value: Option<u8>) -> Result<Option<Priority>, ToolError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let wrong = || ToolError::new(format!("a priority is 0 to 10, not {value}"));
    Priority::new(value).ok_or_else(wrong).map(Some)
}
