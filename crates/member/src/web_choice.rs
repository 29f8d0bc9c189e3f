//! The tools of the provider for the web that a member's models are offered.

use crate::build::ModelOptions;
use config::Config;
use llm::{ModelChoice, OpenAiWire, WebTools};
use permissions::{Conditions, Permissions, RuleError, WebAccess, WebHosts, WebTool};

/// What the setting `web` and the rules of a member leave of the tools.
pub(crate) struct WebChoice {
    /// Absent where the web is not turned on: rules only take away.
    access: Option<WebAccess>,
}

impl WebChoice {
    pub(crate) fn of(options: &ModelOptions, config: &Config) -> Result<Self, RuleError> {
        let is_on = options.web.or(config.web().value).unwrap_or(false);
        let lists = config.rule_lists(options.role.as_deref(), options.permissions.as_ref())?;
        // What surrounds commands says nothing about what a provider runs.
        let rules = Permissions::new(lists, Conditions::default());
        Ok(Self {
            access: is_on.then(|| rules.web()),
        })
    }

    /// The tools, as models are asked with them, whichever wire format their servers speak.
    pub(crate) fn tools(&self) -> WebTools {
        let Some(access) = &self.access else {
            return WebTools::default();
        };
        WebTools {
            search: hosts(&access.search),
            fetch: hosts(&access.fetch),
            both: hosts(&access.both),
        }
    }

    /// Which tools are left out because of rules, for people.
    pub(crate) fn remarks(&self, models: &[ModelChoice]) -> Vec<String> {
        let Some(access) = &self.access else {
            return Vec::new();
        };
        let tools = [("web_search", &access.search), ("web_fetch", &access.fetch)];
        let left_out = tools.into_iter().filter_map(|(name, tool)| match tool {
            WebTool::LeftOut(reason) => Some(format!("{name} is left out: {reason}.")),
            WebTool::Offered(_) => None,
        });
        let is_openai = |model: &ModelChoice| match model {
            ModelChoice::OpenAi(_) | ModelChoice::OpenAiBy(OpenAiWire::Responses, _) => true,
            ModelChoice::OpenAiBy(OpenAiWire::Chat, _)
            | ModelChoice::Anthropic(_)
            | ModelChoice::Offline
            | ModelChoice::Script(_) => false,
        };
        let limited = matches!(access.both, WebTool::Offered(WebHosts::AllBut(_)));
        let limited = (limited && models.iter().any(is_openai)).then(|| {
            "The Responses API gets no web_search: it keeps no host out reliably, and rules refuse some. Name the \
             hosts that may be used instead: allow = [\"WebFetch(domain:HOST)\"]."
                .to_owned()
        });
        left_out.chain(limited).collect()
    }
}

fn hosts(tool: &WebTool) -> Option<llm::WebHosts> {
    match tool {
        WebTool::LeftOut(_) => None,
        WebTool::Offered(WebHosts::Any) => Some(llm::WebHosts::Any),
        WebTool::Offered(WebHosts::Only(hosts)) => Some(llm::WebHosts::Only(hosts.clone())),
        WebTool::Offered(WebHosts::AllBut(hosts)) => Some(llm::WebHosts::AllBut(hosts.clone())),
    }
}
