//! `docs/settings.md` lists every variable and every key that the code reads, with the defaults of the
//! code.

use crate::sources::{crates, read, sources};
use std::collections::BTreeSet;
use std::time::Duration;
use syn::visit::{self, Visit};

const PAGE: &str = "docs/settings.md";

/// Crates that are no part of the product.
const TEST_CRATES: [&str; 3] = ["bench", "chaos", "test-support"];

/// The families of variables that are this program's own, or those of a provider or a convention that it
/// follows. A new family is added here.
const FAMILIES: [&str; 8] = [
    "TEAM_",
    "TEAMMATE_",
    "ANTHROPIC_",
    "OPENAI_",
    "MODEL_ID",
    "XDG_",
    "NO_COLOR",
    "CARGO_INSTALL_ROOT",
];

/// The names of the page that no literal of the code has: what libraries read, and what is spoken of.
const NOT_OURS: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "CARGO_HOME",
    "TEAM_DIR",
    "PATH",
];

/// The literals of a file.
#[derive(Default)]
struct Literals(BTreeSet<String>);

impl Visit<'_> for Literals {
    fn visit_lit_str(&mut self, literal: &syn::LitStr) {
        self.0.insert(literal.value());
    }

    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        // As in `#[arg(env = "TEAM_LOG")]`, whose tokens are no expressions.
        if let syn::Meta::List(list) = &attribute.meta {
            let text = list.tokens.to_string();
            let texts = text.split('"').skip(1).step_by(2);
            self.0.extend(texts.map(str::to_owned));
        }
    }
}

/// The fields of the structs that serde reads from a file of the configuration.
#[derive(Default)]
struct Keys(BTreeSet<String>);

impl Visit<'_> for Keys {
    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        let is_read = item.attrs.iter().any(|attribute| match &attribute.meta {
            syn::Meta::List(list) => {
                let tokens = list.tokens.to_string();
                list.path.is_ident("derive") && tokens.contains("Deserialize")
            }
            _ => false,
        });
        // Another struct has the fields of such a one.
        let is_indirect = ["MemberEntry", "ModelEntry"]
            .iter()
            .any(|name| item.ident == name);
        if is_read && !is_indirect {
            visit::visit_item_struct(self, item);
        }
    }

    fn visit_item_enum(&mut self, _: &syn::ItemEnum) {}

    fn visit_field(&mut self, field: &syn::Field) {
        let is_skipped = field.attrs.iter().any(|attribute| match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string() == "skip",
            _ => false,
        });
        let name = field.ident.as_ref().filter(|_| !is_skipped);
        let key = |name: &syn::Ident| name.to_string().trim_start_matches("r#").to_owned();
        self.0.extend(name.map(key));
    }
}

fn product_literals() -> BTreeSet<String> {
    let names = crates().into_iter();
    let folders = names
        .filter(|name| !TEST_CRATES.contains(&name.as_str()))
        .map(|name| format!("crates/{name}/src"))
        .chain(["bin".to_owned()]);
    let mut literals = Literals::default();
    for source in folders.flat_map(|folder| sources(&folder)) {
        let file = syn::parse_file(&source.lines.join("\n"));
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", source.path));
        literals.visit_file(&file);
    }
    literals.0
}

/// The words between backticks.
fn named(page: &str) -> BTreeSet<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

fn is_variable(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.len() > 3 && name.chars().all(is_part)
}

