use core::net::IpAddr;

use proptest::prelude::*;

use super::*;

fn hosts(text: &str) -> HostList {
    text.parse().unwrap()
}

fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text, None).unwrap()
}

fn reason(text: &str) -> Reason {
    text.parse::<HostRule>().unwrap_err().reason
}

#[test]
fn a_setting_is_a_word_or_hosts_on_command_lines_and_in_files() {
    for (text, json) in [
        ("off", r#""off""#),
        ("on", r#""on""#),
        ("example.org", r#"["example.org"]"#),
        (
            "example.org,*.example.net:8443,[2001:4860::1]:81",
            r#"["example.org","*.example.net:8443","[2001:4860::1]:81"]"#,
        ),
    ] {
        let setting: NetworkSetting = text.parse().unwrap();
        assert_eq!(setting.to_string(), text);
        assert_eq!(serde_json::to_string(&setting).unwrap(), json);
        let read: NetworkSetting = serde_json::from_str(json).unwrap();
        assert_eq!(read, setting);
    }
    let spaced: NetworkSetting = " A.example.org , b.example.org. ,a.example.org"
        .parse()
        .unwrap();
    assert_eq!(spaced.to_string(), "a.example.org,b.example.org");
}

#[test]
fn a_setting_that_means_nothing_is_refused_with_its_reason() {
    for (json, why) in [
        ("[]", "names no host"),
        ("3", "\"off\", \"on\" or a list of hosts"),
        (r#"["example.org", "on"]"#, "stands alone"),
        (r#"["https://example.org"]"#, "without scheme"),
        (r#""example.org,,""#, "names no host"),
    ] {
        let error = serde_json::from_str::<NetworkSetting>(json).unwrap_err();
        assert!(error.to_string().contains(why), "{json}: {error}");
    }
}

#[test]
fn a_rule_that_is_no_host_or_can_never_match_is_refused() {
    for (text, expected) in [
        ("", Reason::Empty),
        (".", Reason::Empty),
        ("a..b", Reason::NotAHost),
        (".example.org", Reason::NotAHost),
        ("user@example.org", Reason::NotAHost),
        ("example.org/path", Reason::NotAHost),
        ("example.org\\x", Reason::NotAHost),
        ("example.org ", Reason::NotAHost),
        ("exam\0ple.org", Reason::NotAHost),
        ("example.org\r\nx", Reason::NotAHost),
        ("ex%61mple.org", Reason::NotAHost),
        ("[fe80::1%eth0]:80", Reason::NotAHost),
        ("bücher.example", Reason::NotAscii),
        ("example.org:", Reason::Port),
        ("example.org:0", Reason::Port),
        ("example.org:+80", Reason::Port),
        ("example.org:65536", Reason::Port),
        ("http://example.org", Reason::NotAHost),
        ("*", Reason::Wildcard),
        ("*.org", Reason::Wildcard),
        ("*.0.0.1", Reason::NotAnAddress),
        ("*.10.0.0.1", Reason::Wildcard),
        ("a.*.example.org", Reason::Wildcard),
        ("*example.org", Reason::Wildcard),
        ("127.1", Reason::NotAnAddress),
        ("2130706433", Reason::NotAnAddress),
        ("0x7f000001", Reason::NotAnAddress),
        ("0177.0.0.1", Reason::NotAnAddress),
        ("10.0.0.1", Reason::NeedsPort),
        ("::1", Reason::NeedsPort),
        ("::ffff:10.0.0.1", Reason::NeedsPort),
        ("localhost", Reason::ThisMachine),
        ("LOCALHOST.:8080", Reason::ThisMachine),
        ("x.localhost", Reason::ThisMachine),
        ("0.0.0.0:80", Reason::Unreachable),
        ("[::]:80", Reason::Unreachable),
        ("198.18.0.1", Reason::NeedsPort),
        ("224.0.0.1:80", Reason::Unreachable),
        ("off", Reason::Word),
    ] {
        assert_eq!(reason(text), expected, "{text:?}");
    }
    let long = format!("{}.org", "a".repeat(64));
    assert_eq!(reason(&long), Reason::NotAHost);
    assert_eq!(reason(&"a.".repeat(128)), Reason::NotAHost);
}

#[test]
fn a_rule_allows_its_host_on_the_usual_ports_or_its_own() {
    let list = hosts("example.org,api.example.org:8443,*.example.net,8.8.8.8,127.0.0.1:8080");
    for allowed in [
        "example.org:443",
        "EXAMPLE.org.:80",
        "api.example.org:8443",
        "a.example.net:443",
        "a.b.example.net:80",
        "8.8.8.8:443",
        "[::ffff:8.8.8.8]:443",
        "127.0.0.1:8080",
    ] {
        assert!(list.allows(&endpoint(allowed)), "{allowed}");
    }
    for refused in [
        "example.org:22",
        "api.example.org:443",
        "www.example.org:443",
        "notexample.org:443",
        "example.org.evil.com:443",
        "example.net:443",
        "evilexample.net:443",
        "a.example.net:8443",
        "8.8.4.4:443",
        "127.0.0.1:80",
        "[::1]:8080",
    ] {
        assert!(!list.allows(&endpoint(refused)), "{refused}");
    }
}

#[test]
fn what_a_person_can_add_allows_exactly_what_was_asked() {
    for (wanted, rule) in [
        ("example.org:443", "example.org"),
        ("example.org:8443", "example.org:8443"),
        ("10.0.0.1:443", "10.0.0.1:443"),
        ("[::1]:8080", "[::1]:8080"),
        // Some networks use addresses that are for examples and benchmarks.
        ("198.18.0.1:443", "198.18.0.1:443"),
        ("8.8.8.8:80", "8.8.8.8"),
    ] {
        let wanted = endpoint(wanted);
        let found = HostRule::for_endpoint(&wanted).unwrap();
        assert_eq!(found.to_string(), rule);
        assert!(found.allows(&wanted));
        assert_eq!(found, rule.parse().unwrap());
    }
    for never in ["localhost:80", "0.0.0.0:80"] {
        assert!(HostRule::for_endpoint(&endpoint(never)).is_err(), "{never}");
    }
}

#[test]
fn addresses_that_are_not_public_are_known_in_every_form() {
    for (address, expected) in [
        ("0.0.0.0", Special::Unspecified),
        ("0.1.2.3", Special::Unspecified),
        ("127.0.0.1", Special::Loopback),
        ("127.255.255.255", Special::Loopback),
        ("10.0.0.1", Special::Private),
        ("172.16.0.1", Special::Private),
        ("172.31.255.255", Special::Private),
        ("192.168.1.1", Special::Private),
        ("169.254.169.254", Special::LinkLocal),
        ("100.64.0.1", Special::Shared),
        ("100.127.255.255", Special::Shared),
        ("224.0.0.1", Special::Multicast),
        ("255.255.255.255", Special::Reserved),
        ("192.0.2.1", Special::Reserved),
        ("198.19.0.1", Special::Reserved),
        ("::", Special::Unspecified),
        ("::1", Special::Loopback),
        ("::ffff:127.0.0.1", Special::Loopback),
        ("::ffff:169.254.169.254", Special::LinkLocal),
        ("::127.0.0.1", Special::Reserved),
        ("64:ff9b::10.0.0.1", Special::Private),
        ("64:ff9b::127.0.0.1", Special::Loopback),
        ("64:ff9b:1::1", Special::Private),
        ("2002:0a00:0001::1", Special::Private),
        ("2002:7f00:0001::", Special::Loopback),
        ("2001::1", Special::Reserved),
        ("2001:db8::1", Special::Reserved),
        ("3fff::1", Special::Reserved),
        ("fc00::1", Special::Private),
        ("fd12:3456::1", Special::Private),
        ("fec0::1", Special::Private),
        ("fe80::1", Special::LinkLocal),
        ("ff02::1", Special::Multicast),
        ("100::1", Special::Reserved),
        ("5f00::1", Special::Reserved),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(Special::of(address), Some(expected), "{address}");
    }
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "2001:4860:4860::8888",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:0808:0808::1",
    ] {
        let address: IpAddr = public.parse().unwrap();
        assert_eq!(Special::of(address), None, "{address}");
    }
}

/// A name of one to four labels.
fn name() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-z]([a-z0-9-]{0,8}[a-z0-9])?", 2..5).prop_map(|l| l.join("."))
}

/// The same name as clients may spell it.
fn spelled(name: &str, capitals: u64, dot: bool) -> String {
    let mut bits = capitals;
    let spelled = name.chars().map(|c| {
        bits = bits.rotate_right(1);
        if bits & 1 == 1 {
            c.to_ascii_uppercase()
        } else {
            c
        }
    });
    spelled.chain(dot.then_some('.')).collect()
}

proptest! {
    /// No text, however odd, is a rule that shows itself as another.
    #[test]
    fn a_rule_is_the_rule_that_it_shows(text in "\\PC{0,30}|[*a-z0-9.:\\[\\]-]{0,20}") {
        if let Ok(rule) = text.parse::<HostRule>() {
            prop_assert_eq!(rule.to_string().parse::<HostRule>().unwrap(), rule);
        }
    }

    /// Spelling neither opens nor closes anything.
    #[test]
    fn capitals_and_a_final_dot_do_not_matter(
        name in name(), capitals: u64, dot: bool, port in 1..=u16::MAX,
    ) {
        let exact: HostRule = format!("{name}:{port}").parse().unwrap();
        let host = spelled(&name, capitals, dot);
        let asked = endpoint(&format!("{host}:{port}"));
        prop_assert!(exact.allows(&asked));
        let below: HostRule = format!("*.{name}:{port}").parse().unwrap();
        prop_assert!(!below.allows(&asked));
        let deeper = endpoint(&format!("x.{host}:{port}"));
        prop_assert!(below.allows(&deeper));
        prop_assert!(!exact.allows(&deeper));
    }

    /// A wildcard allows only names that end with its labels.
    #[test]
    fn a_wildcard_needs_whole_labels(suffix in name(), other in name(), glued in "[a-z]{1,5}") {
        let rule: HostRule = format!("*.{suffix}").parse().unwrap();
        let ends_so = other.ends_with(&format!(".{suffix}"));
        prop_assert_eq!(rule.allows(&endpoint(&format!("{other}:443"))), ends_so);
        let glued_on = endpoint(&format!("{glued}{suffix}:443"));
        prop_assert!(!rule.allows(&glued_on));
        let followed = endpoint(&format!("x.{suffix}.{glued}x:443"));
        prop_assert_eq!(rule.allows(&followed), format!("x.{suffix}.{glued}x").ends_with(&format!(".{suffix}")));
    }

    /// A rule without a port means two ports, and one with a port that one.
    #[test]
    fn ports_are_those_of_the_rule(name in name(), asked in 1..=u16::MAX, listed in 1..=u16::MAX) {
        let wanted = endpoint(&format!("{name}:{asked}"));
        let usual: HostRule = name.parse().unwrap();
        prop_assert_eq!(usual.allows(&wanted), asked == 80 || asked == 443);
        let one: HostRule = format!("{name}:{listed}").parse().unwrap();
        prop_assert_eq!(one.allows(&wanted), asked == listed);
    }

    /// An address is reached by the rule for that very address alone, in both notations.
    #[test]
    fn addresses_match_themselves_alone(listed: u32, asked: u32, port in 1..=u16::MAX) {
        let [listed, asked] = [listed, asked].map(core::net::Ipv4Addr::from_bits);
        if let Ok(rule) = format!("{listed}:{port}").parse::<HostRule>() {
            let plain = endpoint(&format!("{asked}:{port}"));
            let mapped = endpoint(&format!("[::ffff:{asked}]:{port}"));
            prop_assert_eq!(rule.allows(&plain), listed == asked);
            prop_assert_eq!(rule.allows(&mapped), listed == asked);
        }
    }

    /// What a gateway unwraps is as private as what it unwraps to.
    #[test]
    fn an_embedded_address_is_what_it_embeds(bits: u32) {
        let inner = core::net::Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = inner.octets();
        let relay = format!("2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1");
        for outer in [format!("::ffff:{inner}"), format!("64:ff9b::{inner}"), relay] {
            let outer: IpAddr = outer.parse().unwrap();
            prop_assert_eq!(Special::of(outer), Special::of(inner.into()));
        }
    }
}
