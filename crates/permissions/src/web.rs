//! The tools of a model's provider for the web: whether they are offered to the model, and for which hosts.
//!
//! The provider runs these tools by itself while the model replies, so that no call of them can be held
//! up. What the rules say is therefore decided before a request is sent: a tool is left out of it, or is
//! offered together with the hosts that it may use. What would ask a person is left out, since nobody can
//! be asked in between. So each step here takes away, and none adds.

use std::fmt;

use crate::call::Call;
use crate::decide::Permissions;
use crate::decision::{Decision, Reason, RuleList, Verdict};
use crate::rule::{ListKind, Rule, WebScope, host};

pub(crate) const SEARCH: &str = "web_search";
pub(crate) const FETCH: &str = "web_fetch";

/// What a member may do with the tools of its provider for the web, where they are turned on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebAccess {
    pub search: WebTool,
    pub fetch: WebTool,
    /// A tool that searches and reads pages, as some providers have it: what both of the others may.
    pub both: WebTool,
}

/// Whether a tool is offered to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebTool {
    LeftOut(Reason),
    Offered(WebHosts),
}

/// The hosts that a tool may use. Each stands for itself and all hosts below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebHosts {
    Any,
    /// There is at least one.
    Only(Vec<String>),
    AllBut(Vec<String>),
}

impl Permissions {
    /// What the rules leave of the tools for the web.
    pub fn web(&self) -> WebAccess {
        let (search, fetch) = (self.web_tool(SEARCH), self.web_tool(FETCH));
        let both = match (&search, &fetch) {
            (WebTool::Offered(left), WebTool::Offered(right)) => offered(left.meet(right)),
            (WebTool::LeftOut(reason), _) | (_, WebTool::LeftOut(reason)) => {
                WebTool::LeftOut(reason.clone())
            }
        };
        WebAccess {
            search,
            fetch,
            both,
        }
    }

    /// What happens to a use of a tool for the web, if it is one.
    pub(crate) fn decide_web(&self, call: &Call<'_>) -> Option<Decision> {
        let tool = match call.tool {
            SEARCH => SEARCH,
            FETCH => FETCH,
            _ => return None,
        };
        let hosts = match self.web_tool(tool) {
            WebTool::LeftOut(reason) => return Some(Decision::new(Verdict::Deny, reason)),
            WebTool::Offered(hosts) => hosts,
        };
        let host = call.text("url").and_then(host);
        Some(match host {
            Some(host) if !hosts.has(&host) => {
                let reason = self.why_not(&host).unwrap_or(Reason::OtherHosts);
                Decision::new(Verdict::Deny, reason)
            }
            host => {
                let reason = self.why_offered(tool, host.as_deref());
                Decision::new(Verdict::Allow, reason.unwrap_or(Reason::WebSetting))
            }
        })
    }

    fn web_tool(&self, tool: &'static str) -> WebTool {
        let whole = |(_, rule): &(&RuleList, &Rule)| rule.web_scope(tool) == Some(WebScope::All);
        if let Some((list, rule)) = self.rules(ListKind::Deny).find(whole) {
            return WebTool::LeftOut(by_rule(list, rule));
        }
        if let Some((list, rule)) = self.rules(ListKind::Ask).find(whole) {
            return WebTool::LeftOut(nobody_to_ask(list, rule));
        }
        let mut hosts = self.allowed_hosts(tool);
        for list in self.lists().iter().filter(|list| !list.allow.is_empty()) {
            let Some(role) = list.role() else { continue };
            match hosts_of(list.allow.iter(), tool) {
                None => {
                    let (role, part) = (role.to_owned(), None);
                    return WebTool::LeftOut(Reason::NotInRole { role, part });
                }
                Some(of_role) => match hosts.meet(&of_role) {
                    None => return WebTool::LeftOut(Reason::NoHostLeft),
                    Some(fewer) => hosts = fewer,
                },
            }
        }
        let refused = [ListKind::Deny, ListKind::Ask];
        let refused = refused.into_iter().flat_map(|kind| self.rules(kind));
        let refused = refused.filter_map(|(_, rule)| match rule.web_scope(FETCH)? {
            WebScope::Host(host) => Some(host.to_owned()),
            // It has left the tool out already, or is about the other one.
            WebScope::All => None,
        });
        let refused: Vec<String> = refused.collect();
        if !refused.is_empty() {
            return offered(hosts.meet(&WebHosts::AllBut(refused)));
        }
        offered(Some(hosts))
    }

    /// The hosts that the allow rules of all but roles name. Without such rules any host may be used: the
    /// tools had to be turned on. A search brings text of the pages that it finds, so that hosts count
    /// for it too, unless a rule allows to search.
    fn allowed_hosts(&self, tool: &'static str) -> WebHosts {
        let of = |tool| {
            let lists = self.lists().iter();
            let lists = lists.filter(|list| list.role().is_none() && !list.is_granted());
            hosts_of(lists.flat_map(|list| list.allow.iter()), tool)
        };
        of(tool).or_else(|| of(FETCH)).unwrap_or(WebHosts::Any)
    }

