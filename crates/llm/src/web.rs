//! What a model may do on the web with the tools of its provider.

/// The tools of the provider that are offered to the model, where the provider has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebTools {
    /// The search of the Messages API.
    pub search: Option<WebHosts>,
    /// The reading of pages of the Messages API.
    pub fetch: Option<WebHosts>,
    /// The tool of the Responses API, which searches and opens pages.
    pub both: Option<WebHosts>,
}

/// The hosts that a tool may use. Each stands for itself and all hosts below it, as providers take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebHosts {
    Any,
    Only(Vec<String>),
    AllBut(Vec<String>),
}

impl WebHosts {
    /// The only hosts, if not all others may be used.
    pub(crate) fn only(&self) -> Option<&[String]> {
        match self {
            Self::Only(hosts) => Some(hosts),
            Self::Any | Self::AllBut(_) => None,
        }
    }

    /// The hosts that may not be used, if all others may.
    pub(crate) fn all_but(&self) -> Option<&[String]> {
        match self {
            Self::AllBut(hosts) => Some(hosts),
            Self::Any | Self::Only(_) => None,
        }
    }
}

impl WebTools {
    /// The hosts for the tool of the Responses API, if it is offered. That API can be told which hosts to
    /// use. It also takes a list of hosts that are not to be used, but their pages have been seen in its
    /// results, so that such a limit leaves the tool out.
    pub fn of_responses(&self) -> Option<&WebHosts> {
        let hosts = self.both.as_ref()?;
        hosts.all_but().is_none().then_some(hosts)
    }
}
