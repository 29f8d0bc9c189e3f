use super::*;
use crate::part::tokens;
use protocol::NetworkSetting;
use std::fs;
use std::path::Path;

/// The most tokens of the texts that all members of a kind have in common.
const LIMIT: usize = 600;

pub(crate) fn lead_in(workspace: &Path) -> PromptSpec {
    PromptSpec {
        workspace: workspace.to_path_buf(),
        ..spec(Reader::Lead)
    }
}

fn spec(reader: Reader) -> PromptSpec {
    let confinement = Confinement {
        workspace: "/w".into(),
        control: Vec::new(),
        secrets: Vec::new(),
        locks: |_| Vec::new(),
        programs: Vec::new(),
        readable: Vec::new(),
        network: NetworkSetting::Off,
        has_sandbox: false,
        remedy: String::new(),
        read_only_reason: String::new(),
        home: None,
        records: None,
    };
    PromptSpec {
        reader,
        workspace: "/w".into(),
        is_own_tree: false,
        confinement: Arc::new(confinement),
        user: UserFolders::default(),
    }
}

fn teammate(about_role: Option<&str>) -> PromptSpec {
    spec(Reader::Teammate {
        name: AgentName::new("alice").unwrap(),
        role: "coder".to_owned(),
        about_role: about_role.map(str::to_owned),
    })
}

pub(crate) const NOON: Timestamp = Timestamp::from_secs(1_794_916_800);

#[test]
fn the_base_of_a_prompt_is_small() {
    for spec in [teammate(None), spec(Reader::Lead)] {
        let sizes = spec.base().map(|(kind, text)| (kind, tokens(&text)));
        let all: usize = sizes.iter().map(|(_, size)| size).sum();
        println!("{:?}: {all} tokens, {sizes:?}", spec.reader);
        assert!(all <= LIMIT, "{all} of {LIMIT} tokens: {sizes:?}");
    }
}

#[test]
fn a_prompt_is_the_same_all_day_and_differs_only_in_its_date_the_next() {
    for spec in [teammate(Some("Write tests.")), spec(Reader::Lead)] {
        let hours = |hours: i64| {
            let later = std::time::Duration::from_secs(3600 * hours.unsigned_abs());
            spec.build(NOON.plus(later)).to_string()
        };
        let today = hours(0);
        assert_eq!(hours(11), today);
        let tomorrow = hours(12);
        assert_ne!(tomorrow, today);
        assert_eq!(tomorrow.replace("2026-11-18", "2026-11-17"), today);
    }
}

#[test]
fn a_teammate_is_told_about_its_role_and_its_name_last() {
    let prompt = teammate(Some("Write tests.")).build(NOON);
    let text = prompt.to_string();
    assert!(text.starts_with("You are a teammate "), "{text}");
    let end = "# Your role\nWrite tests.\n\n# You\nYou are 'alice', role: coder";
    assert!(text.ends_with(end), "{text}");
    assert!(text.contains("- Folder: /w ("), "{text}");
    let kinds: Vec<&str> = prompt.parts().iter().map(|part| part.kind.name()).collect();
    let order = [
        "identity",
        "work",
        "team",
        "board",
        "notes",
        "environment",
        "role",
        "name",
    ];
    assert_eq!(kinds, order);
    let text = teammate(None).build(NOON).to_string();
    assert!(text.contains("# Your role\nYou write code"), "{text}");
    let own = teammate(Some("")).build(NOON).to_string();
    assert!(
        !own.contains("# Your role"),
        "an empty text is a text: {own}"
    );
}

/// What a provider keeps of the request of one teammate serves all others.
#[test]
fn teammates_of_all_names_and_roles_begin_with_the_same_bytes() {
    let told = |name: &str, role: &str, is_own_tree: bool, workspace: &str| {
        let reader = Reader::Teammate {
            name: AgentName::new(name).unwrap(),
            role: role.to_owned(),
            about_role: None,
        };
        let spec = PromptSpec {
            is_own_tree,
            workspace: workspace.into(),
            ..spec(reader)
        };
        let mut prompt = crate::CurrentPrompt::new(spec);
        let system = prompt.at(NOON);
        let (shared, own) = system.text.split_at(system.shared);
        assert!(
            own.contains(&format!("You are '{name}', role: {role}")),
            "{own}"
        );
        assert!(!shared.contains(name) && !shared.contains(role), "{shared}");
        (shared.to_owned(), own.to_owned())
    };
    let (alice, own) = told("alice", "zookeeper", false, "/w");
    assert_eq!(alice, told("bob", "astronaut", false, "/w").0);
    assert!(alice.contains("# Environment") && !own.contains("# Environment"));
    let (alice, own) = told("alice", "zookeeper", true, "/w/alice");
    assert_eq!(alice, told("bob", "astronaut", true, "/w/bob").0);
    assert!(own.contains("/w/alice"), "where it works is its own then");
}

#[test]
fn the_lead_is_told_who_it_is_first() {
    let text = spec(Reader::Lead).build(NOON).to_string();
    assert!(text.starts_with("You are 'lead', "), "{text}");
}

#[test]
fn instructions_and_skills_are_shared_and_what_is_wrong_with_them_is_said() {
    let place = tempfile::tempdir().unwrap();
    let skill = place.path().join(".agents/skills/pdf");
    fs::create_dir_all(&skill).unwrap();
    assert!(lead_in(place.path()).skill_tool().is_none());
    fs::write(
        skill.join("SKILL.md"),
        "---\ndescription: Makes PDFs.\n---\n",
    )
    .unwrap();
    fs::write(place.path().join("AGENTS.md"), "Use tabs.").unwrap();
    fs::create_dir_all(place.path().join(".claude/skills/bad")).unwrap();
    fs::write(place.path().join(".claude/skills/bad/SKILL.md"), "Text.").unwrap();
    let spec = lead_in(place.path());
    let prompt = spec.build(NOON);
    let kinds: Vec<&str> = prompt.parts().iter().map(|part| part.kind.name()).collect();
    assert_eq!(
        kinds.last_chunk(),
        Some(&["instructions", "skills", "environment"])
    );
    assert_eq!(prompt.problems().len(), 1, "{:?}", prompt.problems());
    assert!(spec.skill_tool().is_some());
}
