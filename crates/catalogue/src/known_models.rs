//! The catalogue: what the user, the workspace and the program itself know about models.

use crate::entry::ModelEntry;
use crate::name::{bare_name, is_of_family, normal_name};
use crate::price::Price;
use protocol::Tuning;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The window that is assumed for an unknown model. Most models have at least this. The server of a model
/// that has less refuses a longer conversation with an error that says so.
pub const UNKNOWN_WINDOW: u64 = 128_000;
/// The most tokens of a reply that are assumed for an unknown model.
pub const UNKNOWN_MAX_OUTPUT: u32 = 8_192;
/// The most tokens of a reply where nobody has set a limit, even if the model can produce more. A longer
/// reply continues in the next one, and a reply that never ends costs no more than this.
pub const LONGEST_USUAL_REPLY: u32 = 32_000;
/// Where nobody has set a limit, a reply takes at most the window divided by this.
const REPLY_SHARE_OF_WINDOW: u64 = 4;

static BUILT_IN: LazyLock<BTreeMap<String, ModelEntry>> = LazyLock::new(|| {
    toml::from_str(include_str!("../models.toml")).expect("a test reads the same file")
});

/// The built-in families, by name.
pub fn built_in() -> &'static BTreeMap<String, ModelEntry> {
    &BUILT_IN
}

/// What is known about models: what the user says, then what the workspace says, then what is built in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    user: BTreeMap<String, ModelEntry>,
    /// What the workspace's file says, which a stranger may have written.
    workspace: BTreeMap<String, ModelEntry>,
}

/// What is known or assumed about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFacts {
    /// How many tokens a conversation and the reply to it may have.
    pub window: u64,
    /// The most tokens that a reply may have where nobody has set it.
    pub max_output: u32,
    /// Whether it accepts images. `None` if nobody knows; its server then says so.
    pub images: Option<bool>,
    /// Whether the window is known. Otherwise the facts are assumed.
    pub is_known: bool,
}

impl ModelFacts {
    /// These facts for a window of this size, of which a reply takes at most its share.
    #[must_use]
    pub fn within(self, window: u64) -> Self {
        let share = u32::try_from(window / REPLY_SHARE_OF_WINDOW).unwrap_or(u32::MAX);
        Self {
            window,
            max_output: self.max_output.min(share.max(1)),
            ..self
        }
    }
}

impl Catalogue {
    /// A catalogue with what the user's file and the workspace's say. A key is the name of a model, with
    /// or without its provider; a trailing `*` matches any ending.
    pub const fn new(
        user: BTreeMap<String, ModelEntry>,
        workspace: BTreeMap<String, ModelEntry>,
    ) -> Self {
        Self { user, workspace }
    }

    /// What is known or assumed about a model, by the name under which it was chosen.
    pub fn facts(&self, model: &str) -> ModelFacts {
        let built_in = family(model);
        let entries = || self.entries(model).chain(built_in);
        let window = entries().find_map(|entry| entry.window);
        let images = entries().find_map(|entry| entry.images);
        let limit = built_in.and_then(|entry| entry.tuning.max_output);
        let facts = ModelFacts {
            window: UNKNOWN_WINDOW,
            max_output: limit.unwrap_or(UNKNOWN_MAX_OUTPUT).min(LONGEST_USUAL_REPLY),
            images,
            is_known: window.is_some() || is_free(model),
        };
        facts.within(window.unwrap_or(UNKNOWN_WINDOW))
    }

    /// How the files say that a model is asked.
    pub fn tuning(&self, model: &str) -> Tuning {
        let all = self.entries(model);
        all.fold(Tuning::default(), |tuning, entry| tuning.or(&entry.tuning))
    }

    /// The price of a model, by the name under which it was chosen. The workspace can add and raise prices
    /// but not lower them: a stranger's price of zero would switch off a limit of the user's.
    pub fn price(&self, model: &str) -> Option<Price> {
        let of_user = find(&self.user, model).and_then(|entry| entry.price);
        let of_workspace = find(&self.workspace, model).and_then(|entry| entry.price);
        let free = is_free(model).then_some(Price::FREE);
        let known = of_user.or(free).or_else(|| family(model)?.price);
        match (known, of_workspace) {
            (Some(known), Some(raised)) => Some(known.highest(&raised)),
            (known, raised) => known.or(raised),
        }
    }

    /// What the files say about a model, in order of precedence.
    fn entries(&self, model: &str) -> impl Iterator<Item = &ModelEntry> {
        let files = [&self.user, &self.workspace];
        files.into_iter().filter_map(move |file| find(file, model))
    }
}

/// Whether a model is a part of this program.
fn is_free(model: &str) -> bool {
    matches!(normal_name(model), "offline" | "script")
}

/// The built-in entry of a model: that of the longest family name that fits.
fn family(model: &str) -> Option<&'static ModelEntry> {
    if is_free(model) {
        // A process with such a model never reads the built-in file.
        return None;
    }
    let bare = bare_name(normal_name(model));
    let families = BUILT_IN
        .iter()
        .filter(|(family, _)| is_of_family(bare, family));
    let longest = families.max_by_key(|(family, _)| family.len());
    longest.map(|(_, entry)| entry)
}

/// The entry of a name, with or without its provider, or of the longest pattern that fits.
fn find<'a>(entries: &'a BTreeMap<String, ModelEntry>, model: &str) -> Option<&'a ModelEntry> {
    let model = normal_name(model);
    let bare = bare_name(model);
    let exact = entries.get(model).or_else(|| entries.get(bare));
    exact.or_else(|| {
        let matching = entries.iter().filter_map(|(name, entry)| {
            let start = name.strip_suffix('*')?;
            let fits = model.starts_with(start) || bare.starts_with(start);
            fits.then_some((start.len(), entry))
        });
        let longest = matching.max_by_key(|(length, _)| *length);
        longest.map(|(_, entry)| entry)
    })
}

#[cfg(test)]
mod tests;
