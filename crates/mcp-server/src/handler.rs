//! The answers to a client's requests.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tools::{Definition, Effect, ToolContext, ToolError, ToolOutput};

use crate::ToolServer;

#[derive(Clone)]
pub(crate) struct Handler(Arc<ToolServer>);

impl Handler {
    pub(crate) fn new(server: ToolServer) -> Self {
        Self(Arc::new(server))
    }

    fn find(&self, name: &str) -> Option<&Definition> {
        let mut all = self.0.registry.definitions();
        all.find(|definition| definition.name == name)
    }

    /// Refuses a call that is not served, also if that has come while something ran before it.
    async fn admit(
        &self,
        tool: &str,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<(), ToolError> {
        let admission = &self.0.admission;
        admission.admit()?;
        admission.before(tool, arguments, context).await?;
        admission.admit()
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let server = &self.0;
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(&server.name, &server.version))
            .with_instructions(&server.instructions)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.find(name).map(described)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.registry.definitions().map(described).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.find(&request.name).is_none() {
            let message = format!("Unknown tool: {}", request.name);
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut call = self.0.context.clone();
        call.cancel = context.ct;
        if let Err(error) = self.admit(&request.name, &arguments, &call).await {
            return Ok(result(ToolOutput::error(format!("Error: {error}"))).into());
        }
        let arguments = arguments.to_string();
        let output = self.0.registry.call(&request.name, &arguments, &call);
        Ok(result(output.await).into())
    }
}

/// A tool as the protocol describes it.
fn described(definition: &Definition) -> Tool {
    let schema = match definition.schema.value() {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let is_read_only = match definition.effect {
        Effect::Read => true,
        Effect::State | Effect::Mutate | Effect::Execute | Effect::Ask => false,
    };
    let hints = ToolAnnotations::new()
        .read_only(is_read_only)
        .destructive(false)
        .open_world(false);
    let (name, description) = (definition.name.clone(), definition.description.clone());
    Tool::new(name, description, schema).with_annotations(hints)
}

/// The outcome of a call. Tools for the team return text alone.
fn result(output: ToolOutput) -> CallToolResult {
    let content = vec![ContentBlock::text(output.text)];
    match output.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    }
}
