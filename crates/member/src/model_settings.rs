//! How one model is asked.

use crate::build::ModelOptions;
use catalogue::Catalogue;
use llm::{ModelSettings, WebTools};
use protocol::{Effort, Thinking, Tuning};

/// How a model is asked: as the member's entry or its role says, else as the files say of this model, else
/// as the configuration says of all.
pub(crate) fn settings_of(
    name: &str,
    options: &ModelOptions,
    catalogue: &Catalogue,
    (of_all, web): &(Tuning, WebTools),
) -> ModelSettings {
    let facts = catalogue.facts(name);
    let own = options.tuning.clone();
    let tuning = own.or(&catalogue.tuning(name)).or(of_all);
    let usual = match options.window {
        // A window that somebody chose may be smaller than the known one.
        Some(window) => facts.within(window).max_output,
        None => facts.max_output,
    };
    ModelSettings {
        max_output: Some(tuning.max_output.unwrap_or(usual)),
        tuning: llm::Tuning {
            temperature: tuning.temperature.map(|temperature| temperature.value()),
            top_p: None,
            effort: tuning.effort.and_then(known_effort),
            thinking: tuning.thinking.and_then(known_thinking),
            web: web.clone(),
        },
        known_limit: None,
        hides_images: facts.images == Some(false),
    }
}

fn known_effort(effort: Effort) -> Option<llm::Effort> {
    Some(match effort {
        Effort::None => llm::Effort::None,
        Effort::Minimal => llm::Effort::Minimal,
        Effort::Low => llm::Effort::Low,
        Effort::Medium => llm::Effort::Medium,
        Effort::High => llm::Effort::High,
        Effort::XHigh => llm::Effort::XHigh,
        Effort::Max => llm::Effort::Max,
        Effort::Other(_) => return None,
    })
}

fn known_thinking(thinking: Thinking) -> Option<llm::Thinking> {
    match thinking {
        Thinking::Adaptive => Some(llm::Thinking::Adaptive),
        Thinking::Off => Some(llm::Thinking::Disabled),
        Thinking::Budget(tokens) => Some(llm::Thinking::Budget(tokens)),
        Thinking::Other(_) => None,
    }
}
