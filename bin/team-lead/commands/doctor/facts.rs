//! Facts about the environment that `doctor` always reports.

use doctor::{Environment, Problem, Trees};
use llm::choice::ChoiceError;
use llm::{ClientOptions, LearnedSettings, ModelChoice, Variables, parse_models};
use member::{SandboxSettings, TrustCheck, WorkspaceSettings, open_trees};
use prompts::unusable_texts;
use protocol::{Member, MemberSpec};
use sandbox::Layers;
use serde_json::{Value, json};
use std::fmt::Display;
use std::path::PathBuf;
use teamdir::TeamDir;

/// The variables of which only the presence is reported.
const KEYS: [&str; 3] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
];

pub(super) struct Facts {
    folder: PathBuf,
    members: usize,
    /// The default model, if one can be chosen.
    model: Option<String>,
    /// The variables of [`KEYS`], and whether each is set.
    keys: Vec<(&'static str, bool)>,
    pub(super) environment: Environment,
}

impl Facts {
    pub(super) fn gather(team: &TeamDir) -> Self {
        let mut problems = Vec::new();
        let mut settings = member::load_settings(team.workspace()).unwrap_or_else(|error| {
            problems.push(model_problem("team.toml", &error, "team-lead config show"));
            WorkspaceSettings::default()
        });
        let check = TrustCheck::of_workspace(team.workspace(), &settings, Some(team));
        if check.is_ok_and(|check| check.verdict().is_trusted()) {
            settings.variables.trust_file();
        }
        let variables = &settings.variables;
        let roster = team.roster().ok();
        let members = roster.iter().flat_map(|roster| &roster.members);
        let chosen = match settings.config.model().value {
            Some(value) => parse_models(&value, variables),
            None => Ok(vec![ModelChoice::Offline]),
        };
        let model = chosen.as_ref().ok().map(|choices| names(choices));
        problems.extend(problem_of("model", chosen, variables, OFFLINE));
        for member in members {
            let Some(models) = &member.spec.model else {
                continue;
            };
            let chosen = parse_models(models, variables);
            let (name, fix) = (member.spec.name.as_str(), another_model(member));
            problems.extend(problem_of(name, chosen, variables, &fix));
        }
        let keys = KEYS.map(|name| (name, variables.get(name).is_some()));
        Self {
            folder: team.layout().root().to_path_buf(),
            members: roster.as_ref().map_or(0, |roster| roster.members.len()),
            model,
            keys: keys.to_vec(),
            environment: Environment::gather(problems, text_problems(team), trees(team)),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let keys: serde_json::Map<String, Value> = self
            .keys
            .iter()
            .map(|(name, set)| ((*name).to_owned(), json!(set)))
            .collect();
        let inotify = self.environment.inotify.as_ref();
        json!({
            "folder": self.folder.display().to_string(),
            "members": self.members,
            "teammate": self.environment.teammate.as_ref().ok(),
            "model": self.model,
            "keys": keys,
            "inotify": inotify.map(|i| json!({"used": i.used, "limit": i.limit})),
            "sandbox": {"level": Layers::probe().level(), "weakness": weakness()},
        })
    }

    pub(super) fn as_text(&self) -> Vec<String> {
        let teammate = match &self.environment.teammate {
            Ok(path) => path.display().to_string(),
            Err(_) => "missing".to_owned(),
        };
        let keys = self.keys.iter().map(|(name, set)| match set {
            true => format!("{name} is set"),
            false => format!("{name} is not set"),
        });
        let keys: Vec<String> = keys.collect();
        let mut lines = vec![
            format!("Team folder: {}", self.folder.display()),
            format!("Members: {}", self.members),
            format!("Program `teammate`: {teammate}"),
            format!("Model: {}", self.model.as_deref().unwrap_or("none")),
            format!("Keys: {}", keys.join(", ")),
        ];
        if let Some(inotify) = &self.environment.inotify {
            let (used, limit) = (inotify.used, inotify.limit);
            lines.push(format!("Notifications: {used} of {limit} instances in use"));
        }
        let level = Layers::probe().level();
        lines.push(match weakness() {
            None => format!("Sandbox: level {level}"),
            Some(weakness) => format!("Sandbox: {weakness}"),
        });
        lines
    }
}

/// Which promises about commands do not hold on this machine.
fn weakness() -> Option<String> {
    member::weakness(Layers::probe().level())
}

/// The command that selects another model for the team.
const OFFLINE: &str = "export TEAM_MODEL=offline";

/// The command that starts a member with another model.
fn another_model(member: &Member) -> String {
    let MemberSpec { name, role, .. } = &member.spec;
    format!("team-lead kill {name}; team-lead spawn {name} '{role}' --model offline")
}

/// The members' own trees. What the workspace sets about them is left out: nothing of it is run.
fn trees(team: &TeamDir) -> Trees {
    let layout = team.layout();
    if !layout.trees_dir().exists() && !layout.submissions_dir().exists() {
        return Trees::None;
    }
    match open_trees(
        team,
        &config::Config::default(),
        &SandboxSettings::default(),
    ) {
        Ok(trees) => Trees::Usable(Box::new(trees)),
        Err(error) => Trees::Unusable(Problem {
            about: "trees".to_owned(),
            text: format!("the members' own trees cannot be used: {error}"),
            command: format!("git -C '{}' status", team.workspace().display()),
        }),
    }
}

/// Why instructions and skills cannot be used.
fn text_problems(team: &TeamDir) -> Vec<Problem> {
    let texts = unusable_texts(team.workspace(), &member::user_folders());
    let problems = texts.into_iter().map(|text| Problem {
        // It begins with the path.
        about: text.clone(),
        text,
        command: "team-lead prompt show".to_owned(),
    });
    problems.collect()
}

/// A list of models as it is chosen.
fn names(choices: &[ModelChoice]) -> String {
    let names: Vec<String> = choices.iter().map(ToString::to_string).collect();
    names.join(",")
}

/// Why models cannot be used, of a member or of all that have none of their own.
fn problem_of(
    about: &str,
    chosen: Result<Vec<ModelChoice>, ChoiceError>,
    variables: &Variables,
    fix: &str,
) -> Option<Problem> {
    let choices = match chosen {
        Ok(choices) => choices,
        Err(error) => return Some(model_problem(about, &error, fix)),
    };
    let build = |choice: &ModelChoice| {
        let built = choice.build(
            variables,
            "doctor",
            ClientOptions::default(),
            LearnedSettings::default(),
        );
        built.err().map(|error| error.to_string())
    };
    let errors: Vec<String> = choices.iter().filter_map(build).collect();
    (!errors.is_empty()).then(|| model_problem(about, &errors.join("; "), fix))
}

fn model_problem(about: &str, error: &impl Display, fix: &str) -> Problem {
    Problem {
        about: about.to_owned(),
        text: error.to_string(),
        command: fix.to_owned(),
    }
}
