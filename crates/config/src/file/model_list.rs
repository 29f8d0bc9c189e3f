//! The models of a member, as they are written in a file.

use serde::Deserializer;
use serde::de::{Error as _, SeqAccess, Visitor};
use std::fmt;

/// A model, or an array of models, as one text with commas.
pub(super) fn model_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    struct ModelVisitor;
    impl<'de> Visitor<'de> for ModelVisitor {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a model or an array of models")
        }

        fn visit_str<E: serde::de::Error>(self, model: &str) -> Result<Self::Value, E> {
            Ok(Some(model.to_owned()))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut models: A) -> Result<Self::Value, A::Error> {
            let mut names = Vec::new();
            while let Some(name) = models.next_element::<String>()? {
                if name.trim().is_empty() || name.contains(',') {
                    let message = format!("{name:?} is not the name of one model");
                    return Err(A::Error::custom(message));
                }
                names.push(name);
            }
            match names.is_empty() {
                true => Err(A::Error::custom("at least one model is needed")),
                false => Ok(Some(names.join(","))),
            }
        }
    }
    deserializer.deserialize_any(ModelVisitor)
}
