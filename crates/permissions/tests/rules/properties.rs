//! What holds for all rules and commands.

use permissions::{Conditions, ListKind, Origin, Permissions, Rule, RuleList, Verdict};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::support::{command, list, unconfined};

const RULES: &[&str] = &[
    "Bash",
    "Bash(npm *)",
    "Bash(npm run *)",
    "Bash(* x)",
    "Bash(rm *)",
    "Bash(git * main)",
    "Bash(=ls && rm x)",
    "Read(.env)",
    "Edit(out/**)",
    "Edit(out/a)",
    "Bash(echo *)",
    "Bash(env *)",
    "Bash(make)",
    "Write(out/*)",
];
const SIMPLE: &[&str] = &[
    "npm run x",
    "npm i",
    "rm x",
    "rm -rf out",
    "ls",
    "make",
    "echo a b",
    "git push main",
    "git $x",
    "$x",
    "cat .env",
    "cat < .env",
    "npm run a > out/a",
    "echo a > $f",
    "env rm x",
    "sh -c 'rm x'",
    "find . -exec rm {} \\;",
    "'unclosed",
    "xargs npm",
    "PATH=. make",
    "echo $(rm x)",
    "timeout 3 make",
];

fn lists() -> impl Strategy<Value = RuleList> {
    let some = || subsequence(RULES, 0..3);
    (some(), some(), some()).prop_map(|(deny, ask, allow)| list(Origin::Flag, &deny, &ask, &allow))
}

fn conditions() -> impl Strategy<Value = Conditions> {
    (any::<bool>(), any::<bool>()).prop_map(|(confined, yes)| Conditions {
        confined,
        yes,
        ..unconfined()
    })
}

/// A script made of two, in one of the ways of the shell.
fn joined() -> impl Strategy<Value = (String, String, String)> {
    let ways = [
        "A && B",
        "A; B",
        "A || B",
        "A | B",
        "A & B",
        "A\nB",
        "(A; B)",
        "{ A; B; }",
        "if A; then B; fi",
        "for i in 1 2; do A; B; done",
        "A && echo \"$(B)\"",
        "f() { B; }; A",
        "A <<EOF\n$(B)\nEOF",
        "! A && B",
        "while A; do B; done",
        "case x in x) A;; *) B;; esac",
        "bash -c 'A' && B",
    ];
    (select(SIMPLE), select(SIMPLE), select(ways.to_vec())).prop_map(|(a, b, way)| {
        let quoted = way.contains("'A'") && a.contains('\'');
        let way = if quoted { "A && B" } else { way };
        let script = way
            .replace('A', "\u{1}")
            .replace('B', b)
            .replace('\u{1}', a);
        (a.to_owned(), b.to_owned(), script)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn splitting_never_widens(list in lists(), around in conditions(), (a, b, script) in joined()) {
        let rules = Permissions::new(vec![list.clone()], around);
        let strictest = command(&rules, &a).max(command(&rules, &b));
        let found = command(&rules, &script);
        // A part that cannot be read makes the whole unreadable, so a deny in the other becomes a question.
        // And a rule for exactly the whole text may allow it.
        let is_unreadable = a.starts_with('\'') || b.starts_with('\'');
        let least = if is_unreadable { strictest.min(Verdict::Ask) } else { strictest };
        let is_exact = script == "ls && rm x" && list.allow.iter().any(|rule| rule.text().starts_with("Bash(="));
        let no_rules = list.deny.is_empty() && list.ask.is_empty();
        prop_assert!(
            found >= least || is_exact || (is_unreadable && (no_rules || found == Verdict::Allow)),
            "{a:?} and {b:?}: {strictest}, {script:?}: {found}"
        );
    }

    #[test]
    fn deny_beats_all(one in lists(), other in lists(), around in conditions(), text in select(SIMPLE)) {
        let denying = RuleList { ask: Vec::new(), allow: Vec::new(), ..one.clone() };
        let alone = command(&Permissions::new(vec![denying], around.clone()), text);
        let granted = Origin::Granted { id: "1".to_owned(), by: "user".to_owned() };
        let all = RuleList { origin: granted, deny: Vec::new(), ask: Vec::new(), allow: vec![Rule::parse("Bash").unwrap()] };
        let together = command(&Permissions::new(vec![all, other, one], around), text);
        prop_assert!(alone != Verdict::Deny || together == Verdict::Deny);
    }

    #[test]
    fn more_deny_and_ask_rules_never_widen(one in lists(), other in lists(), around in conditions(), (_, _, script) in joined()) {
        let before = command(&Permissions::new(vec![one.clone()], around.clone()), &script);
        let narrower = RuleList { allow: Vec::new(), ..other };
        let after = command(&Permissions::new(vec![one, narrower], around), &script);
        prop_assert!(after >= before);
    }

    #[test]
    fn a_member_is_never_wider_than_its_lead(lead in lists(), role in lists(), around in conditions(), (_, _, script) in joined()) {
        let of_lead = command(&Permissions::new(vec![lead.clone()], around.clone()), &script);
        let role = RuleList { origin: Origin::Role("r".to_owned()), ..role };
        let of_member = command(&Permissions::new(vec![lead, role], around), &script);
        prop_assert!(of_member >= of_lead);
    }

    #[test]
    fn a_rule_and_its_examples_agree_with_the_verdict(rule in select(RULES), text in select(SIMPLE)) {
        prop_assume!(rule.starts_with("Bash("));
        let parsed = Rule::parse(rule).unwrap();
        let denying = Permissions::new(vec![list(Origin::Flag, &[rule], &[], &[])], unconfined());
        let is_denied = command(&denying, text) == Verdict::Deny;
        let example = [text.to_owned()];
        prop_assert_eq!(parsed.check_examples(ListKind::Deny, &example, &[]).is_ok(), is_denied);
        prop_assert_eq!(parsed.check_examples(ListKind::Deny, &[], &example).is_ok(), !is_denied);
    }

    #[test]
    fn any_text_gets_a_verdict(text in "[ -~\n]{0,60}") {
        let rules = Permissions::new(vec![list(Origin::Flag, &["Bash(rm *)"], &[], &[])], unconfined());
        let _ = command(&rules, &text);
    }
}
