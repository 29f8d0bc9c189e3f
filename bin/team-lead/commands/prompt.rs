//! `prompt`: shows what members are told.

use crate::cli::{Args, existing_team};
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json};
use prompts::{PromptSpec, tokens};
use protocol::Recipient;
use serde_json::{Value, json};
use teamdir::now;
use tools::Definition;

/// Show what members are told.
#[derive(clap::Args)]
#[command(
    name = "prompt",
    after_help = "\
Examples:
  team-lead prompt show
  team-lead prompt show alice
  team-lead prompt show alice --tools

Standard output is the system prompt, byte for byte as the model gets it from a process that starts now, and
with --tools the description and the schema of each tool. Standard error has the tokens of each part, as
a quarter of its bytes, and files with instructions or skills that cannot be used. A process that runs
keeps the prompt with which it began, see docs/prompts.md.

With --json: {\"name\", \"system\", \"parts\": [{\"part\", \"text\", \"tokens\"}], \"tools\": [{\"name\", \"description\",
\"schema\", \"tokens\"}], \"tokens\", \"problems\"}. Without a team there are no tools."
)]
pub(crate) struct PromptVerb {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show the system prompt of a member.
    Show(Show),
}

#[derive(clap::Args)]
struct Show {
    /// The member; the lead if absent.
    name: Option<String>,
    /// Show the tools in full.
    #[arg(long)]
    tools: bool,
}

/// Everything that a model is told before its conversation.
struct Instructions {
    name: String,
    prompt: PromptSpec,
    tools: Vec<Definition>,
}

pub(crate) fn run(args: &Args, command: &PromptVerb) -> Result<(), Failure> {
    let Action::Show(show) = &command.action;
    let told = instructions(args, show.name.as_deref())?;
    let prompt = told.prompt.build(now());
    let parts = prompt.parts().iter();
    let mut sizes: Vec<(&str, usize)> = parts
        .map(|part| (part.kind.name(), tokens(&part.text)))
        .collect();
    let tools: Vec<Tool> = told.tools.iter().map(Tool::of).collect();
    if !tools.is_empty() {
        sizes.push(("tools", tools.iter().map(|tool| tool.tokens).sum()));
    }
    let all: usize = sizes.iter().map(|(_, size)| size).sum();
    if args.json {
        let parts = prompt.parts().iter().map(|part| {
            json!({"part": part.kind.name(), "text": part.text, "tokens": tokens(&part.text)})
        });
        return print_json(&json!({
            "name": told.name,
            "system": prompt.to_string(),
            "parts": parts.collect::<Vec<_>>(),
            "tools": tools.iter().map(|tool| tool.json.clone()).collect::<Vec<_>>(),
            "tokens": all,
            "problems": prompt.problems(),
        }));
    }
    let mut text = prompt.to_string();
    if show.tools {
        tools.iter().for_each(|tool| text.push_str(&tool.text));
    }
    print(&text)?;
    for problem in prompt.problems() {
        args.note(&format!("note: {problem}"));
    }
    sizes.push(("all", all));
    let lines = sizes
        .iter()
        .map(|(name, size)| format!("{name:<12} {size:>6} tokens"));
    args.note(&format!("\n{}", lines.collect::<Vec<_>>().join("\n")));
    Ok(())
}

fn instructions(args: &Args, name: Option<&str>) -> Result<Instructions, Failure> {
    let (workspace, team) = existing_team(args)?;
    let config = member::load_settings(&workspace)?.config;
    let named = match (name, &team) {
        (None, _) => Recipient::Lead,
        (Some(name), Some(team)) => names::recipient(&*team.roster()?, name)?,
        (Some(_), None) => return Err(crate::cli::open(args).err().unwrap_or_else(no_team)),
    };
    match (named, team) {
        (Recipient::Member(name), Some(team)) => {
            let roster = team.roster()?;
            let Some(member) = roster.member(&name) else {
                return Err(no_team());
            };
            if member.spec.exec.is_some() {
                let message = format!("{name} is a program of its own, which is told nothing");
                return Err(Failure::new(Kind::Refused, message).hint("team-lead status"));
            }
            let told = teammate::instructions(&team, &config, member);
            let told = told.map_err(|error| Failure::failed(error.to_string()))?;
            Ok(Instructions {
                name: name.to_string(),
                prompt: told.prompt,
                tools: told.tools,
            })
        }
        (_, team) => {
            let prompt = lead::lead_prompt(&workspace, &config);
            let tools = team
                .map(|team| lead::lead_tool_definitions(&team, &prompt))
                .transpose();
            let tools = tools.map_err(|error| Failure::failed(error.to_string()))?;
            Ok(Instructions {
                name: Recipient::Lead.to_string(),
                prompt,
                tools: tools.unwrap_or_default(),
            })
        }
    }
}

fn no_team() -> Failure {
    Failure::failed("the team is gone")
}

/// A tool as it is shown.
struct Tool {
    json: Value,
    text: String,
    tokens: usize,
}

impl Tool {
    fn of(definition: &Definition) -> Self {
        let Definition {
            name,
            description,
            schema,
            ..
        } = definition;
        let text = schema.raw().get();
        let tokens = tokens(name) + tokens(description) + tokens(text);
        Self {
            json: json!({
                "name": name, "description": description, "schema": schema.value(), "tokens": tokens,
            }),
            text: format!("\n\n## {name}\n{description}\n{text}"),
            tokens,
        }
    }
}
