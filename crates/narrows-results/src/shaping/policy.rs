//! How much of a result may pass, for every tool and server of an endpoint.

use std::collections::HashMap;
use std::time::Duration;

use narrows_wire::Raw;

use crate::settings::{Binary, ShapeChoice, Structured};

/// How long keeping a result within its budget may take, if nobody says otherwise.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// What becomes of the results of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The most characters of text.
    pub max_chars: usize,
    /// The same for code without a goal.
    pub code_max_chars: usize,
    /// The most characters that the client passes on to its model.
    pub client_cap: usize,
    /// The caller has named the budget, so nothing passes beyond it.
    pub is_exact: bool,
    pub binary: Binary,
    /// The tool is listed with an argument `goal` of ours.
    pub goal_param: bool,
    /// Arguments that hold a marker of cut text are refused.
    pub guard: bool,
    pub timeout: Duration,
}

impl Policy {
    fn of(choice: ShapeChoice, on: bool) -> Option<Policy> {
        on.then(|| Policy {
            max_chars: choice.max_chars.unwrap_or(ShapeChoice::MAX_CHARS),
            code_max_chars: code_max_chars(choice),
            client_cap: usize::MAX,
            is_exact: false,
            binary: choice.binary.unwrap_or(Binary::Keep),
            goal_param: choice.goal_param.unwrap_or(false),
            guard: choice.guard.unwrap_or(true),
            timeout: choice.timeout.unwrap_or(TIMEOUT),
        })
    }

    /// Returns the policy for a client that passes on at most so many characters.
    pub fn capped(self, cap: usize) -> Policy {
        Policy {
            max_chars: self.max_chars.min(cap),
            code_max_chars: self.code_max_chars.min(cap),
            client_cap: cap,
            ..self
        }
    }

    /// Returns the policy with the budget that the caller has named.
    pub fn with_budget(self, max_chars: usize) -> Policy {
        Policy {
            max_chars,
            code_max_chars: max_chars,
            is_exact: true,
            ..self
        }
    }

    /// Returns the most characters that pass uncut under a budget. Cutting must
    /// save a third to be worth a further call.
    pub fn passes_whole(&self, budget: usize) -> usize {
        match self.is_exact {
            true => budget,
            false => (budget + budget / 2).min(self.client_cap.max(budget)),
        }
    }
}

/// A budget that is set and larger is one for code as well.
fn code_max_chars(choice: ShapeChoice) -> usize {
    let usual = ShapeChoice::CODE_MAX_CHARS;
    let larger = choice.max_chars.unwrap_or_default().max(usual);
    choice.code_max_chars.unwrap_or(match choice.max_chars {
        // A small budget is meant for everything.
        Some(small) if small < ShapeChoice::MAX_CHARS => small,
        _ => larger,
    })
}

/// The policies of one endpoint. Tool goes over server, server over endpoint,
/// endpoint over what is said for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    /// By the number of the upstream.
    servers: HashMap<usize, OfServer>,
    /// The budget of what the gateway itself answers here.
    own_max_chars: usize,
    pub structured: Structured,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OfServer {
    all: Option<Policy>,
    /// Of tools that differ.
    tools: HashMap<String, Option<Policy>>,
}

/// The choices for the results of one server.
#[derive(Debug, Clone, Copy)]
pub struct ServerShape<'a> {
    pub choice: ShapeChoice,
    /// By the server's own names of its tools.
    pub tools: &'a HashMap<String, ShapeChoice>,
}

impl Policies {
    /// An endpoint that joins all upstreams.
    pub fn joined<'a>(
        top: ShapeChoice,
        endpoint: ShapeChoice,
        upstreams: impl Iterator<Item = (usize, ServerShape<'a>)>,
    ) -> Policies {
        let below = endpoint.or(top);
        let resolve = |choice: ShapeChoice| {
            let choice = choice.or(below);
            Policy::of(choice, choice.on.unwrap_or(true))
        };
        Policies::new(below, upstreams, resolve)
    }

    /// The endpoint of one upstream, which mirrors it: its results pass as they
    /// are unless something is said for just this server (`own`) or tool.
    pub fn single<'a>(
        top: ShapeChoice,
        own: ShapeChoice,
        upstreams: impl Iterator<Item = (usize, ServerShape<'a>)>,
    ) -> Policies {
        let resolve = |choice: ShapeChoice| Policy::of(choice.or(top), choice.on == Some(true));
        Policies::new(own.or(top), upstreams, resolve)
    }

    fn new<'a>(
        below: ShapeChoice,
        upstreams: impl Iterator<Item = (usize, ServerShape<'a>)>,
        resolve: impl Fn(ShapeChoice) -> Option<Policy>,
    ) -> Policies {
        let of = |(index, server): (usize, ServerShape<'_>)| {
            let (tools, server) = (server.tools, server.choice);
            let tool = |(name, choice): (&String, &ShapeChoice)| {
                (name.clone(), resolve(choice.or(server)))
            };
            let of_server = OfServer {
                all: resolve(server),
                tools: tools.iter().map(tool).collect(),
            };
            (index, of_server)
        };
        Policies {
            servers: upstreams.map(of).collect(),
            own_max_chars: below.max_chars.unwrap_or(ShapeChoice::MAX_CHARS),
            structured: Structured::Auto,
        }
    }

