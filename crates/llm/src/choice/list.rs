//! A list of models, of which the first that can be reached answers.

use super::{ChoiceError, ModelChoice, NoModel, is_script};
use crate::choice::Variables;

/// Reads one model, or several between commas. Only models of providers may be in a list, because the
/// built-in ones can always be reached.
pub fn parse_models(value: &str, variables: &Variables) -> Result<Vec<ModelChoice>, ChoiceError> {
    // The path of a script may have commas.
    if !value.contains(',') || is_script(value) {
        return Ok(vec![ModelChoice::parse(value, variables)?]);
    }
    let parts = value.split(',');
    let choices = parts.map(|part| match ModelChoice::parse(part, variables)? {
        ModelChoice::Offline | ModelChoice::Script(_) => Err(ChoiceError {
            value: part.trim().to_owned(),
            reason: NoModel::NotForList,
        }),
        of_provider => Ok(of_provider),
    });
    choices.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_models_of_providers_only() {
        let keys = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
        let variables: Variables = keys.into_iter().collect();
        let read = |value: &str| {
            let models = parse_models(value, &variables).map_err(|error| error.to_string())?;
            let names: Vec<String> = models.iter().map(ToString::to_string).collect();
            Ok::<_, String>(names.join(" "))
        };
        assert_eq!(read("openai:a").unwrap(), "openai:a");
        assert_eq!(
            read("anthropic:a, openai:b,gpt-x").unwrap(),
            "anthropic:a openai:b openai:gpt-x"
        );
        assert_eq!(read("script:a,b").unwrap(), "script:a,b", "one path");
        for wrong in ["openai:a,script:b", "openai:a,offline"] {
            assert!(read(wrong).unwrap_err().contains("list"), "{wrong}");
        }
        for wrong in ["openai:a,", ",openai:a", "openai:a,klingon:b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
