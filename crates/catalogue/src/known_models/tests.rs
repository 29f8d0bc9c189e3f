use super::*;
use protocol::Money;

fn read(text: &str) -> BTreeMap<String, ModelEntry> {
    toml::from_str(text).unwrap()
}

fn dollars(amount: f64) -> Money {
    Money::from_dollars(amount).unwrap()
}

#[test]
fn every_built_in_family_has_a_window_and_a_limit_and_can_be_reached() {
    for (name, entry) in built_in() {
        assert!(
            entry.window.is_some_and(|window| window >= 100_000),
            "{name}"
        );
        assert!(entry.tuning.max_output.is_some(), "{name}");
        assert!(entry.images.is_some(), "{name}");
        let facts = Catalogue::default().facts(name);
        assert_eq!(Some(facts.window), entry.window, "{name}");
        assert_eq!(Catalogue::default().price(name), entry.price, "{name}");
    }
}

#[test]
fn versions_of_a_family_are_known_and_later_models_are_not() {
    let catalogue = Catalogue::default();
    let input = |name| catalogue.price(name).map(|price: Price| price.input);
    let sonnet = Some(dollars(3.0));
    assert_eq!(input("anthropic:claude-sonnet-4-5"), sonnet);
    assert_eq!(input("claude-sonnet-4-5-20250929"), sonnet);
    assert_eq!(input("openai:anthropic/claude-sonnet-4-latest"), sonnet);
    assert_eq!(input("openai:gpt-4o-2024-08-06"), Some(dollars(2.5)));
    assert_eq!(input("openai:gpt-4o-mini"), Some(dollars(0.15)));
    assert_eq!(input("openai:gpt-4o-2024-05-13"), Some(dollars(5.0)));
    assert_eq!(input("claude-opus-5-5"), Some(dollars(4.0)));
    for unknown in ["claude-opus-4-9", "gpt-5-giant", "openai:llama", "gpt-50"] {
        assert_eq!(input(unknown), None, "{unknown}");
        assert!(!catalogue.facts(unknown).is_known, "{unknown}");
    }
    for priceless in ["claude-haiku-5-5", "gpt-5.4"] {
        assert_eq!(input(priceless), None, "{priceless}");
        assert!(catalogue.facts(priceless).is_known, "{priceless}");
    }
    assert_eq!(input("offline"), Some(dollars(0.0)));
    assert_eq!(input("script:/some/where.json"), Some(dollars(0.0)));
}

#[test]
fn replies_are_as_long_as_usual_and_fit_the_model() {
    let catalogue = Catalogue::default();
    let longest = |name| catalogue.facts(name).max_output;
    assert_eq!(longest("claude-opus-5-5"), LONGEST_USUAL_REPLY);
    assert_eq!(longest("gpt-4o-2024-05-13"), 4_096, "all that it can say");
    assert_eq!(longest("openai:llama"), UNKNOWN_MAX_OUTPUT);
    let small = Catalogue::new(read("[llama]\nwindow = 8_000"), BTreeMap::new());
    assert_eq!(small.facts("openai:llama").max_output, 2_000);
}

#[test]
fn what_the_user_says_counts_first_and_each_fact_for_itself() {
    let user = read("[gpt-5]\nwindow = 100_000\n['llama*']\nwindow = 9_000\neffort = 'low'");
    let workspace =
        read("[gpt-5]\nwindow = 7\nimages = false\neffort = 'high'\n[llama-x]\nmax_output = 5");
    let catalogue = Catalogue::new(user, workspace);
    let gpt = catalogue.facts("openai:gpt-5");
    assert_eq!((gpt.window, gpt.images), (100_000, Some(false)));
    assert!(catalogue.facts("openai:llama-x").is_known);
    let tuning = catalogue.tuning("openai:llama-x");
    assert_eq!(
        (tuning.max_output, tuning.effort),
        (Some(5), Some(protocol::Effort::Low))
    );
    assert_eq!(
        catalogue.tuning("gpt-5").effort,
        Some(protocol::Effort::High)
    );
}

#[test]
fn a_stranger_raises_prices_and_lowers_none() {
    let free = "price = { input = 0, output = 0, searches = 0 }";
    let workspace = format!(
        "[gpt-4o]\n{free}\n['claude*']\n{free}\n[unknown]\n{free}\n\
         [mine]\nprice = {{ input = 9, output = 0 }}"
    );
    let user = read("[mine]\nprice = { input = 3, output = 3 }");
    let catalogue = Catalogue::new(user, read(&workspace));
    for model in ["gpt-4o", "anthropic:claude-opus-4-5"] {
        let known = Catalogue::default().price(model);
        assert_eq!(catalogue.price(model), known, "{model}");
    }
    let mine = catalogue.price("openai:mine").unwrap();
    assert_eq!((mine.input, mine.output), (dollars(9.0), dollars(3.0)));
    assert_eq!(catalogue.price("unknown"), Some(Price::FREE));
}

#[test]
fn prices_of_the_user_take_precedence_and_the_longest_pattern_wins() {
    let user = read(
        "['openai:gpt-4o']\nprice = { input = 1, output = 1 }\n\
         ['llama*']\nprice = { input = 2, output = 1 }\n\
         ['llama-big*']\nprice = { input = 3, output = 1 }\n\
         [offline]\nprice = { input = 4, output = 1 }",
    );
    let catalogue = Catalogue::new(user, BTreeMap::new());
    let input = |name| catalogue.price(name).map(|price: Price| price.input);
    assert_eq!(input("openai:gpt-4o"), Some(dollars(1.0)));
    assert_eq!(input("openai:llama-small"), Some(dollars(2.0)));
    assert_eq!(input("openai:llama-big-2"), Some(dollars(3.0)));
    assert_eq!(input("offline"), Some(dollars(4.0)));
    assert_eq!(input("openai:qwen"), None);
}

#[test]
fn wrong_values_are_named() {
    let error = |text: &str| toml::from_str::<BTreeMap<String, ModelEntry>>(text).unwrap_err();
    for (text, expected) in [
        ("[a]\nwindows = 1", "unknown field `windows`"),
        ("[a]\nprice = { input = 1 }", "missing field `output`"),
        ("[a]\neffort = 'hihg'", "unknown variant `hihg`"),
        ("[a]\nthinking = 'much'", "thinking is"),
        ("[a]\ntemperature = 3", "temperature is"),
    ] {
        let error = error(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