    /// The rule because of which a host is not used.
    fn why_not(&self, host: &str) -> Option<Reason> {
        let concerns = |(_, rule): &(&RuleList, &Rule)| rule.has_web_host(host);
        let denied = self.rules(ListKind::Deny).find(concerns);
        let denied = denied.map(|(list, rule)| by_rule(list, rule));
        let asked = || self.rules(ListKind::Ask).find(concerns);
        denied.or_else(|| asked().map(|(list, rule)| nobody_to_ask(list, rule)))
    }

    /// The rule that allows a tool, or its use of a host.
    fn why_offered(&self, tool: &'static str, host: Option<&str>) -> Option<Reason> {
        let concerns = |(_, rule): &(&RuleList, &Rule)| match rule.web_scope(tool) {
            Some(WebScope::All) => true,
            Some(WebScope::Host(_)) => host.is_none_or(|host| rule.has_web_host(host)),
            None => false,
        };
        let allowing = self.rules(ListKind::Allow).find(concerns);
        allowing.map(|(list, rule)| by_rule(list, rule))
    }
}

impl WebHosts {
    /// Whether a host may be used.
    fn has(&self, host: &str) -> bool {
        let is_listed = |listed: &[String]| listed.iter().any(|listed| is_within(host, listed));
        match self {
            Self::Any => true,
            Self::Only(listed) => is_listed(listed),
            Self::AllBut(refused) => !is_listed(refused),
        }
    }

    /// What both may use, or none. A host is left out if a host below it is refused: no list of a
    /// provider names a host without those below it.
    fn meet(&self, other: &Self) -> Option<Self> {
        let met = match (self, other) {
            (Self::Any, hosts) | (hosts, Self::Any) => hosts.clone(),
            (Self::Only(left), Self::Only(right)) => {
                let fewer = |some: &[String], others: &[String]| {
                    let within = |host: &&String| others.iter().any(|other| is_within(host, other));
                    some.iter().filter(within).cloned().collect::<Vec<_>>()
                };
                Self::Only([fewer(left, right), fewer(right, left)].concat())
            }
            (Self::Only(listed), Self::AllBut(refused))
            | (Self::AllBut(refused), Self::Only(listed)) => {
                let is_free = |host: &&String| {
                    let overlaps =
                        |other: &String| is_within(host, other) || is_within(other, host);
                    !refused.iter().any(overlaps)
                };
                Self::Only(listed.iter().filter(is_free).cloned().collect())
            }
            (Self::AllBut(left), Self::AllBut(right)) => {
                Self::AllBut([left.clone(), right.clone()].concat())
            }
        };
        match met {
            Self::Only(hosts) if hosts.is_empty() => None,
            Self::AllBut(hosts) => Some(Self::AllBut(sorted(hosts))),
            met @ (Self::Any | Self::Only(_)) => Some(met),
        }
    }
}

/// The hosts that rules name for a tool, if any of them concerns it.
fn hosts_of<'a>(rules: impl Iterator<Item = &'a Rule>, tool: &'static str) -> Option<WebHosts> {
    let mut hosts: Option<WebHosts> = None;
    for rule in rules {
        match (rule.web_scope(tool), &mut hosts) {
            (None, _) => {}
            (Some(WebScope::All), _) => return Some(WebHosts::Any),
            (Some(WebScope::Host(host)), Some(WebHosts::Only(listed))) => {
                listed.push(host.to_owned());
            }
            (Some(WebScope::Host(host)), _) => {
                hosts = Some(WebHosts::Only(vec![host.to_owned()]));
            }
        }
    }
    hosts
}

/// A tool with its hosts. A provider reaches only public hosts, whose names have a dot: others, such as
/// `localhost`, could make it refuse the list.
fn offered(hosts: Option<WebHosts>) -> WebTool {
    let hosts = match hosts {
        Some(WebHosts::Only(hosts)) => {
            let public: Vec<String> = hosts.into_iter().filter(|it| it.contains('.')).collect();
            (!public.is_empty()).then_some(WebHosts::Only(sorted(public)))
        }
        hosts @ (Some(WebHosts::Any | WebHosts::AllBut(_)) | None) => hosts,
    };
    hosts.map_or(WebTool::LeftOut(Reason::NoHostLeft), WebTool::Offered)
}

fn by_rule(list: &RuleList, rule: &Rule) -> Reason {
    Reason::Rule {
        rule: rule.text().to_owned(),
        origin: list.origin.clone(),
        part: None,
    }
}

fn nobody_to_ask(list: &RuleList, rule: &Rule) -> Reason {
    Reason::NobodyToAsk {
        rule: rule.text().to_owned(),
        origin: list.origin.clone(),
    }
}

/// Whether a host is another one or below it.
pub(crate) fn is_within(host: &str, domain: &str) -> bool {
    let below = host.strip_suffix(domain);
    below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// The order in which rules stand says nothing, and equal requests are cached.
fn sorted(mut hosts: Vec<String>) -> Vec<String> {
    hosts.sort();
    hosts.dedup();
    hosts
}

impl fmt::Display for WebTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut(reason) => write!(f, "left out: {reason}"),
            Self::Offered(WebHosts::Any) => f.write_str("offered"),
            Self::Offered(WebHosts::Only(hosts)) => {
                write!(f, "offered, only for {}", hosts.join(", "))
            }
            Self::Offered(WebHosts::AllBut(hosts)) => {
                write!(f, "offered, but not for {}", hosts.join(", "))
            }
        }
    }
}
