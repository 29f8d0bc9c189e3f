use super::*;

const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-a");
const TOKEN: (&str, &str) = ("ANTHROPIC_AUTH_TOKEN", "sk-t");
const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "sk-o");

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().copied().collect()
}

fn parse(value: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
    match ModelChoice::parse(value, &variables(pairs)) {
        Ok(choice) => Ok(choice.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn ok(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

#[test]
fn full_values() {
    for value in [
        "anthropic:claude-x",
        "openai:gpt-x",
        "openai:llama3:8b",
        "openai-chat:gpt-x",
        "openai-responses:gpt-x",
        "openai:org/model",
        "offline",
        "script:a:b.jsonl",
    ] {
        assert_eq!(parse(value, &[]), ok(value));
    }
    assert_eq!(parse(" anthropic: x ", &[]), ok("anthropic:x"));
}

#[test]
fn a_dialect_is_one_of_those_that_are_known() {
    let build = |value| {
        let variables = variables(&[OPENAI, ("OPENAI_DIALECT", value)]);
        let choice = ModelChoice::OpenAi("x".into());
        let built = choice.build(
            &variables,
            "a",
            ClientOptions::default(),
            LearnedSettings::default(),
        );
        built
            .map(|model| model.is_some())
            .map_err(|error| error.to_string())
    };
    assert_eq!(build("deepseek"), Ok(true));
    let error = build("klingon").unwrap_err();
    assert!(
        error.contains("OPENAI_DIALECT=klingon is not a dialect"),
        "{error}"
    );
}

#[test]
fn a_bare_name_belongs_to_the_provider_whose_key_is_set() {
    assert_eq!(parse("m", &[ANTHROPIC]), ok("anthropic:m"));
    assert_eq!(parse("m", &[TOKEN]), ok("anthropic:m"));
    assert_eq!(parse("m", &[OPENAI]), ok("openai:m"));
    assert_eq!(
        parse("m", &[OPENAI, ("ANTHROPIC_API_KEY", " ")]),
        ok("openai:m")
    );
    let local = ("OPENAI_BASE_URL", "http://localhost:1/v1");
    assert_eq!(parse("m", &[local]), ok("openai:m"));
    assert_eq!(parse("m", &[local, ANTHROPIC]), ok("anthropic:m"));
    assert_eq!(
        parse("claude-x", &[ANTHROPIC, OPENAI]),
        ok("anthropic:claude-x")
    );
    assert_eq!(parse("gpt-x", &[ANTHROPIC, OPENAI]), ok("openai:gpt-x"));
}

#[test]
fn the_error_about_an_invalid_value_lists_the_valid_ones() {
    for (value, pairs, reason) in [
        ("", &[][..], "it is empty"),
        ("anthropic", &[], "after a colon"),
        ("anthropic:", &[], "nothing follows"),
        ("script: ", &[], "nothing follows"),
        ("llama3:8b", &[OPENAI], "openai:llama3:8b"),
        ("m", &[], "no key is set"),
        ("m", &[ANTHROPIC, OPENAI], "both"),
    ] {
        let error = parse(value, pairs).unwrap_err();
        assert!(error.contains(reason), "{error}");
        for word in ["anthropic:NAME", "openai:NAME", "offline", "script:FILE"] {
            assert!(error.contains(word), "{error}");
        }
    }
}

#[test]
fn a_dotenv_fills_only_what_is_missing() {
    let variables = variables(&[("A", "mine"), ("B", "")]);
    let path = std::path::Path::new(".env");
    let variables = variables.with_file(path, parse_dotenv("A=theirs\nB=theirs\nC=theirs\n"));
    assert_eq!(variables.get("A"), Some("mine"));
    assert_eq!(variables.get("B"), Some("theirs"));
    assert_eq!(variables.get("C"), Some("theirs"));
    assert_eq!(variables.in_file("A"), Some("theirs"));
    assert_eq!(variables.environment("C"), None);
    let origin = |name| variables.find(name).unwrap().origin;
    assert_eq!(origin("A"), VariableOrigin::Environment);
    let is_trusted = false;
    assert_eq!(origin("C"), VariableOrigin::File { path, is_trusted });
}

#[test]
fn a_key_is_not_sent_to_an_address_of_lesser_origin() {
    let anthropic = ModelChoice::Anthropic("m".into());
    let openai = ModelChoice::OpenAi("m".into());
    let address = "ANTHROPIC_BASE_URL=http://127.0.0.1:1\nOPENAI_BASE_URL=http://127.0.0.1:1\n";
    let keys = "ANTHROPIC_API_KEY=sk-f\nOPENAI_API_KEY=sk-f\n";
    let with_file = |own: &[(&str, &str)], text: &str| {
        let path = std::path::Path::new("/w/.env");
        variables(own).with_file(path, parse_dotenv(text))
    };
    let build = |choice: &ModelChoice, variables: &Variables| {
        let built = choice.build(
            variables,
            "alice",
            ClientOptions::default(),
            LearnedSettings::default(),
        );
        built.map(|_| ()).map_err(|error| error.to_string())
    };
    for (choice, key) in [
        (&anthropic, ANTHROPIC),
        (&anthropic, TOKEN),
        (&openai, OPENAI),
    ] {
        let mut mixed = with_file(&[key], address);
        let error = build(choice, &mixed).unwrap_err();
        for words in [
            key.0,
            "from the environment",
            "_BASE_URL from /w/.env",
            "trust",
        ] {
            assert!(error.contains(words), "{words:?} is not in {error}");
        }
        assert!(!error.contains(key.1), "{error}");
        mixed.trust_file();
        assert_eq!(build(choice, &mixed), Ok(()));
    }
    for choice in [&anthropic, &openai] {
        // A file may send its own key to its own address, and to one of the user.
        assert_eq!(
            build(choice, &with_file(&[], &format!("{address}{keys}"))),
            Ok(())
        );
        let own = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:2"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:2"),
        ];
        assert_eq!(build(choice, &with_file(&own, keys)), Ok(()));
        assert_eq!(build(choice, &with_file(&[], keys)), Ok(()));
    }
}

fn build(choice: &ModelChoice, pairs: &[(&str, &str)]) -> Result<Option<String>, String> {
    match choice.build(
        &variables(pairs),
        "alice",
        ClientOptions::default(),
        LearnedSettings::default(),
    ) {
        Ok(model) => Ok(model.map(|model| model.name().to_owned())),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_choice_is_built_with_its_key_and_address() {
    let anthropic = ModelChoice::Anthropic("m".into());
    let openai = ModelChoice::OpenAi("m".into());
    assert_eq!(build(&anthropic, &[TOKEN]), Ok(Some("anthropic:m".into())));
    assert_eq!(build(&openai, &[OPENAI]), Ok(Some("openai:m".into())));
    let local = ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/");
    assert_eq!(build(&openai, &[local]), Ok(Some("openai:m".into())));
    assert_eq!(build(&ModelChoice::Offline, &[]), Ok(None));
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let anthropic = ModelChoice::Anthropic("m".into());
    let openai = ModelChoice::OpenAi("m".into());
    let error = build(&anthropic, &[OPENAI]).unwrap_err();
    assert!(error.contains("ANTHROPIC_API_KEY"), "{error}");
    let error = build(&openai, &[ANTHROPIC]).unwrap_err();
    assert!(error.contains("OPENAI_API_KEY"), "{error}");
    for bad in [
        "nonsense",
        "ftp://host",
        "http://me:pw@host",
        "http://host?key=pw",
    ] {
        let error = build(&openai, &[OPENAI, ("OPENAI_BASE_URL", bad)]).unwrap_err();
        assert!(error.contains("OPENAI_BASE_URL"), "{error}");
        assert!(!error.contains("pw"), "{error}");
    }
    let error = build(&openai, &[("OPENAI_API_KEY", "sk-\u{7f}x")]).unwrap_err();
    assert!(error.contains("OPENAI_API_KEY"), "{error}");
    assert!(!error.contains("sk-"), "{error}");
    let script = ModelChoice::Script("/nowhere/to/be/found".into());
    let error = build(&script, &[]).unwrap_err();
    assert!(error.contains("/nowhere/to/be/found"), "{error}");
}

#[test]
fn a_key_of_a_file_does_not_displace_a_token_of_the_user() {
    let choice = ModelChoice::Anthropic("m".into());
    let auth = |own: &[(&str, &str)], file: &str| {
        let path = std::path::Path::new("/w/.env");
        let variables = variables(own).with_file(path, parse_dotenv(file));
        let config = choice.anthropic_config("m", &variables, ClientOptions::default());
        config.unwrap().auth
    };
    let stranger = "ANTHROPIC_API_KEY=sk-stranger\n";
    assert!(matches!(auth(&[TOKEN], stranger), AnthropicAuth::Bearer(_)));
    assert!(matches!(auth(&[], stranger), AnthropicAuth::ApiKey(_)));
}

#[test]
fn an_open_quote_before_a_megabyte_of_lines_is_read_once() {
    let found = parse_dotenv(&format!("A=\"{}", "\n".repeat(1_000_000)));
    assert!(found.pairs.is_empty());
    assert_eq!(found.skipped, [1]);
}
