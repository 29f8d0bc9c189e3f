use super::*;
use std::collections::HashMap;

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new(project: &str, user: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(".config/team-lead");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), user).unwrap();
        std::fs::write(dir.path().join("team.toml"), project).unwrap();
        Self { dir }
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let home = self.dir.path().to_str().unwrap();
        let mut all: HashMap<&str, &str> = variables.iter().copied().collect();
        all.insert("HOME", home);
        load(self.dir.path(), |name| all.get(name).copied())
    }
}

#[test]
fn a_variable_beats_the_project_and_the_project_beats_the_user() {
    let project = "model = \"project\"\n[budget]\nmax_turns = 2\n[limits]\nmembers = 4";
    let user =
        "model = \"user\"\nrestart = \"on-failure\"\n[budget]\nmax_turns = 3\nmax_tokens = 9";
    let home = Home::new(project, user);
    let config = home.load(&[]).unwrap();
    assert_eq!(config.model().value.as_deref(), Some("project"));
    assert!(matches!(config.model().origin, Origin::Project(_)));
    assert_eq!(config.max_turns().value, Some(2));
    assert_eq!(config.max_tokens().value, Some(9));
    assert!(matches!(config.max_tokens().origin, Origin::User(_)));
    assert_eq!(config.restart().value, Some(RestartPolicy::OnFailure));
    assert_eq!(config.max_cost().origin, Origin::Default);
    assert_eq!(config.limits().members, Some(4));

    let config = home
        .load(&[("MODEL_ID", "variable"), ("TEAM_MAX_TURNS", "1")])
        .unwrap();
    assert_eq!(config.model().value.as_deref(), Some("variable"));
    assert_eq!(config.model().origin, Origin::Variable("MODEL_ID"));
    assert_eq!(config.max_turns().value, Some(1));
    let config = home
        .load(&[("MODEL_ID", "weak"), ("TEAM_MODEL", "strong")])
        .unwrap();
    assert_eq!(config.model().value.as_deref(), Some("strong"));
}

#[test]
fn xdg_config_home_moves_the_users_file() {
    let home = Home::new("", "model = \"user\"");
    let other = tempfile::tempdir().unwrap();
    let path = other.path().to_str().unwrap();
    let config = home.load(&[("XDG_CONFIG_HOME", path)]).unwrap();
    assert_eq!(config.model().value, None);
}

#[test]
fn a_variable_that_is_no_number_is_an_error() {
    let error = Home::new("", "").load(&[("TEAM_MAX_TOKENS", "many")]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("TEAM_MAX_TOKENS is \"many\""), "{error}");
}

#[test]
fn prices_and_roles_of_both_files_count_and_the_projects_come_first() {
    let project = "[prices.a]\ninput = 1\noutput = 1\n[roles.coder]\nprompt = \"p\"";
    let user = "[prices.a]\ninput = 2\noutput = 2\n[prices.b]\ninput = 3\noutput = 3\n\
                [roles.coder]\nprompt = \"u\"\n[roles.tester]\n[[members]]\nname = \"al\"\nrole = \"r\"";
    let config = Home::new(project, user).load(&[]).unwrap();
    let input = |model| {
        config
            .prices()
            .of(model)
            .map(|price| price.input.as_dollars())
    };
    assert_eq!(
        (input("a"), input("b"), input("c")),
        (Some(1.0), Some(3.0), None)
    );
    assert_eq!(config.role("coder").unwrap().prompt.as_deref(), Some("p"));
    assert!(config.role("tester").is_some());
    assert_eq!(config.members().len(), 1);
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let home = Home::new(
        "[budget]\nmax_cost = 2.5\n[[members]]\nname = \"al\"\nrole = \"r\"",
        "",
    );
    let shown = home.load(&[("TEAM_MODEL", "offline")]).unwrap().shown();
    let line = |key: &str| {
        let found = shown.iter().find(|shown| shown.key == key).unwrap();
        format!("{} ({})", found.value, found.origin)
    };
    assert_eq!(line("model"), "offline (variable TEAM_MODEL)");
    assert!(line("budget.max_cost").starts_with("$2.50 ("));
    assert!(line("budget.max_cost").ends_with("team.toml)"));
    assert_eq!(line("limits.members"), "32 (default)");
    assert_eq!(line("budget.max_turns"), "no limit (default)");
    assert!(line("members.al").starts_with("r ("));
}