#[test]
fn the_page_names_every_variable_and_no_other() {
    let page = read(PAGE);
    let named = named(&page);
    let literals = product_literals();
    let is_own = |name: &&String| FAMILIES.iter().any(|family| name.starts_with(family));
    let own: Vec<&String> = literals
        .iter()
        .filter(|name| is_variable(name))
        .filter(is_own)
        .collect();
    assert!(own.len() > 15, "the variables were found: {own:?}");
    let missing: Vec<_> = own
        .iter()
        .filter(|name| !named.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{PAGE} does not name {missing:?}");
    let unknown: Vec<_> = named
        .iter()
        .filter(|name| name.contains('_') && is_variable(name))
        .filter(|name| !literals.contains(**name) && !NOT_OURS.contains(name))
        .filter(|name| **name != "SHUTDOWN_TIMEOUT")
        .collect();
    assert!(
        unknown.is_empty(),
        "{PAGE} names {unknown:?}, which nobody reads"
    );
}

#[test]
fn the_page_names_every_key_of_the_files() {
    let page = read(PAGE);
    let mut keys = Keys::default();
    let read_from_files = ["crates/config/src", "crates/catalogue/src"];
    for source in read_from_files.into_iter().flat_map(sources) {
        let file = syn::parse_file(&source.lines.join("\n"));
        keys.visit_file(&file.unwrap_or_else(|error| panic!("{}: {error}", source.path)));
    }
    assert!(keys.0.len() > 20, "the keys were found: {:?}", keys.0);
    let named = named(&page);
    let tables = [
        "budget",
        "limits",
        "retention",
        "context",
        "mcp",
        "mcp_servers",
        "permissions",
        "models",
        "roles",
        "members",
    ];
    let is_named = |key: &str| match tables.contains(&key) {
        true => page.contains(&format!("`[{key}")) || page.contains(&format!("`[[{key}")),
        false => named.contains(key),
    };
    let missing: Vec<_> = keys.0.iter().filter(|key| !is_named(key)).collect();
    assert!(missing.is_empty(), "{PAGE} does not name {missing:?}");
}

#[test]
fn the_page_has_the_defaults_of_calls_and_restarts() {
    let seconds = |time: Duration| format!("{} s", time.as_secs());
    let retry = llm::RetryPolicy::default();
    let client = llm::ClientOptions::default();
    assert_default("tries of a model call", &retry.max_tries.to_string());
    assert_default("first failed try", &seconds(retry.first_delay));
    assert_default("longest such wait, unless", &seconds(retry.longest_delay));
    assert_default("first failure to the last try", &seconds(retry.total));
    assert_default("time to connect", &seconds(client.connect_timeout));
    assert_default("nothing of a reply arrives", &seconds(client.idle_timeout));
    let restart = rules::RestartLimits::default();
    let in_window = format!("within {}", seconds(restart.window));
    assert_default(&in_window, &restart.restarts.to_string());
    assert_default("before the first restart", &seconds(restart.first_delay));
    assert_default("longest such wait |", &seconds(restart.longest_delay));
    let answer = seconds(rules::SHUTDOWN_TIMEOUT);
    assert_default("time to answer a shutdown", &answer);
}

#[test]
fn the_page_has_the_defaults_of_limits() {
    let limits = protocol::TeamLimits::default();
    let messages = limits.max_messages_per_minute();
    assert_default("`[limits]` `members`", &limits.max_members().to_string());
    assert_default("`messages_per_minute`", &messages.to_string());
    assert_default("`message_bytes`", &limits.max_message_bytes().to_string());
    assert_default("`inbox_bytes`", &limits.max_inbox_bytes().to_string());
    let context = agent::Limits::default();
    assert_default("`keep_results`", &context.keep_results.to_string());
    let clear_at = context.clear_above * 100 / context.window;
    assert_default("`clear_at`", &clear_at.to_string());
    let usual = catalogue::LONGEST_USUAL_REPLY.to_string();
    assert_default("most tokens of a reply", &usual);
    let retry = llm::RetryPolicy::with_alternative();
    assert_default(
        "the list has another model",
        &format!("{}, {} s", retry.max_tries, retry.total.as_secs()),
    );
    let share = format!(
        "{} % of the window",
        context.threshold * 100 / context.window
    );
    assert_default("is compacted", &share);
}

/// Fails unless the row with this text has this default.
#[track_caller]
fn assert_default(row: &str, default: &str) {
    let page = read(PAGE);
    let line = page.lines().find(|line| line.contains(row));
    let line = line.unwrap_or_else(|| panic!("{PAGE} has no row {row:?}"));
    let cell = format!("| {default} |");
    assert!(line.contains(&cell), "{line}: the default is {default}");
}

#[test]
fn the_page_has_the_known_models() {
    let page = read(PAGE);
    let row = |(name, entry): (&String, &catalogue::ModelEntry)| {
        let count = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let price = |get: fn(&catalogue::Price) -> protocol::Money| {
            let price = entry.price.as_ref().map(get);
            price.map_or(String::new(), |money| money.as_dollars().to_string())
        };
        let images = if entry.images == Some(true) {
            "yes"
        } else {
            "no"
        };
        let cells = [
            format!("`{name}`"),
            count(entry.window),
            count(entry.tuning.max_output.map(u64::from)),
            images.to_owned(),
            price(|price| price.input),
            price(|price| price.output),
            price(|price| price.cache_read),
            price(|price| price.cache_write),
        ];
        format!("| {} |", cells.join(" | ")).replace("  ", " ")
    };
    let mut rows: Vec<String> = catalogue::built_in().iter().map(row).collect();
    rows.sort();
    assert!(rows.len() > 20, "the models were found");
    let (_, shown) = page.split_once("## Known models").expect("the models");
    let mut shown: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    shown.sort_unstable();
    assert_eq!(shown, rows);
    let assumed = [
        format!("window of {} tokens", catalogue::UNKNOWN_WINDOW),
        format!("{} are assumed", catalogue::UNKNOWN_MAX_OUTPUT),
    ];
    for text in assumed {
        let page = page.replace('\n', " ");
        assert!(page.contains(&text), "{PAGE} lacks {text:?}");
    }
}
