//! A member under a plan gate can look before it has a plan.

use super::place::{Level, Place, conditions};

#[test]
fn before_its_plan_is_approved_a_member_can_look_but_change_nothing() {
    for conditions in conditions(&[Level::Full, Level::Landlock]) {
        let place = Place::new(conditions);
        place.workspace.write("file", "needle");
        place.spawn(&["--require-plan"]);
        let output = place.bash(
            "grep -c needle file; echo x > /tmp/x && echo built; echo x > file; rm file; touch new",
        );
        match conditions.level {
            Level::Full => {
                assert!(output.contains("1\nbuilt\n"), "{output}");
                assert!(
                    output.contains("until your plan is approved: call plan_approval"),
                    "{output}"
                );
            }
            Level::Landlock | Level::None => assert!(output.contains("approved plan"), "{output}"),
        }
        let path = place.workspace.path();
        assert_eq!(
            std::fs::read_to_string(path.join("file")).unwrap(),
            "needle"
        );
        assert!(!path.join("new").exists());
        place.end();
    }
}
