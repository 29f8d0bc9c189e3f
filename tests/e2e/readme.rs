//! Every command in the README and in `docs/` works.
//!
//! - Blocks marked `sh` are typed one after the other into a shell, in an empty home folder, with
//!   no variables of the machine. The programs are on the path only after `cargo install` put them
//!   there. [`stage`] says what stands in for cargo and for providers of models.
//! - Blocks marked `console` are commands with what they print, which is compared.
//! - Blocks marked `yaml` are workflows, whose `run` steps are typed.
//! - A command that stays open, as `team-lead watch`, gets a terminal of its own until the end.
//! - `cargo test` in running text names tests that exist; `scripts/...` exist and have help; other
//!   commands have the verbs and options that are written: see [`mentions`].

mod document;
mod installation;
mod mentions;
mod stage;

pub(crate) use document::root;
use document::{Block, documents};
use stage::Stage;
pub(crate) use stage::programs;

/// The page with the whole tour.
const TOUR: &str = "docs/getting-started.md";

/// Types all blocks of a document, and gives the stage back for a look at what they left.
fn play(path: &str) -> Stage {
    // The README itself says how to install.
    let mut stage = if path == "README.md" {
        Stage::new()
    } else {
        Stage::installed()
    };
    let mut count = 0;
    for Block { language, text } in document::read(path).blocks() {
        match language.as_str() {
            "sh" => stage.type_block(&text),
            "console" => stage.compare(&text),
            "text shown" => stage.expect_shown(&text),
            "text" => {}
            "json" => {
                let read = serde_json::from_str::<serde_json::Value>(&text);
                assert!(read.is_ok(), "{path}: {read:?}");
            }
            "toml" => stage.configure(&text),
            "yaml" => stage.type_workflow(&text),
            other => panic!("{path}: nobody knows how to check a block of {other:?}"),
        }
        count += 1;
    }
    assert!(count > 0, "{path} has no blocks");
    stage.close();
    stage
}

#[test]
fn readme_can_be_typed_as_it_stands() {
    let stage = play("README.md");
    stage.said("Sent message to bob: \"Hello bob, this is alice (coder).\"");
    stage.said("write_file was not run: you need an approved plan");
    stage.said("'bob' agreed and is gone");
    assert_eq!(stage.models_asked(), ["claude-sonnet-5-5"]);
}

#[test]
fn the_tour_can_be_typed_as_it_stands() {
    let stage = play(TOUR);
    stage.said("write_file was not run: you need an approved plan");
    stage.said("[x] #2: Write two to 2.txt");
    stage.said("'bob' agreed and is gone");
    // The three real models were each asked, over their own protocol.
    assert_eq!(
        stage.models_asked(),
        ["claude-sonnet-5-5", "gpt-5-mini", "qwen3"]
    );
}

#[test]
fn the_other_documents_can_be_typed_as_they_stand() {
    let others = documents().into_iter();
    let others = others.filter(|path| path != "README.md" && path != TOUR);
    let mut played = 0;
    for path in others {
        if document::read(&path).blocks().next().is_some() {
            play(&path);
        }
        played += 1;
    }
    assert!(played > 3, "docs/ has documents");
}
