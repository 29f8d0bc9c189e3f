//! The system prompt of a running member.

use crate::spec::{PromptSpec, WrittenTexts};
use protocol::Timestamp;
use tracing::warn;

/// The system prompt of a running member: the same bytes in every request, for as long as possible.
///
/// It is made for the first request, and again on another day and after a compaction, when the provider
/// has nothing in its cache that it could reuse. Instructions and skills that change in between are told as
/// [news](Self::news) at the end of the conversation, which costs the change itself and not the whole
/// conversation.
pub struct CurrentPrompt {
    spec: PromptSpec,
    made: Option<Made>,
}

/// A system prompt for a request.
pub struct SystemText {
    pub text: String,
    /// How many bytes at its start other members of the team are told too, or zero.
    pub shared: usize,
}

struct Made {
    system: SystemText,
    date: String,
    /// What the model was told, in the prompt and in news since.
    told: WrittenTexts,
    /// News that were offered, and what they make known.
    offered: Option<(String, WrittenTexts)>,
}

impl CurrentPrompt {
    pub const fn new(spec: PromptSpec) -> Self {
        Self { spec, made: None }
    }

    /// The text for a request that is made now.
    pub fn at(&mut self, now: Timestamp) -> &SystemText {
        let date = now.date();
        let made = self.made.take().filter(|made| made.date == date);
        let made = made.unwrap_or_else(|| self.make(now, date));
        &self.made.insert(made).system
    }

    fn make(&self, now: Timestamp, date: String) -> Made {
        let told = self.spec.written_texts();
        let prompt = self.spec.build_with(&told, now);
        for problem in prompt.problems() {
            warn!("{problem}");
        }
        let own = self.spec.first_own_part();
        let shared = own.map_or(0, |own| prompt.length_before(own));
        let text = prompt.to_string();
        Made {
            system: SystemText { text, shared },
            date,
            told,
            offered: None,
        }
    }

    /// What has changed since the prompt was made, for the end of the conversation. It is offered again
    /// until it was [given](Self::given).
    pub fn news(&mut self) -> Option<String> {
        let made = self.made.as_mut()?;
        let now = self.spec.written_texts();
        let text = made.told.changes(&now)?;
        made.offered = Some((text.clone(), now));
        Some(text)
    }

    /// Notes that the model was given this text.
    pub fn given(&mut self, text: &str) {
        if let Some(made) = &mut self.made
            && let Some((_, now)) = made.offered.take_if(|(offered, _)| offered == text)
        {
            made.told = now;
        }
    }

    /// Notes that the conversation was made shorter: the next request has nothing in common with those
    /// before but the prompt.
    pub fn compacted(&mut self) {
        self.made = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::{NOON, lead_in};
    use std::fs;

    #[test]
    fn changed_instructions_leave_the_prompt_as_it_is_and_are_told_once() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("AGENTS.md");
        fs::write(&file, "Use tabs.").unwrap();
        let mut prompt = CurrentPrompt::new(lead_in(place.path()));
        assert_eq!(prompt.news(), None, "nothing was told yet");
        let first = prompt.at(NOON).text.clone();
        assert!(first.contains("Use tabs."), "{first}");
        assert_eq!(prompt.news(), None);
        fs::write(&file, "Use spaces.").unwrap();
        assert_eq!(prompt.at(NOON).text, first);
        let news = prompt.news().unwrap();
        assert!(news.contains("Use spaces."), "{news}");
        assert_eq!(prompt.news(), Some(news.clone()), "until it was given");
        prompt.given("something else");
        assert_eq!(prompt.news(), Some(news.clone()));
        prompt.given(&news);
        assert_eq!(prompt.news(), None);
        assert_eq!(prompt.at(NOON).text, first);
        prompt.compacted();
        assert!(prompt.at(NOON).text.contains("Use spaces."));
        assert_eq!(prompt.news(), None);
    }

    #[test]
    fn skills_that_appear_change_or_go_are_told_once() {
        let place = tempfile::tempdir().unwrap();
        let mut prompt = CurrentPrompt::new(lead_in(place.path()));
        let first = prompt.at(NOON).text.clone();
        let skill = |name: &str, description: &str| {
            let folder = place.path().join(".agents/skills").join(name);
            fs::create_dir_all(&folder).unwrap();
            let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n");
            fs::write(folder.join("SKILL.md"), text).unwrap();
        };
        skill("pdf", "Reads PDF files.");
        let news = prompt.news().unwrap();
        assert!(
            news.contains("- new: pdf (repository): Reads PDF files."),
            "{news}"
        );
        assert!(news.contains(".agents/skills/pdf/SKILL.md"), "{news}");
        prompt.given(&news);
        assert_eq!(prompt.news(), None);
        skill("pdf", "Reads and writes PDF files.");
        skill("mail", "Writes mail.");
        fs::write(place.path().join("AGENTS.md"), "Use tabs.").unwrap();
        let news = prompt.news().unwrap();
        for part in ["- changed: pdf", "- new: mail", "Use tabs."] {
            assert!(news.contains(part), "{news}");
        }
        prompt.given(&news);
        fs::remove_dir_all(place.path().join(".agents/skills/pdf")).unwrap();
        let news = prompt.news().unwrap();
        assert!(news.contains("- gone: pdf"), "{news}");
        assert_eq!(prompt.at(NOON).text, first, "the prompt stays as it is");
    }

    #[test]
    fn the_prompt_is_made_again_on_another_day() {
        let place = tempfile::tempdir().unwrap();
        let mut prompt = CurrentPrompt::new(lead_in(place.path()));
        let first = prompt.at(NOON).text.clone();
        fs::write(place.path().join("AGENTS.md"), "Use tabs.").unwrap();
        assert_eq!(prompt.at(NOON).text, first);
        let tomorrow = NOON.plus(std::time::Duration::from_secs(86_400));
        assert!(prompt.at(tomorrow).text.contains("Use tabs."));
    }
}
