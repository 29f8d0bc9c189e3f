use super::*;
use crate::config::{PROJECT_FILE, load};
use llm::Variables;
use nix::unistd::geteuid;

fn config(toml: &str, claude: &str) -> Result<Config, ConfigError> {
    let workspace = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = workspace.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file(PROJECT_FILE, toml);
    if !claude.is_empty() {
        file(CLAUDE_SETTINGS, claude);
    }
    let owners = Owners::new(geteuid().as_raw(), None);
    load(workspace.path(), &Variables::default(), &owners)
}

fn shown(lists: &[RuleList]) -> Vec<String> {
    let texts = |rules: &[Rule]| {
        let texts: Vec<&str> = rules.iter().map(Rule::text).collect();
        texts.join(" ")
    };
    let lists = lists.iter().map(|list| {
        let origin = match &list.origin {
            permissions::Origin::Flag => "flag".to_owned(),
            permissions::Origin::Role(role) => role.clone(),
            permissions::Origin::Workspace(path) | permissions::Origin::ClaudeSettings(path) => {
                path.file_name().unwrap().to_string_lossy().into_owned()
            }
            other => other.to_string(),
        };
        let [deny, ask, allow] = [&list.deny, &list.ask, &list.allow].map(|rules| texts(rules));
        format!("{origin}: {deny} | {ask} | {allow}")
    });
    lists.collect()
}

#[test]
fn rules_of_all_origins_hold_together() {
    let toml = "[permissions]\ndeny = ['Bash(rm *)']\nallow = [{ rule = 'Bash(npm run *)', match = \
                ['npm run a'], not_match = ['npm i'] }]\n[roles.coder.permissions]\nask = ['Edit(docs/**)']\n";
    let claude = r#"{"model": "x", "permissions": {"defaultMode": "plan", "deny": ["Read(./.env)"],
                     "allow": ["Bash(make:*)", "NotebookEdit", "KillShell"]}}"#;
    let config = config(toml, claude).unwrap();
    let flags = MemberRules {
        deny: vec!["Bash(git push *)".to_owned()],
        ..MemberRules::default()
    };
    let lists = config.rule_lists(Some("coder"), Some(&flags)).unwrap();
    let expected = [
        "flag: Bash(git push *) |  | ",
        "team.toml: Bash(rm *) |  | Bash(npm run *)",
        "settings.json: Read(./.env) |  | Bash(make:*)",
        "coder:  | Edit(docs/**) | ",
    ];
    assert_eq!(shown(&lists), expected);
    let lists = config.rule_lists(None, None).unwrap();
    assert_eq!(shown(&lists), expected[1..3]);
    let wrong = MemberRules {
        allow: vec!["Bosh".to_owned()],
        ..MemberRules::default()
    };
    let error = config.rule_lists(None, Some(&wrong)).unwrap_err();
    assert!(error.to_string().contains("is Bash meant?"), "{error}");
}

#[test]
fn a_wrong_rule_is_an_error_with_its_line() {
    for (toml, line, why) in [
        ("[permissions]\nallow = ['Bash()']", 2, "it is empty"),
        (
            "[permissions]\nallow = [\n  'Bash(ls)',\n  'Bosh',\n]",
            2,
            "is Bash meant?",
        ),
        ("[permissions]\nalow = []", 2, "did you mean `allow`?"),
        (
            "[permissions]\ndeny = [{ rule = 'Bash(ls)', match = ['rm'] }]",
            2,
            "does not match its example `rm`",
        ),
        (
            "[permissions]\ndeny = [{ rule = 'Bash(ls)', mtch = [] }]",
            2,
            "unknown key",
        ),
        (
            "[permissions]\ndeny = [3]",
            2,
            "expected a rule, or a table with a rule",
        ),
        ("[roles.a.permissions]\nask = ['x(']", 2, "is not a rule"),
    ] {
        let error = config(toml, "").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("{PROJECT_FILE}:{line}: ")) && text.contains(why),
            "{text}"
        );
    }
    for (claude, why) in [
        (
            "{\n\"permissions\": {\"deny\": [\n\"Bash()\"]}}",
            "settings.json:3: `Bash()`",
        ),
        ("{\n\n\"permissions\": []}", "settings.json:3: "),
        ("not json", "settings.json:1: "),
    ] {
        let text = config("", claude).unwrap_err().to_string();
        assert!(text.contains(why), "{text}");
    }
}