    /// The same with this choice for `structuredContent`.
    pub fn with_structured(mut self, structured: Structured) -> Policies {
        self.structured = structured;
        self
    }

    /// Of a tool, by the server's own name for it.
    pub fn tool(&self, upstream: usize, name: &Raw) -> Option<Policy> {
        let server = self.servers.get(&upstream)?;
        if !server.tools.is_empty()
            && let Some(name) = name.as_text()
            && let Some(policy) = server.tools.get(&*name)
        {
            return *policy;
        }
        server.all
    }

    /// Of the resources of a server.
    pub fn server(&self, upstream: usize) -> Option<Policy> {
        self.servers.get(&upstream)?.all
    }

    /// Whether anything may be cut for some of these upstreams, so that there
    /// must be a way to get it back.
    pub fn cuts(&self, mut upstreams: impl Iterator<Item = usize>) -> bool {
        upstreams.any(|index| {
            self.servers.get(&index).is_some_and(|server| {
                server.all.is_some() || server.tools.values().any(Option::is_some)
            })
        })
    }

    /// The most characters in one answer of the gateway's own tools.
    pub fn own_max_chars(&self) -> usize {
        self.own_max_chars.max(ShapeChoice::LEAST_CHARS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: ShapeChoice = choice(Some(false), None);

    const fn choice(on: Option<bool>, max_chars: Option<usize>) -> ShapeChoice {
        ShapeChoice {
            on,
            max_chars,
            binary: None,
            code_max_chars: None,
            goal_param: None,
            guard: None,
            timeout: None,
        }
    }

    /// The choices of a server and of its tool `t`.
    fn server(shape: ShapeChoice, tool: Option<ShapeChoice>) -> Server {
        let tools = tool.map(|choice| ("t".to_owned(), choice));
        (shape, tools.into_iter().collect())
    }

    type Server = (ShapeChoice, HashMap<String, ShapeChoice>);

    fn only((choice, tools): &Server) -> impl Iterator<Item = (usize, ServerShape<'_>)> {
        [(
            0,
            ServerShape {
                choice: *choice,
                tools,
            },
        )]
        .into_iter()
    }

    fn budgets(policies: &Policies) -> [Option<usize>; 3] {
        let budget = |policy: Option<Policy>| policy.map(|policy| policy.max_chars);
        [
            budget(policies.tool(0, &Raw::string("t"))),
            budget(policies.tool(0, &Raw::string("other"))),
            budget(policies.server(0)),
        ]
    }

    #[track_caller]
    fn check_joined(
        top: ShapeChoice,
        endpoint: ShapeChoice,
        upstream: Server,
        expected: [Option<usize>; 3],
    ) {
        let policies = Policies::joined(top, endpoint, only(&upstream));
        assert_eq!(budgets(&policies), expected);
        let cuts = expected.iter().any(Option::is_some);
        assert_eq!(policies.cuts([0].into_iter()), cuts);
    }

    #[test]
    fn tool_over_server_over_endpoint_over_top() {
        let none = ShapeChoice::default();
        let demo = |shape, tool| server(shape, tool);
        let of = |chars| choice(Some(true), Some(chars));
        check_joined(none, none, demo(none, None), [Some(16_000); 3]);
        check_joined(of(9_000), none, demo(none, None), [Some(9_000); 3]);
        check_joined(of(9_000), of(8_000), demo(none, None), [Some(8_000); 3]);
        check_joined(of(9_000), OFF, demo(of(7_000), None), [Some(7_000); 3]);
        check_joined(
            of(9_000),
            none,
            demo(OFF, Some(of(6_000))),
            [Some(6_000), None, None],
        );
        check_joined(
            none,
            none,
            demo(none, Some(OFF)),
            [None, Some(16_000), Some(16_000)],
        );
        check_joined(OFF, none, demo(none, None), [None; 3]);
        // What is said of the budget alone switches nothing on.
        check_joined(OFF, none, demo(choice(None, Some(5_000)), None), [None; 3]);
    }

    #[test]
    fn the_endpoint_of_one_server_shapes_what_is_said_of_it() {
        let top = choice(Some(true), Some(9_000));
        let none = ShapeChoice::default();
        let check = |shape, tool, expected| {
            let upstream = server(shape, tool);
            let policies = Policies::single(top, upstream.0, only(&upstream));
            assert_eq!(budgets(&policies), expected);
        };
        check(none, None, [None; 3]);
        let on = choice(Some(true), None);
        check(on, None, [Some(9_000); 3]);
        let less = server(choice(Some(true), Some(5_000)), None);
        let policies = Policies::single(top, less.0, only(&less));
        assert_eq!(policies.own_max_chars(), 5_000);
        check(none, Some(on), [Some(9_000), None, None]);
    }
}
