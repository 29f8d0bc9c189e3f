use super::*;
use protocol::Money;

fn parse(text: &str) -> Result<FileConfig, ConfigError> {
    FileConfig::parse(Path::new("team.toml"), text)
}

#[track_caller]
fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn everything_that_can_be_set_is_read() {
    let config = parse(
        r#"
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

[prices."openai:llama*"]
input = 1
output = 2.5

[roles.coder]
prompt = "Write tests first."
tools = ["bash", "read_file"]
model = "openai:other"
require_plan = true
restart = "never"

[[members]]
name = "alice"
role = "coder"
prompt = "Mend the parser."
max_turns = 20
idle_timeout = 600
no_claim = true
"#,
    )
    .unwrap();
    assert_eq!(config.model.as_deref(), Some("anthropic:some-model"));
    assert_eq!(config.restart, Some(RestartPolicy::OnFailure));
    assert_eq!(config.budget.max_cost, Money::from_dollars(2.5).ok());
    assert_eq!(config.limits.working, Some(2));
    let price = config.prices["openai:llama*"];
    assert_eq!(price.cache_read, Money::from_dollars(1.0).unwrap());
    let role = &config.roles["coder"];
    assert_eq!(role.tools.as_ref().unwrap().len(), 2);
    let alice = &config.members[0];
    assert_eq!(
        (alice.budget.max_turns, alice.no_claim),
        (Some(20), Some(true))
    );
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_one_that_was_meant() {
    assert_eq!(
        error("model = \"offline\"\n\n[budget]\nmax_token = 3\n"),
        "team.toml:4: unknown key `max_token` in [budget]; did you mean `max_tokens`?"
    );
    assert_eq!(
        error("modle = \"offline\""),
        "team.toml:1: unknown key `modle`; did you mean `model`?"
    );
    assert_eq!(
        error("[[members]]\nname = \"a\"\nrole = \"b\"\ncolour = 1"),
        "team.toml:4: unknown key `colour` in [[members]]; the keys there are exec, idle_timeout, \
         max_cost, max_minutes, max_tokens, max_turns, model, name, no_claim, prompt, \
         require_plan, restart, role"
    );
    assert_eq!(
        error("[roles.coder]\nprompts = \"x\""),
        "team.toml:2: unknown key `prompts` in [roles.coder]; did you mean `prompt`?"
    );
}

#[test]
fn wrong_values_are_named_with_what_would_be_right() {
    for (text, words) in [
        (
            "model = 3",
            "team.toml:1: `model`: a text is expected, not a whole number",
        ),
        (
            "[budget]\nmax_tokens = -1",
            "team.toml:2: `max_tokens` in [budget]: a whole number",
        ),
        (
            "[budget]\nmax_cost = \"x\"",
            "an amount in dollars is expected, not a text",
        ),
        (
            "[limits]\nworking = 0",
            "team.toml:2: `working` in [limits]: at least 1",
        ),
        (
            "restart = \"always\"",
            "\"always\" is no policy; use \"never\" or \"on-failure\"",
        ),
        (
            "[prices.x]\ninput = 1",
            "`output` in [prices.x]: it is missing",
        ),
        (
            "[roles.x]\ntools = [\"bsh\"]",
            "there is no tool `bsh`; did you mean `bash`?",
        ),
        (
            "[[members]]\nname = \"a\"",
            "`role` in [[members]]: it is missing",
        ),
        (
            "[[members]]\nname = \"a/b\"\nrole = \"r\"",
            "team.toml:2: `name` in [[members]]",
        ),
        ("members = 3", "tables [[members]] is expected"),
        ("budget = 3", "a table [budget] is expected"),
        ("model = \"a\"\nmodel = \"b\"", "team.toml:2: "),
        ("[budget", "team.toml:1: "),
    ] {
        let error = error(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn two_members_of_one_name_are_a_mistake() {
    let twice =
        "[[members]]\nname = \"al\"\nrole = \"r\"\n[[members]]\nname = \"AL\"\nrole = \"r\"";
    assert!(error(twice).contains("two [[members]] are called AL"));
}
