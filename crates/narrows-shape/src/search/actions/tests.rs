use super::super::concepts::CONCEPTS;
use super::{Action, Actions};
use crate::terms;

fn of_tool(name: &str, description: &str) -> Actions {
    Actions::of_tool(&terms::read(name), &terms::read(description))
}

fn is(actions: Actions, action: Action) -> bool {
    actions.each().any(|one| one == action)
}

#[test]
fn tool_action_is_read_from_its_name() {
    assert!(is(
        of_tool("delete_branch", "Lists nothing."),
        Action::Delete
    ));
    assert!(is(of_tool("git_list_branches", ""), Action::Read));
    assert!(is(of_tool("branches", "Deletes them."), Action::Delete));
    assert!(of_tool("", "").is_empty());
}

#[test]
fn opposite_actions_score_lower() {
    let wanted = Actions::of(CONCEPTS.of_stem("delet"));
    let fit = |name: &str| of_tool(name, "").fit(wanted);
    assert!(fit("delete_x") > 1.0);
    assert_eq!(fit("x"), 1.0, "what is not known is no fault");
    assert!(fit("list_x") < 1.0);
    assert!(fit("create_x") < fit("list_x"));
}
