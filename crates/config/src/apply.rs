//! Copies budget and limits into the team folder, where all processes of the team read them.

use crate::config::Config;
use protocol::TeamLimits;
use teamdir::{TeamDir, TeamFileError};

/// The field of `limits.json` that marks it as a copy of the configuration.
const SOURCE: &str = "source";
const CONFIGURATION: &str = "configuration";

/// Why the configuration could not be written into the team folder.
pub type ApplyError = TeamFileError;

/// Writes the budget and limits of the configuration into the team folder. Changes that were made in
/// the folder stay for as long as the configuration does not change.
pub fn apply(team: &TeamDir, config: &Config) -> Result<(), ApplyError> {
    budget::adopt(team, None, &config.budget())?;
    let known = team.limits()?;
    let mut wanted = config.limits();
    let is_copy = known.extra.get(SOURCE).is_some_and(|s| s == CONFIGURATION);
    // Limits that were written by hand stay if the configuration has none.
    if wanted == TeamLimits::default() && !is_copy {
        return Ok(());
    }
    wanted.extra.clone_from(&known.extra);
    wanted.extra.insert(SOURCE.to_owned(), CONFIGURATION.into());
    if wanted == known {
        return Ok(());
    }
    team.set_limits(&wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use llm::Variables;
    use nix::unistd::geteuid;
    use teamdir::Options;
    use test_support::TempTeam;
    use trust::Owners;

    #[test]
    fn limits_follow_the_configuration_and_those_written_by_hand_stay() {
        let temp = TempTeam::new(&[], Options::default());
        let (team, file) = (temp.team(), temp.workspace().join("team.toml"));
        let apply_text = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let owners = Owners::new(geteuid().as_raw(), None);
            let config = load(temp.workspace(), &Variables::default(), &owners);
            apply(team, &config.unwrap()).unwrap();
            team.limits().unwrap()
        };
        let by_hand = TeamLimits {
            members: Some(3),
            ..TeamLimits::default()
        };
        team.set_limits(&by_hand).unwrap();
        assert_eq!(apply_text("").members, Some(3));
        let copied = apply_text("[limits]\nmembers = 5\n[budget]\nmax_turns = 7\n");
        assert_eq!((copied.members, copied.working), (Some(5), None));
        assert_eq!(team.budget().unwrap().team.limits.max_turns, Some(7));
        assert_eq!(apply_text("").members, None);
        assert_eq!(team.budget().unwrap().team.limits.max_turns, None);
    }
}
