//! What a file says about a model.

use crate::price::Price;
use protocol::{Effort, Temperature, Thinking, Tuning};
use std::num::NonZeroU32;

/// What a file says about a model, or about all models whose names begin alike. All of it is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(from = "ModelTable")]
pub struct ModelEntry {
    /// How many tokens a conversation and the reply to it may have.
    pub window: Option<u64>,
    /// Whether it accepts images.
    pub images: Option<bool>,
    pub price: Option<Price>,
    /// How it is asked. In the built-in file `max_output` is the most that the model can produce.
    pub tuning: Tuning,
}

/// The table of a model in a file. It is one struct because `flatten` loses the line numbers of errors.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [models.NAME]")]
struct ModelTable {
    window: Option<u64>,
    images: Option<bool>,
    price: Option<Price>,
    max_output: Option<NonZeroU32>,
    #[serde(default, deserialize_with = "Effort::deserialize_known")]
    effort: Option<Effort>,
    #[serde(default, deserialize_with = "Thinking::deserialize_known")]
    thinking: Option<Thinking>,
    temperature: Option<Temperature>,
}

impl From<ModelTable> for ModelEntry {
    fn from(table: ModelTable) -> Self {
        Self {
            window: table.window,
            images: table.images,
            price: table.price,
            tuning: Tuning {
                max_output: table.max_output.map(NonZeroU32::get),
                effort: table.effort,
                thinking: table.thinking,
                temperature: table.temperature,
            },
        }
    }
}
