//! Writing into a team's folder what its processes keep to.

use crate::config::Config;
use protocol::TeamLimits;
use teamdir::{TeamDir, TeamFileError};

/// The field of `limits.json` that says that it is a copy.
const SOURCE: &str = "source";
const CONFIGURATION: &str = "configuration";

/// Why the configuration could not be written into the folder.
pub type ApplyError = TeamFileError;

/// Makes budget and limits of the configuration hold for the team. What was changed in the folder
/// since stays, as long as the configuration says the same as before.
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
    use teamdir::Options;
    use test_support::TempTeam;

    #[test]
    fn limits_follow_the_configuration_and_those_of_a_hand_stay() {
        let temp = TempTeam::new(&[], Options::default());
        let (team, file) = (temp.team(), temp.workspace().join("team.toml"));
        let settle = |text: &str| {
            std::fs::write(&file, text).unwrap();
            apply(team, &load(temp.workspace(), |_| None).unwrap()).unwrap();
            team.limits().unwrap()
        };
        let by_hand = TeamLimits {
            members: Some(3),
            ..TeamLimits::default()
        };
        team.set_limits(&by_hand).unwrap();
        assert_eq!(settle("").members, Some(3));
        let copied = settle("[limits]\nmembers = 5\n[budget]\nmax_turns = 7\n");
        assert_eq!((copied.members, copied.working), (Some(5), None));
        assert_eq!(team.budget().unwrap().team.limits.max_turns, Some(7));
        assert_eq!(settle("").members, None);
        assert_eq!(team.budget().unwrap().team.limits.max_turns, None);
    }
}
