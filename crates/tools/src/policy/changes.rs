//! A policy from words that a person typed.

use super::{Policy, Rule};

/// Why some words are no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// There is no rule of this name to switch off.
    #[error("there is no rule {name:?} to switch off; the rules are {}", known.join(", "))]
    UnknownRule {
        /// The name.
        name: String,
        /// The rules there are.
        known: Vec<String>,
    },
    /// A word is neither a rule to switch off nor a program to refuse.
    #[error(
        "{0:?} is no change of the policy: write -RULE to switch a rule off, +PROGRAM to refuse a \
         program, or `none` for no rules at all"
    )]
    NoChange(String),
}

impl Policy {
    /// The usual policy with changes: words between commas, of which `-power` switches the rule
    /// `power` off, `+docker` refuses the program `docker`, and `none` takes all rules away.
    pub fn with_changes(words: &str) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        let words = words.split(',').map(str::trim);
        for word in words.filter(|word| !word.is_empty()) {
            policy = match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some(rule), _) if policy.names().any(|known| known == rule) => {
                    policy.without(rule)
                }
                (Some(rule), _) => {
                    return Err(PolicyError::UnknownRule {
                        name: rule.to_owned(),
                        known: policy.names().map(str::to_owned).collect(),
                    });
                }
                (None, Some(program)) if !program.is_empty() => {
                    let why = format!("{program} is refused by the policy of this team");
                    policy.with(Rule::deny_program(program, &why))
                }
                (None, _) if word == "none" => Self::allow_all(),
                (None, _) => return Err(PolicyError::NoChange(word.to_owned())),
            };
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_switched_off_and_programs_refused() {
        let policy = Policy::with_changes("-power, +docker").unwrap();
        assert!(policy.check("reboot").is_ok());
        assert!(policy.check("rm -rf /").is_err());
        let refused = policy.check("true && docker ps").unwrap_err();
        assert!(refused.contains("docker"), "{refused}");
        assert!(Policy::with_changes("").unwrap().check("reboot").is_err());
        assert!(
            Policy::with_changes("none")
                .unwrap()
                .check("rm -rf /")
                .is_ok()
        );
    }

    #[test]
    fn what_is_no_change_is_named_with_what_there_is() {
        let error = Policy::with_changes("-pwoer").unwrap_err().to_string();
        assert!(
            error.contains("pwoer") && error.contains("remove-root"),
            "{error}"
        );
        for word in ["power", "+", "-"] {
            assert!(Policy::with_changes(word).is_err(), "{word}");
        }
    }
}
