//! Coarse actions that distinguish tools for the same object. "Which branches are there" must not
//! find the tool that deletes branches first.

use std::sync::LazyLock;

use super::concepts::CONCEPTS;
use crate::terms::{ConceptMember, Word};

/// An action that a tool performs or a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Create,
    Change,
    Delete,
    Send,
    Start,
    Stop,
}

/// A set of actions: `open` may mean both reading and creating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Actions(u8);

/// The action of each concept that is a verb.
static OF_CONCEPTS: LazyLock<Vec<Option<Action>>> = LazyLock::new(|| {
    let tags = CONCEPTS.tags();
    tags.map(|tag| tag.and_then(Action::parse)).collect()
});

/// The lowest weight of a concept that determines an action. Ambiguous words do not.
const SURE: f32 = 0.5;

const SAME: f32 = 1.2;
/// Actions that are easily confused: adding is a change, and posting creates something.
const NEAR: f32 = 0.97;
const OTHER: f32 = 0.85;
/// Reading instead of writing, or the reverse.
const READ_OR_WRITE: f32 = 0.8;
const CONTRARY: f32 = 0.7;

impl Action {
    pub(super) fn parse(text: &str) -> Option<Action> {
        match text {
            "read" => Some(Action::Read),
            "create" => Some(Action::Create),
            "change" => Some(Action::Change),
            "delete" => Some(Action::Delete),
            "send" => Some(Action::Send),
            "start" => Some(Action::Start),
            "stop" => Some(Action::Stop),
            _ => None,
        }
    }

    const ALL: [Action; 7] = [
        Action::Read,
        Action::Create,
        Action::Change,
        Action::Delete,
        Action::Send,
        Action::Start,
        Action::Stop,
    ];
}

impl Actions {
    pub(super) const READ: Actions = Actions(1 << Action::Read as u8);

    /// Returns the actions of a word or phrase with these concepts.
    pub(super) fn of(members: &[ConceptMember]) -> Actions {
        let sure = members.iter().filter(|member| member.weight >= SURE);
        let of_concept = |member: &ConceptMember| *OF_CONCEPTS.get(usize::from(member.concept))?;
        let actions = sure.filter_map(of_concept);
        Actions(actions.fold(0, |set, action| set | 1 << action as u8))
    }

    /// Returns the actions of a tool, from the first verb in its name or else from the first word
    /// of its description.
    pub(super) fn of_tool(name: &[Word], description: &[Word]) -> Actions {
        let words = name.iter().chain(description.first());
        let mut actions = words.map(|word| Actions::of(CONCEPTS.of_stem(&word.stem)));
        actions
            .find(|actions| !actions.is_empty())
            .unwrap_or_default()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns a factor around 1 for how well these actions fit the wanted ones.
    pub(super) fn fit(self, wanted: Actions) -> f32 {
        if self.is_empty() || wanted.is_empty() {
            return 1.0;
        }
        let mut best = 0.0_f32;
        for wanted in wanted.each() {
            for has in self.each() {
                best = best.max(fit(wanted, has));
            }
        }
        best
    }

    fn each(self) -> impl Iterator<Item = Action> {
        let all = Action::ALL.into_iter();
        all.filter(move |&action| self.0 & 1 << action as u8 != 0)
    }
}

fn fit(wanted: Action, has: Action) -> f32 {
    use Action::{Change, Create, Delete, Read, Send, Start, Stop};
    match (wanted, has) {
        (wanted, has) if wanted == has => SAME,
        (Read, _) | (_, Read) => READ_OR_WRITE,
        (Create, Delete) | (Delete, Create) | (Start, Stop) | (Stop, Start) => CONTRARY,
        (Create, Change | Send | Start)
        | (Change, Create | Send | Stop)
        | (Send, Create | Change | Start)
        | (Start, Create | Send)
        | (Stop, Delete | Change)
        | (Delete, Stop) => NEAR,
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests;
