//! What hooks say about a call, and the host's way to ask.

use super::Asker;
use crate::call_rules::CallVerdict;
use crate::host::{Hooks, RuntimeHost};
use agent::{Answered, AskedCall, MayRun};
use llm::{CancellationToken, ToolUse};
use protocol::PermissionAsk;
use teamdir::RequestError;
use tools::{Access, Effect, ToolOutput};

impl Asker<'_> {
    /// What the rules say, with what hooks say: they may ask where the rules allow, and answer where nothing but
    /// the need of the call asks. What a rule denies or asks about stays so.
    pub(super) fn with_hooks(&self, verdict: CallVerdict, why: String) -> (CallVerdict, String) {
        match (verdict, &self.said.ask, &self.said.allow) {
            (CallVerdict::Allow, Some(reason), _) => {
                let (grants, by_rule) = (None, true);
                let why = format!("a hook asks: {reason}");
                (CallVerdict::Ask { grants, by_rule }, why)
            }
            (CallVerdict::Ask { by_rule: false, .. }, None, Some(_)) => (CallVerdict::Allow, why),
            (verdict, _, _) => (verdict, why),
        }
    }

    /// What hooks answer in a person's place. A request that is there already was shown to them.
    pub(super) async fn asked_hooks(
        &mut self,
        call: &AskedCall<'_>,
        ask: &PermissionAsk,
        access: Access,
        cancel: &CancellationToken,
    ) -> Option<Answered> {
        if !matches!(
            self.runtime.team().request(call.request_id),
            Err(RequestError::Unknown(_))
        ) {
            return None;
        }
        let said = self
            .runtime
            .hooks_about_permission(call.tool_use, ask, cancel)
            .await;
        if let Some(reason) = said.block {
            let tool = &call.tool_use.name;
            let text = format!("{tool} was not run: refused by a hook: {reason}");
            return Some(Answered::NotRun(ToolOutput::error(text)));
        }
        let remark = Some("[allowed by a hook]".to_owned());
        said.allow.map(|_| Answered::Run { access, remark })
    }
}

impl<H: Hooks> RuntimeHost<H> {
    /// Whether a call may run, before anybody was asked about it.
    pub(crate) fn decide_first(&mut self, tool_use: &ToolUse, effect: Option<Effect>) -> MayRun {
        let said = self.said.get(&tool_use.id).cloned().unwrap_or_default();
        let hooks = &mut self.hooks;
        let asker = Asker {
            runtime: &self.runtime,
            said: &said,
            begins: &mut |request| hooks.asks(request),
            answer_watch: &mut self.answer_watch,
        };
        asker.first_decision(tool_use, effect)
    }

    /// Asks a person about a call, and waits for the answer.
    pub(crate) async fn ask_about(
        &mut self,
        call: AskedCall<'_>,
        cancel: &CancellationToken,
    ) -> Answered {
        let said = self.said.get(&call.tool_use.id).cloned();
        let said = said.unwrap_or_default();
        let hooks = &mut self.hooks;
        let mut asker = Asker {
            runtime: &self.runtime,
            said: &said,
            begins: &mut |request| hooks.asks(request),
            answer_watch: &mut self.answer_watch,
        };
        asker.ask_person(call, cancel).await
    }
}
