use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use tools::{OutputFolder, Registry, ToolContext, ToolOutput, Workspace};

/// A repository with a workspace in the folder `w`, beside a home folder.
struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for folder in ["repository/.git", "repository/w", "home", "own"] {
            fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        Self { temp }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.temp.path().join(path)
    }

    fn skill(&self, folder: &str, text: &str) {
        let folder = self.path(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(FILE), text).unwrap();
    }

    fn plain(&self, folder: &str, name: &str) {
        let text = format!("---\nname: {name}\ndescription: Of {folder}.\n---\nDo it.\n");
        self.skill(folder, &text);
    }

    fn places(&self) -> SkillPlaces {
        SkillPlaces {
            workspace: self.path("repository/w"),
            user: UserFolders {
                own: Some(self.path("own")),
                home: Some(self.path("home")),
            },
        }
    }

    async fn call(&self, arguments: &str) -> ToolOutput {
        let mut registry = Registry::default();
        registry.add(SkillTool::new(self.places())).unwrap();
        let workspace = Workspace::open(self.path("repository/w"), []).unwrap();
        let context = ToolContext::new(workspace, OutputFolder::new(self.path("out")), "test");
        registry.call("skill", arguments, &context).await
    }
}

#[test]
fn the_nearest_of_equal_names_counts_and_broken_ones_are_reported() {
    let place = Place::new();
    place.plain("repository/w/.claude/skills/pdf", "pdf");
    place.plain("repository/.agents/skills/pdf", "pdf");
    place.plain("repository/.agents/skills/deploy", "deploy");
    place.plain("own/skills/deploy", "deploy");
    place.plain("home/.agents/skills/mail", "mail");
    place.plain("home/.claude/skills/notes", "notes");
    place.skill("own/skills/open", "---\nname: open\n");
    place.skill("own/skills/silent", "---\nname: silent\n---\nText.");
    place.skill("own/skills/odd", "---\nname: a b\ndescription: c\n---\n");
    fs::create_dir_all(place.path("own/skills/empty")).unwrap();
    let skills = place.places().find();
    assert_eq!(skills.names(), "pdf, deploy, mail, notes");
    let text = skills.text();
    let listed = "- pdf (repository): Of repository/w/.claude/skills/pdf.\n\
        - deploy (repository): Of repository/.agents/skills/deploy.\n\
        - mail (user): Of home/.agents/skills/mail.";
    assert!(text.contains(listed), "{text}");
    let problems = skills.problems.join("\n");
    assert_eq!(skills.problems.len(), 3, "{problems}");
    for part in ["not closed", "no description", "\"a b\" is no name"] {
        assert!(problems.contains(part), "{problems}");
    }
}

#[test]
fn what_a_prompt_lists_has_a_limit() {
    let place = Place::new();
    let long = "x".repeat(5_000);
    for number in 0..MOST + 5 {
        let text = format!("---\ndescription: {long}\n---\n");
        place.skill(&format!("own/skills/s{number:02}"), &text);
    }
    let skills = place.places().find();
    assert!(skills.get("s44").is_some(), "named by its folder");
    let text = skills.text();
    assert!(text.len() < MOST * (LONGEST + 50), "{}", text.len());
    assert!(
        text.ends_with("- and 5 more, which can be read by name"),
        "{text}"
    );
}

#[test]
fn skills_of_a_repository_are_read_in_it_only() {
    let place = Place::new();
    place.plain("elsewhere/skills/x", "x");
    fs::create_dir_all(place.path("repository/.agents")).unwrap();
    symlink(
        place.path("elsewhere/skills"),
        place.path("repository/.agents/skills"),
    )
    .unwrap();
    let skills = place.places().find();
    assert!(skills.is_empty());
    assert_eq!(skills.problems.len(), 1);
    // The user's own may be links.
    symlink(place.path("elsewhere/skills"), place.path("own/skills")).unwrap();
    assert_eq!(place.places().find().names(), "x");
}

#[tokio::test]
async fn the_tool_returns_text_folder_and_files() {
    let place = Place::new();
    place.plain("own/skills/pdf", "pdf");
    let folder = place.path("own/skills/pdf");
    fs::create_dir(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/make.py"), "print(1)").unwrap();
    fs::write(place.path("own/secret"), "s").unwrap();
    symlink(place.path("own/secret"), folder.join("link")).unwrap();
    let output = place.call(r#"{"name":"pdf"}"#).await;
    let shown = folder.display();
    assert_eq!(
        output.text,
        format!(
            "<skill name=\"pdf\" folder=\"{shown}\" from=\"user\" files=\"scripts/make.py\">\nDo it.\n</skill>"
        )
    );
    let output = place
        .call(r#"{"name":"pdf","file":"scripts/make.py"}"#)
        .await;
    assert!(
        output.text.contains("\nprint(1)\n</skill>"),
        "{}",
        output.text
    );
    for file in ["../../secret", "/etc/passwd", "link", "scripts", "none"] {
        let call = format!(r#"{{"name":"pdf","file":{file:?}}}"#);
        let output = place.call(&call).await;
        assert!(output.is_error, "{file}: {}", output.text);
    }
    let output = place.call(r#"{"name":"pfd"}"#).await;
    assert!(output.text.contains("there are: pdf"), "{}", output.text);
}
