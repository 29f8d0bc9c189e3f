//! The shapes of objects: which fields they have, and of what kind each is.

use std::fmt;

use serde_json::Value;

use super::{Object, Verdict, ensure};

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Any,
    Bool,
    Text,
    /// A text that is not blank.
    Said,
    /// A whole number from this one on.
    Count(u64),
    /// A number from the first to the second one.
    Between(f64, f64),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Object,
    List,
    /// A text, or nothing.
    TextOrNull,
    /// One of these texts, or nothing.
    OneOfOrNull(&'static [&'static str]),
}

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    is_required: bool,
}

pub(super) const fn required(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        is_required: true,
    }
}

pub(super) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        is_required: false,
    }
}

/// Checks that an object has these fields and no others.
pub(super) fn shape(object: &Object, fields: &[Field], place: &str) -> Verdict {
    let is_known = |key: &str| fields.iter().any(|field| field.name == key);
    let unknown = object.keys().find(|key| !is_known(key));
    if let Some(key) = unknown {
        return Err(format!("{place}: {key}: Extra inputs are not permitted"));
    }
    open_shape(object, fields, place)
}

/// Checks that an object has these fields. It may have others: the server made it, and gets back what it
/// sent.
pub(super) fn open_shape(object: &Object, fields: &[Field], place: &str) -> Verdict {
    for field in fields {
        let name = field.name;
        match object.get(name) {
            None => ensure(!field.is_required, place, &format!("{name} is missing"))?,
            Some(value) => {
                let rule = format!("{name} has to be {}", field.kind);
                ensure(field.kind.holds(value), place, &rule)?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("there"),
            Self::Bool => f.write_str("true or false"),
            Self::Text => f.write_str("a text"),
            Self::Said => f.write_str("a text that is not blank"),
            Self::Count(least) => write!(f, "a whole number from {least} on"),
            Self::Between(least, most) => write!(f, "a number from {least} to {most}"),
            Self::OneOf(texts) => write!(f, "one of {}", texts.join(", ")),
            Self::Object => f.write_str("an object"),
            Self::List => f.write_str("a list"),
            Self::TextOrNull => f.write_str("a text or null"),
            Self::OneOfOrNull(texts) => write!(f, "null or one of {}", texts.join(", ")),
        }
    }
}

impl Kind {
    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Bool => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Said => value.as_str().is_some_and(|text| !text.trim().is_empty()),
            Self::Count(least) => value.as_u64().is_some_and(|count| count >= least),
            Self::Between(least, most) => value
                .as_f64()
                .is_some_and(|number| (least..=most).contains(&number)),
            Self::OneOf(texts) => value.as_str().is_some_and(|text| texts.contains(&text)),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
            Self::TextOrNull => value.is_null() || Self::Text.holds(value),
            Self::OneOfOrNull(texts) => value.is_null() || Self::OneOf(texts).holds(value),
        }
    }
}
