//! The tools of a provider for the web.

use permissions::Verdict::{Allow, Deny};
use permissions::{Origin, Permissions, Reason, RuleList, WebHosts, WebTool};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use crate::support::{confined, decide, list, permissions};

/// What is offered for searching, for reading pages, and for a tool that does both.
fn shown(rules: &Permissions) -> [String; 3] {
    let access = rules.web();
    [access.search, access.fetch, access.both].map(|tool| match tool {
        WebTool::LeftOut(_) => "left out".to_owned(),
        offered @ WebTool::Offered(_) => offered.to_string(),
    })
}

const ONLY_A: &str = "offered, only for a.org";
const NOT_A: &str = "offered, but not for a.org";

/// Rules that deny, ask and allow, and what is offered.
type Case<'a> = ([&'a [&'a str]; 3], [&'a str; 3]);

const CASES: [Case<'_>; 18] = [
    ([&[], &[], &[]], ["offered"; 3]),
    (
        [&["WebSearch"], &[], &[]],
        ["left out", "offered", "left out"],
    ),
    (
        [&["WebFetch"], &[], &[]],
        ["offered", "left out", "left out"],
    ),
    ([&["web_search", "web_fetch"], &[], &[]], ["left out"; 3]),
    (
        [&["WebFetch(domain:*)"], &[], &[]],
        ["offered", "left out", "left out"],
    ),
    // Nobody can be asked.
    (
        [&[], &["WebSearch"], &[]],
        ["left out", "offered", "left out"],
    ),
    (
        [&[], &["WebFetch"], &["WebFetch"]],
        ["offered", "left out", "left out"],
    ),
    ([&[], &["WebFetch(domain:a.org)"], &[]], [NOT_A; 3]),
    ([&["WebFetch(domain:a.org)"], &[], &[]], [NOT_A; 3]),
    (
        [&["WebFetch(domain:a.org)", "WebFetch"], &[], &[]],
        [NOT_A, "left out", "left out"],
    ),
    ([&[], &[], &["WebFetch(domain:*.A.org.)"]], [ONLY_A; 3]),
    (
        [&[], &[], &["WebFetch(domain:a.org)", "WebFetch"]],
        ["offered"; 3],
    ),
    (
        [&[], &[], &["WebFetch(domain:a.org)", "WebSearch"]],
        ["offered", ONLY_A, ONLY_A],
    ),
    // Deny comes first, also if the allowed host is more specific.
    (
        [
            &["WebFetch(domain:a.org)"],
            &[],
            &["WebFetch(domain:x.a.org)"],
        ],
        ["left out"; 3],
    ),
    // A host that is refused below an allowed one cannot be told to a provider.
    (
        [
            &["WebFetch(domain:x.a.org)"],
            &[],
            &["WebFetch(domain:a.org)"],
        ],
        ["left out"; 3],
    ),
    (
        [
            &["WebFetch(domain:x.b.org)"],
            &[],
            &["WebFetch(domain:a.org)", "WebFetch(domain:b.org)"],
        ],
        [ONLY_A; 3],
    ),
    // A provider cannot reach it.
    ([&[], &[], &["WebFetch(domain:localhost)"]], ["left out"; 3]),
    (
        [&["Bash", "Read(a.org)"], &[], &["send_message"]],
        ["offered"; 3],
    ),
];

#[test]
fn rules_leave_tools_out_or_limit_their_hosts() {
    for ([deny, ask, allow], offered) in CASES {
        let rules = permissions(confined(), deny, ask, allow);
        assert_eq!(shown(&rules), offered, "{deny:?} {ask:?} {allow:?}");
    }
}

#[test]
fn a_role_and_a_file_together_offer_what_both_allow() {
    let role = |allow: &[&str]| list(Origin::Role("r".to_owned()), &[], &[], allow);
    let with = |role: RuleList, allow: &[&str]| {
        Permissions::new(vec![list(Origin::Flag, &[], &[], allow), role], confined())
    };
    for (of_role, of_file, offered) in [
        (&["Bash"][..], &[][..], ["left out"; 3]),
        (&["WebSearch"], &[], ["offered", "left out", "left out"]),
        (
            &["WebSearch", "WebFetch(domain:x.a.org)"],
            &["WebFetch(domain:a.org)", "WebFetch(domain:b.org)"],
            [
                "offered, only for a.org, b.org",
                "offered, only for x.a.org",
                "offered, only for x.a.org",
            ],
        ),
        (
            &["WebSearch", "WebFetch"],
            &["WebFetch(domain:b.org)"],
            ["offered, only for b.org"; 3],
        ),
        (
            &["WebSearch", "WebFetch(domain:c.org)"],
            &["WebFetch(domain:b.org)"],
            ["offered, only for b.org", "left out", "left out"],
        ),
    ] {
        let rules = with(role(of_role), of_file);
        assert_eq!(shown(&rules), offered, "{of_role:?} {of_file:?}");
    }
}

