//! Completes commands, their arguments, and members and files behind `@`.

use super::status::Status;
use crate::typed::{Argument, COMMANDS};
use llm::ModelChoice;

/// The most candidates that are shown.
pub(crate) const MOST: usize = 8;

/// What stands before the cursor and may be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Command(String),
    /// The first word behind a command.
    Argument(Argument, String),
    /// A member or a file behind `@`.
    Mention(String),
}

/// What is wanted at the end of this text, if anything is.
pub(crate) fn wanted(before: &str) -> Option<Wanted> {
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    if let Some(name) = word.strip_prefix('@') {
        return Some(Wanted::Mention(name.to_owned()));
    }
    if !before.starts_with('/') {
        return None;
    }
    let mut words = before.split_whitespace();
    let command = words.next()?;
    if word == command && !before.ends_with(char::is_whitespace) {
        return Some(Wanted::Command(command.to_owned()));
    }
    let slash = COMMANDS.iter().find(|slash| slash.word == command)?;
    let is_first = words.count() == usize::from(!word.is_empty());
    let argument = slash.first.filter(|_| is_first)?;
    Some(Wanted::Argument(argument, word.to_owned()))
}

/// What an argument may be.
pub(crate) fn arguments(argument: Argument, status: &Status) -> Vec<String> {
    match argument {
        Argument::Member => status.members.clone(),
        // A request can also be named by its member, which is easier to type.
        Argument::Request => [status.asking.as_slice(), status.requests.as_slice()].concat(),
        Argument::Submission => status.submissions.clone(),
        Argument::Model => models(),
    }
}

/// The models that are known by name. There are others, and those of other servers.
fn models() -> Vec<String> {
    let known = catalogue::built_in().keys().cloned();
    let known = known.map(|name| match name.starts_with("claude-") {
        true => ModelChoice::Anthropic(name),
        false => ModelChoice::OpenAi(name),
    });
    let mut all: Vec<String> = known.map(|model| model.to_string()).collect();
    all.push(ModelChoice::Offline.to_string());
    all
}

/// The commands that begin like this.
pub(crate) fn commands(start: &str) -> Vec<String> {
    let words = COMMANDS.iter().map(|slash| slash.word.to_owned());
    words.filter(|word| word.starts_with(start)).collect()
}

/// What the commands that begin like this do, one a line.
pub(crate) fn hints(start: &str) -> Vec<String> {
    let known = COMMANDS
        .iter()
        .filter(|slash| slash.word.starts_with(start));
    let lines = known.map(|slash| {
        let typed = format!("{} {}", slash.word, slash.arguments);
        format!("{typed:<24} {}", slash.meaning)
    });
    lines.collect()
}

/// The result of a completion: what replaces the word, and what else there is to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    pub(crate) text: String,
    pub(crate) choices: Vec<String>,
}

/// Completes a word as far as all candidates agree; a single one to its end.
pub(crate) fn complete(word: &str, mut candidates: Vec<String>) -> Option<Completed> {
    candidates.retain(|candidate| candidate.starts_with(word));
    candidates.dedup();
    let first = candidates.first()?.clone();
    if candidates.len() == 1 {
        // More of a path may follow.
        let end = if first.ends_with('/') { "" } else { " " };
        return Some(Completed {
            text: format!("{first}{end}"),
            choices: Vec::new(),
        });
    }
    let agree = |count: &usize| {
        let start: Vec<char> = first.chars().take(*count).collect();
        let mut all = candidates.iter();
        all.all(|candidate| candidate.chars().take(*count).eq(start.iter().copied()))
    };
    let length = (0..=first.chars().count()).rev().find(agree).unwrap_or(0);
    Some(Completed {
        text: first.chars().take(length).collect(),
        choices: candidates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::Variables;

    #[test]
    fn what_stands_before_the_cursor_says_what_is_wanted() {
        let member = |start: &str| Some(Wanted::Argument(Argument::Member, start.to_owned()));
        let model = Wanted::Argument(Argument::Model, "off".to_owned());
        for (before, expected) in [
            ("/model off", Some(model)),
            ("/se", Some(Wanted::Command("/se".to_owned()))),
            ("/send al", member("al")),
            ("/send ", member("")),
            ("/send alice hi", None),
            ("/team ", None),
            ("ask @al", Some(Wanted::Mention("al".to_owned()))),
            (
                "/send alice see @src/",
                Some(Wanted::Mention("src/".to_owned())),
            ),
            ("hello", None),
            ("", None),
        ] {
            assert_eq!(wanted(before), expected, "{before:?}");
        }
    }

    #[test]
    fn every_command_with_arguments_says_what_they_may_be() {
        for slash in &COMMANDS {
            assert_eq!(slash.arguments.is_empty(), slash.first.is_none());
        }
        let status = Status {
            members: vec!["alice".to_owned()],
            asking: vec!["bob".to_owned()],
            requests: vec!["1a2b3c4d".to_owned()],
            submissions: vec!["3".to_owned()],
            ..Status::default()
        };
        assert_eq!(arguments(Argument::Request, &status), ["bob", "1a2b3c4d"]);
        assert_eq!(arguments(Argument::Submission, &status), ["3"]);
        for model in arguments(Argument::Model, &status) {
            let chosen = ModelChoice::parse(&model, &Variables::default());
            assert_eq!(chosen.unwrap().to_string(), model);
        }
    }

    #[test]
    fn a_word_is_completed_as_far_as_the_candidates_agree() {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let one = complete("al", all(&["alice", "bob"])).unwrap();
        assert_eq!((one.text.as_str(), one.choices.len()), ("alice ", 0));
        let two = complete("/re", all(&["/requests", "/reject"])).unwrap();
        assert_eq!((two.text.as_str(), two.choices.len()), ("/re", 2));
        let folder = complete("sr", all(&["src/"])).unwrap();
        assert_eq!(folder.text, "src/");
        assert_eq!(complete("x", all(&["alice"])), None);
        assert_eq!(commands("/com"), ["/compact"]);
        assert!(hints("/send")[0].contains("/send NAME TEXT"));
    }
}
