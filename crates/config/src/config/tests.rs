use super::*;
use crate::read::with_dotenv;
use crate::show::ShownTrust;
use nix::unistd::geteuid;
use protocol::RestartPolicy;

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

    fn dotenv(&self, text: &str) {
        std::fs::write(self.dir.path().join(DOTENV_FILE), text).unwrap();
    }

    fn variables(&self, variables: &[(&str, &str)]) -> Variables {
        let home = self.dir.path().to_str().unwrap();
        let all = variables.iter().copied().chain([("HOME", home)]);
        with_dotenv(all.collect(), self.dir.path(), &owners()).unwrap()
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        load(self.dir.path(), &self.variables(variables), &owners())
    }
}

fn owners() -> Owners {
    Owners::new(geteuid().as_raw(), None)
}

#[test]
fn the_environment_beats_the_user_the_user_the_dotenv_and_that_the_project() {
    let project = "model = \"project\"\nrestart = \"never\"\n[budget]\nmax_turns = 2\n\
                   max_minutes = 5\nmax_cost = 1\n[limits]\nmembers = 4";
    let user = "restart = \"on-failure\"\n[budget]\nmax_turns = 3\nmax_tokens = 9";
    let home = Home::new(project, user);
    assert_eq!(
        home.load(&[]).unwrap().model().value.as_deref(),
        Some("project")
    );
    home.dotenv("TEAM_MODEL=dotenv\nTEAM_MAX_TURNS=8\nTEAM_MAX_MINUTES=6\n");
    let config = home.load(&[]).unwrap();
    assert_eq!(config.model().value.as_deref(), Some("dotenv"));
    let dotenv = |name| Origin::Dotenv(name, home.dir.path().join(DOTENV_FILE));
    assert_eq!(config.model().origin, dotenv("TEAM_MODEL"));
    assert_eq!(config.model().origin.source(), Source::Workspace);
    assert_eq!(config.max_turns().value, Some(3));
    assert!(matches!(config.max_turns().origin, Origin::User(_)));
    assert_eq!(config.max_minutes().value, Some(6));
    assert!(matches!(config.max_cost().origin, Origin::Project(_)));
    assert_eq!(config.restart().value, Some(RestartPolicy::OnFailure));
    assert_eq!(
        config.limit(|limits| limits.working).origin,
        Origin::Default
    );
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
fn the_sandbox_has_the_precedence_of_all_settings() {
    let project = "sandbox = \"required\"\nnetwork = \"off\"\n[roles.web]\nnetwork = [\"example.org\"]\nsandbox = \"off\"";
    let home = Home::new(project, "network = \"on\"");
    let config = home.load(&[]).unwrap();
    assert_eq!(config.sandbox().value, Some(SandboxMode::Required));
    assert_eq!(config.network().value, Some(NetworkSetting::On));
    let role = config.role("web").unwrap();
    assert_eq!(role.sandbox, Some(SandboxMode::Off));
    let hosts = "example.org".parse().unwrap();
    assert_eq!(role.network, Some(NetworkSetting::Hosts(hosts)));
    let variables = [("TEAM_SANDBOX", "auto"), ("TEAM_NETWORK", "off")];
    let config = home.load(&variables).unwrap();
    assert_eq!(config.sandbox().value, Some(SandboxMode::Auto));
    assert_eq!(config.network().origin, Origin::Variable("TEAM_NETWORK"));
    home.load(&[("TEAM_SANDBOX", "on")]).unwrap_err();
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
fn what_models_are_asked_with_comes_from_variables_and_files() {
    let project = "effort = \"low\"\ntemperature = 1\nthinking = \"off\"\nweb = true";
    let home = Home::new(project, "thinking = \"adaptive\"");
    let config = home.load(&[("TEAM_EFFORT", "high"), ("TEAM_MAX_OUTPUT", "5000")]);
    let tuning = config.unwrap().tuning();
    let expected = Tuning {
        max_output: Some(5_000),
        effort: Some(Effort::High),
        thinking: Some(Thinking::Adaptive),
        temperature: Temperature::new(1.0).ok(),
    };
    assert_eq!(tuning, expected);
    for (name, value) in [
        ("TEAM_EFFORT", "hihg"),
        ("TEAM_MAX_OUTPUT", "0"),
        ("TEAM_THINKING", "deep"),
        ("TEAM_TEMPERATURE", "hot"),
        ("TEAM_WEB", "perhaps"),
    ] {
        let error = home.load(&[(name, value)]).unwrap_err().to_string();
        assert!(error.contains(&format!("{name} is {value:?}")), "{error}");
    }
}

#[test]
fn prices_and_roles_of_both_files_count_and_the_users_come_first() {
    let project = "[models.a]\nprice = { input = 1, output = 1 }\n[roles.coder]\nprompt = \"p\"";
    let user = "[models.a]\nprice = { input = 2, output = 2 }\n\
                [models.b]\nprice = { input = 3, output = 3 }\n\
                [roles.coder]\nprompt = \"u\"\n[roles.tester]\n[[members]]\nname = \"al\"\nrole = \"r\"";
    let config = Home::new(project, user).load(&[]).unwrap();
    let input = |model| {
        config
            .catalogue()
            .price(model)
            .map(|price| price.input.as_dollars())
    };
    assert_eq!(
        (input("a"), input("b"), input("c")),
        (Some(2.0), Some(3.0), None)
    );
    assert_eq!(config.role("coder").unwrap().prompt.as_deref(), Some("u"));
    assert!(config.role("tester").is_some());
    assert_eq!(config.members().len(), 1);
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let home = Home::new(
        "[budget]\nmax_cost = 2.5\n[[members]]\nname = \"al\"\nrole = \"r\"",
        "",
    );
    let variables = home.variables(&[("TEAM_MODEL", "offline")]);
    let config = load(home.dir.path(), &variables, &owners()).unwrap();
    let shown = config.shown(&variables, &[]);
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

#[test]
fn how_models_of_roles_and_members_are_asked_is_shown() {
    let project = "[roles.coder]\neffort = 'high'\nmodel = ['a:b', 'c:d']\nweb = true\n\
                   [[members]]\nname = 'al'\nrole = 'coder'\nmax_output = 500\nthinking = 1024\n\
                   temperature = 0.5\n";
    let home = Home::new(project, "[roles.tester]\neffort = 'low'");
    let variables = home.variables(&[]);
    let config = load(home.dir.path(), &variables, &owners()).unwrap();
    let shown = config.shown(&variables, &[]);
    let line = |key: &str| {
        let mut found = shown.iter().filter(|shown| shown.key == key);
        let value = found.next().map(|shown| shown.value.as_str());
        assert!(found.next().is_none(), "{key} is shown once");
        value
    };
    for (key, value) in [
        ("roles.coder.effort", "high"),
        ("roles.coder.model", "a:b,c:d"),
        ("roles.coder.web", "true"),
        ("roles.tester.effort", "low"),
        ("members.al", "coder"),
        ("members.al.max_output", "500"),
        ("members.al.thinking", "1024"),
        ("members.al.temperature", "0.5"),
    ] {
        assert_eq!(line(key), Some(value), "{key}");
    }
    assert_eq!(line("members.al.effort"), None, "it is the role's");
}

#[test]
fn every_value_is_shown_with_its_trust() {
    let project = "[roles.coder]\ntools = ['bash']\n[[members]]\nname = 'al'\nrole = 'r'\n\
                   exec = './al'\n";
    let home = Home::new(project, "");
    home.dotenv("TEAM_MODEL=script:x\nANTHROPIC_BASE_URL=http://a\nANTHROPIC_API_KEY=sk-f\n");
    let variables = home.variables(&[("OPENAI_BASE_URL", "http://o")]);
    let config = load(home.dir.path(), &variables, &owners()).unwrap();
    let risky = config.risky_settings(&variables);
    let untrusted: Vec<_> = risky
        .iter()
        .filter(|risky| risky.key != "TEAM_MODEL")
        .cloned()
        .collect();
    let shown = config.shown(&variables, &untrusted);
    let line = |key: &str| {
        let found = shown.iter().find(|shown| shown.key == key).unwrap();
        (found.value.as_str(), found.origin.source(), found.trust)
    };
    let workspace = Source::Workspace;
    assert_eq!(line("model"), ("script:x", workspace, ShownTrust::Trusted));
    assert_eq!(
        line("members.al.exec"),
        ("./al", workspace, ShownTrust::Untrusted)
    );
    assert_eq!(
        line("roles.coder.tools"),
        ("bash", workspace, ShownTrust::Untrusted)
    );
    assert_eq!(
        line("ANTHROPIC_BASE_URL"),
        ("http://a", workspace, ShownTrust::Untrusted)
    );
    assert_eq!(
        line("ANTHROPIC_API_KEY"),
        ("is set", workspace, ShownTrust::NotNeeded)
    );
    let mine = Source::Environment;
    assert_eq!(
        line("OPENAI_BASE_URL"),
        ("http://o", mine, ShownTrust::NotNeeded)
    );
    assert_eq!(
        line("restart"),
        ("never", Source::Default, ShownTrust::NotNeeded)
    );
}
