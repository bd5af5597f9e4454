//! Result policies: the budgets for all tools and servers of an endpoint.

use std::collections::HashMap;
use std::time::Duration;

use narrows_wire::Raw;

use crate::settings::{Binary, ShapeChoice, Structured};

/// The default time limit for fitting a result into its budget.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// The treatment of one tool's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The maximum number of characters of text.
    pub max_chars: usize,
    /// The maximum for code that is read without a goal.
    pub code_max_chars: usize,
    /// The maximum number of characters that the client passes to its model.
    pub client_cap: usize,
    /// True if the caller set the budget, which is then strict.
    pub is_exact: bool,
    pub binary: Binary,
    /// True if the tool is listed with our argument `goal`.
    pub goal_param: bool,
    /// True if arguments that contain a marker of cut text are refused.
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

    /// Returns the policy for a client that passes on at most `cap` characters.
    pub fn capped(self, cap: usize) -> Policy {
        Policy {
            max_chars: self.max_chars.min(cap),
            code_max_chars: self.code_max_chars.min(cap),
            client_cap: cap,
            ..self
        }
    }

    /// Returns the policy with a budget set by the caller.
    pub fn with_budget(self, max_chars: usize) -> Policy {
        Policy {
            max_chars,
            code_max_chars: max_chars,
            is_exact: true,
            ..self
        }
    }

    /// Returns the maximum number of characters that pass uncut under a budget. Cutting must save a
    /// third to be worth a further call.
    pub fn passes_whole(&self, budget: usize) -> usize {
        match self.is_exact {
            true => budget,
            false => (budget + budget / 2).min(self.client_cap.max(budget)),
        }
    }
}

/// Returns the budget for code. A larger budget for text also applies to code.
fn code_max_chars(choice: ShapeChoice) -> usize {
    let usual = ShapeChoice::CODE_MAX_CHARS;
    let larger = choice.max_chars.unwrap_or_default().max(usual);
    choice.code_max_chars.unwrap_or(match choice.max_chars {
        // A budget below the default applies to everything.
        Some(small) if small < ShapeChoice::MAX_CHARS => small,
        _ => larger,
    })
}

/// The policies of one endpoint. Tool settings override server settings, which override endpoint
/// settings, which override global ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    /// The policies by server index.
    servers: HashMap<usize, ServerPolicies>,
    /// The budget of the gateway's own tools on this endpoint.
    own_max_chars: usize,
    pub structured: Structured,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ServerPolicies {
    all: Option<Policy>,
    /// The policies of tools with their own settings.
    tools: HashMap<String, Option<Policy>>,
}

/// The settings for the results of one server.
#[derive(Debug, Clone, Copy)]
pub struct ServerShape<'a> {
    pub choice: ShapeChoice,
    /// The settings by the server's own tool names.
    pub tools: &'a HashMap<String, ShapeChoice>,
}

impl Policies {
    /// Returns the policies of an endpoint that joins all servers.
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

    /// Returns the policies of the endpoint of a single server, which mirrors it. Results pass
    /// unchanged unless the settings of this server (`own`) or of a tool enable shaping.
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
            let of_server = ServerPolicies {
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

    /// Returns the policies with this treatment of `structuredContent`.
    pub fn with_structured(mut self, structured: Structured) -> Policies {
        self.structured = structured;
        self
    }

    /// Returns the policy of a tool, given by its server's own name.
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

    /// Returns the policy for the resources of a server.
    pub fn server(&self, upstream: usize) -> Option<Policy> {
        self.servers.get(&upstream)?.all
    }

    /// Returns true if results of any of these servers may be cut, so that a recovery tool is
    /// needed.
    pub fn cuts(&self, mut upstreams: impl Iterator<Item = usize>) -> bool {
        upstreams.any(|index| {
            self.servers.get(&index).is_some_and(|server| {
                server.all.is_some() || server.tools.values().any(Option::is_some)
            })
        })
    }

    /// Returns the maximum number of characters in one answer of the gateway's own tools.
    pub fn own_max_chars(&self) -> usize {
        self.own_max_chars.max(ShapeChoice::MIN_CHARS)
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

    /// Returns the settings of a server and of its tool `t`.
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
    fn tool_overrides_server_overrides_endpoint_overrides_top() {
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
        // Setting only the budget does not enable shaping.
        check_joined(OFF, none, demo(choice(None, Some(5_000)), None), [None; 3]);
    }

    #[test]
    fn single_server_endpoint_uses_its_servers_shape() {
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
