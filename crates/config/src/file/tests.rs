use super::*;
use protocol::Money;

fn parse(text: &str) -> Result<FileConfig, ConfigError> {
    FileConfig::parse(Path::new("team.toml"), text)
}

#[track_caller]
fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

const MANY_KEYS: &str = r#"
model = "anthropic:some-model"
restart = "on-failure"

[budget]
max_tokens = 1_000_000
max_cost = 2.5
max_turns = 200
max_minutes = 60

[limits]
members = 8
working = 2
messages_per_minute = 30
message_bytes = 1000
inbox_bytes = 2000

[context]
keep_results = 5
clear_at = 60

[models."openai:llama*"]
window = 32_000
effort = "low"
price = { input = 1, output = 2.5 }

[roles.coder]
effort = "xhigh"
thinking = 4096
temperature = 0.7
max_output = 9_000
web = true
prompt = "Write tests first."
tools = ["bash", "read_file"]
model = ["openai:other", "anthropic:spare"]
require_plan = true
restart = "never"

[[members]]
name = "alice"
role = "coder"
prompt = "Fix the parser."
max_turns = 20
idle_timeout = 600
no_claim = true
"#;

#[test]
fn keys_of_all_tables_are_read() {
    let config = parse(MANY_KEYS).unwrap();
    assert_eq!(config.model.as_deref(), Some("anthropic:some-model"));
    assert_eq!(config.restart, Some(RestartPolicy::OnFailure));
    assert_eq!(config.budget.max_cost, Money::from_dollars(2.5).ok());
    assert_eq!(config.limits.working, Some(2));
    assert_eq!(
        (config.context.keep_results, config.context.clear_at),
        (Some(5), Some(60))
    );
    let llama = &config.models["openai:llama*"];
    assert_eq!(
        (llama.window, llama.tuning.effort.clone()),
        (Some(32_000), Some(Effort::Low))
    );
    assert_eq!(
        llama.price.unwrap().cache_read,
        Money::from_dollars(1.0).unwrap()
    );
    let role = &config.roles["coder"];
    let tuning = Tuning {
        max_output: Some(9_000),
        effort: Some(Effort::XHigh),
        thinking: Some(Thinking::Budget(4_096)),
        temperature: Temperature::new(0.7).ok(),
    };
    assert_eq!((role.tuning(), role.web), (tuning, Some(true)));
    let list = "openai:other,anthropic:spare";
    assert_eq!(role.model.as_deref(), Some(list));
    assert_eq!(role.tools.as_ref().unwrap().len(), 2);
    let alice = &config.members[0];
    assert_eq!(
        (alice.budget.max_turns, alice.spec.no_claim),
        (Some(20), Some(true))
    );
}

#[test]
fn an_unknown_key_is_reported_with_its_line_and_the_nearest_known_key() {
    assert_eq!(
        error("model = \"offline\"\n\n[budget]\nmax_token = 3\n"),
        "team.toml:4: `budget`: unknown key `max_token`; did you mean `max_tokens`?"
    );
    assert_eq!(
        error("modle = \"offline\""),
        "team.toml:1: unknown key `modle`; did you mean `model`?"
    );
    assert_eq!(
        error("[[members]]\nname = \"a\"\nrole = \"b\"\ncolour = 1"),
        "team.toml:4: `members`: unknown key `colour`, expected one of `name`, `role`, `prompt`, \
         `model`, `max_output`, `effort`, `thinking`, `temperature`, `web`, `exec`, `engine`, `require_plan`, `restart`, `no_claim`, `idle_timeout`, `sandbox`, \
         `network`, `tree`, `max_tokens`, `max_cost`, `max_turns`, `max_minutes`"
    );
    assert_eq!(
        error("[roles.coder]\nprompts = \"x\""),
        "team.toml:2: `roles.coder`: unknown key `prompts`; did you mean `prompt`?"
    );
}

#[track_caller]
fn reported(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let error = error(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn wrong_values_are_reported_with_what_is_expected() {
    reported(&[
        (
            "sandbox = 'on'",
            "team.toml:1: `sandbox`: unknown value `on`, expected one of `auto`, `required`, `off`",
        ),
        ("network = 'a b'", "team.toml:1: `network`: "),
        (
            "model = 3",
            "team.toml:1: `model`: invalid type: integer `3`, expected a model or an array of models",
        ),
        ("model = []", "team.toml:1: `model`: at least one model"),
        (
            "model = ['a,b']",
            "team.toml:1: `model`: \"a,b\" is not the name of one model",
        ),
        ("max_output = 0", "team.toml:1: `max_output`: at least 1"),
        (
            "effort = 'hihg'",
            "team.toml:1: `effort`: unknown value `hihg`; did you mean `high`?",
        ),
        (
            "[roles.x]\nthinking = 'deep'",
            "team.toml:2: `roles.x.thinking`: thinking is adaptive, off, or",
        ),
        (
            "temperature = 5",
            "team.toml:1: `temperature`: temperature is a number from 0 to 2",
        ),
    ]);
}

#[test]
fn wrong_values_in_tables_are_reported_with_what_is_expected() {
    reported(&[
        (
            "[budget]\nmax_tokens = -1",
            "team.toml:2: `budget.max_tokens`: invalid value: integer `-1`, expected a whole number that is not negative",
        ),
        (
            "[budget]\nmax_cost = \"x\"",
            "team.toml:2: `budget.max_cost`: invalid type: string \"x\", expected an amount in dollars",
        ),
        (
            "[limits]\nworking = 0",
            "team.toml:2: `limits.working`: at least 1",
        ),
        (
            "restart = \"always\"",
            "team.toml:1: `restart`: unknown value `always`, expected `never` or `on-failure`",
        ),
        (
            "[models.x]\nprice = { input = 1 }",
            "team.toml:2: `models.x.price`: missing field `output`",
        ),
        (
            "[roles.x]\ntools = [\"bsh\"]",
            "team.toml:2: `roles.x.tools`: unknown value `bsh`; did you mean `bash`?",
        ),
        (
            "[[members]]\nname = \"a\"",
            "team.toml:1: `members`: missing field `role`",
        ),
        (
            "[[members]]\nname = \"a/b\"\nrole = \"r\"",
            "team.toml:2: `members.name`: ",
        ),
        (
            "members = 3",
            "`members`: invalid type: integer `3`, expected a sequence",
        ),
        (
            "budget = 3",
            "`budget`: invalid type: integer `3`, expected a table [budget]",
        ),
        ("model = \"a\"\nmodel = \"b\"", "team.toml:2: "),
        ("[budget", "team.toml:1: "),
    ]);
}

#[test]
fn two_members_with_the_same_name_are_an_error() {
    let twice =
        "[[members]]\nname = \"al\"\nrole = \"r\"\n[[members]]\nname = \"AL\"\nrole = \"r\"";
    assert!(error(twice).contains("two [[members]] are called AL"));
}

#[test]
fn a_share_of_the_window_is_a_percentage() {
    for number in ["0", "101"] {
        let message = error(&format!("[context]\nclear_at = {number}"));
        assert!(message.contains("from 1 to 100"), "{message}");
    }
}
