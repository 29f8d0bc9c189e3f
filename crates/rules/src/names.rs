//! Refuses names that people cannot tell apart.
//!
//! A name may be of any script. It may not look like the name of another member, or like a word that the
//! program uses for somebody, such as `lead`, and it may not mix scripts as no language does. Otherwise a
//! person or a model would take a message from an `alice` whose first letter is Cyrillic for one from the
//! real `alice`. Unicode's tables of characters that look alike (UTS 39) decide.

use protocol::AgentName;
use unicode_security::{
    MixedScript, RestrictionLevel, RestrictionLevelDetection, confusable_detection::skeleton,
};

/// Words that a name must not look like.
const RESERVED: [&str; 4] = ["lead", "user", "system", "all"];

/// Why a name is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameRefusal {
    /// It looks like the name of another member.
    #[error("the name '{name}' looks like '{other}', who is in the team; choose another name")]
    LooksLikeMember { name: AgentName, other: AgentName },
    /// It looks like one of the reserved words.
    #[error(
        "the name '{name}' looks like '{word}', which has a meaning of its own; choose another name"
    )]
    LooksLikeWord { name: AgentName, word: &'static str },
    /// Its letters are of scripts that no language mixes.
    #[error(
        "the name '{name}' mixes letters of several scripts that look alike; choose letters of one script"
    )]
    MixesScripts { name: AgentName },
}

/// Checks whether a new member may have this name in a team with the `known` names.
pub fn check_new_name<'a>(
    name: &AgentName,
    known: impl IntoIterator<Item = &'a AgentName>,
) -> Result<(), NameRefusal> {
    let text = name.as_str();
    let shape = shape(text);
    if let Some(word) = RESERVED.into_iter().find(|word| self::shape(word) == shape) {
        let name = name.clone();
        return Err(NameRefusal::LooksLikeWord { name, word });
    }
    // Combinations that languages use, such as Japanese with Latin letters, are allowed.
    if !text.is_single_script()
        && !text.check_restriction_level(RestrictionLevel::HighlyRestrictive)
    {
        return Err(NameRefusal::MixesScripts { name: name.clone() });
    }
    let looks_alike = |other: &&AgentName| {
        // Two ASCII names never look alike: people can tell `l` from `1`.
        let both_ascii = text.is_ascii() && other.as_str().is_ascii();
        !both_ascii && !other.same_as(name) && self::shape(other.as_str()) == shape
    };
    match known.into_iter().find(looks_alike) {
        Some(other) => Err(NameRefusal::LooksLikeMember {
            name: name.clone(),
            other: other.clone(),
        }),
        None => Ok(()),
    }
}

/// The form that a text shares with all texts that look like it, in any case.
fn shape(text: &str) -> String {
    let shape: String = skeleton(&text.to_lowercase()).collect();
    shape.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> AgentName {
        AgentName::new(text).unwrap()
    }

    fn check(text: &str, known: &[&str]) -> Result<(), NameRefusal> {
        let known: Vec<AgentName> = known.iter().map(|text| name(text)).collect();
        check_new_name(&name(text), &known)
    }

    #[test]
    fn names_of_any_script_are_accepted() {
        let known = ["alice", "bob", "worker1", "Оля"];
        for text in [
            "carol",
            "Žofie",
            "Иван",
            "愛",
            "さくら",
            "ソラ愛",
            "민준",
            "Αθηνά",
            "علي",
            "שרה",
            "ᎠᎩ",
            "tester_愛",
            "worker-l",
            "w0",
            "alice2",
            "Оля2",
        ] {
            assert_eq!(check(text, &known), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_look_alike_of_a_member_is_refused() {
        // Cyrillic а, full-width letters, Greek ο, mathematical letters.
        let looks = [
            ("ｂｏｂ", "bob"),
            ("сосо", "coco"),
            ("𝐛𝐨𝐛", "bob"),
            ("ОЛЯ1", "ОЛЯl"),
        ];
        for (text, other) in looks {
            let refused = check(text, &["zoe", other]);
            let expected = NameRefusal::LooksLikeMember {
                name: name(text),
                other: name(other),
            };
            assert_eq!(refused, Err(expected), "{text}");
        }
        // The other way round, too: the impostor may have come first.
        assert!(check("coco", &["сосо"]).is_err());
        // Its own entry is no other member.
        assert_eq!(check("Alice", &["alice"]), Ok(()));
    }

    #[test]
    fn a_look_alike_of_a_word_is_refused() {
        for text in ["1ead", "ｌｅａｄ", "𝓁ead", "a11", "uѕer"] {
            let refused = check(text, &[]);
            let is_word = matches!(refused, Err(NameRefusal::LooksLikeWord { .. }));
            assert!(is_word, "{text}: {refused:?}");
        }
    }

    #[test]
    fn a_mix_of_scripts_that_look_alike_is_refused() {
        for text in ["аlice", "bοb", "pаypal"] {
            let refused = check(text, &[]);
            assert_eq!(
                refused,
                Err(NameRefusal::MixesScripts { name: name(text) }),
                "{text}"
            );
        }
    }
}
