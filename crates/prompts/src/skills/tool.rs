//! The tool with which a model reads a skill.

use super::{Skill, SkillPlaces};
use protocol::TextBlock;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// The most files of a skill that are listed.
const MOST_FILES: usize = 50;
/// How deep its folders are listed.
const DEEPEST: usize = 3;

/// Reads a skill.
#[derive(Clone, Debug)]
pub struct SkillTool(Arc<SkillPlaces>);

impl SkillTool {
    pub(crate) fn new(places: SkillPlaces) -> Self {
        Self(Arc::new(places))
    }
}

/// The arguments of [`SkillTool`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillArgs {
    /// The name of the skill, as your prompt lists it.
    name: String,
    /// A file of the skill that its text refers to; its instructions if absent.
    file: Option<String>,
}

impl Tool for SkillTool {
    const NAME: &'static str = "skill";
    const DESCRIPTION: &'static str = "Read a skill: instructions for a kind of work. Returns its text, its \
         folder and the names of its files, which you can read with file.";
    const EFFECT: Effect = Effect::Read;
    const KEEPS_RESULTS: bool = true;
    type Args = SkillArgs;

    async fn call(&self, args: SkillArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let places = Arc::clone(&self.0);
        let read = tokio::task::spawn_blocking(move || read(&places, &args)).await;
        read.unwrap_or_else(|_| Err(ToolError::cancelled()))
    }
}

fn read(places: &SkillPlaces, args: &SkillArgs) -> Result<ToolOutput, ToolError> {
    let skills = places.find();
    let Some(skill) = skills.get(args.name.trim()) else {
        let (name, names) = (&args.name, skills.names());
        return Err(ToolError::new(format!(
            "there is no skill {name:?}; there are: {names}"
        )));
    };
    let text = match &args.file {
        None => skill.body(places),
        Some(file) => skill.file(file),
    };
    let text = text.map_err(|error| ToolError::from_error(&error))?;
    let mut block = TextBlock::new(text).with("name", &skill.name);
    match &args.file {
        None => {
            block = block
                .with("folder", skill.folder.display().to_string())
                .with("from", skill.origin.name());
            let files = files(skill);
            if !files.is_empty() {
                block = block.with("files", files.join(" "));
            }
        }
        Some(file) => block = block.with("file", file),
    }
    Ok(ToolOutput::ok(block.render("skill")))
}

/// The files of a skill besides its instructions, by their paths from its folder.
fn files(skill: &Skill) -> Vec<String> {
    let mut found = Vec::new();
    list(&skill.folder, DEEPEST, &mut found);
    let relative = found
        .iter()
        .filter_map(|path| path.strip_prefix(&skill.folder).ok());
    let names = relative.map(|path| path.display().to_string());
    let mut names: Vec<String> = names.filter(|name| name != super::FILE).collect();
    names.sort();
    names
}

fn list(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if found.len() > MOST_FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => list(&entry.path(), depth - 1, found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}
