//! The tools of one agent: schemas, and parsing of calls.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use serde::de::DeserializeOwned;

use crate::context::ToolContext;
use crate::schema::Schema;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};

/// A set of tools by name. Every outcome of a call is an output for the model.
#[derive(Default)]
pub struct Registry {
    tools: Vec<Entry>,
}

/// The description of a tool for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub name: Cow<'static, str>,
    /// What it does and when to use it.
    pub description: Cow<'static, str>,
    pub schema: Schema,
    pub effect: Effect,
    /// Whether its results stay in a long conversation.
    pub keeps_results: bool,
}

impl Definition {
    /// The description of a tool, without the tool.
    pub fn of<T: Tool>() -> Self {
        Self {
            name: Cow::Borrowed(T::NAME),
            description: Cow::Borrowed(T::DESCRIPTION),
            schema: Schema::of::<T::Args>(),
            effect: T::EFFECT,
            keeps_results: T::KEEPS_RESULTS,
        }
    }

    /// The arguments of a call. A model that has none to give may leave them out.
    pub fn parse<T: DeserializeOwned>(&self, arguments: &str) -> Result<T, ToolError> {
        let arguments = match arguments.trim() {
            "" | "null" => "{}",
            text => text,
        };
        serde_json::from_str(arguments).map_err(|error| {
            let (name, expected) = (&self.name, self.schema.summary());
            ToolError::new(format!(
                "Wrong arguments for {name}: {error}. It takes: {expected}"
            ))
        })
    }
}

/// Two tools have the same name.
#[derive(Debug, thiserror::Error)]
#[error("there is already a tool with the name {0}")]
pub struct DuplicateTool(Cow<'static, str>);

struct Entry {
    definition: Definition,
    /// Whether other agents begin with the same tools up to this one.
    is_shared: bool,
    tool: Box<dyn DynamicTool>,
}

impl Registry {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add<T: Tool>(&mut self, tool: T) -> Result<(), DuplicateTool> {
        self.insert(Definition::of::<T>(), Box::new(Typed(tool)))
    }

    /// Adds a tool that is known only now, such as one of another program.
    pub fn add_dynamic(
        &mut self,
        definition: Definition,
        tool: impl DynamicTool,
    ) -> Result<(), DuplicateTool> {
        self.insert(definition, Box::new(tool))
    }

    fn insert(
        &mut self,
        definition: Definition,
        tool: Box<dyn DynamicTool>,
    ) -> Result<(), DuplicateTool> {
        if self.entry(&definition.name).is_some() {
            return Err(DuplicateTool(definition.name));
        }
        self.tools.push(Entry {
            definition,
            is_shared: false,
            tool,
        });
        Ok(())
    }

    /// Notes that other agents begin with the same tools as this one has now.
    pub fn share(&mut self) {
        self.tools
            .iter_mut()
            .for_each(|entry| entry.is_shared = true);
    }

    /// How many of the tools, from the first one on, other agents have too.
    pub fn shared(&self) -> usize {
        let shared = self.tools.iter().take_while(|entry| entry.is_shared);
        shared.count()
    }

    /// Removes the tools for which `is_wanted` is false.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.tools.retain(|entry| is_wanted(&entry.definition.name));
    }

    /// The tools in the order in which they were added.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.iter().map(|entry| &entry.definition)
    }

    /// The effect of a call, if there is such a tool.
    pub fn effect(&self, name: &str, arguments: &str) -> Option<Effect> {
        let entry = self.entry(name)?;
        let own = entry.tool.effect_of(arguments);
        Some(own.unwrap_or(entry.definition.effect))
    }

    /// Whether the results of a tool stay in a long conversation.
    pub fn keeps_results(&self, name: &str) -> bool {
        let entry = self.entry(name);
        entry.is_some_and(|entry| entry.definition.keeps_results)
    }

    /// Calls a tool with the JSON text of its arguments. Wrong arguments, unknown tools, failures
    /// and panics become outputs. No output is empty or longer than
    /// [`LIMIT`](crate::LIMIT) characters.
    pub async fn call(&self, name: &str, arguments: &str, context: &ToolContext) -> ToolOutput {
        let Some(entry) = self.entry(name) else {
            return ToolOutput::error(format!("Unknown tool: {name}"));
        };
        let mut output = match entry.call(arguments, context).await {
            Ok(output) => output,
            Err(error) => ToolOutput::error(format!("Error: {error}")),
        };
        output.text = context.shorten(output.text, name);
        if output.text.is_empty() {
            "(no output)".clone_into(&mut output.text);
        }
        output
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.tools
            .iter()
            .find(|entry| entry.definition.name == name)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.definitions().map(|d| &d.name))
            .finish()
    }
}

impl Entry {
    async fn call(&self, arguments: &str, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        if context.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let call = caught(self.tool.call(arguments, context, &self.definition));
        let effect = self.tool.effect_of(arguments);
        if effect.unwrap_or(self.definition.effect) != Effect::Read {
            return call.await;
        }
        tokio::select! {
            biased;
            output = call => output,
            () = context.cancel.cancelled() => Err(ToolError::cancelled()),
        }
    }
}

/// A call that runs.
pub type Call<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool without the type of its arguments.
pub trait DynamicTool: Send + Sync + 'static {
    /// Runs the tool with the JSON text of its arguments.
    fn call<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a ToolContext,
        definition: &'a Definition,
    ) -> Call<'a>;

    /// What a call with these arguments may change, if it is not what the definition says.
    fn effect_of(&self, _arguments: &str) -> Option<Effect> {
        None
    }
}

struct Typed<T>(T);

impl<T: Tool> DynamicTool for Typed<T> {
    fn call<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a ToolContext,
        definition: &'a Definition,
    ) -> Call<'a> {
        Box::pin(async move {
            let args = definition.parse(arguments)?;
            Tool::call(&self.0, args, context).await
        })
    }
}

/// Turns a panic inside a call into its failure.
async fn caught(mut call: Call<'_>) -> Result<ToolOutput, ToolError> {
    std::future::poll_fn(move |context| {
        // A call that has panicked is not polled again, so its state is never observed.
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(panic.as_ref()))))
    })
    .await
}

fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no reason given");
    ToolError::new(format!("the tool crashed: {text}"))
}

/// Runs blocking work on a thread for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => Err(panicked(panic.as_ref())),
            Err(_) => Err(ToolError::cancelled()),
        },
    }
}