#[test]
fn a_verdict_names_the_rule_and_why_nobody_is_asked() {
    let fetch = |rules: &Permissions, host: &str| {
        decide(
            rules,
            "web_fetch",
            &json!({"url": format!("https://{host}/")}),
        )
    };
    let rules = permissions(
        confined(),
        &["WebFetch(domain:evil.org)"],
        &["WebSearch", "WebFetch(domain:b.org)"],
        &["WebFetch(domain:a.org)"],
    );
    for (host, verdict, why) in [
        ("a.org", Allow, "WebFetch(domain:a.org)"),
        ("x.a.org", Allow, "WebFetch(domain:a.org)"),
        ("aa.org", Deny, "rules allow other hosts"),
        ("x.evil.org.", Deny, "WebFetch(domain:evil.org)"),
        ("b.org", Deny, "nobody can be asked"),
    ] {
        let decision = fetch(&rules, host);
        let reason = decision.reason.to_string();
        assert_eq!(decision.verdict, verdict, "{host}: {reason}");
        assert!(reason.contains(why), "{host}: {reason}");
    }
    let search = decide(&rules, "web_search", &json!({"query": "tea"}));
    let asked = search.reason.to_string();
    assert_eq!(search.verdict, Deny);
    assert!(
        asked.contains("WebSearch of the command line asks"),
        "{asked}"
    );
    let none = permissions(confined(), &[], &[], &[]);
    assert_eq!(fetch(&none, "a.org").reason, Reason::WebSetting);
}

const RULES: &[&str] = &[
    "WebSearch",
    "WebFetch",
    "WebFetch(domain:a.org)",
    "WebFetch(domain:x.a.org)",
    "WebFetch(domain:b.org)",
    "Bash",
];
const HOSTS: &[&str] = &["a.org", "x.a.org", "y.x.a.org", "b.org", "c.org"];

fn lists(origin: Origin) -> impl Strategy<Value = RuleList> {
    let some = || subsequence(RULES, 0..3);
    let lists = (some(), some(), some());
    lists.prop_map(move |(deny, ask, allow)| list(origin.clone(), &deny, &ask, &allow))
}

/// Whether a tool could use a host, as a provider keeps to what it is told.
fn uses(tool: &WebTool, host: &str) -> bool {
    let is_within = |listed: &String| host == listed || host.ends_with(&format!(".{listed}"));
    match tool {
        WebTool::LeftOut(_) => false,
        WebTool::Offered(WebHosts::Any) => true,
        WebTool::Offered(WebHosts::Only(hosts)) => hosts.iter().any(is_within),
        WebTool::Offered(WebHosts::AllBut(hosts)) => !hosts.iter().any(is_within),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_refuses_and_roles_never_widen(
        file in lists(Origin::Flag),
        role in lists(Origin::Role("r".to_owned())),
        host in select(HOSTS),
    ) {
        let lead = Permissions::new(vec![file.clone()], confined()).web();
        let member = Permissions::new(vec![file.clone(), role], confined()).web();
        let mild = RuleList { deny: Vec::new(), ask: Vec::new(), ..file };
        let mild = Permissions::new(vec![mild], confined()).web();
        for (lead, member, mild) in [
            (&lead.search, &member.search, &mild.search),
            (&lead.fetch, &member.fetch, &mild.fetch),
            (&lead.both, &member.both, &mild.both),
        ] {
            prop_assert!(uses(lead, host) || !uses(member, host), "{host}: {member}, but the lead: {lead}");
            prop_assert!(uses(mild, host) || !uses(lead, host), "{host}: {lead}, but with fewer rules: {mild}");
        }
        prop_assert!(uses(&lead.search, host) && uses(&lead.fetch, host) || !uses(&lead.both, host));
    }

    #[test]
    fn a_refused_host_is_used_by_no_tool(
        file in lists(Origin::Flag),
        other in lists(Origin::Role("r".to_owned())),
        host in select(HOSTS),
    ) {
        let is_refused = file.deny.iter().chain(&file.ask).any(|rule| {
            let domain = rule.text().split_once("domain:").map(|(_, host)| host.trim_end_matches(')'));
            domain.is_some_and(|domain| host == domain || host.ends_with(&format!(".{domain}")))
        });
        let rules = Permissions::new(vec![file, other], confined());
        let access = rules.web();
        for tool in [&access.search, &access.fetch, &access.both] {
            prop_assert!(!is_refused || !uses(tool, host), "{host}: {tool}");
        }
        let url = json!({"url": format!("https://{host}/")});
        let is_allowed = decide(&rules, "web_fetch", &url).verdict == Allow;
        prop_assert_eq!(is_allowed, uses(&access.fetch, host), "the check says what is offered");
    }
}
