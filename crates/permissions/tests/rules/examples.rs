//! Rules that cannot match are errors, and so are rules that contradict their examples.

use permissions::{ListKind, Rule};

#[test]
fn a_rule_that_can_match_nothing_is_an_error_that_says_why() {
    let wrong = [
        ("", "is not a rule"),
        ("Bash(", "is not a rule"),
        ("Bash(ls)x", "is not a rule"),
        ("B*", "is not a rule"),
        ("Bosh", "is Bash meant?"),
        ("Reed(x)", "is Read meant?"),
        ("Bash()", "empty"),
        ("Bash(=)", "empty"),
        ("Bash(a && b)", "separates commands"),
        ("Bash(a > b)", "separates commands"),
        ("Bash(echo $x)", "separates commands"),
        ("Bash(echo 'a)", "not closed"),
        ("Bash(command:ls)", "command:"),
        ("Edit()", "empty"),
        ("Edit(!x)", "!"),
        ("Edit(../x)", ".."),
        ("Edit([)", "unclosed"),
        ("WebFetch(example.com)", "domain:HOST"),
        ("WebFetch(domain:)", "domain:HOST"),
        ("WebFetch(domain:https://a)", "domain:HOST"),
        ("WebFetch(domain:bücher.example)", "domain:HOST"),
        ("WebFetch(domain:a..org)", "domain:HOST"),
        ("WebFetch(domain:docs.*)", "no patterns of hosts"),
        ("WebFetch(domain:*a.org)", "no patterns of hosts"),
        ("WebSearch(x)", "nothing in parentheses"),
        ("send_message(bob)", "nothing in parentheses"),
        ("mcp__", "names no MCP server"),
        ("mcp__*", "names no MCP server"),
        ("mcp__a__b(c)", "names no MCP server"),
    ];
    for (rule, why) in wrong {
        let error = Rule::parse(rule).expect_err(rule).to_string();
        assert!(error.contains(why), "{rule}: {error}");
    }
}

#[test]
fn the_known_shapes_are_rules() {
    for rule in [
        "Bash",
        "Bash(*)",
        "Bash(npm run *)",
        "Bash(npm run:*)",
        "Bash(git * main)",
        "Bash(=a && b > c)",
        "bash(ls)",
        "background_run",
        "Network(npm install *)",
        "Network",
        "Read",
        "Read(.env)",
        "Read(//etc/**)",
        "Read(~/.ssh/**)",
        "Edit(src/**)",
        "Edit(/src/a.rs)",
        "Write(docs/*.md)",
        "write_file",
        "Grep",
        "Glob",
        "LS",
        "WebFetch",
        "WebFetch(domain:*.example.com)",
        "WebSearch",
        "Spawn",
        "Spawn(coder)",
        "Agent(review*)",
        "mcp__github",
        "mcp__github__*",
        "mcp__github__search",
        "send_message",
        "TodoWrite",
    ] {
        assert_eq!(Rule::parse(rule).expect(rule).text(), rule);
    }
}

#[test]
fn examples_are_checked() {
    let check = |kind, rule: &str, matching: &[&str], not: &[&str]| {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>()
        };
        let rule = Rule::parse(rule).unwrap();
        rule.check_examples(kind, &owned(matching), &owned(not))
            .map_err(|error| error.to_string())
    };
    use ListKind::{Allow, Deny};
    assert_eq!(
        check(
            Allow,
            "Bash(npm run *)",
            &["npm run a", "npm run"],
            &["npm install", "npm run a && ls"]
        ),
        Ok(())
    );
    assert_eq!(
        check(
            Deny,
            "Bash(rm *)",
            &["ls && rm x", "env rm x"],
            &["ls", "rmdir x"]
        ),
        Ok(())
    );
    assert_eq!(
        check(
            Allow,
            "Edit(src/**)",
            &["src/a/b.rs"],
            &["tests/a.rs", "../src/a"]
        ),
        Ok(())
    );
    assert_eq!(
        check(Allow, "WebFetch(domain:*.a.org)", &["x.a.org"], &["a.com"]),
        Ok(())
    );
    assert_eq!(check(Deny, "Spawn(adm*)", &["admin"], &["coder"]), Ok(()));
    assert_eq!(
        check(Deny, "mcp__a", &["mcp__a__b"], &["mcp__ab__c"]),
        Ok(())
    );
    let error = check(Allow, "Bash(npm run *)", &["npm install"], &[]).unwrap_err();
    assert!(
        error.contains("does not match its example `npm install`"),
        "{error}"
    );
    let error = check(Deny, "Bash(rm *)", &[], &["ls; rm x"]).unwrap_err();
    assert!(error.contains("matches `ls; rm x`"), "{error}");
}
